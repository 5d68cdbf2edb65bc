"""The whereabouts of one vehicle: its position, the limit of its road, and the place in words.

Not here: positions of many vehicles (`positions.py`, `feed.py`), finding the road (`ports.maps.RoadMatcher`).
"""

import asyncio
from typing import NamedTuple

from tripline.domain import access
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import TripId, VehicleId
from tripline.domain.positions import Position
from tripline.domain.refusals import NotFound
from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceNames, RoadMatcher, Spot
from tripline.scoring import rules
from tripline.services import places
from tripline.store import positions
from tripline.store.fleet import vehicles
from tripline.store.transactions import ReadTx


class Whereabouts(NamedTuple):
    """A vehicle's position, with related values of the store."""

    position: Position
    category: str | None
    latest_trip_id: TripId | None
    may_share: bool
    """True if the reader may make share links to the vehicle."""


class Surroundings(NamedTuple):
    """A position on the map."""

    limit_kmh: float | None
    """None: unknown, or unclear which road it is."""
    words: str | None
    """Road and place; None: no map names it."""


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Whereabouts:
    """Return the whereabouts of the vehicle. Raises `Forbidden`, or `NotFound` also when it has no position."""
    found = vehicles.find(tx, access.scope_of(actor, Action.DRIVING_READ), vehicle_id)
    vehicle = access.admitted(found, Thing.VEHICLE)
    position = positions.of_vehicle(tx, vehicle_id)
    if position is None:
        raise NotFound("position")
    shares = actor.authority in access.RULES[Action.VEHICLE_SHARE] and bool(
        vehicles.inside(tx, access.scope_of(actor, Action.VEHICLE_SHARE), vehicle_id)
    )
    return Whereabouts(position, vehicle.category, vehicle.latest_trip_id, shares)


async def around(
    found: Whereabouts, *, roads: RoadMatcher | None, names: PlaceNames | None, language: Language
) -> Surroundings:
    """Look the position up in the maps."""
    at = found.position
    road = None
    if roads is not None:
        spot = Spot(at.time_ms, at.lat, at.lon, at.heading_deg, rules.column_of(found.category))
        road = await asyncio.to_thread(roads.road_at, spot)
    name = "" if road is None else road.name
    (words,) = await places.words(names, [(at.lat, at.lon)], language=language, roads=[name])
    return Surroundings(None if road is None else road.limit_kmh, words)
