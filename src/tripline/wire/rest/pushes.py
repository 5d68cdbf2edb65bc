"""JSON of messages to a company's own server: waiting and parked messages, and the secret. An addition to the
interface."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tripline.domain import ids, pushes
from tripline.domain.pushes import Mute, Parked
from tripline.domain.refusals import BadParameter
from tripline.wire.rest.base import Id, id_or_unset

IDS_MAX: Final = 1_000
"""Maximum number of messages named in one request."""
_EXAMPLE: Final = "d3f1c2a0-c803-11ef-9d5c-6b1f6f2a4c11"
_ID: Final[dict[str, object]] = {"examples": [{"id": _EXAMPLE}]}


class MuteReceiver(msgspec.Struct, rename="camel", kw_only=True):
    """A server that takes messages and never answers."""

    channel: Annotated[str, Meta(description="its address: notify (`notifyHost`) or rpcNotify", examples=["notify"])]
    state: Annotated[str, Meta(description="what it does, in words", examples=[pushes.MUTE])]
    since_time: Annotated[int, Meta(description="since when, epoch ms", examples=[1735689602000])]
    unconfirmed: Annotated[
        int, Meta(description="messages that were delivered to it and never confirmed", examples=[40])
    ]


class PushCounts(msgspec.Struct, rename="camel", kw_only=True):
    """The state of sending to the company's server."""

    waiting: Annotated[int, Meta(description="messages that are yet to be delivered", examples=[3])]
    parked: Annotated[int, Meta(description="messages that were given up; they are kept for some time", examples=[12])]
    unconfirmed: Annotated[
        int,
        Meta(
            description="messages that a server took without answering; they are kept for some time, and sent again as"
            " soon as it answers",
            examples=[40],
        ),
    ]
    mute: Annotated[
        list[MuteReceiver],
        Meta(
            description="servers that take messages and never answer",
            examples=[
                [{"channel": "notify", "state": pushes.MUTE, "sinceTime": 1735689602000, "unconfirmed": 40}],
            ],
        ),
    ]
    oldest_time: Annotated[
        int | None,
        Meta(
            description="since when the oldest waiting message waits, epoch ms; null while none does",
            examples=[1735689602000],
        ),
    ]
    last_error: Annotated[
        str | None,
        Meta(
            description="why the oldest that wait could not be delivered, or else why the newest of those was given up;"
            " null while nothing failed",
            examples=["HTTP status 410."],
        ),
    ]


class ParkedPush(msgspec.Struct, rename="camel", kw_only=True):
    """A parked message."""

    id: Annotated[Id, Meta(description="its `webhook-id`", extra_json_schema=_ID)]
    channel: Annotated[
        str, Meta(description="the address it goes to: notify (`notifyHost`) or rpcNotify", examples=["notify"])
    ]
    sensor_id: Annotated[Id, Meta(description="the sensor it is about", extra_json_schema=_ID)]
    selector: Annotated[int, Meta(description="number of `notifyMsgType` that selected it", examples=[2])]
    request_id: Annotated[
        Id, Meta(description="Request-ID of the call whose result goes to rpcNotify; else unset", extra_json_schema=_ID)
    ]
    created_time: Annotated[int, Meta(description="when it was made, epoch ms", examples=[1735689602000])]
    parked_time: Annotated[int, Meta(description="when it was given up, epoch ms", examples=[1735776002000])]
    attempts: Annotated[int, Meta(description="how often it was tried since it was last put in line", examples=[28])]
    last_error: Annotated[
        str | None, Meta(description="what came of the last attempt", examples=["No status line came in time."])
    ]


class Resend(msgspec.Struct, rename="camel", kw_only=True):
    """The parked messages to send again; without a field, all of them."""

    ids: Annotated[
        list[str] | None,
        Meta(description="ids of messages, 1000 at most; all when absent", examples=[[_EXAMPLE]]),
    ] = None
    sensor_id: Annotated[
        str | None,
        Meta(description="only messages about this sensor", examples=["c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"]),
    ] = None
    unconfirmed: Annotated[
        bool | None,
        Meta(
            description="true: messages that were delivered and never confirmed, instead of those that were given up",
            examples=[False],
        ),
    ] = None


class Resent(msgspec.Struct, rename="camel", kw_only=True):
    """The messages that a request sends again."""

    count: Annotated[
        int,
        Meta(description="messages that were given up, or never confirmed, and are in line again", examples=[12]),
    ]
    released: Annotated[
        int,
        Meta(description="messages that were waiting already, whose pauses end with the request", examples=[449]),
    ]


class PushSecret(msgspec.Struct, rename="camel", kw_only=True):
    """The secret that signs the messages, in the form of Standard Webhooks libraries."""

    secret: Annotated[
        str,
        Meta(
            description="`whsec_` and the base64 of 32 bytes",
            examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="],
        ),
    ]
    created_time: Annotated[int, Meta(description="when it was made, epoch ms", examples=[1735689602000])]
    former_until: Annotated[
        int | None,
        Meta(
            description="until when the secret before signs too, epoch ms; null when none does",
            examples=[1735776002000],
        ),
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
    return ParkedPush(
        id=Id(message.id),
        channel=message.channel.published,
        sensor_id=Id(message.sensor_id),
        selector=message.selector,
        request_id=id_or_unset(message.request_id),
        created_time=message.created_ms,
        parked_time=message.parked_ms,
        attempts=message.attempts,
        last_error=message.last_error,
    )


def resent_ids(sent: Resend) -> list[str] | None:
    """The ids that a request names, canonical. Raises `BadParameter`."""
    if sent.ids is None:
        return None
    if len(sent.ids) > IDS_MAX:
        raise BadParameter("ids_many", field="ids", most=IDS_MAX)
    return [_uuid("ids", text) for text in sent.ids]


def resent_sensor(sent: Resend) -> str | None:
    """The sensor that a request names, canonical. Raises `BadParameter`."""
    return _uuid("sensorId", sent.sensor_id) if sent.sensor_id else None


def _uuid(name: str, text: str) -> str:
    known = ids.canonical(text)
    if known is None:
        raise BadParameter("uuid", field=name)
    return known
