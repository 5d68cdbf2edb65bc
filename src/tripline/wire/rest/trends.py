"""Trends and rankings of scores; an addition to the interface (spec/rest 10.5)."""

from typing import Annotated

import msgspec

from tripline.wire.described import about, example_of
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id


class Per100Km(msgspec.Struct, frozen=True, rename="camel"):
    """Counts for each 100 km."""

    accel: Annotated[float, about("sudden starts and accelerations", 1.3)]
    de_accel: Annotated[float, about("sudden decelerations and stops", 0.4)]
    over_speed: Annotated[float, about("samples above the limit with its tolerance", 12.1)]


class TrendSums(msgspec.Struct, frozen=True, rename="camel"):
    """Totals of the scored trips of one period."""

    score: Annotated[float, about("the score of all trips driven as one", 93.4)]
    limit_known: Annotated[float, about("share of the distance whose limit the map tells, 0 to 1", 0.9)]
    harsh_known: Annotated[float, about("share of the distance whose harsh driving is known, 0 to 1", 1.0)]
    badge: Annotated[
        str | None,
        about(
            "`GOOD` from 90 points on, `FAIR` from 75 on, else `POOR`; null: `limitKnown` or `harshKnown` is below 0.5",
            "GOOD",
        ),
    ]
    count: Annotated[int, about("scored trips", 12)]
    distance: Annotated[int, about("metres", 231400)]
    driving: Annotated[float, about("driving time, seconds", 15120.0)]
    accel: Annotated[int, about("sudden starts and accelerations", 3)]
    de_accel: Annotated[int, about("sudden decelerations and stops", 1)]
    over_speed: Annotated[int, about("samples above the limit with its tolerance", 28)]
    per100_km: Annotated[Per100Km, about("the counts for each 100 km", example_of(Per100Km))]
    over: Annotated[float, about("seconds above the limit with its tolerance", 28.0)]
    over_share: Annotated[
        float | None,
        about("share of the driving time above the limit with its tolerance, 0 to 1; null: no driving time", 0.0019),
    ]


class TrendPeriod(TrendSums, frozen=True, rename="camel", kw_only=True):
    """One day, week or month."""

    date: Annotated[str, about("its first day, time zone of the service", "2025-01-01")]
    start_time: Annotated[int, about("when it begins, epoch ms", 1735657200000)]
    end_time: Annotated[int, about("when the next one begins, epoch ms", 1735743600000)]
    percentile: Annotated[
        float | None,
        about(
            "how many of 100 of the same service type are worse, equals counting half; null: fewer than 20"
            " have a score in the period, it is not counted yet, or `harshKnown` is below 0.5",
            71.5,
        ),
    ]
    policies: Annotated[list[int], about("numbers of the policies that the scores come from", [1])]


class TrendLink(msgspec.Struct, frozen=True, rename="camel"):
    """Query of the next page of a trend."""

    period: Annotated[str, about("as asked for", "day")]
    limit: Annotated[int, about("items on a page", 20)]
    start_time: Annotated[int | None, about("from this time on, epoch ms", 1735657200000)]
    end_time: Annotated[int | None, about("up to this time, epoch ms", 1735743600000)]
    asc_order: Annotated[bool, about("as asked for: true: oldest first", False)]


class Trend(msgspec.Struct, frozen=True, rename="camel"):
    """Periods with at least one scored trip."""

    data: Annotated[list[TrendPeriod], about("the newest first, unless asked otherwise", [example_of(TrendPeriod)])]
    next_page_link: Annotated[TrendLink | None, about("values of the query; null: nothing follows")]
    has_next: Annotated[bool, about("whether more follow", False)]


class RankingPlace(TrendSums, frozen=True, rename="camel", kw_only=True):
    """A vehicle or driver in a ranking."""

    id: Annotated[Id, about("the vehicle or driver", examples.VEHICLE)]
    rank: Annotated[int, about("from 1; equal ones share a rank", 1)]
    compared: Annotated[
        float,
        about(
            "what is compared, as `by` says: the score, or harsh events for each 100 km; of the trips whose"
            " `harshKnown` is true",
            93.4,
        ),
    ]


class RankingLink(msgspec.Struct, frozen=True, rename="camel"):
    """Query of the next page of a ranking."""

    of: Annotated[str, about("as asked for", "vehicle")]
    period: Annotated[str, about("as asked for", "month")]
    time: Annotated[int, about("when the period begins, epoch ms", 1735657200000)]
    limit: Annotated[int, about("items on a page", 20)]
    id_offset: Annotated[str, about("id of the last item of this page", "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11")]


class Ranking(msgspec.Struct, frozen=True, rename="camel"):
    """A company's vehicles or drivers that have a score in the period, the best first."""

    by: Annotated[
        str,
        about(
            "what is compared: `score`; `harsh`: harsh events per km, because limits are known for less"
            " than half the distance of a member",
            "score",
        ),
    ]

    data: Annotated[list[RankingPlace], about("the best first", [example_of(RankingPlace)])]
    next_page_link: Annotated[RankingLink | None, about("values of the query; null: nothing follows")]
    has_next: Annotated[bool, about("whether more follow", False)]
