"""The track of a trip as columns, with limits and events; an addition to the interface (spec/rest 10.1)."""

from typing import Annotated, Final

import msgspec

from tripline.wire.described import about, example_of
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id
from tripline.wire.rest.explanations import HarshEvent, LimitStretch, OverspeedStretch


class Samples(msgspec.Struct, frozen=True, rename="camel"):
    """Samples as columns of equal length, by time."""

    ts: Annotated[list[int], about("time, epoch ms", [1735691234000])]
    lat: Annotated[list[float], about("latitude, degrees (WGS84)", [37.5665])]
    lon: Annotated[list[float], about("longitude, degrees (WGS84)", [126.978])]
    speed: Annotated[list[float | None], about("speed, km/h; null: unknown", [41.0])]


SAMPLES: Final = about(
    "at most 4,000: of more, those with the least and the greatest speed of equal parts",
    example_of(Samples),
)


class NoFix(msgspec.Struct, frozen=True, rename="camel"):
    """A span in which the receiver had no position."""

    begin_ts: Annotated[int, about("the last sample before, epoch ms", 1735691240000)]
    end_ts: Annotated[int, about("the first sample after, epoch ms", 1735691247000)]


NO_FIX: Final = about(
    "where the receiver had no position, so that samples are left out, by time",
    [example_of(NoFix)],
)


class TripTrack(msgspec.Struct, frozen=True, rename="camel"):
    """The track of a trip; its id is the trip's id."""

    id: Annotated[Id, about("id of the trip", examples.TRIP)]
    count: Annotated[int, about("usable samples of the trip, before thinning", 3600)]
    samples: Annotated[Samples, SAMPLES]
    no_fix: Annotated[list[NoFix], NO_FIX]
    limits: Annotated[list[LimitStretch], about("as in the explanation of its score", [])]
    harsh_events: Annotated[list[HarshEvent], about("as in the explanation", [])]
    overspeed: Annotated[list[OverspeedStretch], about("as in the explanation", [])]
