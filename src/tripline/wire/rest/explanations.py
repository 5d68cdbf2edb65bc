"""Explanations of a trip's score and of an accumulated score; an addition to the interface (spec/rest 10.1)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.wire.rest import quality
from tripline.wire.rest.base import Id
from tripline.wire.rest.disputes import Dispute

_TRIP: list[object] = [{"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}]
_VEHICLE: list[object] = [{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}]
_EVENT: list[object] = [{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}]


class HarshEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One manoeuvre and its cost."""

    id: Annotated[Id | None, Meta(description="id of the GPS event", examples=_EVENT)]
    event_ty: Annotated[
        int,
        Meta(description="1 sudden start, 2 sudden acceleration, 3 sudden deceleration, 4 sudden stop", examples=[3]),
    ]
    event_ts: Annotated[int, Meta(description="when it was strongest, epoch ms", examples=[1735691234000])]
    begin_ts: Annotated[int, Meta(description="when it began, epoch ms", examples=[1735691232000])]
    end_ts: Annotated[int, Meta(description="when it ended, epoch ms", examples=[1735691235000])]
    pos_lat: Annotated[float, Meta(description="latitude, degrees (WGS84)", examples=[37.5665])]
    pos_lon: Annotated[float, Meta(description="longitude, degrees (WGS84)", examples=[126.978])]
    speed: Annotated[float, Meta(description="speed at `eventTs`, km/h", examples=[41.0])]
    begin_speed: Annotated[float, Meta(description="speed at `beginTs`, km/h", examples=[58.0])]
    end_speed: Annotated[float, Meta(description="speed at `endTs`, km/h", examples=[36.0])]
    rate: Annotated[
        float, Meta(description="greatest change of speed, km/h per second; 0: reported by the device", examples=[17.0])
    ]
    threshold: Annotated[
        float, Meta(description="the rate from which it counts, km/h per second; 0: none", examples=[15.0])
    ]
    annulled: Annotated[
        Id | None, Meta(description="the accepted dispute for which it does not count", examples=[None])
    ]
    cost: Annotated[float, Meta(description="points", examples=[1.25])]
    without_it: Annotated[
        float | None,
        Meta(
            description="the score if it did not count, as after an accepted dispute; null: no score", examples=[99.52]
        ),
    ]


class OverspeedStretch(msgspec.Struct, frozen=True, rename="camel"):
    """Consecutive samples over the limit, and their cost."""

    ids: Annotated[list[Id], Meta(description="ids of the GPS events", examples=[_EVENT])]
    begin_ts: Annotated[int, Meta(description="the first sample, epoch ms", examples=[1735691500000])]
    end_ts: Annotated[int, Meta(description="the sample behind the last, epoch ms", examples=[1735691512000])]
    pos_lat: Annotated[float, Meta(description="latitude of the first sample", examples=[37.5665])]
    pos_lon: Annotated[float, Meta(description="longitude of the first sample", examples=[126.978])]
    max_speed: Annotated[float, Meta(description="the fastest, km/h", examples=[131.5])]
    limit: Annotated[float, Meta(description="the limit, km/h, without the tolerance", examples=[110.0])]
    limit_source: Annotated[
        str,
        Meta(
            description="how the limit is known: `tagged`, `implied` by zone or place, `roadClass`: the default of the"
            " road's class, `default`: that of the policy",
            examples=["default"],
        ),
    ]
    road: Annotated[
        str | None,
        Meta(
            description="number and name of the road, empty where the map has neither; null: no road is known",
            examples=["28 Landstrasse"],
        ),
    ]
    link: Annotated[
        str | None,
        Meta(description="its link at the first sample, as in `info`; null: no road is known", examples=["23737423"]),
    ]
    seconds: Annotated[float, Meta(description="time counted", examples=[12.0])]
    annulled: Annotated[
        Id | None, Meta(description="the accepted dispute for which it does not count", examples=[None])
    ]
    cost: Annotated[float, Meta(description="points", examples=[0.48])]
    without_it: Annotated[
        float | None,
        Meta(
            description="the score if it did not count, as after an accepted dispute; null: no score", examples=[98.75]
        ),
    ]


