"""JSON of a sensor's latest values (spec/rest 8.4)."""

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain.ids import SensorId
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.wire.described import about, example_of
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.rest import examples
from tripline.wire.rest import trips as rest_trips
from tripline.wire.rest.base import Id

_MICROTRIP: Final = example_of(rest_trips.MicrotripRecord) | {
    "id": {"id": "1a2b3c40-c802-11ef-9d5c-6b1f6f2a4c11"},
    "createdTime": 1735689600000,
    "ts": 1735689600000,
    "payload": {"tid": 1, "lat": 35.1577, "lon": 129.0591, "sp": 38, "clt": 1735689600000},
}


class LatestRecord(msgspec.Struct, rename="camel", kw_only=True):
    """The latest known state of a sensor."""

    sensor_id: Annotated[Id, about("id of the sensor", examples.SENSOR)]
    connected: Annotated[bool, about("whether the device is connected now", True)]
    last_seen_time: Annotated[
        int | None,
        about(
            "when the platform last heard of the device, epoch ms; anything counts that it sends, also a "
            "ping; null: never",
            1735689600000,
        ),
    ]
    last_disconnect_time: Annotated[
        int | UnsetType,
        about(
            "when its last connection ended, epoch ms, unless a new one of the same device took over; absent: none has",
            1735689500000,
        ),
    ] = UNSET
    last_disconnect_reason: Annotated[
        str | UnsetType,
        about(
            "why it ended: disconnected (the device said so), lost (the network), silent (nothing for 1.5 "
            "keep-alives), protocol_error, slow_reader (it did not read its answers), credential_ended (its token was "
            "changed), store_away, server_stopping, server_lost (a server that was killed; the time is when the "
            "device was last heard of), error",
            "silent",
        ),
    ] = UNSET
    last_microtrip: Annotated[
        rest_trips.MicrotripRecord | None,
        about(
            "its newest microtrip; null when there is none, or its vehicle is outside the caller's reach", _MICROTRIP
        ),
    ]
    attributes: Annotated[
        dict[str, msgspec.Raw],
        about(
            "newest payload of each attribute event under its number, of the capability report under `cm`,"
            " and of what is not interpreted under `latest`",
            {"104": {"wbv": 11.4}, "latest": {"fw": "1.2"}},
        ),
    ]


def latest_record(
    sensor_id: SensorId,
    *,
    connected: bool,
    last_seen_ms: int | None,
    lost_ms: int | None,
    lost_reason: str | None,
    microtrip: StoredMicrotrip | None,
    attributes: Iterable[tuple[str, bytes]],
) -> LatestRecord:
    """The record; `attributes` are names and payloads as sent."""
    return LatestRecord(
        sensor_id=Id(sensor_id),
        connected=connected,
        last_seen_time=last_seen_ms,
        last_disconnect_time=UNSET if lost_ms is None else lost_ms,
        last_disconnect_reason=UNSET if lost_reason is None else lost_reason,
        last_microtrip=None if microtrip is None else rest_trips.microtrip_record(microtrip),
        attributes={name: msgspec.Raw(_shown(name, payload)) for name, payload in attributes},
    )


def _shown(name: str, payload: bytes) -> bytes:
    """The payload as in the event's own record; other payloads as sent."""
    return device_answered_payloads.coerced(payload, ty=int(name), device_type="") if name.isdecimal() else payload
