"""The track of a trip as columns, with limits and events; an addition to the interface (spec/rest 10.1)."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tripline.wire.rest.base import Id
from tripline.wire.rest.explanations import HarshEvent, LimitStretch, OverspeedStretch

_TRIP: list[object] = [{"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}]


class Samples(msgspec.Struct, frozen=True, rename="camel"):
    """Samples as columns of equal length, by time."""

    ts: Annotated[list[int], Meta(description="time, epoch ms", examples=[[1735691234000]])]
    lat: Annotated[list[float], Meta(description="latitude, degrees (WGS84)", examples=[[37.5665]])]
    lon: Annotated[list[float], Meta(description="longitude, degrees (WGS84)", examples=[[126.978]])]
    speed: Annotated[list[float | None], Meta(description="speed, km/h; null: unknown", examples=[[41.0]])]


SAMPLES: Final = Meta(
    description="at most 4,000: of more, those with the least and the greatest speed of equal parts",
    examples=[{"ts": [1735691234000], "lat": [37.5665], "lon": [126.978], "speed": [41.0]}],
)


class TripTrack(msgspec.Struct, frozen=True, rename="camel"):
    """The track of a trip; its id is the trip's id."""

    id: Annotated[Id, Meta(description="id of the trip", examples=_TRIP)]
    count: Annotated[int, Meta(description="usable samples of the trip, before thinning", examples=[3600])]
    samples: Annotated[Samples, SAMPLES]
    limits: Annotated[list[LimitStretch], Meta(description="as in the explanation of its score", examples=[[]])]
    harsh_events: Annotated[list[HarshEvent], Meta(description="as in the explanation", examples=[[]])]
    overspeed: Annotated[list[OverspeedStretch], Meta(description="as in the explanation", examples=[[]])]
