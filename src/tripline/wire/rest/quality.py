"""JSON of the quality of a trip's samples, in the explanation of its score and in the trip (spec/rest 10.1)."""

from typing import Annotated, Final

import msgspec

from tripline.scoring import certainty
from tripline.scoring.quality import Quality
from tripline.wire.described import about, example_of
from tripline.wire.rest.base import record_of

LIMIT_KNOWN: Final = about(
    "share of the distance whose speed limit the map tells, 0 to 1; null: it was not judged", 0.9
)
HARSH_KNOWN: Final = about(
    "false: the trip has no speeds, and positions too noisy or too far apart to show harsh driving: its score has no"
    " harsh event; null: it was not judged",
    True,
)


class LimitShares(msgspec.Struct, frozen=True, rename="camel"):
    """Shares of the distance, 0 to 1, by source of the speed limit."""

    tagged: Annotated[float, about("the road's own", 0.0)]
    implied: Annotated[float, about("by its zone or place", 0.0)]
    road_class: Annotated[float, about("the default of its class", 0.0)]
    default: Annotated[float, about("that of the policy", 1.0)]
    none: Annotated[float, about("there is none", 0.0)]


class DataQuality(msgspec.Struct, frozen=True, rename="camel"):
    """The quality of the samples."""

    samples: Annotated[int, about("samples that take part", 3600)]
    dropped: Annotated[
        int, about("samples that take no part: without a time or position of their own, or not believed", 2)
    ]
    period_ms: Annotated[int, about("mean interval between them, ms; 0 with fewer than two", 1000)]
    gaps: Annotated[int, about("intervals that are gaps", 0)]
    speed_ratio: Annotated[float | None, about("distance by speed for each metre by positions; null: unknown", 1.01)]
    distance: Annotated[
        str,
        about(
            "`own`: by positions, or by speeds where these scatter; `stated` by the trip message;"
            " `doubted`: stated, not believed",
            "own",
        ),
    ]
    repairs: Annotated[dict[str, int], about("what was mended, and how often (docs/scoring.md)", {"merged": 2})]
    limits: Annotated[
        LimitShares, about("shares of the distance by how the speed limit is known", example_of(LimitShares))
    ]
    maps: Annotated[
        list[str],
        about(
            "imported maps that told its roads, each `area:map`; `area:lost`: one that could not be read"
            " when the trip was scored; empty: none",
            ["liechtenstein:6256febe856f"],
        ),
    ]
    speed_step: Annotated[
        float | None, about("step of the device's speeds, km/h: 0.1, 0.5, 1 or 5; null: unknown", 1.0)
    ]
    harsh_source: Annotated[
        str,
        about(
            "source of harsh events: `speeds`; exact `positions`; `device`, which reports them itself;"
            " `unknown`: without speeds, positions are too noisy; `sparse`: they are too far apart",
            "speeds",
        ),
    ]
    event_precision: Annotated[
        float | None,
        about(
            "the share of harsh events that is real, as measured on made drives at such a `periodMs`,"
            " `speedStep` and `harshSource` for the vehicle's class; null: not measured",
            0.99,
        ),
    ]


EXAMPLE: Final = example_of(DataQuality) | {"maps": []}


def data_quality(found: Quality) -> DataQuality:
    """The record."""
    sure = certainty.of_events(found)
    return record_of(
        DataQuality,
        found,
        limits=record_of(LimitShares, found.limits),
        speed_step=found.speed_step or None,
        harsh_source=found.harsh_source.name.lower(),
        event_precision=None if sure is None else round(sure, 3),
    )
