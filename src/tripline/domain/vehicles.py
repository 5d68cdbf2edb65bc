"""A vehicle: validation of registrations, its defaults and its states.

Follows spec/interface (Vehicle), rules 2 to 5, spec/gaps G5, G9, H1 and H3.
"""

import re
from collections.abc import Collection, Mapping
from enum import Enum, StrEnum, auto
from typing import Any, ClassVar, Final

import msgspec

from tripline.domain import fields
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Conflict, Invalid

MISSION_TYPES: Final = ("AUTO", "MANUAL")
"""Kinds of transmission."""
FUEL_TYPES: Final = ("DIESEL", "GASOLINE", "LPG")
CATEGORIES: Final = ("TRUCK", "BUS", "TAXI", "PERSONAL", "ETC")
FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2100
MILEAGE_MAX: Final = 100_000_000
"""km: ten times the range of an odometer with seven digits."""
DISPLACEMENT_MAX: Final = 1_000_000
"""cc"""

_YEAR: Final = re.compile(r"\d{4}", re.ASCII)


class Status(StrEnum):
    """Published states: drivers may drive an activated vehicle. Mounting a sensor does not change it (G9)."""

    DEACTIVATED = "DEACTIVATED"
    """The state at creation."""
    ACTIVATED = "ACTIVATED"


class VehicleEvent(Enum):
    """An event that moves a vehicle from state to state."""

    ACTIVATE = auto()
    DEACTIVATE = auto()


NEXT: Final = {
    (Status.DEACTIVATED, VehicleEvent.ACTIVATE): Status.ACTIVATED,
    (Status.ACTIVATED, VehicleEvent.ACTIVATE): Status.ACTIVATED,
    (Status.ACTIVATED, VehicleEvent.DEACTIVATE): Status.DEACTIVATED,
    (Status.DEACTIVATED, VehicleEvent.DEACTIVATE): Status.DEACTIVATED,
}
"""All transitions. Nothing else moves a vehicle (G9), and setting its present state changes nothing."""
UNDOES: Final = {VehicleEvent.ACTIVATE: VehicleEvent.DEACTIVATE, VehicleEvent.DEACTIVATE: VehicleEvent.ACTIVATE}
"""By event: its reverse."""


class NumberTaken(BadParameter):
    """Another vehicle of the service type has this number (H5)."""

    code = "vehicle.number_taken"


class OtherDirector(Invalid):
    """The person to be unset is not the managing director."""

    code: ClassVar[str] = "vehicle.other_director"


class OtherDriver(Invalid):
    """The person to be unset is not set as the driver."""

    code: ClassVar[str] = "vehicle.other_driver"


class AssignedMeanwhile(Conflict):
    """The director, the driver, or the vehicle of the chosen driver has changed since it was shown."""

    code: ClassVar[str] = "vehicle.assigned_meanwhile"


class Occupied(Invalid):
    """A driver wanted to take over a vehicle that has another driver."""

    code: ClassVar[str] = "vehicle.occupied"


class NotActivated(Invalid):
    """A driver wanted to drive a vehicle that is not activated."""

    code: ClassVar[str] = "vehicle.not_activated"


