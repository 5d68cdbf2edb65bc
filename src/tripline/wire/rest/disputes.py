"""JSON of disputes of scores: opening, deciding, and the record. An addition to the interface."""

from typing import Annotated

import msgspec

from tripline.domain import disputes
from tripline.domain.disputes import Reason, State
from tripline.domain.fields import LONG_TEXT_MAX
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of

_DISPUTE = {"id": "5d0e4b60-c802-11ef-9d5c-6b1f6f2a4c11"}


class Disputed(msgspec.Struct, frozen=True, rename="camel"):
    """The GPS event that a dispute is about."""

    id: Annotated[Id, about("its id when the dispute was opened", examples.EVENT)]
    event_ty: Annotated[int, about("type of the event, 1 to 5", 3)]
    event_ts: Annotated[int, about("when it was strongest, epoch ms", 1735691234000)]
    begin_ts: Annotated[int, about("when the manoeuvre or the stretch over the limit began", 1735691232000)]
    end_ts: Annotated[int, about("when it ended", 1735691235000)]


class Dispute(msgspec.Struct, frozen=True, rename="camel"):
    """A dispute of a score."""

    id: Annotated[Id, about("id of the dispute", _DISPUTE)]
    created_time: Annotated[int, about("when it was opened, epoch ms", 1735700000000)]
    trip_id: Annotated[Id, about("id of the trip", examples.TRIP)]
    vehicle_id: Annotated[Id | None, about("id of its vehicle", examples.TRIP)]
    driver_id: Annotated[
        Id | None, about("who drove; null: unknown, or hidden from an opener without the trip", examples.PERSON)
    ]
    opened_by: Annotated[Id | None, about("who opened it; null: deleted", examples.PERSON)]
    reason: Annotated[Reason, about("why it is disputed", "TRAFFIC")]
    text: Annotated[str, about("in words", "A child ran into the road.")]
    event: Annotated[Disputed | None, about("the event; null: the whole trip", None)]
    state: Annotated[State, about("where it is", "OPEN")]
    decided_time: Annotated[int | None, about("when it left OPEN, epoch ms", None)]
    decided_by: Annotated[Id | None, about("who decided or withdrew it", None)]
    answer: Annotated[str | None, about("what was said to it", None)]
    score_before: Annotated[float | None, about("score of the trip when it was decided", None)]
    score_after: Annotated[
        float | None, about("score of the trip without it; null: none, or not scored anew yet", None)
    ]
    rescored_time: Annotated[int | None, about("when the trip was scored without it, epoch ms", None)]
    mail: Annotated[bool, about("whether a mail tells who opened it of the decision", True)]


class Disputes(msgspec.Struct, frozen=True, rename="camel"):
    """The disputes of a trip."""

    data: Annotated[list[Dispute], about("the oldest first", [])]


class OpenDispute(msgspec.Struct, rename="camel", kw_only=True):
    """The disputed event or trip, and the reason."""

    event_id: Annotated[
        str | None,
        about("id of a GPS event of the trip; without it: the whole trip", "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"),
    ] = None
    reason: Annotated[
        str | None,
        about(
            "NOT_DRIVER: somebody else drove; DEVICE: the device was wrong; LIMIT: the limit was another; "
            "TRAFFIC: traffic left no choice; OTHER",
            "TRAFFIC",
        ),
    ] = None
    text: Annotated[
        str | None, about(f"in words, up to {LONG_TEXT_MAX:,} characters", "A child ran into the road.")
    ] = None
    mail: Annotated[bool | None, about("true: a mail tells the caller of the decision", True)] = None


class DecideDispute(msgspec.Struct, rename="camel", kw_only=True):
    """A decision."""

    accept: Annotated[
        bool | None, about("true: it does not count any more, or counts for `driverId`; false: it stays", True)
    ] = None
    answer: Annotated[
        str | None, about(f"why, up to {LONG_TEXT_MAX:,} characters; required to reject", "The video shows the child.")
    ] = None
    driver_id: Annotated[
        str | None,
        about(
            "with `accept` true, on a dispute for NOT_DRIVER: the driver for whom the trip counts in full",
            "2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11",
        ),
    ] = None


def dispute(found: disputes.Dispute) -> Dispute:
    """The record of a dispute."""
    event = found.event
    disputed = None
    if event is not None:
        disputed = Disputed(Id(event.event_id), event.event_type, event.event_ms, event.begin_ms, event.end_ms)
    return record_of(Dispute, found, event=disputed, mail=found.mail_language is not None)
