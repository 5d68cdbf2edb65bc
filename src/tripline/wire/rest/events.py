"""JSON of stored device events (spec/rest 8.3).

Ids are objects and never null, positions are numbers or null, the text time is in the zone of the settings.

Not here: the kinds of events (`wire/device/tables.py`), GPS events, which scoring finds (`scores.py`).
"""

from datetime import tzinfo
from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain import ids
from tripline.domain.device_messages import EVENTS_IN_WORDS
from tripline.domain.stored_trips import StoredEvent
from tripline.wire.described import about
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.rest import examples
from tripline.wire.rest import trips as rest_trips
from tripline.wire.rest.base import Id, record_of


class DeviceEventRecord(msgspec.Struct, rename="camel", kw_only=True):
    """An event reported by a device."""

    id: Annotated[Id, about("id of the event", {"id": "2f1b7a10-c802-11ef-9d5c-6b1f6f2a4c11"})]
    created_time: Annotated[int, about("when it was received, epoch ms", 1735689601000)]
    company_id: Annotated[Id, about("company of the sensor", examples.COMPANY)]
    vehicle_id: Annotated[Id, about("vehicle that the sensor was on; placeholder: none", examples.VEHICLE)]
    sensor_id: Annotated[Id, about("sensor; placeholder: it was deleted", examples.SENSOR)]
    trip_id: Annotated[Id, about("trip that it happened on; placeholder: none", examples.NOTHING)]
    user_id: Annotated[Id, about("who drove; placeholder: nobody known", examples.NOTHING)]
    device_type: Annotated[str, about("GPS, OBD, ADAS, BLACKBOX, DTAG, DTG or AVN", "OBD")]
    ty: Annotated[int, about(f"number of the event, {EVENTS_IN_WORDS} or another", 104)]
    event_ts: Annotated[int, about("when it happened, epoch ms", 1735689600000)]
    event_dt: Annotated[str, about("the same instant in the service's time zone", "2025-01-01 09:00:00")]
    payload: Annotated[
        msgspec.Raw,
        Meta(
            description="what the device sent about it, as sent",
            examples=[{"wbv": 11.4}],
            extra_json_schema={"type": "object"},
        ),
    ]
    pos_lat: Annotated[float | None, about("latitude, degrees; null: not sent", 35.1577)]
    pos_lon: Annotated[float | None, about("longitude, degrees; null: not sent", 129.0591)]


def device_event_record(event: StoredEvent, zone: tzinfo) -> DeviceEventRecord:
    """The record, with the text time in the zone."""
    return record_of(
        DeviceEventRecord,
        event,
        created_time=ids.ms_of_no(event.no),
        event_dt=rest_trips.local_time(event.event_ms, zone),
        payload=msgspec.Raw(
            device_answered_payloads.coerced(event.payload, ty=event.ty, device_type=event.device_type)
        ),
        pos_lat=event.lat,
        pos_lon=event.lon,
    )
