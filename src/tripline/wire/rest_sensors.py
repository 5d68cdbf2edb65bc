"""JSON of sensors: what requests carry and what records look like, field by field.

Follows the interface specification (Resources and fields), in its order, with the additions of client-surface 8.5.
Unset ids are the placeholder, other unset values null. Not here: which values are allowed (`domain/`), how a request
is read (`rest_reading.py`).
"""

import msgspec
from msgspec import UnsetType

from tripline.domain.sensors import Sensor
from tripline.wire.rest import Id, id_or_unset
from tripline.wire.rest_reading import if_set


class SensorRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a sensor."""

    serial_no: str | None = None
    credentials_id: str | None = None
    vendor: str | None = None
    type: str | None = None
    activation_required: bool | None = None
    mission_type: str | None = None
    additional_info: str | None = None


class SensorRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A sensor; `missionType` is there only when it was sent."""

    id: Id
    created_time: int
    vehicle_id: Id
    company_id: Id
    director_id: Id
    status: str
    vendor: str | None
    type: str
    additional_info: str | None
    last_trip_msg_type: str | None
    activation_required: bool
    vehicle_no: str | None
    serial_no: str
    credentials_id: str | None
    mission_type: str | UnsetType


def sensor_record(sensor: Sensor) -> SensorRecord:
    """The record."""
    return SensorRecord(
        id=Id(sensor.id),
        created_time=sensor.created_ms,
        vehicle_id=id_or_unset(sensor.vehicle_id),
        company_id=Id(sensor.company_id),
        director_id=id_or_unset(sensor.director_id),
        status=sensor.status,
        vendor=sensor.vendor,
        type=sensor.type,
        additional_info=sensor.additional_info,
        last_trip_msg_type=sensor.last_trip_msg_type,
        activation_required=sensor.activation_required,
        vehicle_no=sensor.vehicle_no,
        serial_no=sensor.serial_no,
        credentials_id=sensor.credentials_id,
        mission_type=if_set(sensor.mission_type),
    )