class StyleItem(msgspec.Struct, frozen=True, rename="camel"):
    """A braking or a corner and its cost. It has no GPS event."""

    begin_ts: Annotated[int, Meta(description="when it began, epoch ms", examples=[1735691232000])]
    end_ts: Annotated[int, Meta(description="when it ended, epoch ms", examples=[1735691235000])]
    pos_lat: Annotated[float, Meta(description="latitude where it began", examples=[37.5665])]
    pos_lon: Annotated[float, Meta(description="longitude where it began", examples=[126.978])]
    peak: Annotated[
        float,
        Meta(description="of a braking the greatest rate, km/h per second; of a corner the greatest g", examples=[7.5]),
    ]
    cost: Annotated[float, Meta(description="points", examples=[0.2])]
    without_it: Annotated[
        float | None,
        Meta(
            description="the score if it did not count, as after an accepted dispute; null: no score", examples=[98.47]
        ),
    ]


class LimitStretch(msgspec.Struct, frozen=True, rename="camel"):
    """Consecutive samples with one limit from one source on one road."""

    begin_ts: Annotated[int, Meta(description="the first sample, epoch ms", examples=[1735691400000])]
    end_ts: Annotated[
        int,
        Meta(description="the sample behind the last, epoch ms; the last one before a gap", examples=[1735691512000]),
    ]
    limit: Annotated[float | None, Meta(description="the limit, km/h; null: none", examples=[110.0])]
    limit_source: Annotated[
        str, Meta(description="how the limit is known, as in `overspeed`; `none`: it is not", examples=["default"])
    ]
    road: Annotated[str | None, Meta(description="number and name of the road, as in `overspeed`", examples=[None])]
    link: Annotated[str | None, Meta(description="its link at the first sample", examples=[None])]


class DriveMeasures(msgspec.Struct, frozen=True, rename="camel"):
    """Further measures of the samples, without effect on the score."""

    driving: Annotated[float, Meta(description="seconds of driving", examples=[3480.0])]
    over_limit: Annotated[
        dict[str, float],
        Meta(
            description="seconds above the limit, and above it by so many per cent and more",
            examples=[{"0": 40.0, "10": 12.0, "20": 0.0, "35": 0.0}],
        ),
    ]
    long_overspeed: Annotated[
        float,
        Meta(description="seconds more than 20 km/h above the limit, for 3 minutes and longer", examples=[0.0]),
    ]
    cornering: Annotated[int, Meta(description="corners taken with 0.3 g and more", examples=[2])]
    cornering_seconds: Annotated[float, Meta(description="time in them, seconds", examples=[3.0])]
    idling: Annotated[float, Meta(description="seconds of standing for 5 minutes and longer", examples=[420.0])]
    night_share: Annotated[
        float, Meta(description="share of the distance between 22 and 6, time zone of the service", examples=[0.0])
    ]
    longest_drive: Annotated[float, Meta(description="seconds without a rest of 15 minutes", examples=[3480.0])]


class ScoreExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """The explanation of a trip's score; its id is the trip's id."""

    id: Annotated[Id, Meta(description="id of the trip", examples=_TRIP)]
    version: Annotated[
        str,
        Meta(
            description="another text once the trip has more samples, or judging it found something else",
            examples=["193bf2c6a40-193bf2c5f2c0007"],
        ),
    ]
    created_time: Annotated[
        int | None,
        Meta(description="when the trip was judged, epoch ms; null: it has no score", examples=[1735693900000]),
    ]
    score: Annotated[float | None, Meta(description="the score that is kept; null: none", examples=[98.27])]
    not_scored: Annotated[str | None, Meta(description="why there is none (docs/scoring.md)", examples=["too_short"])]
    duplicate_of: Annotated[
        Id | None,
        Meta(description="of a `duplicate` the trip that counts in its place; null: none", examples=[None]),
    ]
    policy: Annotated[
        int | None,
        Meta(description="number of the policy that the score comes from", examples=[1]),
    ]
    explained_by: Annotated[int, Meta(description="number of the policy of this explanation", examples=[1])]
    explained_score: Annotated[
        float | None,
        Meta(description="what that policy gives; costs add up to 100 minus this; null: no score", examples=[98.27]),
    ]
    dist: Annotated[float, Meta(description="distance driven, metres", examples=[49162.0])]
    harsh_events: Annotated[list[HarshEvent], Meta(description="manoeuvres, by time", examples=[[]])]
    overspeed: Annotated[list[OverspeedStretch], Meta(description="stretches over the limit, by time", examples=[[]])]
    braking: Annotated[
        list[StyleItem], Meta(description="braking, by time; empty where the policy gives it no weight", examples=[[]])
    ]
    corners: Annotated[list[StyleItem], Meta(description="fast corners, by time; empty as before", examples=[[]])]
    limits: Annotated[
        list[LimitStretch],
        Meta(description="the limit along the trip, by time; empty without usable samples", examples=[[]]),
    ]
    unexplained: Annotated[
        list[Id],
        Meta(description="GPS events of rules of before that this policy does not find", examples=[[]]),
    ]
    disputes: Annotated[list[Dispute], Meta(description="what was contested, the oldest first", examples=[[]])]
    limit_known: Annotated[
        float,
        Meta(
            description="share of the distance whose limit the map tells (`tagged`, `implied`), 0 to 1", examples=[0.0]
        ),
    ]
    harsh_known: Annotated[
        bool,
        Meta(
            description="false: the trip has no speeds, and positions too noisy to show harsh driving: its score has"
            " no harsh event",
            examples=[True],
        ),
    ]
    measures: Annotated[
        DriveMeasures,
        Meta(
            description="what else the samples tell; none of it changes the score",
            examples=[
                {
                    "driving": 3480.0,
                    "overLimit": {"0": 40.0, "10": 12.0, "20": 0.0, "35": 0.0},
                    "longOverspeed": 0.0,
                    "cornering": 2,
                    "corneringSeconds": 3.0,
                    "idling": 420.0,
                    "nightShare": 0.0,
                    "longestDrive": 3480.0,
                }
            ],
        ),
    ]
    quality: Annotated[
        quality.DataQuality,
        Meta(description="how good the samples were", examples=[quality.EXAMPLE]),
    ]


class TripCost(msgspec.Struct, frozen=True, rename="camel"):
    """One trip and its cost."""

    trip_id: Annotated[Id, Meta(description="id of the trip", examples=_TRIP)]
    score: Annotated[float, Meta(description="its score", examples=[70.97])]
    dist: Annotated[float, Meta(description="its distance, metres", examples=[49162.0])]
    cost: Annotated[float, Meta(description="points of the accumulated score", examples=[4.31])]
    limit_known: Annotated[float, Meta(description="share of the distance whose limit the map tells", examples=[0.0])]
    harsh_known: Annotated[
        bool, Meta(description="false: its speeds and positions show no harsh driving", examples=[True])
    ]
    quality: Annotated[quality.DataQuality, Meta(description="how good the samples were", examples=[quality.EXAMPLE])]


class AccumulatedExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """The explanation of a vehicle's accumulated score; its id is the vehicle's id."""

    id: Annotated[Id, Meta(description="id of the vehicle", examples=_VEHICLE)]
    score: Annotated[float, Meta(description="the accumulated score; costs add up to 100 minus this", examples=[81.5])]
    limit_known: Annotated[float, Meta(description="`limitKnown` of all those trips, by distance", examples=[0.9])]
    count: Annotated[int, Meta(description="trips in the score", examples=[120])]
    distance: Annotated[float, Meta(description="distance of all those trips, metres", examples=[4376400.0])]
    accumulate: Annotated[
        str,
        Meta(description="`pooled`: as one long trip; `trip_mean`: the mean of the trips' scores", examples=["pooled"]),
    ]
    trips: Annotated[list[TripCost], Meta(description="the 100 that cost most, the dearest first", examples=[[]])]
    others: Annotated[int, Meta(description="trips that are not among them", examples=[20])]
    others_cost: Annotated[float, Meta(description="points that those cost together", examples=[0.4])]
