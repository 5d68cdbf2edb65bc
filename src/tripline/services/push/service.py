"""Show and manage the messages to a company's server, for its administrators."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from tripline.domain import access
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, TimeIds
from tripline.domain.pushes import Channel, Message, Mute, Parked, State
from tripline.services import admission
from tripline.services.fleet import history
from tripline.services.listings import Listing
from tripline.services.push import secrets
from tripline.store.listing import messages as listing
from tripline.store.listing.messages import Filters
from tripline.store.lists import Span
from tripline.store.push import parked as push_parked
from tripline.store.push import receiver_state
from tripline.store.push import secrets as secret_rows
from tripline.store.push.parked import Counts
from tripline.store.push.secrets import Secret
from tripline.store.transactions import ReadTx, WriteTx


def counts(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Counts:
    """Numbers of waiting and parked messages, and the last error. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    counted = push_parked.counts(tx, company_id)
    failed = push_parked.waiting_error(tx, company_id) if counted.waiting else None
    return counted if failed is None else replace(counted, last_error=failed)


def mute(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Sequence[Mute]:
    """The company's mute receivers. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return receiver_state.mute(tx, company_id)


def parked(tx: ReadTx, *, actor: Actor, company_id: CompanyId, span: Span) -> Sequence[Parked]:
    """A page of parked messages. Raises `NotFound`, `Forbidden` or `UnknownOffset`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return push_parked.page(tx, company_id, span)


def counts_up_to(tx: ReadTx, *, actor: Actor, company_id: CompanyId, most: int) -> Mapping[State, int]:
    """Number of messages in each state, counted up to `most`. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return listing.counts(tx, company_id, most=most)


def hurry(tx: WriteTx, *, actor: Actor, company_id: CompanyId, now_ms: int) -> int:
    """Send waiting messages at once; return their number. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    receiver_state.asked(tx, [(company_id, channel) for channel in Channel], now_ms=now_ms)
    return push_parked.waiting(tx, company_id, None)


def secret(tx: WriteTx, *, actor: Actor, company_id: CompanyId, now_ms: int) -> Secret:
    """The secret that signs the company's messages, created on first use. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return secrets.of(tx, company_id, now_ms=now_ms)


def kept_secret(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Secret | None:
    """The secret that signs the company's messages; None: not created yet. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return secret_rows.find(tx, company_id)


def rotate(tx: WriteTx, *, actor: Actor, company_id: CompanyId, ids: TimeIds, now_ms: int) -> Secret:
    """Replace the secret; the previous one also signs for a day. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    changes = (Change("pushSecret", secret=True),)
    history.note(tx, actor, Event.CHANGED, company_id=company_id, changes=changes, ids=ids, now_ms=now_ms)
    return secrets.rotate(tx, company_id, now_ms=now_ms)


def _of_messages(tx: ReadTx, actor: Actor, filters: Filters) -> tuple[None, Filters]:
    company_id = access.company_of(actor)
    admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
    return None, replace(filters, company_id=company_id)


MESSAGES: Final[Listing[Filters, Message]] = Listing(listing.LIST.page, listing.LIST.count, _of_messages)
"""The messages of the actor's company."""
