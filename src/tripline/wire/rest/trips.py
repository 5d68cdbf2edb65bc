"""JSON of stored trips and microtrips, as real clients read it (spec/rest 6, 8.1, 8.2).

Ids are objects and never null, a payload is an object (microtrips: or an array) or null, text times are in the zone of
the settings.
"""

from datetime import tzinfo
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tripline.domain import ids, instants
from tripline.domain.stored_trips import JudgedTrip, StoredMicrotrip, StoredTrip
from tripline.scoring import quality as scoring_quality
from tripline.wire.described import about
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.device import values as device_values
from tripline.wire.rest import examples, quality
from tripline.wire.rest.base import Id, record_of

Sender = Annotated[Id, about("the sensor that sent it; the placeholder when it was deleted since", examples.SENSOR)]


class TripRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A trip; `endTs` and `endDt` are null while it is open."""

    id: Annotated[Id, about("id of the trip", examples.TRIP)]
    created_time: Annotated[int, about("when the record was made, epoch ms: at the first sample", 1735689600000)]
    company_id: Annotated[Id, about("the company that owns the vehicle", examples.COMPANY)]
    vehicle_id: Annotated[Id, about("the vehicle; the placeholder when the sensor was on none", examples.VEHICLE)]
    sensor_id: Sender
    user_id: Annotated[Id, about("who drove at the start; the placeholder when nobody was set", examples.PERSON)]
    device_type: Annotated[str, about("sort of the device: GPS, OBD, ADAS, BLACKBOX, DTAG, DTG or AVN", "GPS")]
    service_type: Annotated[str, about("the service of the company", "ace")]
    start_ts: Annotated[int | None, about("start, epoch ms; null when the device gave none", 1735689600000)]
    end_ts: Annotated[int | None, about("end, epoch ms; null while the trip is open", 1735693800000)]
    start_dt: Annotated[str | None, about("start as text in the zone of the service", "2025-01-01 09:00:00")]
    end_dt: Annotated[
        str | None, about("end as text in the zone of the service; null while the trip is open", "2025-01-01 10:10:00")
    ]
    payload: Annotated[
        msgspec.Raw | None,
        Meta(
            description="the trip message as sent; null until there is one",
            examples=[{"tid": 1, "dis": 49162}],
            extra_json_schema={"type": ["object", "null"]},
        ),
    ]


class JudgedTripRecord(TripRecord, rename="camel", kw_only=True):
    """A trip by its id, with further results of its judgement."""

    not_scored: Annotated[
        str | None,
        about(
            "why the trip has no score: device_type, unmapped, parking, clock, no_samples, no_position,"
            " sparse, speed_implausible, too_short, annulled, duplicate; null when it has one or still waits for it",
            "too_short",
        ),
    ]
    limit_known: Annotated[float | None, quality.LIMIT_KNOWN]
    harsh_known: Annotated[bool | None, quality.HARSH_KNOWN]
    quality: Annotated[
        quality.DataQuality | None, about("how good its samples were; null: it was not judged", quality.EXAMPLE)
    ]


class MicrotripRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A microtrip message."""

    id: Annotated[Id, about("id of the microtrip", examples.EVENT)]
    created_time: Annotated[int, about("when the record was made, epoch ms", 1735689660000)]
    trip_id: Annotated[Id, about("the trip it belongs to", examples.TRIP)]
    sensor_id: Sender
    vehicle_id: Annotated[Id, about("the vehicle; the placeholder when the sensor was on none", examples.VEHICLE)]
    company_id: Annotated[Id, about("the company that owns the vehicle", examples.COMPANY)]
    device_type: Annotated[str, about("sort of the device: GPS, OBD, ADAS, BLACKBOX, DTAG, DTG or AVN", "GPS")]
    ts: Annotated[int, about("time of the message, epoch ms", 1735689660000)]
    payload: Annotated[
        msgspec.Raw,
        Meta(
            description="one sample, or a list of them, as sent",
            examples=[{"lat": 37.5665, "lon": 126.978, "sp": 42}],
            extra_json_schema={"type": ["object", "array"]},
        ),
    ]


def trip_record(trip: StoredTrip, zone: tzinfo) -> TripRecord:
    """The record, with text times in the zone."""
    return record_of(TripRecord, trip, **_texts(trip, zone))


def _texts(trip: StoredTrip, zone: tzinfo) -> dict[str, Any]:
    payload = trip.payload
    if payload is not None:
        payload = device_answered_payloads.coerced(payload, ty=trip.message_ty or 0, device_type=trip.device_type)
    return {
        "start_dt": local_time(trip.start_ms, zone),
        "end_dt": local_time(trip.end_ms, zone),
        "payload": None if payload is None else msgspec.Raw(payload),
    }


def judged_trip_record(trip: JudgedTrip, zone: tzinfo) -> JudgedTripRecord:
    """The record, with the reason for a missing score and the quality of its samples."""
    found = None if trip.quality is None else scoring_quality.read(trip.quality)
    return record_of(
        JudgedTripRecord,
        trip,
        **_texts(trip, zone),
        limit_known=None if found is None else found.limits.known,
        harsh_known=None if found is None else found.harsh_known,
        quality=None if found is None else quality.data_quality(found),
    )


def microtrip_record(microtrip: StoredMicrotrip) -> MicrotripRecord:
    """The record; an invalid header `ts` (T1, T2) is replaced by the time of creation."""
    created_ms = ids.ms_of_no(microtrip.no)
    sent_ms = device_values.instant(microtrip.ts, created_ms)
    payload = device_answered_payloads.coerced(microtrip.payload, ty=microtrip.ty, device_type=microtrip.device_type)
    return record_of(
        MicrotripRecord,
        microtrip,
        created_time=created_ms,
        ts=created_ms if sent_ms is None else sent_ms,
        payload=msgspec.Raw(payload),
    )


def local_time(at_ms: int | None, zone: tzinfo) -> str | None:
    """The instant as `YYYY-MM-DD HH:MM:SS` in the zone, milliseconds cut off; None for none."""
    if at_ms is None:
        return None
    return f"{instants.local(at_ms, zone):%Y-%m-%d %H:%M:%S}"
