"""Checks of carrier-linked devices: their record, the states of their lines, the carrier's actions, lifting a pause."""

from typing import Any

from tests.support import servers
from tests.support.spec.checks import row, rows
from tests.support.spec.fields import PLACEHOLDER
from tests.support.spec.world import Record, World

LINE = {"subscription": "CATM1-10MB", "imsi": "450081234567890", "iccid": "8982300123456789012"}
UNPAUSE = "/api/tre/v1_4/carrier/unpause"


def act(world: World, **action: Any) -> Record:
    """What came of one of the carrier's actions."""
    if "carrier" not in world.tokens:
        email = "net@carrier.example"
        flags = ("--data", str(world.server.data), "--email", email, "--password-stdin")
        assert servers.run_here("admin", "carrier", *flags, stdin="pass phrase").returncode == 0
        world.login("carrier", email, "pass phrase")
    body = {"actionId": world.fresh("action"), **action}
    (outcome,) = world.good("carrier", "POST", "/api/carrier/v1/actions", body)["outcomes"]
    assert (outcome["actionId"], outcome["outcome"]) == (body["actionId"], "DONE")
    return outcome


def opened(world: World, **more: Any) -> Record:
    """The record of a device whose line was just opened."""
    mdn, imei = f"010{world.fresh('4')}", world.fresh("35693")
    act(world, type="OPENING", mdn=mdn, imei=imei, companyId=world.ids["operator"], **LINE, **more)
    return found(world, mdn)


def found(world: World, mdn: str) -> Record:
    """The device with this telephone number."""
    return world.good("operator", "GET", "/sensor", mdn=mdn)


def read(world: World, record: Record) -> Record:
    """The device's record now."""
    return world.good("operator", "GET", f"/sensor/{record['id']['id']}")


def suspended(world: World, kind: str) -> Record:
    """The record of a device whose line was suspended."""
    device = opened(world)
    act(world, type="SUSPENSION", kind=kind, mdn=device["mdn"])
    return read(world, device)


def _linked_record(world: World, name: str) -> None:
    device = opened(world)
    assert device["additionalInfo"] == {"extra": None, **LINE}
    if name in device["additionalInfo"]:
        assert name == "extra" or device["additionalInfo"][name] == LINE[name]
    else:
        assert name == "additionalInfo" or isinstance(device[name], str) or name == "credentialsId"
    assert (device["nwStatus"], device["credentialsId"]) == ("01", None)
    assert device["serialNo"].startswith("35693")  # the IMEI
    assert found(world, device["mdn"])["id"] == device["id"]


rows(
    "Sensor (device) answer",
    (
        "mdn",
        "nwStatus",
        "additionalInfo #2",
        "extra",
        "subscription",
        "imsi",
        "iccid",
        "serialNo #2",
        "credentialsId #2",
        "mdn #2",
    ),
    _linked_record,
)


@row("Sensor (device): 00")
def line_that_left_its_device_is_not_opened(world: World) -> None:
    device = opened(world)
    act(world, type="DEVICE_CHANGE", mdn=device["mdn"], newImei=world.fresh("35693"))
    assert read(world, device)["nwStatus"] == "00"


@row("Sensor (device): 01", "Events: opening")
def opening_makes_the_line_normal(world: World) -> None:
    device = opened(world)
    assert found(world, device["mdn"])["nwStatus"] == "01"
    assert world.refused("operator", "POST", "/api/carrier/v1/actions", {}) == (403, 20)


KINDS = {"02": "USE", "03": "DORMANT", "04": "TERMINATION"}


def _suspension(world: World, status: str) -> None:
    assert suspended(world, KINDS[status])["nwStatus"] == status


rows("Sensor (device)", KINDS, _suspension)


@row(
    "States and transitions: 01 on carrier suspension, normal line becomes suspended",
    "Events: suspension (normal to suspended)",
)
def suspension_moves_a_normal_line_only(world: World) -> None:
    for status, kind in KINDS.items():
        device = suspended(world, kind)
        assert device["nwStatus"] == status
        again = {"actionId": world.fresh("action"), "type": "SUSPENSION", "kind": kind, "mdn": device["mdn"]}
        assert world.refused("carrier", "POST", "/api/carrier/v1/actions", again) == (400, 30)


def _ended(world: World, status: str) -> None:
    device = opened(world)
    kind = {"05": "AUTHORITY", "06": "ORDINARY"}[status]
    act(world, type="TERMINATION", kind=kind, mdn=device["mdn"])
    assert read(world, device)["nwStatus"] == status


rows("Sensor (device)", ("05", "06"), _ended)


