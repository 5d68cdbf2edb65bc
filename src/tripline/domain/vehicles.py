"""A vehicle: what its registration may say, what it starts with, its states.

Follows the interface specification (Vehicle), rules 2 to 5, gaps G5, G9, H1 and H3.

Not here: who may register or read one (`access`), its rows (`store/vehicles.py`), its JSON (`wire/rest_vehicles.py`).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tripline.domain import fields
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter

MISSION_TYPES: Final = ("AUTO", "MANUAL")
"""Kinds of transmission."""
FUEL_TYPES: Final = ("DIESEL", "GASOLINE", "LPG")
CATEGORIES: Final = ("TRUCK", "BUS", "TAXI", "PERSONAL", "ETC")
FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2100

_YEAR: Final = re.compile(r"\d{4}", re.ASCII)


class Status(StrEnum):
    """Whether drivers may drive it. Mounting a sensor does not change it (G9)."""

    DEACTIVATED = "DEACTIVATED"
    """The state at creation."""
    ACTIVATED = "ACTIVATED"


class NumberTaken(BadParameter):
    """Another vehicle of the service type has this number (H5)."""

    code = "vehicle.number_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a registration says about a vehicle, checked."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Vehicle(Registration):
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


def registration(
    *,
    vehicle_no: str | None = None,
    vendor: str | None = None,
    model_code: str | None = None,
    model_name: str | None = None,
    model_year: float | str | None = None,
    mission_type: str | None = None,
    fuel_type: str | None = None,
    mileage: float | None = None,
    category: str | None = None,
    usage: str | None = None,
    displacement: float | None = None,
    additional_info: str | None = None,
) -> Registration:
    """The registration when every rule holds; else raises the `BadParameter` of the first field that breaks one."""
    return Registration(
        vehicle_no=fields.required("vehicleNo", vehicle_no),
        vendor=fields.text("vendor", vendor),
        model_code=fields.text("modelCode", model_code),
        model_name=fields.text("modelName", model_name),
        model_year=_year(model_year),
        mission_type=fields.one_of("missionType", mission_type, MISSION_TYPES),
        fuel_type=fields.one_of("fuelType", fuel_type, FUEL_TYPES),
        mileage=_mileage(mileage),
        category=fields.one_of("category", category, CATEGORIES),
        usage=fields.text("usage", usage),
        displacement=fields.amount("displacement", displacement),
        additional_info=fields.long_text("additionalInfo", additional_info),
    )


def number_taken(vehicle_no: str) -> NumberTaken:
    """The refusal of a second vehicle with the number."""
    return NumberTaken(f"Parameter 'vehicleNo': a vehicle with the number {vehicle_no} is already registered.")


def _mileage(value: float | None) -> float:
    """Rule 4: missing and 0 are one and the same mistake."""
    if not value:
        raise BadParameter.missing("mileage")
    return fields.amount("mileage", value)


def _year(value: float | str | None) -> float | None:
    """A manufacturing year, given as a number or as a numeric text."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not _YEAR.fullmatch(value):
            raise fields.WrongForm("Parameter 'modelYear' must be a year: a number or a numeric text.")
        value = int(value)
    if not FIRST_YEAR <= value <= LAST_YEAR:
        raise fields.OutOfRange(f"Parameter 'modelYear' must be between {FIRST_YEAR} and {LAST_YEAR}.")
    if value != int(value):
        raise fields.WrongForm("Parameter 'modelYear' must be a whole number.")
    return value
