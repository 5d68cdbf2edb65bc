"""The mail outbox: written in the transaction that causes a mail, emptied by the postman.

A row names the letter and its recipient; other contents are read at sending. A parked row is never due: it waits for a
person.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import delete, func, insert, select, update

from tripline.domain.ids import TimeIds, TripId, UserId
from tripline.store.tables import mail_outbox
from tripline.store.transactions import ReadTx, WriteTx

NEVER_MS: Final = 2**62
"""`due_ms` of a parked row."""
_ERROR_MAX: Final = 255
_MAIL: Final = mail_outbox.c


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """One mail to send."""

    no: int
    created_ms: int
    kind: str
    language: str
    recipient: str
    account_id: UserId | None
    application_id: str | None
    dispute_id: str | None
    trip_id: TripId | None
    due_ms: int
    attempts: int
    last_error: str | None


class Waiting(msgspec.Struct, frozen=True):
    """How many mails wait to be sent and how many are parked, and the newest error of any."""

    waiting: int
    parked: int
    last_error: str | None


def add(
    tx: WriteTx,
    *,
    ids: TimeIds,
    kind: str,
    recipient: str,
    now_ms: int,
    language: str = "en",
    account_id: UserId | None = None,
    application_id: str | None = None,
    dispute_id: str | None = None,
    trip_id: TripId | None = None,
) -> None:
    """Queue a mail for sending after the commit, behind all waiting ones: another program on this database may have
    numbered mails ahead of our clock (not on a shared one, where each process numbers in its own slot)."""
    newest: int = 0 if tx.shared else tx.all(select(func.coalesce(func.max(_MAIL.no), 0)))[0][0]
    row = {
        "no": ids.behind(max(ids.take(1, now_ms=now_ms) - 1, newest)).start,
        "created_ms": now_ms,
        "kind": kind,
        "language": language,
        "recipient": recipient,
        "account_id": account_id,
        "application_id": application_id,
        "dispute_id": dispute_id,
        "trip_id": trip_id,
        "due_ms": now_ms,
    }
    tx.run(insert(mail_outbox), row)


def due(tx: ReadTx, *, now_ms: int, limit: int) -> Sequence[Mail]:
    """Mails to send now, the longest due first."""
    statement = select(mail_outbox).where(_MAIL.due_ms <= now_ms).order_by(_MAIL.due_ms, _MAIL.no).limit(limit)
    return [Mail(**row._mapping) for row in tx.all(statement)]


def claim(tx: WriteTx, mail: Mail, *, until_ms: int) -> bool:
    """Claim the mail until this instant; False if another process has it, or it was deleted.

    For a shared store: the embedded one has a single postman.
    """
    still_due = (_MAIL.no == mail.no, _MAIL.due_ms == mail.due_ms)
    return tx.run(update(mail_outbox).where(*still_due).values(due_ms=until_ms)) == 1


def done(tx: WriteTx, no: int) -> None:
    """The mail was sent, or is not wanted any more."""
    tx.run(delete(mail_outbox).where(_MAIL.no == no))


def postpone(tx: WriteTx, mail: Mail, *, error: str, due_ms: int) -> None:
    """Try the mail again at this instant, or never (`NEVER_MS`)."""
    tx.run(
        update(mail_outbox)
        .where(_MAIL.no == mail.no)
        .values(attempts=mail.attempts + 1, last_error=error[:_ERROR_MAX], due_ms=due_ms)
    )


def wake_parked(tx: WriteTx, *, now_ms: int) -> int:
    """Make every parked mail due once more; how many."""
    return tx.run(update(mail_outbox).where(_MAIL.due_ms == NEVER_MS).values(due_ms=now_ms))


def purge_parked(tx: WriteTx, *, before_ms: int) -> int:
    """Forget parked mails that were caused before this instant; how many."""
    return tx.run(delete(mail_outbox).where(_MAIL.due_ms == NEVER_MS, _MAIL.created_ms < before_ms))


def waiting(tx: ReadTx) -> Waiting:
    """How the sending keeps up."""
    parked = func.count().filter(_MAIL.due_ms == NEVER_MS).label("parked")
    counted = tx.all(select(func.count().label("all"), parked).select_from(mail_outbox))[0]
    failed = tx.all(select(_MAIL.last_error).where(_MAIL.last_error.is_not(None)).order_by(_MAIL.no.desc()).limit(1))
    return Waiting(counted.all - counted.parked, counted.parked, failed[0].last_error if failed else None)
