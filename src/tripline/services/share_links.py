"""Share links: make, list and end them; and what the page behind one shows.

A link has a secret of 256 random bits behind the `#` of its address, where no server or proxy sees it. The page sends
it once in exchange for a cookie. It is stored as SHA-256 only; a slow hash protects only guessable secrets.

At each use the maker must be enabled and still be allowed to share the vehicle. A take-back and the deletion of
vehicle or maker delete the link.

Not here: the pages (`portal/sharing/`), limits of attempts (`services/accounts/throttle.py`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from tripline.domain import access, share_links
from tripline.domain.access import Action, Actor
from tripline.domain.history import Event
from tripline.domain.ids import RecordId, TimeIds, UserId, VehicleId
from tripline.domain.positions import Position
from tripline.domain.refusals import Forbidden
from tripline.domain.share_links import LinkGone, ShareLink, TooManyLinks
from tripline.services.fleet import history
from tripline.services.live import trail
from tripline.store import positions
from tripline.store import share_links as rows
from tripline.store.accounts import accounts
from tripline.store.fleet import vehicles
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.trips import trail as samples

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


class Shared(NamedTuple):
    """A link that works, as its page needs it."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    """None: not to be shown."""
    trail_since_ms: int | None
    """None: no trail is to be shown."""


def admit(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> None:
    """Admit an actor who may share the vehicle. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_SHARE)
    access.admit(vehicles.inside(tx, scope, vehicle_id), access.Thing.VEHICLE)


def make(
    tx: WriteTx,
    *,
    actor: Actor,
    vehicle_id: VehicleId,
    hours: int | None,
    trail: bool,
    number: bool,
    ids: TimeIds,
    now_ms: int,
) -> Made:
    """A new link to the vehicle. Raises `NotFound`, `Forbidden`, `BadParameter`, `TooManyLinks`."""
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
        trail=trail,
        number=number,
        openings=0,
        opened_ms=None,
    )
    secret = secrets.token_urlsafe(_BYTES)
    rows.insert_new(tx, link, secret_hash=_hash(secret))
    _note(tx, actor, Event.SHARED, link, ids=ids, now_ms=now_ms)
    return Made(find(tx, actor=actor, link_id=link.id), secret)


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


def shared(tx: ReadTx, *, link_id: RecordId, secret: str, now_ms: int) -> Shared:
    """What the link shows, while it works. Raises `LinkGone`."""
    found = rows.opened(tx, link_id, _hash(secret), now_ms=now_ms)
    if found is None:
        raise LinkGone
    maker_id, vehicle_id, created_ms, has_trail, has_number, vehicle_no = found
    maker = accounts.actor(tx, UserId(maker_id))
    try:
        scope = None if maker is None else access.scope_of(maker, Action.VEHICLE_SHARE)
    except Forbidden as error:
        raise LinkGone from error
    if scope is None or not vehicles.inside(tx, scope, VehicleId(vehicle_id)):
        raise LinkGone
    return Shared(VehicleId(vehicle_id), vehicle_no if has_number else None, created_ms if has_trail else None)


def position(tx: ReadTx, link: Shared) -> Position | None:
    """The vehicle's position; None: it has none."""
    return positions.of_vehicle(tx, link.vehicle_id)


def way(tx: ReadTx, link: Shared, *, now_ms: int) -> list[trail.Point]:
    """The way since the link was made, by time; empty if the link does not show it."""
    if link.trail_since_ms is None:
        return []
    since_ms = link.trail_since_ms
    packed = samples.samples(tx, link.vehicle_id, since_ms=since_ms - trail.OPEN_MS, limit=trail.MESSAGES)
    return trail.way(packed, begin_ms=since_ms, end_ms=now_ms)


def _note(
    tx: WriteTx,
    actor: Actor,
    event: Event,
    link: ShareLink,
    *,
    ids: TimeIds,
    now_ms: int,
) -> None:
    owner = vehicles.find(tx, _ANY, link.vehicle_id)
    history.note(
        tx,
        actor,
        event,
        company_id=link.company_id if owner is None else owner[0].company_id,
        vehicle_id=link.vehicle_id,
        ids=ids,
        now_ms=now_ms,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
