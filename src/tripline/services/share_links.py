"""Share links: make, list and end them; and what the page behind one shows.

A link has a secret of 256 random bits behind the `#` of its address, where no server or proxy sees it. The page sends
it once in exchange for a cookie. It is stored as SHA-256 only; a slow hash protects only guessable secrets.

A link shows a vehicle, or a trip of it. At each use its maker must be enabled and still be allowed to share the
vehicle. A take-back and the deletion of vehicle or maker delete the link.

Not here: the pages (`portal/sharing/`), the shown part of a trip (`shared_trips.py`), limits of attempts
(`services/accounts/throttle.py`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from tripline.domain import access, share_links
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.history import Change, Event
from tripline.domain.ids import RecordId, TimeIds, TripId, VehicleId, no_of
from tripline.domain.positions import Position
from tripline.domain.refusals import Forbidden
from tripline.domain.share_links import LinkGone, NotShareable, ShareLink, Shows, TooManyLinks
from tripline.domain.stored_trips import JudgedTrip
from tripline.services import admission
from tripline.services.fleet import history
from tripline.services.live import trail
from tripline.services.scores import reads as score_reads
from tripline.store import positions
from tripline.store import share_links as rows
from tripline.store.accounts import accounts
from tripline.store.fleet import vehicles
from tripline.store.share_links import Opened
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.trips import microtrips as samples
from tripline.store.trips import trips

_BYTES: Final = 32
_ANY: Final = access.Scope.everything("name the maker of a share link")


class Made(NamedTuple):
    """A new link."""

    link: ShareLink
    secret: str
    """Known to the maker alone."""

    @property
    def path(self) -> str:
        """The address below the server's own."""
        return f"{share_links.PATH}/{self.link.id}#{self.secret}"


class SharedTrip(NamedTuple):
    """The samples of a shared trip, and which of them the link shows."""

    packed: bytes
    whole: bool
    until_ms: int


def admit_to_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> tuple[JudgedTrip, VehicleId]:
    """Return a trip that the actor may share, and its vehicle. Raises `NotFound`, `Forbidden`, `NotShareable`."""
    admission.admit(tx, actor, Action.VEHICLE_SHARE, Thing.TRIP, trip_id)
    trip = trips.trip_of(tx, trip_id)
    if trip.vehicle_id is None:
        raise NotShareable("without_vehicle")
    if trip.end_ms is None:
        raise NotShareable("under_way")
    return trip, trip.vehicle_id


def make(
    tx: WriteTx,
    *,
    actor: Actor,
    vehicle_id: VehicleId,
    hours: int | None,
    shows: Shows,
    ids: TimeIds,
    now_ms: int,
    trip: JudgedTrip | None = None,
) -> Made:
    """Make a link to the vehicle, or to this trip of it. Raises `NotFound`, `Forbidden`, `BadParameter`,
    `TooManyLinks`."""
    scope = access.scope_of(actor, Action.VEHICLE_SHARE)
    vehicle = access.admitted(vehicles.find(tx, scope, vehicle_id), access.Thing.VEHICLE)
    lifetime_ms = share_links.lifetime_ms(hours)
    company_id = access.company_of(actor)
    if rows.count(tx, company_id, now_ms=now_ms, maker_id=actor.user_id) >= share_links.MOST_OF_ACCOUNT:
        raise TooManyLinks("account", most=share_links.MOST_OF_ACCOUNT)
    if rows.count(tx, company_id, now_ms=now_ms) >= share_links.MOST_OF_COMPANY:
        raise TooManyLinks("company", most=share_links.MOST_OF_COMPANY)
    link = ShareLink(
        id=RecordId(ids.next(now_ms=now_ms)),
        created_ms=now_ms,
        expires_ms=now_ms + lifetime_ms,
        company_id=company_id,
        maker_id=actor.user_id,
        maker_name="",
        vehicle_id=vehicle.id,
        vehicle_no=vehicle.vehicle_no,
        trip_id=None if trip is None else trip.id,
        trip_start_ms=None if trip is None else trip.start_ms,
        shows=shows,
        openings=0,
        opened_ms=None,
    )
    secret = secrets.token_urlsafe(_BYTES)
    rows.insert_new(tx, link, secret_hash=_hash(secret))
    _note(tx, actor, Event.SHARED, link, ids=ids, now_ms=now_ms)
    return Made(find(tx, actor=actor, link_id=link.id), secret)


