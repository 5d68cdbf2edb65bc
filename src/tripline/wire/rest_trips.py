"""JSON of stored trips and microtrips, as real clients read it (client-surface 6, 8.1, 8.2).

Ids are objects and never null, a payload is an object (microtrips: or an array) or null, text times are in the zone of
the settings.

Not here: how a payload's values are coerced (`device_answers.py`).
"""

from datetime import datetime, tzinfo

import msgspec

from tripline.domain import ids
from tripline.domain.journeys import StoredMicrotrip, StoredTrip
from tripline.wire import device_answers, device_values
from tripline.wire.rest import Id, id_or_unset


class TripRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A trip; `endTs` and `endDt` are null while it is open."""

    id: Id
    created_time: int
    company_id: Id
    vehicle_id: Id
    sensor_id: Id
    user_id: Id
    device_type: str
    service_type: str
    start_ts: int | None
    end_ts: int | None
    start_dt: str | None
    end_dt: str | None
    payload: msgspec.Raw | None


class MicrotripRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A microtrip message."""

    id: Id
    created_time: int
    trip_id: Id
    sensor_id: Id
    vehicle_id: Id
    company_id: Id
    device_type: str
    ts: int
    payload: msgspec.Raw


def trip_record(trip: StoredTrip, zone: tzinfo) -> TripRecord:
    """The record, with text times in the zone."""
    return TripRecord(
        id=Id(trip.id),
        created_time=trip.created_ms,
        company_id=Id(trip.company_id),
        vehicle_id=id_or_unset(trip.vehicle_id),
        sensor_id=Id(trip.sensor_id),
        user_id=id_or_unset(trip.user_id),
        device_type=trip.device_type,
        service_type=trip.service_type,
        start_ts=trip.start_ms,
        end_ts=trip.end_ms,
        start_dt=local_time(trip.start_ms, zone),
        end_dt=local_time(trip.end_ms, zone),
        payload=None
        if trip.payload is None
        else msgspec.Raw(device_answers.coerced(trip.payload, ty=trip.message_ty or 0, device_type=trip.device_type)),
    )


def microtrip_record(microtrip: StoredMicrotrip) -> MicrotripRecord:
    """The record; for a header `ts` that is no time (T1, T2) the time of creation stands in."""
    created_ms = ids.ms_of_no(microtrip.no)
    sent_ms = device_values.instant(microtrip.ts, created_ms)
    return MicrotripRecord(
        id=Id(microtrip.id),
        created_time=created_ms,
        trip_id=Id(microtrip.trip_id),
        sensor_id=Id(microtrip.sensor_id),
        vehicle_id=id_or_unset(microtrip.vehicle_id),
        company_id=Id(microtrip.company_id),
        device_type=microtrip.device_type,
        ts=created_ms if sent_ms is None else sent_ms,
        payload=msgspec.Raw(
            device_answers.coerced(microtrip.payload, ty=microtrip.ty, device_type=microtrip.device_type)
        ),
    )


def local_time(at_ms: int | None, zone: tzinfo) -> str | None:
    """The instant as `YYYY-MM-DD HH:MM:SS` in the zone, milliseconds cut off; None for none."""
    if at_ms is None:
        return None
    return f"{datetime.fromtimestamp(at_ms // 1000, zone):%Y-%m-%d %H:%M:%S}"
