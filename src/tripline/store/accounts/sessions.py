"""Account sessions: one for each log-in over REST and each sign-in with a browser, until it ends.

A REST session stores its current refresh token and the previous one; a browser session stores the hash of its cookie's
secret. Both are found by the session's own id, which only our signed tokens or the cookie contain, so they take no
scope; lists are of one account, for its owner alone.

Not here: judging tokens (`services/accounts/login.py`), cookies (`services/accounts/sessions.py`),
the state of a session's account (`accounts.py`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, delete, func, select, update

from tripline.domain.access import Actor, Authority
from tripline.domain.account_sessions import Kind, Session
from tripline.domain.ids import CompanyId, UserId
from tripline.store import lists, records
from tripline.store.accounts import accounts
from tripline.store.accounts.accounts import Account
from tripline.store.bulk import Bulk
from tripline.store.lists import Span
from tripline.store.tables import account, account_session
from tripline.store.transactions import Hot, ReadTx, WriteTx

_SESSION: Final = account_session.c
_STORED: Final = select(*(_SESSION[name] for name in Session.__struct_fields__))
_session: Final = records.maker(Session)
_OF_ACCOUNT: Final = lists.ByCreation(
    *(_STORED, account_session, _SESSION.user_id == bindparam("user_id"), _SESSION.expires_ms > bindparam("now_ms")),
    names=["user_id", "now_ms"],
)
_ADD: Final = Bulk(account_session, *Session.__struct_fields__)


class Visit(msgspec.Struct, frozen=True):
    """The account behind a cookie, and the start and last extension of the cookie's session, epoch ms."""

    actor: Actor
    created_ms: int
    prolonged_ms: int
    account: Account
    """The account as pages display it: nearly every cookie requests a page."""


def add(tx: WriteTx, new: Session) -> None:
    """Keep a new session."""
    _ADD.insert(tx, [*msgspec.structs.astuple(new)])


def find(tx: ReadTx, session_id: str) -> Session | None:
    """The session of REST with this id."""
    row = tx.one(_STORED.where(_SESSION.id == session_id, _SESSION.kind == Kind.REST))
    return None if row is None else _session(row)


def visit(tx: ReadTx, session_id: str, secret_hash: str, *, now_ms: int) -> Visit | None:
    """The account behind a cookie: the enabled account of the browser's session, while it lasts."""
    return visit_of(tx.hot(VISIT, session_id, secret_hash, now_ms))


def visit_of(rows: Sequence[tuple[Any, ...]]) -> Visit | None:
    """The visit of a row that `VISIT` found, if any."""
    if not rows:
        return None
    user_id, authority, company_id, created_ms, prolonged_ms, *account = rows[0]
    company = None if company_id is None else CompanyId(company_id)
    actor = Actor(UserId(user_id), Authority(authority), company)
    return Visit(actor, created_ms, prolonged_ms, accounts.own_account_of(tuple(account)))


def rotate(tx: WriteTx, session: Session, *, current: str, now_ms: int, expires_ms: int) -> None:
    """Make another token the good one; the present one becomes the one before."""
    tx.run(
        update(account_session)
        .where(_SESSION.id == session.id)
        .values(current=current, previous=session.current, rotated_ms=now_ms, expires_ms=expires_ms)
    )


def prolong(tx: WriteTx, used: Iterable[tuple[str, int, int]]) -> None:
    """Let browsers' sessions last longer: id, when it was used, and until when it is good, each."""
    later = (
        update(account_session)
        .where(
            _SESSION.id == bindparam("session"),
            _SESSION.kind == Kind.BROWSER,
            _SESSION.rotated_ms < bindparam("used_ms"),
        )
        .values(rotated_ms=bindparam("used_ms"), expires_ms=bindparam("until_ms"))
    )
    # By id: two processes that prolong the same sessions wait for each other instead of colliding.
    for session_id, used_ms, until_ms in sorted(used):
        tx.run(later, {"session": session_id, "used_ms": used_ms, "until_ms": until_ms})