class ChangedSince(Conflict):
    """The vehicle has changed since the action that was to be undone."""

    code: ClassVar[str] = "vehicle.changed_since"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The validated fields of a registration."""

    vehicle_no: str
    vendor: str | None
    model_code: str | None
    model_name: str | None
    model_year: float | None
    mission_type: str | None
    fuel_type: str | None
    mileage: float
    """Total distance driven, km."""
    category: str | None
    usage: str | None
    displacement: float
    additional_info: str | None


class Vehicle(Registration, frozen=True, kw_only=True):
    """A registered vehicle; unset ids are None."""

    id: VehicleId
    created_ms: int
    company_id: CompanyId
    service_type: str
    status: Status
    director_id: UserId | None = None
    """The managing director."""
    current_driver_id: UserId | None = None
    latest_trip_id: TripId | None = None
    last_trip_msg_type: str | None = None
    sensor_count: int = 0
    delegate_user_count: int = 0


class PreviousAssignment(msgspec.Struct, frozen=True):
    """The director or driver of a vehicle at the time when a user chose another one for it."""

    user_id: UserId | None
    """The director or driver; None: the vehicle has none."""
    drives: VehicleId | None = None
    """The vehicle that the chosen driver drives; None: none."""


def registration(**sent: Any) -> Registration:
    """Return the registration when all fields are valid; else raise the `BadParameter` of the first invalid one, with
    the others attached."""
    return Registration(**fields.checked(_RULES, sent))


def changed(vehicle: Vehicle, named: Mapping[str, Any]) -> Registration:
    """Return the vehicle's registration after a partial update: `named` holds the changes, None clears a field.

    Raises `BadParameter` as `registration` does.
    """
    before = {name: getattr(vehicle, name) for name in Registration.__struct_fields__}
    return registration(**{**before, **named})


def refuse_unset_director(vehicle: Vehicle, director_id: UserId) -> None:
    """Raise `OtherDirector` unless the person is the managing director."""
    if vehicle.director_id != director_id:
        raise OtherDirector()


def refuse_unset_driver(vehicle: Vehicle, driver_id: UserId) -> None:
    """Raise `OtherDriver` unless the person is set as the driver."""
    if vehicle.current_driver_id != driver_id:
        raise OtherDriver()


def refuse_unseen_director(vehicle: Vehicle, director_id: UserId, seen: PreviousAssignment | None) -> None:
    """Raise `AssignedMeanwhile` when the vehicle's director is neither the one that was seen nor the one to be set.

    None: nothing was seen, and any director is replaced.
    """
    if seen is not None and vehicle.director_id not in (seen.user_id, director_id):
        raise AssignedMeanwhile("director")


def refuse_unseen_driver(
    vehicle: Vehicle, driver_id: UserId, driven: Collection[VehicleId], seen: PreviousAssignment | None
) -> None:
    """As `refuse_unseen_director`; `driven`: the vehicles of the driver to be set, who leaves them for this one."""
    if seen is None:
        return
    if vehicle.current_driver_id not in (seen.user_id, driver_id):
        raise AssignedMeanwhile("driver")
    if not {seen.drives}.issuperset(driven):
        raise AssignedMeanwhile("elsewhere")


def refuse_log_in(vehicle: Vehicle, driver_id: UserId) -> None:
    """Raise `NotActivated` or `Occupied` when a driver may not take the vehicle now."""
    if vehicle.status is not Status.ACTIVATED:
        raise NotActivated()
    if vehicle.current_driver_id not in (None, driver_id):
        raise Occupied()


def number_taken(vehicle_no: str) -> NumberTaken:
    """The refusal of a second vehicle with the number."""
    return NumberTaken(field="vehicleNo", vehicle_no=vehicle_no)


def _mileage(name: str, value: float | None) -> float:
    """Rule 4: to REST, missing and 0 are one and the same mistake."""
    if not value:
        raise BadParameter.missing(name) if value is None else BadParameter("zero", field=name)
    if value < 0:
        raise fields.OutOfRange("positive", field=name)
    return fields.amount(name, value, MILEAGE_MAX)


def _year(name: str, value: float | str | None) -> float | None:
    """A manufacturing year, given as a number or as a numeric text."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not _YEAR.fullmatch(value):
            raise fields.WrongForm("year", field=name)
        value = int(value)
    if not FIRST_YEAR <= value <= LAST_YEAR:
        raise fields.OutOfRange("between", field=name, least=FIRST_YEAR, most=LAST_YEAR)
    if value != int(value):
        raise fields.WrongForm("whole", field=name)
    return value


_RULES: Final[fields.Rules] = {
    "vehicle_no": (fields.number,),
    "vendor": (fields.text,),
    "model_code": (fields.text,),
    "model_name": (fields.text,),
    "model_year": (_year,),
    "mission_type": (fields.one_of, MISSION_TYPES),
    "fuel_type": (fields.one_of, FUEL_TYPES),
    "mileage": (_mileage,),
    "category": (fields.one_of, CATEGORIES),
    "usage": (fields.text,),
    "displacement": (fields.amount, DISPLACEMENT_MAX),
    "additional_info": (fields.long_text,),
}