def make_of_trip(
    tx: WriteTx, *, actor: Actor, trip_id: TripId, hours: int | None, shows: Shows, ids: TimeIds, now_ms: int
) -> Made:
    """Make a link to the trip. Raises as `admit_to_trip` and `make`, and `TooLong`."""
    trip, vehicle_id = admit_to_trip(tx, actor=actor, trip_id=trip_id)
    score_reads.packed_samples(tx, no_of(trip.id))
    return make(tx, actor=actor, vehicle_id=vehicle_id, hours=hours, shows=shows, ids=ids, now_ms=now_ms, trip=trip)


def of_company(tx: ReadTx, *, actor: Actor, now_ms: int) -> Sequence[ShareLink]:
    """The links of the actor's company on vehicles that the actor may share, the newest first."""
    scope = access.scope_of(actor, Action.VEHICLE_SHARE)
    return [] if actor.company_id is None else rows.of_company(tx, scope, actor.company_id, now_ms=now_ms)


def find(tx: ReadTx, *, actor: Actor, link_id: RecordId) -> ShareLink:
    """The link. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_SHARE)
    return access.admitted(rows.find(tx, scope, access.company_of(actor), link_id), access.Thing.SHARE_LINK)


def end(tx: WriteTx, *, actor: Actor, link_id: RecordId, ids: TimeIds, now_ms: int) -> None:
    """End the link. Raises `NotFound`, `Forbidden`."""
    link = find(tx, actor=actor, link_id=link_id)
    rows.end(tx, link.id)
    _note(tx, actor, Event.SHARE_ENDED, link, ids=ids, now_ms=now_ms)


def open_link(tx: WriteTx, *, link_id: RecordId, secret: str, now_ms: int) -> None:
    """Count an opening of the link. Raises `LinkGone`."""
    shared(tx, link_id=link_id, secret=secret, now_ms=now_ms)
    rows.count_opening(tx, link_id, now_ms=now_ms)


def shared(tx: ReadTx, *, link_id: RecordId, secret: str, now_ms: int) -> Opened:
    """Return the link, while it works. Raises `LinkGone`."""
    link = rows.opened(tx, link_id, _hash(secret), now_ms=now_ms)
    if link is None:
        raise LinkGone
    maker = accounts.actor(tx, link.maker_id)
    try:
        scope = None if maker is None else access.scope_of(maker, Action.VEHICLE_SHARE)
    except Forbidden as error:
        raise LinkGone from error
    if scope is None or not vehicles.inside(tx, scope, link.vehicle_id):
        raise LinkGone
    return link


def position(tx: ReadTx, link: Opened) -> Position | None:
    """Return the vehicle's position; None: it has none. Raises `LinkGone` for the link of a trip."""
    _require(link.trip_no is None)
    return positions.of_vehicle(tx, link.vehicle_id)


def way(tx: ReadTx, link: Opened, *, now_ms: int) -> list[trail.Point]:
    """Return the way since the link was made, by time; empty if the link does not show it. Raises `LinkGone` for the
    link of a trip."""
    _require(link.trip_no is None)
    if not link.shows.trail:
        return []
    since_ms = link.created_ms
    packed = samples.samples(tx, link.vehicle_id, since_ms=since_ms - trail.OPEN_MS, limit=trail.MESSAGES)
    return trail.way(packed, begin_ms=since_ms, end_ms=now_ms)


def trip(tx: ReadTx, link: Opened) -> SharedTrip:
    """Return the samples of the trip. Raises `LinkGone` for the link of a vehicle, `TooLong`."""
    _require(link.trip_no is not None)
    return SharedTrip(score_reads.packed_samples(tx, link.trip_no or 0), link.shows.whole, link.created_ms)


def _require(shown: bool) -> None:
    if not shown:
        raise LinkGone


def _note(tx: WriteTx, actor: Actor, event: Event, link: ShareLink, *, ids: TimeIds, now_ms: int) -> None:
    owner = vehicles.find(tx, _ANY, link.vehicle_id)
    history.note(
        tx,
        actor,
        event,
        company_id=link.company_id if owner is None else owner[0].company_id,
        vehicle_id=link.vehicle_id,
        changes=() if link.trip_id is None else (Change("tripId", after=link.trip_id),),
        ids=ids,
        now_ms=now_ms,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
