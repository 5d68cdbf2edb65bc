"""JSON of vehicles: what requests carry and what records look like, field by field.

Follows the interface specification (Resources and fields), in its order, with the additions of client-surface 8.5.
Unset ids are the placeholder, other unset values null. Not here: which values are allowed (`domain/`), how a request
is read (`rest_reading.py`).
"""

import msgspec

from tripline.domain.vehicles import Vehicle
from tripline.wire.rest import Id, id_or_unset
from tripline.wire.rest_reading import number


class VehicleRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a vehicle."""

    vehicle_no: str | None = None
    vendor: str | None = None
    model_code: str | None = None
    model_name: str | None = None
    model_year: float | str | None = None
    mission_type: str | None = None
    fuel_type: str | None = None
    mileage: float | None = None
    category: str | None = None
    usage: str | None = None
    displacement: float | None = None
    additional_info: str | None = None


class VehicleRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A vehicle."""

    id: Id
    created_time: int
    company_id: Id
    director_id: Id
    current_driver_id: Id
    latest_trip_id: Id
    service_type: str
    vehicle_no: str
    model_name: str | None
    model_code: str | None
    vendor: str | None
    sensor_count: int
    status: str
    additional_info: str | None
    model_year: float | None
    usage: str | None
    category: str | None
    mission_type: str | None
    fuel_type: str | None
    displacement: float
    mileage: float
    delegate_user_count: int
    last_trip_msg_type: str | None


def vehicle_record(vehicle: Vehicle) -> VehicleRecord:
    """The record."""
    return VehicleRecord(
        id=Id(vehicle.id),
        created_time=vehicle.created_ms,
        company_id=Id(vehicle.company_id),
        director_id=id_or_unset(vehicle.director_id),
        current_driver_id=id_or_unset(vehicle.current_driver_id),
        latest_trip_id=id_or_unset(vehicle.latest_trip_id),
        service_type=vehicle.service_type,
        vehicle_no=vehicle.vehicle_no,
        model_name=vehicle.model_name,
        model_code=vehicle.model_code,
        vendor=vehicle.vendor,
        sensor_count=vehicle.sensor_count,
        status=vehicle.status,
        additional_info=vehicle.additional_info,
        model_year=None if vehicle.model_year is None else number(vehicle.model_year),
        usage=vehicle.usage,
        category=vehicle.category,
        mission_type=vehicle.mission_type,
        fuel_type=vehicle.fuel_type,
        displacement=number(vehicle.displacement),
        mileage=number(vehicle.mileage),
        delegate_user_count=vehicle.delegate_user_count,
        last_trip_msg_type=vehicle.last_trip_msg_type,
    )
