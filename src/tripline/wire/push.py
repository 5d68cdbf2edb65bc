"""JSON of messages to customers' servers: one envelope for all messages to `notifyHost` (spec/push 4.2).

Ids are bare UUID texts; an unset vehicle is the placeholder.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import ids
from tripline.domain.disputes import Reason, State
from tripline.domain.ids import CompanyId, SensorId, TripId
from tripline.wire.described import about
from tripline.wire.device import values as device_values


class Notice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message; device messages with a number have `msg_ty`, results of RPC have `request_id`."""

    master_company_id: Annotated[
        CompanyId, about("operator of the service type", "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11")
    ]
    company_id: Annotated[CompanyId, about("owner of the sensor", "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11")]
    sensor_id: Annotated[SensorId, about("the sensor", "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")]
    vehicle_id: Annotated[
        str,
        about(
            f"vehicle that the sensor is on; `{ids.PLACEHOLDER}` when it is on none",
            "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11",
        ),
    ]
    ts: Annotated[int, about("time of the message, epoch ms; of receipt when it had none", 1735689602000)]
    ty: Annotated[str, about("name of the kind of message", "MICROTRIP")]
    msg_ty: Annotated[int | UnsetType, about("number that the device sent (trips, microtrips, events)", 2)] = UNSET
    request_id: Annotated[
        str | UnsetType, about("id of the call (results of RPC)", "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71")
    ] = UNSET
    pld: Annotated[msgspec.Raw, about("the content, by kind of message")]


class Connection(msgspec.Struct, frozen=True, rename="camel"):
    """The payload of a CONNECTION message."""

    connected: Annotated[bool, about("whether the device came or went", True)]


class NetworkStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The payload of a NWSTATUS message."""

    nw_status: Annotated[str, about("state of the line, two digits", "01")]


class Dispute(msgspec.Struct, frozen=True, rename="camel"):
    """The payload of a DISPUTE message: the disputed event or trip and the state, without persons or texts."""

    dispute_id: Annotated[str, about("id of the dispute", "5d0e4b60-c802-11ef-9d5c-6b1f6f2a4c11")]
    trip_id: Annotated[TripId, about("id of the trip", "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11")]
    state: Annotated[State, about("where it stands now", "OPEN")]
    reason: Annotated[Reason, about("why it is disputed", "TRAFFIC")]
    event_ty: Annotated[int | None, about("type of the GPS event, 1 to 5; null: the whole trip", 3)]
    event_ts: Annotated[int | None, about("when that event was strongest, epoch ms", 1735691234000)]


def payload(value: msgspec.Struct) -> msgspec.Raw:
    """Encode a value for `pld`; a payload stored as JSON bytes goes in as `msgspec.Raw`."""
    return msgspec.Raw(msgspec.json.encode(value))


def message_ms(ts: int | None, received_ms: int) -> int:
    """Time of a device's message: its header's `ts`, or its receipt when that is missing or invalid (T1, T2)."""
    sent_ms = device_values.instant(ts, received_ms)
    return received_ms if sent_ms is None else sent_ms


def body(notice: Notice) -> bytes:
    """The request's body."""
    return msgspec.json.encode(notice)