def listed(tx: ReadTx, user_id: UserId, *, now_ms: int, span: Span) -> Sequence[Session]:
    """The account's sessions that have not expired, by when they were opened. Raises `UnknownOffset`."""
    return [_session(row) for row in _OF_ACCOUNT.page(tx, span, user_id, now_ms)]


def opened_since(tx: ReadTx, since_ms: int, *, now_ms: int, limit: int) -> list[tuple[UserId, str]]:
    """Accounts and addresses of sessions of all accounts that have not expired, newest first; for counting attempts."""
    statement = (
        select(_SESSION.user_id, _SESSION.address)
        .where(_SESSION.created_ms >= since_ms, _SESSION.expires_ms > now_ms, _SESSION.address.is_not(None))
        .order_by(_SESSION.created_ms.desc(), _SESSION.id.desc())
        .limit(limit)
    )
    return [(UserId(row.user_id), row.address) for row in tx.all(statement)]


def revoke(tx: WriteTx, session_id: str) -> None:
    """End one session: its tokens or its cookie become invalid."""
    tx.run(delete(account_session).where(_SESSION.id == session_id))


def revoke_own(tx: WriteTx, user_id: UserId, session_id: str) -> bool:
    """As `revoke`, for the account's own session; True if it was."""
    return tx.run(delete(account_session).where(_SESSION.id == session_id, _SESSION.user_id == user_id)) > 0


def revoke_all(tx: WriteTx, user_id: UserId, *, kept: str | None = None) -> None:
    """End every session of the account but the one kept."""
    tx.run(_REVOKE_OTHERS, {"of_user": user_id, "kept": kept or ""})  # no session has this id


def crowded(tx: ReadTx, *, most: int) -> tuple[UserId, int] | None:
    """The account with the most sessions, when it has more than `most`, and how many it has beyond."""
    counted = func.count()
    by_account = select(_SESSION.user_id, counted.label("counted")).group_by(_SESSION.user_id).having(counted > most)
    row = tx.one(by_account.order_by(counted.desc()).limit(1))
    return None if row is None else (UserId(row.user_id), row.counted - most)


def purge_surplus(tx: WriteTx, user_id: UserId, *, limit: int) -> int:
    """End so many sessions of an account, those first that were prolonged longest ago; how many."""
    oldest = select(_SESSION.id).where(_SESSION.user_id == user_id).order_by(_SESSION.rotated_ms, _SESSION.id)
    some = oldest.limit(limit).with_for_update(skip_locked=True)
    return tx.run(delete(account_session).where(_SESSION.id.in_(some)))


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Forget sessions that have expired, the oldest first; how many."""
    expired = select(_SESSION.id).where(_SESSION.expires_ms <= now_ms).order_by(_SESSION.expires_ms).limit(limit)
    return tx.run(delete(account_session).where(_SESSION.id.in_(expired.with_for_update(skip_locked=True))))


_REVOKE_OTHERS: Final = delete(account_session).where(
    _SESSION.user_id == bindparam("of_user"), _SESSION.id != bindparam("kept")
)
VISIT: Final = Hot(
    select(account.c.id, account.c.authority, account.c.company_id, _SESSION.created_ms, _SESSION.rotated_ms)
    .add_columns(*accounts.OWN_COLUMNS)
    .select_from(account_session.join(accounts.WITH_COMPANY, account.c.id == _SESSION.user_id))
    .where(
        _SESSION.id == bindparam("session"),
        _SESSION.kind == Kind.BROWSER.value,
        _SESSION.current == bindparam("secret"),
        _SESSION.expires_ms > bindparam("now"),
        account.c.enabled,
    ),
    "session",
    "secret",
    "now",
)
"""Finds the enabled account behind a cookie, for `visit_of`: by the session's id, the hash of its secret, and now."""
