"""JSON of rescorings: request, progress and changes. An addition to the interface."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain import rescorings
from tripline.domain.rescorings import Stage
from tripline.wire.rest.base import Id

_RESCORING: list[object] = [{"id": "7a4d2f10-c803-11ef-9d5c-6b1f6f2a4c11"}]
_COMPANY: list[object] = [{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}]
_ACCOUNT: list[object] = [{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}]


class BeginRescoring(msgspec.Struct, rename="camel", kw_only=True):
    """The stored trips to score anew, or to try that on."""

    dry_run: Annotated[
        bool | None, Meta(description="true: only say what would change; false: score anew", examples=[True])
    ] = None
    from_time: Annotated[
        int | None, Meta(description="trips that began then or later, epoch ms", examples=[1735689600000])
    ] = None
    to_time: Annotated[
        int | None, Meta(description="trips that began before then, epoch ms", examples=[1738368000000])
    ] = None
    all: Annotated[
        bool | None,
        Meta(description="true: also trips whose score is by the policy in force already", examples=[False]),
    ] = None
    policy: Annotated[
        int | None,
        Meta(
            description="for a dry run: number of the policy to try; without it: the one in force for each trip",
            examples=[2],
        ),
    ] = None
    map: Annotated[
        str | None,
        Meta(
            description="only trips that the map of this area touches, whichever policy their scores are by; with `all`"
            " also those that it has judged already",
            examples=["liechtenstein"],
        ),
    ] = None


class Rescoring(msgspec.Struct, frozen=True, rename="camel"):
    """A rescoring: its request, progress, and the changes so far, real or (in a dry run) computed."""

    id: Annotated[Id, Meta(description="id of the rescoring", examples=_RESCORING)]
    created_time: Annotated[
        int,
        Meta(description="when it was asked for, epoch ms; later trips are not in it", examples=[1735700000000]),
    ]
    company_id: Annotated[Id, Meta(description="whose trips", examples=_COMPANY)]
    requested_by: Annotated[Id | None, Meta(description="who asked for it; null: deleted", examples=_ACCOUNT)]
    dry_run: Annotated[bool, Meta(description="whether it only says what would change", examples=[False])]
    from_time: Annotated[int | None, Meta(description="trips that began then or later, epoch ms", examples=[None])]
    to_time: Annotated[int | None, Meta(description="trips that began before then, epoch ms", examples=[None])]
    all: Annotated[bool, Meta(description="also trips whose score is by the policy in force", examples=[False])]
    policy: Annotated[int | None, Meta(description="the policy that a dry run tries", examples=[None])]
    map: Annotated[
        str | None, Meta(description="the area whose map touches the trips; null: not asked for", examples=[None])
    ]
    state: Annotated[Stage, Meta(description="where it is", examples=["RUNNING"])]
    progress: Annotated[
        float, Meta(description="how much of the stored time has been looked through, 0 to 1", examples=[0.42])
    ]
    looked_at: Annotated[
        int, Meta(description="trips that were looked at, those of other companies too", examples=[4200])
    ]
    trips: Annotated[int, Meta(description="trips that were judged", examples=[500])]
    same: Annotated[int, Meta(description="scores that stayed, and trips that have none as before", examples=[460])]
    moved: Annotated[int, Meta(description="scores that moved", examples=[36])]
    gained: Annotated[int, Meta(description="trips that had no score and have one now", examples=[2])]
    lost: Annotated[int, Meta(description="trips that have no score any more", examples=[2])]
    failed: Annotated[int, Meta(description="trips that could not be judged and are tried again later", examples=[0])]
    mean_change: Annotated[
        float, Meta(description="how far scores moved on average, points without sign", examples=[2.4])
    ]
    greatest_change: Annotated[float, Meta(description="how far at most", examples=[11.8])]
    reasons: Annotated[
        dict[str, int],
        Meta(description="of a dry run: why trips would have no score, and how many", examples=[{"too_short": 2}]),
    ]
    ended_time: Annotated[int | None, Meta(description="when it left RUNNING, epoch ms", examples=[None])]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts that the record needs."""

    judged: int
    same: int
    moved: int
    gained: int
    lost: int
    failed: int
    most: float
    sum: float
    reasons: dict[str, int]


def rescoring(found: rescorings.Rescoring) -> Rescoring:
    """The record of a rescoring."""
    counts = msgspec.json.decode(found.outcome, type=Counts)
    asked, by = found.asked, found.requested_by
    return Rescoring(
        id=Id(found.id),
        created_time=found.created_ms,
        company_id=Id(found.company_id),
        requested_by=None if by is None else Id(by),
        dry_run=asked.dry_run,
        from_time=asked.from_ms,
        to_time=asked.to_ms,
        all=asked.everything,
        policy=asked.policy,
        map=asked.area,
        state=found.state,
        progress=found.progress,
        looked_at=found.looked_at,
        trips=counts.judged,
        same=counts.same,
        moved=counts.moved,
        gained=counts.gained,
        lost=counts.lost,
        failed=counts.failed,
        mean_change=counts.sum / counts.moved if counts.moved else 0.0,
        greatest_change=counts.most,
        reasons=counts.reasons,
        ended_time=found.ended_ms,
    )
