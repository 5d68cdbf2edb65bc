"""Read the positions of a company's vehicles: all, or the changes since an earlier answer (spec/positions L8, L9);
and one vehicle's, with the limit of its road and the place in words."""

import asyncio
import base64
import binascii
from hashlib import blake2b
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from tripline.domain import access, ids
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId, TripId, VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.positions import Position
from tripline.domain.refusals import BadParameter, NotFound
from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceNames, RoadMatcher, Spot
from tripline.scoring import rules
from tripline.services import places
from tripline.store import positions as rows
from tripline.store.fleet import vehicles
from tripline.store.transactions import ReadTx

CURSOR_MS: Final = 7 * DAY_MS
"""Lifetime of a cursor: shorter than changes of reach are stored (`services/accounts/sweeper.py`)."""
_Whole = Annotated[int, Meta(ge=0, le=2**53)]


class UnknownCursor(BadParameter):
    """The cursor was not given to this caller for this company, or a week ago."""

    code = "positions.unknown_cursor"


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A reader's progress: all changes up to a number, and later ones for the vehicles up to an id."""

    whose: str
    since_no: _Whole
    since_ms: _Whole
    """When that was the newest number."""
    until_no: _Whole
    """During a walk through the vehicles: the newest number when it began."""
    until_ms: _Whole
    after: str
    """The last vehicle of the walk; empty: the walk has not begun."""


class Answer(NamedTuple):
    """Some vehicles, in the order of their ids."""

    positions: list[Position]
    left: list[VehicleId]
    """Vehicles that the reader can no longer see, or that no longer have a position."""
    since: str
    """The cursor for the next call."""
    has_next: bool
    """True if more changes are available now."""


def read(tx: ReadTx, *, actor: Actor, company_id: CompanyId, since: str | None, limit: int, now_ms: int) -> Answer:
    """Positions of the company's own and delegated vehicles that the actor may see; with a cursor, only changes. Raises
    `UnknownCursor`. The caller admitted the actor to the company."""
    scope = access.scope_of(actor, Action.DRIVING_READ)
    newest_no, whose = rows.now_no(tx), _whose(actor, company_id)
    at = _Cursor(whose, 0, now_ms, newest_no, now_ms, "") if since is None else _opened(since, whose, newest_no, now_ms)
    if not at.after:
        at = msgspec.structs.replace(at, until_no=newest_no, until_ms=now_ms)
    found = rows.changed(tx, scope, company_id, since_no=at.since_no, after=at.after, limit=limit + 1)
    has_next = len(found) > limit
    found = found[:limit]
    if has_next:
        at = msgspec.structs.replace(at, after=found[-1].vehicle_id)
    else:
        at = _Cursor(whose, at.until_no, at.until_ms, at.until_no, at.until_ms, "")
    return Answer(
        [each.position for each in found if each.position is not None],
        [each.vehicle_id for each in found if each.position is None],
        base64.urlsafe_b64encode(msgspec.json.encode(at)).decode().rstrip("="),
        has_next,
    )


def _opened(text: str, whose: str, newest_no: int, now_ms: int) -> _Cursor:
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        cursor = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Cursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise UnknownCursor(field="since") from error
    known = cursor.since_no <= cursor.until_no <= newest_no and cursor.after in ("", ids.canonical(cursor.after))
    if cursor.whose != whose or not known or now_ms - cursor.since_ms > CURSOR_MS:
        raise UnknownCursor(field="since")
    return cursor


def _whose(actor: Actor, company_id: CompanyId) -> str:
    """A fingerprint of reader and company: a cursor is valid only for its reader."""
    return blake2b(f"{actor.user_id} {company_id}".encode(), digest_size=6).hexdigest()


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


def whereabouts(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Whereabouts:
    """Return the whereabouts of the vehicle. Raises `Forbidden`, or `NotFound` also when it has no position."""
    found = vehicles.find(tx, access.scope_of(actor, Action.DRIVING_READ), vehicle_id)
    vehicle = access.admitted(found, Thing.VEHICLE)
    position = rows.of_vehicle(tx, vehicle_id)
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
