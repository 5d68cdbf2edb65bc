"""Trends and rankings of scores; an addition to the interface (spec/rest 10.5)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.wire.rest.base import Id

_SUBJECT: list[object] = [{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}]

_SUMS: dict[str, object] = {
    "score": 93.4,
    "limitKnown": 0.9,
    "harshKnown": 1.0,
    "badge": "GOOD",
    "count": 12,
    "distance": 231400,
    "driving": 15120.0,
    "accel": 3,
    "deAccel": 1,
    "overSpeed": 28,
    "per100Km": {"accel": 1.3, "deAccel": 0.4, "overSpeed": 12.1},
    "over": 28.0,
    "overShare": 0.0019,
}
_PERIOD = _SUMS | {
    "date": "2025-01-01",
    "startTime": 1735657200000,
    "endTime": 1735743600000,
    "percentile": 71.5,
    "policies": [1],
}
_PLACE = _SUMS | {"id": _SUBJECT[0], "rank": 1, "compared": 93.4}


class Per100Km(msgspec.Struct, frozen=True, rename="camel"):
    """Counts for each 100 km."""

    accel: Annotated[float, Meta(description="sudden starts and accelerations", examples=[1.5])]
    de_accel: Annotated[float, Meta(description="sudden decelerations and stops", examples=[0.5])]
    over_speed: Annotated[float, Meta(description="samples over the limit", examples=[12.0])]


class TrendSums(msgspec.Struct, frozen=True, rename="camel"):
    """Totals of the scored trips of one period."""

    score: Annotated[float, Meta(description="the score of all trips driven as one", examples=[93.4])]
    limit_known: Annotated[
        float, Meta(description="share of the distance whose limit the map tells, 0 to 1", examples=[0.9])
    ]
    harsh_known: Annotated[
        float, Meta(description="share of the distance whose harsh driving is known, 0 to 1", examples=[1.0])
    ]
    badge: Annotated[
        str | None,
        Meta(
            description="`GOOD` from 90 points on, `FAIR` from 75 on, else `POOR`; null: `limitKnown` or `harshKnown`"
            " is below 0.5",
            examples=["GOOD"],
        ),
    ]
    count: Annotated[int, Meta(description="scored trips", examples=[12])]
    distance: Annotated[int, Meta(description="metres", examples=[231400])]
    driving: Annotated[float, Meta(description="driving time, seconds", examples=[15120.0])]
    accel: Annotated[int, Meta(description="sudden starts and accelerations", examples=[3])]
    de_accel: Annotated[int, Meta(description="sudden decelerations and stops", examples=[1])]
    over_speed: Annotated[int, Meta(description="samples over the limit", examples=[28])]
    per100_km: Annotated[
        Per100Km,
        Meta(description="the counts for each 100 km", examples=[{"accel": 1.5, "deAccel": 0.5, "overSpeed": 12.0}]),
    ]
    over: Annotated[float, Meta(description="time over the limit, seconds", examples=[28.0])]
    over_share: Annotated[
        float | None,
        Meta(description="share of the driving time over the limit, 0 to 1; null: no driving time", examples=[0.0019]),
    ]


class TrendPeriod(TrendSums, frozen=True, rename="camel", kw_only=True):
    """One day, week or month."""

    date: Annotated[str, Meta(description="its first day, time zone of the service", examples=["2025-01-01"])]
    start_time: Annotated[int, Meta(description="when it begins, epoch ms", examples=[1735657200000])]
    end_time: Annotated[int, Meta(description="when the next one begins, epoch ms", examples=[1735743600000])]
    percentile: Annotated[
        float | None,
        Meta(
            description="how many of 100 of the same service type are worse, equals counting half; null: fewer than 20"
            " have a score in the period, or it is not counted yet",
            examples=[71.5],
        ),
    ]
    policies: Annotated[
        list[int], Meta(description="numbers of the policies that the scores come from", examples=[[1]])
    ]


class TrendLink(msgspec.Struct, frozen=True, rename="camel"):
    """Query of the next page of a trend."""

    period: Annotated[str, Meta(description="as asked for", examples=["day"])]
    limit: Annotated[int, Meta(description="items on a page", examples=[20])]
    start_time: Annotated[int | None, Meta(description="from this time on, epoch ms", examples=[1735657200000])]
    end_time: Annotated[int | None, Meta(description="up to this time, epoch ms", examples=[1735743600000])]
    asc_order: Annotated[bool, Meta(description="as asked for: true: oldest first", examples=[False])]


class Trend(msgspec.Struct, frozen=True, rename="camel"):
    """Periods with at least one scored trip."""

    data: Annotated[
        list[TrendPeriod], Meta(description="the newest first, unless asked otherwise", examples=[[_PERIOD]])
    ]
    next_page_link: Annotated[TrendLink | None, Meta(description="values of the query; null: nothing follows")]
    has_next: Annotated[bool, Meta(description="whether more follow", examples=[False])]


class RankingPlace(TrendSums, frozen=True, rename="camel", kw_only=True):
    """A vehicle or driver in a ranking."""

    id: Annotated[Id, Meta(description="the vehicle or driver", examples=_SUBJECT)]
    rank: Annotated[int, Meta(description="from 1; equal ones share a rank", examples=[1])]
    compared: Annotated[
        float,
        Meta(
            description="what is compared, as `by` says: the score, or harsh events for each 100 km; of the trips whose"
            " `harshKnown` is true",
            examples=[93.4],
        ),
    ]


class RankingLink(msgspec.Struct, frozen=True, rename="camel"):
    """Query of the next page of a ranking."""

    of: Annotated[str, Meta(description="as asked for", examples=["vehicle"])]
    period: Annotated[str, Meta(description="as asked for", examples=["month"])]
    time: Annotated[int, Meta(description="when the period begins, epoch ms", examples=[1735657200000])]
    limit: Annotated[int, Meta(description="items on a page", examples=[20])]
    id_offset: Annotated[
        str, Meta(description="id of the last item of this page", examples=["6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"])
    ]


class Ranking(msgspec.Struct, frozen=True, rename="camel"):
    """A company's vehicles or drivers that have a score in the period, the best first."""

    by: Annotated[
        str,
        Meta(
            description="what is compared: `score`; `harsh`: harsh events per km, because limits are known for less"
            " than half the distance of a member",
            examples=["score"],
        ),
    ]

    data: Annotated[list[RankingPlace], Meta(description="the best first", examples=[[_PLACE]])]
    next_page_link: Annotated[RankingLink | None, Meta(description="values of the query; null: nothing follows")]
    has_next: Annotated[bool, Meta(description="whether more follow", examples=[False])]
