"""A trip on paper, as a file, and as the raw reports of its device."""

import asyncio
import math
from typing import TYPE_CHECKING, Any, Final

from litestar.response import Response

from tripline.domain import fields, samples
from tripline.domain.access import Action
from tripline.domain.refusals import BadParameter
from tripline.domain.stored_trips import StoredEvent
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.http.operations import Value
from tripline.later import Later
from tripline.portal.frame import addresses, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.trips import trip_page
from tripline.portal.trips.trip_page import PATH
from tripline.services.scores import reads, trip_view
from tripline.services.scores.reads import TooLong, TripSamples
from tripline.services.scores.trip_view import TripView
from tripline.store.transactions import ReadTx

if TYPE_CHECKING:
    from tripline.services.scores import track
else:
    # It imports numpy, which is loaded on first use.
    track = Later("tripline.services.scores.track")

FORMS: Final = ("gpx", "csv", "geojson")
ROWS: Final = 200
"""Raw reports of a page."""
_SKETCH: Final = 600
"""Points of the track on paper."""
_WIDE, _HIGH = 640, 360
"""Size of the track on paper."""
_DIGITS: Final = 9
_FORM: Final = Value(name="form", type=str, meaning="`gpx`, `csv` or `geojson`", example="gpx", required=True)
_FROM: Final = Value(name="from", type=int, meaning="reports to leave out at the beginning", example=200)


@page(
    "GET",
    f"{PATH}/{{tripId}}/file",
    access=Action.DRIVING_READ,
    query=(_FORM,),
    refuses=(TooLong,),
    answer_type="application/octet-stream",
)
async def file(request: Call) -> Response[bytes]:
    """All samples of the trip with a position, as GPX, CSV or GeoJSON."""
    visitor, (view, found) = await _read(request)
    form = fields.one_of("form", request.query_params.get("form"), FORMS)
    if form is None:
        raise BadParameter.missing("form")
    name = view.vehicle_no or visitor.say("portal.trip.no_vehicle")
    header = [visitor.say(f"portal.trip.file.{each}") for each in ("time", "lat", "lon", "speed")]
    chosen = track.TrackForm(form)

    def work() -> bytes:
        whole = track.of_packed(found.packed, found.rules, most=len(found.packed))
        return track.written(chosen, whole, name=name, header=header)

    body = await asyncio.to_thread(work)
    begun = trip_page.began_ms(view.trip) // 1_000
    return views.download(body, name=f"{name}-{begun}.{form}", media_type=track.MEDIA_TYPES[chosen])


@page("GET", f"{PATH}/{{tripId}}/print", access=Action.DRIVING_READ, refuses=(TooLong,))
async def paper(request: Call) -> Response[bytes]:
    """A trip on one page of paper: sentence, track, points, and places for two signatures."""
    visitor, (_, found) = await _read(request)
    told = await trip_page.told_of(request, parameters.trip_id(request))
    sketch = await asyncio.to_thread(lambda: _sketch(track.of_packed(found.packed, found.rules, most=_SKETCH)))
    return views.show(
        request,
        "trips/print.html",
        title=views.Plain(told.sentence),
        sketch=sketch,
        wide=_WIDE,
        high=_HIGH,
        **trip_page.values(visitor, told),
    )


@page("GET", f"{PATH}/{{tripId}}/samples", access=Action.DRIVING_READ, query=(_FROM,), refuses=(TooLong,))
async def raw(request: Call) -> Response[bytes]:
    """The reports of a trip as the device sent them, and its device events."""
    visitor, (view, found) = await _read(request)
    asked = parameters.whole(request.query_params.get("from", ""), most_digits=_DIGITS) or 0
    count = len(found.packed) // samples.RECORD.size
    first = min(asked, count)
    size = samples.RECORD.size
    part = memoryview(found.packed)[first * size : (first + ROWS) * size]
    events: list[StoredEvent] = []
    if not first:
        events = await context_of(request).store.read_short(lambda tx: trip_view.device_events(tx, view))
    return views.show(
        request,
        "trips/samples.html",
        title="portal.trip.raw.title",
        base=f"{PATH}/{view.trip.id}",
        told=view.vehicle_no or visitor.say("portal.trip.no_vehicle"),
        reports=[_report(each) for each in samples.RECORD.iter_unpack(part)],
        events=events,
        first=first,
        count=count,
        before=addresses.changed(request, **{"from": max(first - ROWS, 0)}) if first else None,
        after=addresses.changed(request, **{"from": first + ROWS}) if first + ROWS < count else None,
    )


async def _read(request: Call) -> tuple[Visitor, tuple[TripView, TripSamples]]:
    trip_id = parameters.trip_id(request)

    def work(tx: ReadTx, visitor: Visitor) -> tuple[TripView, TripSamples]:
        view = trip_view.read(tx, actor=visitor.actor, trip_id=trip_id)
        return view, reads.samples_to_read(tx, actor=visitor.actor, of=trip_id)

    return await visitor_and(request, work, short=False)


def _report(record: tuple[Any, ...]) -> dict[str, Any]:
    time_ms, *numbers, state, _ = record
    lat, lon, speed_kmh = (None if math.isnan(each) else each for each in numbers)
    place = {"lat": lat, "lon": lon, "speed_kmh": speed_kmh}
    return {"time_ms": time_ms, "state": None if state == samples.NO_FLAGS else state, **place}


def _sketch(found: "track.Track") -> str:
    """The points of a polyline in a box of `_WIDE` x `_HIGH`, north up; empty without two places."""
    if len(found.time_ms) < 2:
        return ""
    return track.outline(found, wide=_WIDE, high=_HIGH)
