"""A sensor (the device's record): validation of registrations, its states, and when it may be mounted on a vehicle.

Follows spec/interface (Sensor, States), spec/rpc 6.2, spec/gaps G8, G11, G12, H5 and spec/device-messages D29.
"""

import re
from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace

from tripline.domain import fields, vehicles
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import Line
from tripline.domain.refusals import BadParameter, Invalid

CREDENTIALS_LENGTH: Final = 20
_CREDENTIALS: Final = re.compile(r"[!-~]{20}", re.ASCII)
_CREDENTIALS_FORBIDDEN: Final = re.compile(r"[/+#]")


class Status(StrEnum):
    """Published states of a sensor (G8)."""

    DEACTIVATED = "DEACTIVATED"
    """The state at creation: not on a vehicle."""
    ACTIVATED = "ACTIVATED"
    """Mounted on a vehicle."""


class SensorEvent(Enum):
    """An event that moves a sensor from state to state."""

    MOUNT = auto()
    UNMOUNT = auto()


NEXT: Final = {
    (Status.DEACTIVATED, SensorEvent.MOUNT): Status.ACTIVATED,
    (Status.ACTIVATED, SensorEvent.UNMOUNT): Status.DEACTIVATED,
}
"""All transitions; a missing pair is refused."""


class SerialTaken(BadParameter):
    """Another sensor of the service type has this serial number (H5)."""

    code = "sensor.serial_taken"


class CredentialsTaken(BadParameter):
    """Another sensor has this access token (H5)."""

    code = "sensor.credentials_taken"


class AlreadyMounted(BadParameter):
    """The sensor is on another vehicle."""

    code = "sensor.already_mounted"


class NotMounted(Invalid):
    """The sensor is not on a vehicle, or not on the named one."""

    code: ClassVar[str] = "sensor.not_mounted"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The validated fields of a registration."""

    serial_no: str
    """Of a device on a carrier's network: its IMEI."""
    credentials_id: str | None
    """The device's access token. None: it has none (carrier-linked devices alone), or it is hidden from the reader."""
    vendor: str | None
    type: str
    activation_required: bool
    mission_type: str | None
    additional_info: str | None


class Sensor(Registration, frozen=True, kw_only=True):
    """A registered sensor; unset ids are None."""

    id: SensorId
    created_ms: int
    company_id: CompanyId
    service_type: str
    status: Status
    vehicle_id: VehicleId | None = None
    vehicle_no: str | None = None
    last_trip_msg_type: str | None = None
    line: Line | None = None
    """Of a device on a carrier's network, with or without a number; None: the device is not carrier-linked."""


def registration(*, linked: bool = False, **sent: Any) -> Registration:
    """Return the registration when all fields are valid; else raise the `BadParameter` of the first invalid one, with
    the others attached.

    A carrier-linked device (`linked`) need not have an access token.
    """
    without_token = linked and not sent.get("credentials_id")
    rules = {**_RULES, "credentials_id": (_none,)} if without_token else _RULES
    return Registration(**fields.checked(rules, sent))


def modified(sensor: Sensor, changes: Mapping[str, Any]) -> Sensor:
    """The sensor with these fields of its registration changed; raises as `registration`.

    A mounted sensor stays mounted even if it now needs activation: that applies to the next mounting.
    """
    said = {name: getattr(sensor, name) for name in Registration.__struct_fields__}
    # A sensor without a token is carrier-linked even before the carrier has opened its line.
    linked = sensor.line is not None or sensor.credentials_id is None
    return replace(sensor, **msgspec.structs.asdict(registration(linked=linked, **{**said, **changes})))


def serial_taken(serial_no: str) -> SerialTaken:
    """The refusal of a second sensor with the serial number."""
    return SerialTaken("registered", field="serialNo", serial_no=serial_no)


def credentials_taken() -> CredentialsTaken:
    """The refusal of a second sensor with the access token; the sentence does not repeat the token."""
    return CredentialsTaken(field="credentialsId")


def mounted_status(sensor: Sensor, vehicle_id: VehicleId) -> Status | None:
    """The state after mounting the sensor on the vehicle, or None when it is already there.

    Raises `AlreadyMounted` when it is on another vehicle. Does not check whether its device must be activated first.
    """
    if sensor.vehicle_id == vehicle_id:
        return None
    after = NEXT.get((sensor.status, SensorEvent.MOUNT))
    if after is None:
        raise AlreadyMounted("elsewhere", field="sensorId")
    return after


def unmounted_status(sensor: Sensor, vehicle_id: VehicleId | None) -> Status:
    """The state after taking the sensor off the vehicle; None: off its present one. Raises `NotMounted`."""
    after = NEXT.get((sensor.status, SensorEvent.UNMOUNT))
    if after is None or sensor.vehicle_id is None:
        raise NotMounted("nowhere")
    if vehicle_id not in (None, sensor.vehicle_id):
        raise NotMounted("elsewhere")
    return after


def _credentials(name: str, value: str | None) -> str:
    """An access token: it is the device's user name and may stand in a topic, so no `/`, `+`, `#` or blank (D29)."""
    checked = fields.required(name, value)
    if not _CREDENTIALS.fullmatch(checked) or _CREDENTIALS_FORBIDDEN.search(checked):
        raise fields.WrongForm("credentials", field=name, length=CREDENTIALS_LENGTH)
    return checked


def _none(_: str, __: str | None) -> None:
    return None


def _flag(_: str, value: bool | None) -> bool:
    return bool(value)


_RULES: Final[fields.Rules] = {
    "serial_no": (fields.number,),
    "credentials_id": (_credentials,),
    "vendor": (fields.text,),
    "type": (fields.required,),
    "activation_required": (_flag,),
    "mission_type": (fields.one_of, vehicles.MISSION_TYPES),
    "additional_info": (fields.long_text,),
}
