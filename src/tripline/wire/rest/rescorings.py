"""JSON of rescorings: request, progress and changes. An addition to the interface."""

from typing import Annotated

import msgspec

from tripline.domain import rescorings
from tripline.domain.rescorings import Stage
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of

_RESCORING = {"id": "7a4d2f10-c803-11ef-9d5c-6b1f6f2a4c11"}


class BeginRescoring(msgspec.Struct, rename="camel", kw_only=True):
    """The stored trips to score anew, or to try that on."""

    dry_run: Annotated[bool | None, about("true: only say what would change; false: score anew", True)] = None
    from_time: Annotated[int | None, about("trips that began then or later, epoch ms", 1735689600000)] = None
    to_time: Annotated[int | None, about("trips that began before then, epoch ms", 1738368000000)] = None
    all: Annotated[bool | None, about("true: also trips whose score is by the policy in force already", False)] = None
    policy: Annotated[
        int | None, about("for a dry run: number of the policy to try; without it: the one in force for each trip", 2)
    ] = None
    map: Annotated[
        str | None,
        about(
            "only trips that the map of this area touches, whichever policy their scores are by; with `all`"
            " also those that it has judged already",
            "liechtenstein",
        ),
    ] = None


class Rescoring(msgspec.Struct, frozen=True, rename="camel"):
    """A rescoring: its request, progress, and the changes so far, real or (in a dry run) computed."""

    id: Annotated[Id, about("id of the rescoring", _RESCORING)]
    created_time: Annotated[int, about("when it was asked for, epoch ms; later trips are not in it", 1735700000000)]
    company_id: Annotated[Id, about("whose trips", examples.COMPANY)]
    requested_by: Annotated[Id | None, about("who asked for it; null: deleted", examples.PERSON)]
    dry_run: Annotated[bool, about("whether it only says what would change", False)]
    from_time: Annotated[int | None, about("trips that began then or later, epoch ms", None)]
    to_time: Annotated[int | None, about("trips that began before then, epoch ms", None)]
    all: Annotated[bool, about("also trips whose score is by the policy in force", False)]
    policy: Annotated[int | None, about("the policy that a dry run tries", None)]
    map: Annotated[str | None, about("the area whose map touches the trips; null: not asked for", None)]
    state: Annotated[Stage, about("where it is", "RUNNING")]
    progress: Annotated[float, about("how much of the stored time has been looked through, 0 to 1", 0.42)]
    looked_at: Annotated[int, about("trips that were looked at, those of other companies too", 4200)]
    trips: Annotated[int, about("trips that were judged", 500)]
    same: Annotated[int, about("scores that stayed, and trips that have none as before", 460)]
    moved: Annotated[int, about("scores that moved", 36)]
    gained: Annotated[int, about("trips that had no score and have one now", 2)]
    lost: Annotated[int, about("trips that have no score any more", 2)]
    failed: Annotated[int, about("trips that could not be judged and are tried again later", 0)]
    mean_change: Annotated[float, about("how far scores moved on average, points without sign", 2.4)]
    greatest_change: Annotated[float, about("how far at most", 11.8)]
    reasons: Annotated[
        dict[str, int], about("of a dry run: why trips would have no score, and how many", {"too_short": 2})
    ]
    ended_time: Annotated[int | None, about("when it left RUNNING, epoch ms", None)]


def rescoring(found: rescorings.Rescoring) -> Rescoring:
    """The record of a rescoring."""
    asked, counts = found.asked, found.counted
    return record_of(
        Rescoring,
        found,
        dry_run=asked.dry_run,
        from_time=asked.from_ms,
        to_time=asked.to_ms,
        all=asked.everything,
        policy=asked.policy,
        map=asked.area,
        trips=counts.judged,
        same=counts.same,
        moved=counts.moved,
        gained=counts.gained,
        lost=counts.lost,
        failed=counts.failed,
        mean_change=counts.sum / counts.moved if counts.moved else 0.0,
        greatest_change=counts.most,
        reasons=counts.reasons,
    )
