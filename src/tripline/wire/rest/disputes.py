"""JSON of disputes of scores: opening, deciding, and the record. An addition to the interface."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain import disputes
from tripline.domain.disputes import Reason, State
from tripline.domain.fields import LONG_TEXT_MAX
from tripline.wire.rest.base import Id

_DISPUTE: list[object] = [{"id": "5d0e4b60-c802-11ef-9d5c-6b1f6f2a4c11"}]
_TRIP: list[object] = [{"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}]
_EVENT: list[object] = [{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}]
_ACCOUNT: list[object] = [{"id": "2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11"}]


class Contested(msgspec.Struct, frozen=True, rename="camel"):
    """The GPS event that a dispute is about."""

    id: Annotated[Id, Meta(description="its id when the dispute was opened", examples=_EVENT)]
    event_ty: Annotated[int, Meta(description="type of the event, 1 to 5", examples=[3])]
    event_ts: Annotated[int, Meta(description="when it was strongest, epoch ms", examples=[1735691234000])]
    begin_ts: Annotated[
        int, Meta(description="when the manoeuvre or the stretch over the limit began", examples=[1735691232000])
    ]
    end_ts: Annotated[int, Meta(description="when it ended", examples=[1735691235000])]


class Dispute(msgspec.Struct, frozen=True, rename="camel"):
    """A dispute of a score."""

    id: Annotated[Id, Meta(description="id of the dispute", examples=_DISPUTE)]
    created_time: Annotated[int, Meta(description="when it was opened, epoch ms", examples=[1735700000000])]
    trip_id: Annotated[Id, Meta(description="id of the trip", examples=_TRIP)]
    vehicle_id: Annotated[Id | None, Meta(description="id of its vehicle", examples=_TRIP)]
    driver_id: Annotated[
        Id | None,
        Meta(description="who drove; null: unknown, or hidden from an opener without the trip", examples=_ACCOUNT),
    ]
    opened_by: Annotated[Id | None, Meta(description="who opened it; null: deleted", examples=_ACCOUNT)]
    reason: Annotated[Reason, Meta(description="why it is contested", examples=["TRAFFIC"])]
    text: Annotated[str, Meta(description="in words", examples=["A child ran into the road."])]
    event: Annotated[Contested | None, Meta(description="the event; null: the whole trip", examples=[None])]
    state: Annotated[State, Meta(description="where it is", examples=["OPEN"])]
    decided_time: Annotated[int | None, Meta(description="when it left OPEN, epoch ms", examples=[None])]
    decided_by: Annotated[Id | None, Meta(description="who decided or withdrew it", examples=[None])]
    answer: Annotated[str | None, Meta(description="what was said to it", examples=[None])]
    score_before: Annotated[float | None, Meta(description="score of the trip when it was decided", examples=[None])]
    score_after: Annotated[
        float | None,
        Meta(description="score of the trip without it; null: none, or not scored anew yet", examples=[None]),
    ]
    rescored_time: Annotated[
        int | None, Meta(description="when the trip was scored without it, epoch ms", examples=[None])
    ]
    mail: Annotated[bool, Meta(description="whether a mail tells who opened it of the decision", examples=[True])]


class Disputes(msgspec.Struct, frozen=True, rename="camel"):
    """The disputes of a trip."""

    data: Annotated[list[Dispute], Meta(description="the oldest first", examples=[[]])]


class OpenDispute(msgspec.Struct, rename="camel", kw_only=True):
    """The contested event or trip, and the reason."""

    event_id: Annotated[
        str | None,
        Meta(
            description="id of a GPS event of the trip; without it: the whole trip",
            examples=["6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"],
        ),
    ] = None
    reason: Annotated[
        str | None,
        Meta(
            description="NOT_DRIVER: somebody else drove; DEVICE: the device was wrong; LIMIT: the limit was another; "
            "TRAFFIC: traffic left no choice; OTHER",
            examples=["TRAFFIC"],
        ),
    ] = None
    text: Annotated[
        str | None,
        Meta(description=f"in words, up to {LONG_TEXT_MAX:,} characters", examples=["A child ran into the road."]),
    ] = None
    mail: Annotated[bool | None, Meta(description="true: a mail tells the caller of the decision", examples=[True])] = (
        None
    )


class DecideDispute(msgspec.Struct, rename="camel", kw_only=True):
    """A decision."""

    accept: Annotated[
        bool | None,
        Meta(
            description="true: it does not count any more, or counts for `driverId`; false: it stays", examples=[True]
        ),
    ] = None
    answer: Annotated[
        str | None,
        Meta(
            description=f"why, up to {LONG_TEXT_MAX:,} characters; required to reject",
            examples=["The video shows the child."],
        ),
    ] = None
    driver_id: Annotated[
        str | None,
        Meta(
            description="with `accept` true, on a dispute for NOT_DRIVER: the driver for whom the trip counts in full",
            examples=["2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11"],
        ),
    ] = None


def dispute(found: disputes.Dispute) -> Dispute:
    """The record of a dispute."""
    event = found.event
    contested = None
    if event is not None:
        contested = Contested(Id(event.event_id), event.event_type, event.event_ms, event.begin_ms, event.end_ms)
    return Dispute(
        id=Id(found.id),
        created_time=found.created_ms,
        trip_id=Id(found.trip_id),
        vehicle_id=_id(found.vehicle_id),
        driver_id=_id(found.driver_id),
        opened_by=_id(found.opened_by),
        reason=found.reason,
        text=found.text,
        event=contested,
        state=found.state,
        decided_time=found.decided_ms,
        decided_by=_id(found.decided_by),
        answer=found.answer,
        score_before=found.score_before,
        score_after=found.score_after,
        rescored_time=found.rescored_ms,
        mail=found.mail_language is not None,
    )


def _id(known: str | None) -> Id | None:
    return None if known is None else Id(known)
