"""Stored trips, microtrips and device events, as they are read back.

Follows gaps G2, G3, G4 and H9; client-surface 8.1 to 8.3. A sensor id is None when the sensor was deleted since.

Not here: the life of a trip (`trips`), rows (`store/journeys.py`), JSON (`wire/rest_trips.py`).
"""

from dataclasses import dataclass

from tripline.domain.ids import CompanyId, RecordId, SensorId, TripId, UserId, VehicleId


@dataclass(frozen=True, slots=True)
class StoredTrip:
    """One trip; unset ids are None."""

    id: TripId
    created_ms: int
    company_id: CompanyId
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    user_id: UserId | None
    """Who drove when it began."""
    device_type: str
    service_type: str
    start_ms: int | None
    end_ms: int | None
    """None while it is open."""
    message_ty: int | None
    """`ty` of the trip message, as sent."""
    payload: bytes | None
    """JSON of the trip message's `pld`, as sent; None until it came."""


@dataclass(frozen=True, slots=True)
class StoredMicrotrip:
    """One microtrip message, with what it shares with its trip."""

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


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One device event; unset ids are None."""

    no: int
    """Row number; also says when it was created."""
    id: RecordId
    company_id: CompanyId
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    trip_id: TripId | None
    user_id: UserId | None
    """Who drove."""
    device_type: str
    ty: int
    event_ms: int
    payload: bytes
    """JSON of `pld`, as sent."""
    lat: float | None
    lon: float | None
