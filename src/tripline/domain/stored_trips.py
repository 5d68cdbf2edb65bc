"""Stored trips, microtrips and device events, as they are read back.

Follows spec/gaps G2, G3, G4 and H9; spec/rest 8.1 to 8.3. A sensor id is None when the sensor was deleted.
"""

import msgspec

from tripline.domain.ids import CompanyId, RecordId, SensorId, TripId, UserId, VehicleId


class StoredTrip(msgspec.Struct, frozen=True):
    """One trip; unset ids are None."""

    id: TripId
    created_ms: int
    company_id: CompanyId
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    user_id: UserId | None
    """The driver when it began."""
    device_type: str
    service_type: str
    start_ms: int | None
    end_ms: int | None
    """None while it is open."""
    message_ty: int | None
    """`ty` of the trip message, as sent."""
    payload: bytes | None
    """JSON of the trip message's `pld`, as sent; None until it came."""
    not_scored: str | None
    """Why it has no score; None: it has one, or waits for it."""


class JudgedTrip(StoredTrip, frozen=True):
    """One trip with the further results of its judgement."""

    quality: bytes | None
    """JSON of how good its samples were (`scoring/quality.py`); None: it was not judged."""


class StoredMicrotrip(msgspec.Struct, frozen=True):
    """One microtrip message, with the fields that it shares with its trip."""

    no: int
    """Row number; also says when it was created."""
    id: RecordId
    ts: int | None
    """Header `ts`, as sent."""
    ty: int
    payload: bytes
    """JSON of `pld`, as sent: an object or an array of objects."""
    trip_id: TripId
    sensor_id: SensorId | None
    vehicle_id: VehicleId | None
    company_id: CompanyId
    device_type: str


class StoredEvent(msgspec.Struct, frozen=True):
    """One device event; unset ids are None."""

    no: int
    """Row number; also says when it was created."""
    id: RecordId
    company_id: CompanyId
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    trip_id: TripId | None
    user_id: UserId | None
    """The driver."""
    device_type: str
    ty: int
    event_ms: int
    payload: bytes
    """JSON of `pld`, as sent."""
    lat: float | None
    lon: float | None
