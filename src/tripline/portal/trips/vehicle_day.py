"""A vehicle's day: where it was and how it was driven, as one sentence, sums, a time line, a chart and a table.

REST has the same (spec/rest 10.8). Not here: the day itself (`services/fleet/vehicle_days.py`), drawing its track
(`static/vehicle-day.js`).
"""

import asyncio
import datetime as dt
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from litestar.response import Response

from tripline.domain import fields, trends
from tripline.domain.access import Action, Thing
from tripline.domain.ids import VehicleId
from tripline.domain.vehicle_days import Drive, Ends, Point, VehicleDay
from tripline.http import parameters
from tripline.http.context import Call, context_of, maps_of
from tripline.http.operations import Value
from tripline.portal.frame import base_map, figures, views
from tripline.portal.frame.figures import Figures
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.services import admission, places
from tripline.services.fleet import history, vehicle_days
from tripline.store.transactions import ReadTx

PATH: Final = "/fleet/vehicles/{vehicleId}/days"
HOURS: Final = 3
"""Hours between two marks of the time line."""
_THINNEST: Final = 0.25
"""Least width of a trip on the time line, percent of the day."""
_DAY: Final = Value(name="date", type=str, meaning="the day, YYYY-MM-DD", example="2025-01-01")
_PATH_DAY: Final = msgspec.structs.replace(_DAY, required=True)
_TEXTS: Final = ("no_speed", "thinned")
"""Texts of the script, by their name after `portal.trip.`."""
_NOWHERE: Final = Ends(None, None)


@page("GET", PATH, access=Action.DRIVING_READ, query=(_DAY,))
async def choose(request: Call) -> Response[bytes]:
    """Go to a day of the vehicle, by default to today."""
    context = context_of(request)

    _, vehicle_id = await visitor_and(request, lambda tx, visitor: _admitted(tx, request, visitor))
    asked = request.query_params.get("date")
    day = trends.day_of(context.clock(), context.time_zone) if not asked else fields.day("date", asked)
    return views.moved(request, _address(vehicle_id, day))


@page("GET", f"{PATH}/{{date}}", access=Action.DRIVING_READ, in_path=(_PATH_DAY,))
async def show(request: Call) -> Response[bytes]:
    """The drives and stops of the vehicle on one day."""
    context = context_of(request)
    now_ms, zone = context.clock(), context.time_zone

    def work(tx: ReadTx, visitor: Visitor) -> tuple[VehicleDay, str, int]:
        vehicle_id = _admitted(tx, request, visitor)
        day = fields.day("date", request.path_params["date"])
        found = vehicle_days.read(tx, actor=visitor.actor, vehicle_id=vehicle_id, day=day, zone=zone, now_ms=now_ms)
        return found, history.name_of(tx, Thing.VEHICLE, vehicle_id) or "", day

    visitor, (found, number, day) = await visitor_and(request, work, short=False)
    names = await asyncio.to_thread(places.named, maps_of(request).places, found.points, language=visitor.language)
    today = trends.day_of(now_ms, zone)
    figure = figures.of(visitor.language, zone)
    return views.show(
        request,
        "trips/vehicle_day.html",
        title=views.Plain(_sentence(visitor, found, number, figure)),
        day=found,
        rows=_rows(found, names),
        hours=_hours(found, zone),
        number=number,
        base=f"/fleet/vehicles/{found.vehicle_id}",
        before=_address(found.vehicle_id, day - 1) if day > 0 else None,
        behind=_address(found.vehicle_id, day + 1) if day < today else None,
        today=_address(found.vehicle_id, today) if day != today else None,
        latest=trends.text(today),
        previous=_day_of(found.vehicle_id, found.previous_ms, zone),
        following=_day_of(found.vehicle_id, found.next_ms, zone),
        badge=None if found.score is None else found.score.badge,
        texts=_texts(visitor),
        zone=zone.key,
        **base_map.values(request),
    )


def _rows(day: VehicleDay, names: Mapping[Point, str]) -> list[dict[str, Any]]:
    """The drives and stops by time: when each began and ended, maybe on another day, and where. `names`: the words for
    positions."""

    def word(point: Point | None) -> str | None:
        return None if point is None else places.text(point, names.get(point))

    found = []
    for each in day.items:
        if isinstance(each, Drive):
            left_ms, until_ms = each.trip.start_ms, each.trip.end_ms
            ends = day.ends.get(each.trip.no, _NOWHERE)
        else:
            left_ms, until_ms = each.arrived_ms, each.left_ms
            ends = Ends(each.place, None)
        found.append(
            {
                "of": each,
                "is_drive": isinstance(each, Drive),
                "left_ms": left_ms,
                "until_ms": until_ms,
                "earlier": left_ms < day.begin_ms,
                "later": until_ms is not None and until_ms > day.end_ms,
                "lasted_ms": None if until_ms is None else max(until_ms - left_ms, 0),
                "begin": word(ends.begin),
                "end": word(ends.end),
                "bar": _bar(day, each.begin_ms, each.end_ms),
            }
        )
    return found


def _sentence(visitor: Visitor, day: VehicleDay, number: str, figure: Figures) -> str:
    """Sum up the day in one sentence, without its full stop."""
    named = {"vehicle": number, "day": figure.date(day.begin_ms)}
    if not day.drives:
        return visitor.say("portal.day.sentence.none", **named)
    count = visitor.say("portal.day.trips", n=len(day.counted))
    distance, driving = figure.km(day.distance_m / 1_000), figure.lasting(day.driving_ms)
    return visitor.say("portal.day.sentence", **named, trips=count, distance=distance, driving=driving)


def _bar(day: VehicleDay, begin_ms: int, end_ms: int) -> dict[str, float]:
    """The part of the time line, percent of the day."""
    whole = day.end_ms - day.begin_ms
    width = max(100 * (end_ms - begin_ms) / whole, _THINNEST)
    return {"x": round(min(100 * (begin_ms - day.begin_ms) / whole, 100 - width), 3), "width": round(width, 3)}


def _hours(found: VehicleDay, zone: ZoneInfo) -> list[tuple[str, float]]:
    """The marks of the time line by clock time, also on a day of 23 or 25 hours."""
    marks = []
    for clock in (f"{hour:02}:00" for hour in range(0, 24, HOURS)):
        at_ms = dt.datetime.fromisoformat(f"{found.date}T{clock}").replace(tzinfo=zone).timestamp() * 1_000
        marks.append((clock, round(100 * (at_ms - found.begin_ms) / (found.end_ms - found.begin_ms), 3)))
    return marks


def _admitted(tx: ReadTx, request: Call, visitor: Visitor) -> VehicleId:
    vehicle_id = parameters.vehicle_id(request)
    admission.admit(tx, visitor.actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    return vehicle_id


def _address(vehicle_id: VehicleId, day: int) -> str:
    return f"/fleet/vehicles/{vehicle_id}/days/{trends.text(day)}"


def _day_of(vehicle_id: VehicleId, at_ms: int | None, zone: ZoneInfo) -> tuple[str, int] | None:
    """Address and instant of the day of a trip."""
    return None if at_ms is None else (_address(vehicle_id, trends.day_of(at_ms, zone)), at_ms)


def _texts(visitor: Visitor) -> str:
    # The script fills in the values, so their names stand for themselves.
    held = {name: f"{{{name}}}" for name in ("time", "speed", "shown", "all")}
    texts = {name: visitor.say(f"portal.trip.{name}", **held) for name in _TEXTS}
    texts["at_unknown"] = visitor.say("portal.day.at", **held)
    return msgspec.json.encode(texts).decode()
