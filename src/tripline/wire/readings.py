"""Readings: a device's publish in the program's terms, without the short wire keys.

`wire/device/publish.py` makes these from bytes; `services/ingest` places and stores them. They are structs without
garbage-collector tracking, because ten thousand of them are made per second.
"""

import msgspec


class Microtrip(msgspec.Struct, gc=False):
    """One periodic message, or one run of equal `tid` inside an aggregate: becomes one stored record."""

    ty: int
    """Message number as sent."""
    device_type: str
    """GPS, OBD, ADAS, BLACKBOX, DTAG, DTG or AVN, after classification."""
    ts: int | None
    """Header `ts` as sent when it is a whole number: half of the key of a redelivery (O3)."""
    tid: int | None
    parking: bool
    payload: bytes
    """JSON of `pld` as sent (object, or array of the objects of this run)."""
    samples: bytes
    """`domain.samples` records in the order sent, one for each object."""
    first_ms: int
    last_ms: int
    """Smallest and largest sample time of the items (epoch ms)."""


class Trip(msgspec.Struct, gc=False, kw_only=True):
    """A trip message."""

    ty: int
    device_type: str
    ts: int | None
    tid: int | None
    parking: bool
    start_ms: int | None
    """`stt` when valid."""
    end_ms: int | None
    """`edt`, else `clt`, when valid."""
    header_ms: int | None
    """Header `ts` when it is a valid instant: last resort for start and end (T5)."""
    distance_m: float | None
    """`dis` when present and > 0 (D9)."""
    payload: bytes


class DeviceEvent(msgspec.Struct, gc=False, kw_only=True):
    """A device event."""

    ty: int
    """Event number after classification."""
    sent_ty: int | None
    device_type: str
    ts: int | None
    tid: int | None
    event_ms: int
    lat: float | None
    lon: float | None
    payload: bytes
    is_attribute: bool
    """Class Attributes: also updates the sensor's latest values under its number."""


class LatestValues(msgspec.Struct, gc=False, kw_only=True):
    """A body other than an event: updates the sensor's latest values under `name` (`latest` or `cm`)."""

    name: str
    payload: bytes


class Rejected(msgspec.Struct, gc=False, kw_only=True):
    """Unusable data, with the reason (a stable short word) and a sentence for the device maker."""

    reason: str
    detail: str
    body: bytes


class RpcAnswer(msgspec.Struct, gc=False, kw_only=True):
    """A device's answer to a call: its acknowledgement, or its result. The body is as sent, in any form."""

    is_result: bool
    request_id: str
    """Last level of the topic, as sent."""
    body: bytes


Usable = Microtrip | Trip | DeviceEvent | LatestValues
Reading = Usable | Rejected
