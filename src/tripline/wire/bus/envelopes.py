"""Messages on the bus of a customer's own collecting system: the documented envelopes (spec/bus-messages 1 to 3).

Payloads have the form of device payloads. The structs describe the published form and dead letters; `reader.py` reads
real messages, with all tolerance.
"""

import base64
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tripline.domain.device_messages import EVENTS_IN_WORDS

MICROTRIPS: Final = "sf-microtrip"
TRIPS: Final = "sf-trip"
EVENTS: Final = "sf-event"

_COMPANY: Final = "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11"
_TRIP: Final = "0d3b6a00-c7d3-11ef-b1a8-27c5d9c1f0a2"
_LOCAL: Final = "text in the service's zone, or epoch ms; read when the number beside it is missing"

Payload = Annotated[
    str | dict[str, Any] | list[dict[str, Any]],
    Meta(
        description="the record of the device type as JSON text, or as an object or array",
        examples=['{"tid":88,"lat":37.497952,"lon":127.027619,"sp":43,"clt":1735689600000}'],
    ),
]
DeviceType = Annotated[str, Meta(description="device type: GPS, OBD, ADAS, BLACKBOX, DTAG, DTG, AVN", examples=["OBD"])]


class Common(msgspec.Struct, rename="camel", kw_only=True):
    """Fields common to every message's `data`."""

    payload: Payload
    sensor_id: Annotated[
        str, Meta(description="the registered sensor, bare UUID", examples=["c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"])
    ]
    device_type: DeviceType | None = None
    company_id: Annotated[
        str | None,
        Meta(description="owner of the sensor, bare UUID; `companyID` is read as well", examples=[_COMPANY]),
    ] = None
    vehicle_id: Annotated[
        str | None,
        Meta(
            description="vehicle that the sensor is mounted in, bare UUID",
            examples=["d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"],
        ),
    ] = None
    created_time: Annotated[
        int | None, Meta(description="when the customer's system took it in, epoch ms", examples=[1735689604310])
    ] = None


class MicrotripData(Common, kw_only=True):
    """Samples of a drive."""

    trip_id: Annotated[str, Meta(description="the customer's id of the trip, bare UUID", examples=[_TRIP])]
    micro_trip_id: Annotated[
        str | None,
        Meta(description="the customer's id of the record; made when absent", examples=[_TRIP.replace("0d3", "0fd")]),
    ] = None
    ts: Annotated[int | None, Meta(description="time of collection, epoch ms", examples=[1735689602000])] = None
    date: Annotated[
        str | int | None,
        Meta(
            description="time of sending in the service's zone; never used for ordering", examples=["2025-01-01T09:00"]
        ),
    ] = None


class TripData(Common, kw_only=True):
    """A finished drive."""

    trip_id: Annotated[str, Meta(description="the customer's id of the trip, bare UUID", examples=[_TRIP])]
    start_ts: Annotated[int | None, Meta(description="start of the trip, epoch ms", examples=[1735689600000])] = None
    end_ts: Annotated[int | None, Meta(description="end of the trip, epoch ms", examples=[1735690500000])] = None
    start_dt: Annotated[str | int | None, Meta(description=f"start: {_LOCAL}", examples=["2025-01-01 09:00:00"])] = None
    end_dt: Annotated[str | int | None, Meta(description=f"end: {_LOCAL}", examples=["2025-01-01 09:15:00"])] = None
    user_id: Annotated[
        str | None,
        Meta(
            description="driver, bare UUID; the placeholder when nobody is known",
            examples=["13814000-1dd2-11b2-8080-808080808080"],
        ),
    ] = None


class EventData(Common, kw_only=True):
    """An event during a drive."""

    ty: Annotated[int | str | None, Meta(description=f"number of the event, {EVENTS_IN_WORDS}", examples=[102])] = None
    event_id: Annotated[
        str | None, Meta(description="the customer's id of the event; made when absent", examples=["ev-12"])
    ] = None
    event_ts: Annotated[int | None, Meta(description="time of the event, epoch ms", examples=[1735689930000])] = None
    event_dt: Annotated[
        str | int | None, Meta(description=f"time of the event: {_LOCAL}", examples=["2025-01-01 09:05:30"])
    ] = None
    trip_id: Annotated[str | None, Meta(description="the customer's id of the trip", examples=[_TRIP])] = None
    user_id: Annotated[
        str | None,
        Meta(
            description="driver, bare UUID; the placeholder when nobody is known",
            examples=["13814000-1dd2-11b2-8080-808080808080"],
        ),
    ] = None


class LatestTrip(msgspec.Struct, rename="camel", kw_only=True):
    """The latest trip known to the customer's system; not needed."""

    device_type: DeviceType
    id: Annotated[str | None, Meta(description="its id, when it is known", examples=[_TRIP])] = None


class BusMicrotrip(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-microtrip`."""

    data: Annotated[MicrotripData | str, Meta(description="the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, Meta(description="`microtrip`, in any letter case", examples=["microtrip"])]


class BusTrip(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-trip`."""

    data: Annotated[TripData | str, Meta(description="the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, Meta(description="`trip`, in any letter case", examples=["trip"])]
    latest_trip: Annotated[
        LatestTrip | str | list[Any] | None, Meta(description="not needed, its content is ignored")
    ] = None


class BusEvent(msgspec.Struct, rename="camel", kw_only=True):
    """A message on `sf-event`."""

    data: Annotated[EventData | str, Meta(description="the fields, as an object or as JSON text of one")]
    msg_type: Annotated[str, Meta(description="`event`, in any letter case", examples=["event"])]


ENVELOPES: Final[dict[str, type[msgspec.Struct]]] = {MICROTRIPS: BusMicrotrip, TRIPS: BusTrip, EVENTS: BusEvent}
"""Topic -> its message."""


class DeadLetter(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The form of an unusable message on the dead-letter topic."""

    topic: Annotated[str, Meta(description="where it was read", examples=[MICROTRIPS])]
    partition: Annotated[int | None, Meta(description="and in which partition", examples=[0])]
    offset: Annotated[int | None, Meta(description="and at which offset", examples=[1042])]
    reason: Annotated[str, Meta(description="why it cannot be used, a stable word", examples=["unknown_sensor"])]
    detail: Annotated[
        str,
        Meta(
            description="the same as a sentence for the sender's developer",
            examples=["No sensor with this `sensorId` is registered."],
        ),
    ]
    body: Annotated[str | None, Meta(description="the message as it was, when it is text", examples=["{}"])] = None
    body_base64: Annotated[str | None, Meta(description="the message as it was, when it is no text")] = None
    cut: Annotated[bool, Meta(description="whether this is only its beginning, because it is too long")] = False


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
