"""JSON of messages to a company's own server: waiting and parked messages, and the secret. An addition to the
interface."""

from typing import Annotated, Final

import msgspec

from tripline.domain import fields, pushes
from tripline.domain.pushes import Mute, Parked
from tripline.domain.refusals import BadParameter
from tripline.wire.described import about, example_of
from tripline.wire.rest.base import Id, record_of

IDS_MAX: Final = 1_000
"""Maximum number of messages named in one request."""
_EXAMPLE: Final = "d3f1c2a0-c803-11ef-9d5c-6b1f6f2a4c11"
_ID = {"id": _EXAMPLE}


class MuteReceiver(msgspec.Struct, rename="camel", kw_only=True):
    """A server that takes messages and never answers."""

    channel: Annotated[str, about("its address: notify (`notifyHost`) or rpcNotify", "notify")]
    state: Annotated[str, about("what it does, in words", pushes.MUTE)]
    since_time: Annotated[int, about("since when, epoch ms", 1735689602000)]
    unconfirmed: Annotated[int, about("messages that were delivered to it and never confirmed", 40)]


class PushCounts(msgspec.Struct, rename="camel", kw_only=True):
    """The state of sending to the company's server."""

    waiting: Annotated[int, about("messages that are yet to be delivered", 3)]
    parked: Annotated[int, about("messages that were given up; they are kept for some time", 12)]
    unconfirmed: Annotated[
        int,
        about(
            "messages that a server took without answering; they are kept for some time, and sent again as"
            " soon as it answers",
            40,
        ),
    ]
    mute: Annotated[
        list[MuteReceiver],
        about(
            "servers that take messages and never answer",
            [example_of(MuteReceiver)],
        ),
    ]
    oldest_time: Annotated[
        int | None, about("since when the oldest waiting message waits, epoch ms; null while none does", 1735689602000)
    ]
    last_error: Annotated[
        str | None,
        about(
            "why the oldest that wait could not be delivered, or else why the newest of those was given up;"
            " null while nothing failed",
            "HTTP status 410.",
        ),
    ]


class ParkedPush(msgspec.Struct, rename="camel", kw_only=True):
    """A parked message."""

    id: Annotated[Id, about("its `webhook-id`", _ID)]
    channel: Annotated[str, about("the address it goes to: notify (`notifyHost`) or rpcNotify", "notify")]
    sensor_id: Annotated[Id, about("the sensor it is about", _ID)]
    selector: Annotated[int, about("number of `notifyMsgType` that selected it", 2)]
    request_id: Annotated[Id, about("Request-ID of the call whose result goes to rpcNotify; else unset", _ID)]
    created_time: Annotated[int, about("when it was made, epoch ms", 1735689602000)]
    parked_time: Annotated[int, about("when it was given up, epoch ms", 1735776002000)]
    attempts: Annotated[int, about("how often it was tried since it was last put in line", 28)]
    last_error: Annotated[str | None, about("what came of the last attempt", "No status line came in time.")]


class Resend(msgspec.Struct, rename="camel", kw_only=True):
    """The parked messages to send again; without a field, all of them."""

    ids: Annotated[list[str] | None, about("ids of messages, 1000 at most; all when absent", [_EXAMPLE])] = None
    sensor_id: Annotated[
        str | None, about("only messages about this sensor", "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")
    ] = None
    unconfirmed: Annotated[
        bool | None,
        about("true: messages that were delivered and never confirmed, instead of those that were given up", False),
    ] = None


class Resent(msgspec.Struct, rename="camel", kw_only=True):
    """The messages that a request sends again."""

    count: Annotated[int, about("messages that were given up, or never confirmed, and are in line again", 12)]
    released: Annotated[int, about("messages that were waiting already, whose pauses end with the request", 449)]


class PushSecret(msgspec.Struct, rename="camel", kw_only=True):
    """The secret that signs the messages, in the form of Standard Webhooks libraries."""

    secret: Annotated[
        str, about("`whsec_` and the base64 of 32 bytes", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")
    ]
    created_time: Annotated[int, about("when it was made, epoch ms", 1735689602000)]
    former_until: Annotated[
        int | None, about("until when the secret before signs too, epoch ms; null when none does", 1735776002000)
    ]


def mute(receiver: Mute) -> MuteReceiver:
    """The record of a server that takes messages and never answers."""
    return MuteReceiver(
        channel=receiver.channel.published,
        state=pushes.MUTE,
        since_time=receiver.since_ms,
        unconfirmed=receiver.unconfirmed,
    )


def parked(message: Parked) -> ParkedPush:
    """The record of a parked message."""
    return record_of(ParkedPush, message, channel=message.channel.published)


def resent_ids(sent: Resend) -> list[str] | None:
    """The ids that a request names, canonical. Raises `BadParameter`."""
    if sent.ids is None:
        return None
    if len(sent.ids) > IDS_MAX:
        raise BadParameter("ids_many", field="ids", most=IDS_MAX)
    return [fields.uuid("ids", text) for text in sent.ids]
