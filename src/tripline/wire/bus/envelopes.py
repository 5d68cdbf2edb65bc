"""Messages on the bus of a customer's own collecting system: the documented envelopes (spec/bus-messages 1 to 3).

Payloads have the form of device payloads. The structs describe the published form and dead letters; `reader.py` reads
real messages, with all tolerance.
"""

import base64
from typing import Annotated, Any, Final

import msgspec

from tripline.domain.device_messages import EVENTS_IN_WORDS
from tripline.wire.described import about

MICROTRIPS: Final = "sf-microtrip"
TRIPS: Final = "sf-trip"
EVENTS: Final = "sf-event"

_COMPANY: Final = "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11"
_TRIP: Final = "0d3b6a00-c7d3-11ef-b1a8-27c5d9c1f0a2"
_LOCAL: Final = "text in the service's zone, or epoch ms; read when the number beside it is missing"

Payload = Annotated[
    str | dict[str, Any] | list[dict[str, Any]],
    about(
        "the record of the device type as JSON text, or as an object or array",
        '{"tid":88,"lat":37.497952,"lon":127.027619,"sp":43,"clt":1735689600000}',
    ),
]
Driver = Annotated[
    str | None, about("driver, bare UUID; the placeholder when nobody is known", "13814000-1dd2-11b2-8080-808080808080")
]
DeviceType = Annotated[str, about("device type: GPS, OBD, ADAS, BLACKBOX, DTAG, DTG, AVN", "OBD")]


class Common(msgspec.Struct, rename="camel", kw_only=True):
    """Fields common to every message's `data`."""

    payload: Payload
    sensor_id: Annotated[str, about("the registered sensor, bare UUID", "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")]
    device_type: DeviceType | None = None
    company_id: Annotated[
        str | None, about("owner of the sensor, bare UUID; `companyID` is read as well", _COMPANY)
    ] = None
    vehicle_id: Annotated[
        str | None, about("vehicle that the sensor is mounted in, bare UUID", "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11")
    ] = None
    created_time: Annotated[int | None, about("when the customer's system took it in, epoch ms", 1735689604310)] = None


class MicrotripData(Common, kw_only=True):
    """Samples of a drive."""

    trip_id: Annotated[str, about("the customer's id of the trip, bare UUID", _TRIP)]
    micro_trip_id: Annotated[
        str | None, about("the customer's id of the record; made when absent", _TRIP.replace("0d3", "0fd"))
    ] = None
    ts: Annotated[int | None, about("time of collection, epoch ms", 1735689602000)] = None
    date: Annotated[
        str | int | None, about("time of sending in the service's zone; never used for ordering", "2025-01-01T09:00")
    ] = None


class TripData(Common, kw_only=True):
    """A finished drive."""

    trip_id: Annotated[str, about("the customer's id of the trip, bare UUID", _TRIP)]
    start_ts: Annotated[int | None, about("start of the trip, epoch ms", 1735689600000)] = None
    end_ts: Annotated[int | None, about("end of the trip, epoch ms", 1735690500000)] = None
    start_dt: Annotated[str | int | None, about(f"start: {_LOCAL}", "2025-01-01 09:00:00")] = None
    end_dt: Annotated[str | int | None, about(f"end: {_LOCAL}", "2025-01-01 09:15:00")] = None
    user_id: Driver = None


class EventData(Common, kw_only=True):
    """An event during a drive."""

    ty: Annotated[int | str | None, about(f"number of the event, {EVENTS_IN_WORDS}", 102)] = None
    event_id: Annotated[str | None, about("the customer's id of the event; made when absent", "ev-12")] = None
    event_ts: Annotated[int | None, about("time of the event, epoch ms", 1735689930000)] = None
    event_dt: Annotated[str | int | None, about(f"time of the event: {_LOCAL}", "2025-01-01 09:05:30")] = None
    trip_id: Annotated[str | None, about("the customer's id of the trip", _TRIP)] = None
    user_id: Driver = None


class LatestTrip(msgspec.Struct, rename="camel", kw_only=True):
    """The latest trip known to the customer's system; not needed."""

    device_type: DeviceType
    id: Annotated[str | None, about("its id, when it is known", _TRIP)] = None


class BusMicrotrip(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-microtrip`."""

    data: Annotated[MicrotripData | str, about("the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, about("`microtrip`, in any letter case", "microtrip")]


class BusTrip(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-trip`."""

    data: Annotated[TripData | str, about("the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, about("`trip`, in any letter case", "trip")]
    latest_trip: Annotated[LatestTrip | str | list[Any] | None, about("not needed, its content is ignored")] = None


class BusEvent(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-event`."""

    data: Annotated[EventData | str, about("the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, about("`event`, in any letter case", "event")]


ENVELOPES: Final[dict[str, type[msgspec.Struct]]] = {MICROTRIPS: BusMicrotrip, TRIPS: BusTrip, EVENTS: BusEvent}
"""Topic -> its message."""


class DeadLetter(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The form of an unusable message on the dead-letter topic."""

    topic: Annotated[str, about("where it was read", MICROTRIPS)]
    partition: Annotated[int | None, about("and in which partition", 0)]
    offset: Annotated[int | None, about("and at which offset", 1042)]
    reason: Annotated[str, about("why it cannot be used, a stable word", "unknown_sensor")]
    detail: Annotated[
        str, about("the same as a sentence for the sender's developer", "No sensor with this `sensorId` is registered.")
    ]
    body: Annotated[str | None, about("the message as it was, when it is text", "{}")] = None
    body_base64: Annotated[str | None, about("the message as it was, when it is no text")] = None
    cut: Annotated[bool, about("whether this is only its beginning, because it is too long")] = False


_BEGINNING: Final = 4_096
_LETTERS = msgspec.json.Encoder()


def dead_letter(
    *, topic: str, partition: int | None, offset: int | None, reason: str, detail: str, body: bytes, cut: bool
) -> bytes:
    """The letter as JSON, with only the beginning of a message that is `cut`."""
    kept = body[:_BEGINNING] if cut else body
    try:
        text = kept.decode()
    except UnicodeDecodeError:
        text = None
    letter = DeadLetter(
        topic=topic,
        partition=partition,
        offset=offset,
        reason=reason,
        detail=detail,
        body=text,
        body_base64=base64.b64encode(kept).decode() if text is None else None,
        cut=cut,
    )
    return _LETTERS.encode(letter)
