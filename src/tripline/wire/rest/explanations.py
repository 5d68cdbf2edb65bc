"""Explanations of a trip's score and of an accumulated score; an addition to the interface (spec/rest 10.1)."""

from typing import Annotated

import msgspec

from tripline.wire.described import about, example_of
from tripline.wire.rest import examples, quality
from tripline.wire.rest.base import Id
from tripline.wire.rest.disputes import Dispute

_WITHOUT_IT = "the score if it did not count, as after an accepted dispute; null: no score"


class HarshEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One manoeuvre and its cost."""

    id: Annotated[Id | None, about("id of the GPS event", examples.EVENT)]
    event_ty: Annotated[int, about("1 sudden start, 2 sudden acceleration, 3 sudden deceleration, 4 sudden stop", 3)]
    event_ts: Annotated[int, about("when it was strongest, epoch ms", 1735691234000)]
    begin_ts: Annotated[int, about("when it began, epoch ms", 1735691232000)]
    end_ts: Annotated[int, about("when it ended, epoch ms", 1735691235000)]
    pos_lat: Annotated[float, about("latitude, degrees (WGS84)", 37.5665)]
    pos_lon: Annotated[float, about("longitude, degrees (WGS84)", 126.978)]
    speed: Annotated[float, about("speed at `eventTs`, km/h", 41.0)]
    begin_speed: Annotated[float, about("speed at `beginTs`, km/h", 58.0)]
    end_speed: Annotated[float, about("speed at `endTs`, km/h", 36.0)]
    rate: Annotated[float, about("greatest change of speed, km/h per second; 0: reported by the device", 17.0)]
    threshold: Annotated[float, about("the rate from which it counts, km/h per second; 0: none", 15.0)]
    threshold_name: Annotated[
        str | None,
        about(
            "which threshold of the policy's `harsh` that is, by the speed where the rate was greatest; null: none",
            "deceleration_above_50",
        ),
    ]
    annulled: Annotated[Id | None, about("the accepted dispute for which it does not count", None)]
    cost: Annotated[float, about("points", 1.25)]
    without_it: Annotated[float | None, about(_WITHOUT_IT, 99.52)]


class OverspeedStretch(msgspec.Struct, frozen=True, rename="camel"):
    """Consecutive samples above the limit with its tolerance, and their cost."""

    ids: Annotated[list[Id], about("ids of the GPS events", [examples.EVENT])]
    begin_ts: Annotated[int, about("the first sample, epoch ms", 1735691500000)]
    end_ts: Annotated[int, about("the sample behind the last, epoch ms", 1735691512000)]
    pos_lat: Annotated[float, about("latitude of the first sample", 37.5665)]
    pos_lon: Annotated[float, about("longitude of the first sample", 126.978)]
    max_speed: Annotated[float, about("the fastest, km/h", 131.5)]
    limit: Annotated[float, about("the limit, km/h, without the tolerance", 110.0)]
    counted_above: Annotated[float, about("the limit with its tolerance, km/h: faster than this counts", 121.0)]
    limit_source: Annotated[
        str,
        about(
            "how the limit is known: `tagged`, `implied` by zone or place, `roadClass`: the default of the"
            " road's class, `default`: that of the policy",
            "default",
        ),
    ]
    road: Annotated[
        str | None,
        about("number and name of the road, empty where the map has neither; null: no road is known", "28 Landstrasse"),
    ]
    link: Annotated[str | None, about("its link at the first sample, as in `info`; null: no road is known", "23737423")]
    seconds: Annotated[float, about("seconds above `countedAbove`", 12.0)]
    annulled: Annotated[Id | None, about("the accepted dispute for which it does not count", None)]
    cost: Annotated[float, about("points", 0.48)]
    without_it: Annotated[float | None, about(_WITHOUT_IT, 98.75)]


class StyleItem(msgspec.Struct, frozen=True, rename="camel"):
    """A braking or a corner and its cost. It has no GPS event."""

    begin_ts: Annotated[int, about("when it began, epoch ms", 1735691232000)]
    end_ts: Annotated[int, about("when it ended, epoch ms", 1735691235000)]
    pos_lat: Annotated[float, about("latitude where it began", 37.5665)]
    pos_lon: Annotated[float, about("longitude where it began", 126.978)]
    peak: Annotated[float, about("of a braking the greatest rate, km/h per second; of a corner the greatest g", 7.5)]
    cost: Annotated[float, about("points", 0.2)]
    without_it: Annotated[float | None, about(_WITHOUT_IT, 98.47)]


class LimitStretch(msgspec.Struct, frozen=True, rename="camel"):
    """Consecutive samples with one limit from one source on one road."""

    begin_ts: Annotated[int, about("the first sample, epoch ms", 1735691400000)]
    end_ts: Annotated[int, about("the sample behind the last, epoch ms; the last one before a gap", 1735691512000)]
    limit: Annotated[float | None, about("the limit, km/h; null: none", 110.0)]
    limit_source: Annotated[str, about("how the limit is known, as in `overspeed`; `none`: it is not", "default")]
    road: Annotated[str | None, about("number and name of the road, as in `overspeed`", None)]
    link: Annotated[str | None, about("its link at the first sample", None)]


class DriveMeasures(msgspec.Struct, frozen=True, rename="camel"):
    """Further measures of the samples, without effect on the score."""

    driving: Annotated[float, about("seconds of driving", 3480.0)]
    over_limit: Annotated[
        dict[str, float],
        about(
            "seconds above the limit, and above it by so many per cent and more",
            {"0": 40.0, "10": 12.0, "20": 0.0, "35": 0.0},
        ),
    ]
    long_overspeed: Annotated[float, about("seconds more than 20 km/h above the limit, for 3 minutes and longer", 0.0)]
    cornering: Annotated[int, about("corners taken with 0.3 g and more", 2)]
    cornering_seconds: Annotated[float, about("time in them, seconds", 3.0)]
    idling: Annotated[float, about("seconds of standing for 5 minutes and longer", 420.0)]
    night_share: Annotated[float, about("share of the distance between 22 and 6, time zone of the service", 0.0)]
    longest_drive: Annotated[float, about("seconds without a rest of 15 minutes", 3480.0)]


class ScoreExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """The explanation of a trip's score; its id is the trip's id."""

    id: Annotated[Id, about("id of the trip", examples.TRIP)]
    version: Annotated[
        str,
        about(
            "another text once the trip has more samples, or judging it found something else",
            "193bf2c6a40-193bf2c5f2c0007",
        ),
    ]
    created_time: Annotated[
        int | None, about("when the trip was judged, epoch ms; null: it has no score", 1735693900000)
    ]
    score: Annotated[float | None, about("the score that is kept; null: none", 98.27)]
    not_scored: Annotated[str | None, about("why there is none (docs/scoring.md)", "too_short")]
    duplicate_of: Annotated[Id | None, about("of a `duplicate` the trip that counts in its place; null: none", None)]
    policy: Annotated[int | None, about("number of the policy that the score comes from", 1)]
    explained_by: Annotated[int, about("number of the policy of this explanation", 1)]
    explained_score: Annotated[
        float | None, about("what that policy gives; costs add up to 100 minus this; null: no score", 98.27)
    ]
    dist: Annotated[float, about("distance driven, metres", 49162.0)]
    harsh_events: Annotated[list[HarshEvent], about("manoeuvres, by time", [])]
    overspeed: Annotated[list[OverspeedStretch], about("stretches above the limit with its tolerance, by time", [])]
    braking: Annotated[list[StyleItem], about("braking, by time; empty where the policy gives it no weight", [])]
    corners: Annotated[list[StyleItem], about("fast corners, by time; empty as before", [])]
    limits: Annotated[list[LimitStretch], about("the limit along the trip, by time; empty without usable samples", [])]
    unexplained: Annotated[list[Id], about("GPS events of rules of before that this policy does not find", [])]
    disputes: Annotated[list[Dispute], about("what was disputed, the oldest first", [])]
    limit_known: Annotated[
        float, about("share of the distance whose limit the map tells (`tagged`, `implied`), 0 to 1", 0.0)
    ]
    harsh_known: Annotated[
        bool,
        about(
            "false: the trip has no speeds, and positions too noisy to show harsh driving: its score has"
            " no harsh event",
            True,
        ),
    ]
    measures: Annotated[
        DriveMeasures, about("what else the samples tell; none of it changes the score", example_of(DriveMeasures))
    ]
    quality: Annotated[quality.DataQuality, about("how good the samples were", quality.EXAMPLE)]


class TripCost(msgspec.Struct, frozen=True, rename="camel"):
    """One trip and its cost."""

    trip_id: Annotated[Id, about("id of the trip", examples.TRIP)]
    score: Annotated[float, about("its score", 70.97)]
    dist: Annotated[float, about("its distance, metres", 49162.0)]
    cost: Annotated[float, about("points of the accumulated score", 4.31)]
    limit_known: Annotated[float, about("share of the distance whose limit the map tells", 0.0)]
    harsh_known: Annotated[bool, about("false: its speeds and positions show no harsh driving", True)]
    quality: Annotated[quality.DataQuality, about("how good the samples were", quality.EXAMPLE)]


class AccumulatedExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """The explanation of a vehicle's accumulated score; its id is the vehicle's id."""

    id: Annotated[Id, about("id of the vehicle", examples.VEHICLE)]
    score: Annotated[float, about("the accumulated score; costs add up to 100 minus this", 81.5)]
    limit_known: Annotated[float, about("`limitKnown` of all those trips, by distance", 0.9)]
    count: Annotated[int, about("trips in the score", 120)]
    distance: Annotated[float, about("distance of all those trips, metres", 4376400.0)]
    accumulate: Annotated[
        str, about("`pooled`: as one long trip; `trip_mean`: the mean of the trips' scores", "pooled")
    ]
    trips: Annotated[list[TripCost], about("the 100 that cost most, the dearest first", [])]
    others: Annotated[int, about("trips that are not among them", 20)]
    others_cost: Annotated[float, about("points that those cost together", 0.4)]