@row("Sensor (device): 99")
def fault_is_a_published_value_that_no_action_leads_to(world: World) -> None:
    fields = world.good(None, "GET", "/api/openapi.json")["components"]["schemas"]["SensorRecord"]["properties"]
    assert "99" in str(fields["nwStatus"])


@row("Events: device change (normal or suspended line)")
def device_change_hands_vehicle_and_line_over(world: World) -> None:
    for suspension in (None, "USE"):
        old, vehicle = opened(world), world.vehicle("operator")
        world.good("operator", "POST", f"/sensor/{old['id']['id']}/vehicle/{vehicle['id']['id']}")
        if suspension:
            act(world, type="SUSPENSION", kind=suspension, mdn=old["mdn"])
        imei = world.fresh("35693")
        act(world, type="DEVICE_CHANGE", mdn=old["mdn"], newImei=imei)
        new, left = found(world, old["mdn"]), read(world, old)
        assert (new["serialNo"], new["vehicleId"], new["companyId"]) == (imei, vehicle["id"], old["companyId"])
        assert (new["nwStatus"], new["status"]) == ("02" if suspension else "01", "ACTIVATED")
        assert (left["vehicleId"], left["mdn"], left["status"]) == (PLACEHOLDER, None, "DEACTIVATED")


@row("Events: owner change")
def owner_change_deletes_the_device(world: World) -> None:
    device = opened(world)
    act(world, type="OWNER_CHANGE", mdn=device["mdn"])
    assert world.refused("operator", "GET", f"/sensor/{device['id']['id']}") == (404, 32)
    assert world.refused("operator", "GET", "/sensor", mdn=device["mdn"]) == (404, 32)


@row("Events: number change")
def number_change_updates_mdn(world: World) -> None:
    device = opened(world)
    number = f"010{world.fresh('5')}"
    act(world, type="NUMBER_CHANGE", mdn=device["mdn"], newMdn=number)
    assert found(world, number) == {**device, "mdn": number}
    assert world.refused("operator", "GET", "/sensor", mdn=device["mdn"]) == (404, 32)


@row("Events: SIM change")
def sim_change_updates_iccid_and_imsi(world: World) -> None:
    device = opened(world)
    act(world, type="SIM_CHANGE", mdn=device["mdn"], imsi="450089999999999", iccid="8982300999999999999")
    changed = {**device["additionalInfo"], "imsi": "450089999999999", "iccid": "8982300999999999999"}
    assert read(world, device) == {**device, "additionalInfo": changed}


@row("Events: plan change")
def plan_change_updates_the_plan(world: World) -> None:
    device = opened(world)
    act(world, type="PLAN_CHANGE", mdn=device["mdn"], subscription="CATM1-1GB")
    changed = {**device["additionalInfo"], "subscription": "CATM1-1GB"}
    assert read(world, device) == {**device, "additionalInfo": changed}


@row("Events: termination")
def termination_deletes_what_was_registered(world: World) -> None:
    device, vehicle = opened(world), world.vehicle("operator")
    world.good("operator", "POST", f"/sensor/{device['id']['id']}/vehicle/{vehicle['id']['id']}")
    act(world, type="TERMINATION", kind="ORDINARY", mdn=device["mdn"])
    left = read(world, device)
    assert (left["nwStatus"], left["mdn"], left["vehicleId"]) == ("06", None, PLACEHOLDER)
    assert left["additionalInfo"] == {"extra": None, "subscription": None, "imsi": None, "iccid": None}
    assert world.refused("operator", "GET", "/sensor", mdn=device["mdn"]) == (404, 32)


@row(
    "Carrier-linked device: POST /api/tre/v1_4/carrier/unpause",
    "States and transitions: 02 on POST carrier unpause, caller is the COMPANY_ADMIN owning the device",
)
def unpause_makes_a_suspended_line_normal(world: World) -> None:
    device = suspended(world, "USE")
    body = {"mdn": device["mdn"]}
    for who in ("partner", "other", "director", "driver", "carrier", "platform"):
        assert world.refused(who, "POST", UNPAUSE, body) == (403, 20)
    assert world.good("operator", "POST", UNPAUSE, body) == {**device, "nwStatus": "01"}
    assert read(world, device)["nwStatus"] == "01"


@row("Errors: error on the unpause operation")
def unpause_that_cannot_be_is_answered_with_a_code(world: World) -> None:
    assert world.refused("operator", "POST", UNPAUSE, {}) == (400, 31)
    assert world.refused("operator", "POST", UNPAUSE, {"mdn": "01000000000"}) == (404, 32)
    for device in (opened(world), suspended(world, "DORMANT"), suspended(world, "TERMINATION")):
        assert world.refused("operator", "POST", UNPAUSE, {"mdn": device["mdn"]}) == (400, 30)
