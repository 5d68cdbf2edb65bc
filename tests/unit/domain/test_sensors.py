"""The bounds of a sensor's registration, and the conditions of mounting it."""

import pytest
from msgspec.structs import replace
from tests.support.refused import refused

from tripline.domain import fields, sensors
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import Line, NwStatus
from tripline.domain.refusals import BadParameter

TOKEN = "abcdeFGHIJ0123456789"
SENSOR = sensors.Sensor(
    id=SensorId("s"),
    created_ms=1,
    company_id=CompanyId("c"),
    service_type="t",
    status=sensors.Status.DEACTIVATED,
    serial_no="1",
    credentials_id=TOKEN,
    vendor=None,
    type="GPS",
    activation_required=False,
    mission_type=None,
    additional_info=None,
)
HERE, ELSEWHERE = VehicleId("v"), VehicleId("w")


def test_registration_with_required_fields_alone_has_the_defaults():
    assert sensors.registration(serial_no="1", type="OBD2", credentials_id=TOKEN) == sensors.Registration(
        serial_no="1",
        credentials_id=TOKEN,
        vendor=None,
        type="OBD2",
        activation_required=False,
        mission_type=None,
        additional_info=None,
    )


@pytest.mark.parametrize(
    ("field", "name"), [("serial_no", "serialNo"), ("type", "type"), ("credentials_id", "credentialsId")]
)
@pytest.mark.parametrize("value", [None, "", " "])
def test_required_field_missing_is_refused_by_name(field, name, value):
    sent = {"serial_no": "1", "type": "GPS", "credentials_id": TOKEN, field: value}

    with refused(BadParameter, match=f"^Parameter '{name}' can't be empty!$"):
        sensors.registration(**sent)


@pytest.mark.parametrize("token", [TOKEN, "!\"$%&'()*,-.:;<=>?@[", "~" * 20])
def test_d29_any_20_printable_characters_are_a_token(token):
    assert sensors.registration(serial_no="1", type="GPS", credentials_id=token).credentials_id == token


@pytest.mark.parametrize(
    "token",
    [TOKEN[:19], TOKEN + "0", TOKEN[:19] + "/", TOKEN[:19] + "+", TOKEN[:19] + "#", TOKEN[:19] + " ", TOKEN[:19] + "é"],
)
def test_d29_other_lengths_and_characters_are_refused(token):
    with refused(fields.WrongForm, match="'credentialsId' must be exactly 20 printable ASCII characters"):
        sensors.registration(serial_no="1", type="GPS", credentials_id=token)


@pytest.mark.parametrize("kind", ["OBD2", "ADAS", "OBD", "GPS", "BlackBox", "something new"])
def test_x4_any_type_is_accepted(kind):
    assert sensors.registration(serial_no="1", type=kind, credentials_id=TOKEN).type == kind


def test_mission_type_outside_the_list_is_refused():
    with refused(fields.NotAllowed, match="'missionType' must be one of AUTO, MANUAL"):
        sensors.registration(serial_no="1", type="GPS", credentials_id=TOKEN, mission_type="CVT")


def test_mounting_a_free_sensor_activates_it():
    assert sensors.mounted_status(SENSOR, HERE) is sensors.Status.ACTIVATED


def test_mounting_where_it_is_changes_nothing():
    mounted = replace(SENSOR, status=sensors.Status.ACTIVATED, vehicle_id=HERE)

    assert sensors.mounted_status(mounted, HERE) is None


def test_mounting_where_it_is_changes_nothing_although_it_needs_activation():
    mounted = replace(SENSOR, status=sensors.Status.ACTIVATED, vehicle_id=HERE, activation_required=True)

    assert sensors.mounted_status(mounted, HERE) is None


def test_mounting_a_sensor_of_another_vehicle_is_refused():
    mounted = replace(SENSOR, status=sensors.Status.ACTIVATED, vehicle_id=ELSEWHERE)

    with refused(sensors.AlreadyMounted, match="mounted on another vehicle"):
        sensors.mounted_status(mounted, HERE)


def test_mounting_a_sensor_that_needs_activation_is_refused():
    needing = replace(SENSOR, activation_required=True)

    assert sensors.mounted_status(needing, HERE) is sensors.Status.ACTIVATED


@pytest.mark.parametrize("named", [None, HERE])
def test_g8_unmounting_deactivates(named):
    mounted = replace(SENSOR, status=sensors.Status.ACTIVATED, vehicle_id=HERE)

    assert sensors.unmounted_status(mounted, named) is sensors.Status.DEACTIVATED


@pytest.mark.parametrize(
    ("on", "named", "text"),
    [
        (None, None, "not mounted on a vehicle"),
        (None, HERE, "not mounted on a vehicle"),
        (ELSEWHERE, HERE, "on another vehicle"),
    ],
)
def test_unmounting_what_is_not_there_is_refused(on, named, text):
    status = sensors.Status.ACTIVATED if on else sensors.Status.DEACTIVATED

    with refused(sensors.NotMounted, match=text):
        sensors.unmounted_status(replace(SENSOR, status=status, vehicle_id=on), named)


def test_modified_changes_what_is_named_and_keeps_what_registration_does_not_say():
    mounted = replace(SENSOR, status=sensors.Status.ACTIVATED, vehicle_id=HERE, vendor="Maker")

    assert sensors.modified(mounted, {"vendor": None, "type": "OBD", "activation_required": True}) == replace(
        mounted, vendor=None, type="OBD", activation_required=True
    )


def test_only_a_carrier_linked_device_may_lose_its_token():
    linked = replace(SENSOR, line=Line(sensor_id=SENSOR.id, mdn="010", nw_status=NwStatus.NORMAL))

    assert sensors.modified(linked, {"credentials_id": None}).credentials_id is None
    with refused(BadParameter, match=r"^Parameter 'credentialsId' can't be empty!$"):
        sensors.modified(SENSOR, {"credentials_id": None})
    with pytest.raises(fields.WrongForm):
        sensors.modified(linked, {"credentials_id": TOKEN[1:]})


def test_refusal_of_a_taken_token_does_not_repeat_it():
    assert TOKEN not in str(sensors.credentials_taken())
