"""Applications for a service account: submitting, reading, approving, rejecting.

The mail to the applicant is written in the transaction of the decision (`store/accounts/mail_outbox.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.domain import access, applications
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.applications import Application, Decision, Form, State
from tripline.domain.ids import TimeIds
from tripline.domain.refusals import NotFound
from tripline.language.catalogue import Language
from tripline.services.accounts import letters, registry
from tripline.store.accounts import applications as rows
from tripline.store.accounts import directory, mail_outbox
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx, WriteTx


def submit(tx: WriteTx, *, form: Form, language: Language, ids: TimeIds, now_ms: int) -> None:
    """Keep the application for review; nothing is changed while one with its e-mail address is open."""
    new = Application(
        **msgspec.structs.asdict(form),
        id=ids.next(now_ms=now_ms),
        created_ms=now_ms,
        state=State.SUBMITTED,
        decided_ms=None,
        decided_by_id=None,
        reason=None,
        language=language,
    )
    rows.add(tx, new)


def read(tx: ReadTx, *, actor: Actor, application_id: str) -> Application:
    """The application. Raises `NotFound` or `Forbidden`."""
    access.scope_of(actor, Action.APPLICATION_REVIEW)
    found = rows.find(tx, application_id)
    if found is None:
        raise NotFound("application")
    return found


def decider(tx: ReadTx, *, actor: Actor, application: Application) -> str | None:
    """The name of the account that decided the application; None: undecided, or the account was deleted. Raises
    `Forbidden`."""
    access.scope_of(actor, Action.APPLICATION_REVIEW)
    found = None if application.decided_by_id is None else directory.find(tx, application.decided_by_id)
    return None if found is None else found.name


def listed(tx: ReadTx, *, actor: Actor, state: State | None, span: Span) -> Sequence[Application]:
    """Applications, of one state or all. Raises `Forbidden`, `UnknownOffset`."""
    access.scope_of(actor, Action.APPLICATION_REVIEW)
    return rows.listed(tx, state=state, span=span)


def approve(
    tx: WriteTx, *, actor: Actor, application_id: str, password_hash: str, ids: TimeIds, now_ms: int
) -> Application:
    """Approve the application: create its account and queue a mail with a link to set the password.

    `password_hash` is of a random password. Raises `AlreadyDecided` and `people.EmailTaken`.
    """
    found = read(tx, actor=actor, application_id=application_id)
    _decide(tx, actor, found, Decision.APPROVE, reason=None, now_ms=now_ms)
    user_id = registry.create(
        tx,
        authority=Authority.COMPANY_ADMIN,
        name=found.contact_name,
        email=found.email,
        phone=found.mobile,
        division=found.department,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
    )
    mail_outbox.add(
        tx,
        ids=ids,
        kind=letters.Kind.APPROVED,
        recipient=found.email,
        language=found.language,
        account_id=user_id,
        application_id=found.id,
        now_ms=now_ms,
    )
    return read(tx, actor=actor, application_id=application_id)


def reject(tx: WriteTx, *, actor: Actor, application_id: str, reason: str, ids: TimeIds, now_ms: int) -> Application:
    """The rejected application; a mail with the reason is on its way. Raises `AlreadyDecided`."""
    found = read(tx, actor=actor, application_id=application_id)
    _decide(tx, actor, found, Decision.REJECT, reason=reason, now_ms=now_ms)
    mail_outbox.add(
        tx,
        ids=ids,
        kind=letters.Kind.REJECTED,
        recipient=found.email,
        language=found.language,
        application_id=found.id,
        now_ms=now_ms,
    )
    return read(tx, actor=actor, application_id=application_id)


def _decide(
    tx: WriteTx, actor: Actor, found: Application, decision: Decision, *, reason: str | None, now_ms: int
) -> None:
    state = applications.decided(found.state, decision)
    rows.decide(tx, found.id, state=state, decided_by=actor.user_id, reason=reason, now_ms=now_ms)
