"""The track of a trip: samples, limits and events, for maps and charts.

An extension of ours, not part of the interface (spec/rest 10.1).
"""

import asyncio
import gzip
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec
from litestar.response import Response

from tripline.api import explanations
from tripline.domain.access import Action
from tripline.http import parameters, permission
from tripline.http.context import Call, context_of, scores_of
from tripline.http.operations import operation
from tripline.later import Later
from tripline.ports.maps import RoadMatcher
from tripline.services.scores import reads
from tripline.services.scores.reads import TripSamples
from tripline.store.transactions import ReadTx
from tripline.wire.rest.base import Id
from tripline.wire.rest.tracks import NoFix, Samples, TripTrack

if TYPE_CHECKING:
    from tripline.services.scores import track
else:
    # It imports numpy, which is loaded on first use.
    track = Later("tripline.services.scores.track")

_JSON: Final = msgspec.json.Encoder()


@operation(
    "GET", "/api/tre/v1_3/trip/{tripId}/track", access=Action.DRIVING_READ, answer=TripTrack, refuses=(reads.TooLong,)
)
async def read(request: Call) -> Response[bytes]:
    """Where the trip went and how fast, with the limits and events along it; compressed on request."""
    context = context_of(request)
    trip_id = parameters.path_id(request, "tripId")

    def work(tx: ReadTx) -> TripSamples:
        return reads.samples_to_read(tx, actor=permission.permitted_in(tx, request), of=trip_id)

    found = await context.store.read(work)
    return await sent(request, lambda: of_trip(trip_id, found, context.time_zone, scores_of(request).roads))


async def sent(request: Call, make: Callable[[], Any]) -> Response[bytes]:
    """Return the answer with the record that `make` returns on a thread; compressed on request."""
    packed = "gzip" in request.headers.get("accept-encoding", "")
    body = await asyncio.to_thread(_body, make, packed=packed)
    headers = {"vary": "Accept-Encoding", "cache-control": "no-store"}
    if packed:
        headers["content-encoding"] = "gzip"
    return Response(body, media_type="application/json;charset=UTF-8", headers=headers)


def _body(make: Callable[[], Any], *, packed: bool) -> bytes:
    body = _JSON.encode(make())
    return gzip.compress(body, compresslevel=6, mtime=0) if packed else body


def of_trip(trip_id: str, found: TripSamples, zone: ZoneInfo, roads: RoadMatcher | None = None) -> TripTrack:
    """Return the track; without limits and events until the trip is judged.

    Raises ValueError when packed samples are truncated, `Outage`.
    """
    way = track.of_packed(found.packed, found.rules)
    told = None if found.facts is None else explanations.explained(trip_id, found.facts, zone, roads)
    return TripTrack(
        id=Id(trip_id),
        count=way.samples,
        samples=Samples(ts=way.time_ms, lat=way.lat, lon=way.lon, speed=way.speed_kmh),
        no_fix=[NoFix(*each) for each in way.no_fix],
        limits=[] if told is None else told.limits,
        harsh_events=[] if told is None else told.harsh_events,
        overspeed=[] if told is None else told.overspeed,
    )
