"""Shows a company's administrators the messages to its server, and resends those that were given up.

Not here: the sending (`pusher.py`), the same for the operator of the machine (`chores/pushes.py`).
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, RowNo, TimeIds
from tripline.domain.pushes import Channel, Message, Mute, Parked, State
from tripline.services.fleet import history
from tripline.services.push import secrets
from tripline.store.fleet import companies
from tripline.store.lists import Span
from tripline.store.push import messages as push_messages
from tripline.store.push import parked as push_parked
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.parked import Counts, Which
from tripline.store.push.secrets import Secret
from tripline.store.transactions import ReadTx, WriteTx

RESENT_AT_ONCE: Final = 500
"""Messages in one transaction: it delays the commit of what devices send."""


def admit(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> None:
    """Let pass who manages the company's messages. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.PUSH_MANAGE)
    access.admit(companies.inside(tx, scope, company_id), access.Thing.COMPANY)


def counts(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Counts:
    """How many messages wait and were given up, and what is wrong. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    counted = push_parked.counts(tx, company_id)
    failed = push_parked.waiting_error(tx, company_id) if counted.waiting else None
    return counted if failed is None else replace(counted, last_error=failed)


def mute(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Sequence[Mute]:
    """The company's receivers that take messages and never answer. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    return receiver_state.mute(tx, company_id)


def parked(tx: ReadTx, *, actor: Actor, company_id: CompanyId, span: Span) -> Sequence[Parked]:
    """A page of what was given up. Raises `NotFound`, `Forbidden` or `UnknownOffset`."""
    admit(tx, actor=actor, company_id=company_id)
    return push_parked.page(tx, company_id, span)


def messages(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, state: State, after: RowNo | None, limit: int
) -> Sequence[Message]:
    """A page of the company's messages in this state. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    return push_messages.page(tx, company_id, state, after=after, limit=limit)


def resend(tx: WriteTx, *, actor: Actor, which: Which, ids: TimeIds, now_ms: int) -> int:
    """Send some of what was given up again; how many, `RESENT_AT_ONCE` when there may be more.

    What waits goes out at once, too. `which` names the company. Raises `NotFound` or `Forbidden`.
    """
    assert which.company_id is not None
    admit(tx, actor=actor, company_id=which.company_id)
    return resend_any(tx, which=which, ids=ids, now_ms=now_ms)


def resend_any(tx: WriteTx, *, which: Which, ids: TimeIds, now_ms: int) -> int:
    """As `resend`, for the operator of the machine."""
    company_id = which.company_id
    keys = push_queue.receivers(tx) if company_id is None else [(company_id, channel) for channel in Channel]
    receiver_state.asked(tx, [key for key in keys if which.channel in (None, key[1])], now_ms=now_ms)
    return push_parked.resend(tx, which, ids=ids, now_ms=now_ms, limit=RESENT_AT_ONCE)


def hurry(tx: WriteTx, *, actor: Actor, company_id: CompanyId, now_ms: int) -> None:
    """Send what waits at once. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    receiver_state.asked(tx, [(company_id, channel) for channel in Channel], now_ms=now_ms)


def secret(tx: WriteTx, *, actor: Actor, company_id: CompanyId, now_ms: int) -> Secret:
    """What signs the company's messages, made on first need. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    return secrets.of(tx, company_id, now_ms=now_ms)


def rotate(tx: WriteTx, *, actor: Actor, company_id: CompanyId, ids: TimeIds, now_ms: int) -> Secret:
    """Another secret; the one before signs too for a day. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    changes = (Change("pushSecret", secret=True),)
    history.note(tx, actor, Event.CHANGED, company_id=company_id, changes=changes, ids=ids, now_ms=now_ms)
    return secrets.rotate(tx, company_id, now_ms=now_ms)
