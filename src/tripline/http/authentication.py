"""Authentication: finds the account behind a request by the credential that comes with it.

A credential is an access token in `X-Authorization`, or the cookie of a browser's session. The account and the session
are read at each request: a disabled or deleted account, and a session that was ended, are refused although token or
cookie look good, and a company gained since the log-in counts at once.

**Changes.** Browsers send a cookie unasked, for a page of another site too. So a cookie counts for a change only
together with the token of its session (`csrf_of`), in a field of the form or in the header `X-CSRF-Token`, and from a
page of our own. All of that is decided here. A token in `X-Authorization` needs none of it: no browser adds it by
itself.

Not here: the account's permissions (`permission.py`), the token's form (`services/accounts/tokens.py`), the cookie's
(`cookies.py`).
"""

import hmac
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from litestar import Request
from litestar.types import Scope

from tripline.domain.access import Actor
from tripline.domain.refusals import Kind, Refusal
from tripline.http import cookies, peers
from tripline.http.context import Call, accounts_of, context_of, process_of
from tripline.services.accounts.sessions import Cookie
from tripline.services.accounts.tokens import Bearer, TokenUnreadable
from tripline.store.accounts import accounts, sessions
from tripline.store.accounts.accounts import Account, Known
from tripline.store.transactions import Hot, ReadTx

CSRF_HEADER: Final = "x-csrf-token"
POLL_HEADER: Final = "x-poll"
"""Marks a background request of a page, which does not renew the session."""
_ASKING: Final = "tripline.asking"
_BACKGROUND: Final = "tripline.background"
_OWN_PAGE: Final = "tripline.own_page"
_VISITING: Final = "tripline.visiting"
_KNOWN_MAX: Final = 10_000
_HEADER: Final = re.compile(r"\s*bearer\s+(\S+)\s*", re.IGNORECASE)
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site` for requests from our own pages, and from no page."""


class ForeignForm(Refusal):
    """A change that no page of ours asks for, or one that was opened before its user signed in again."""

    code = "form.foreign"
    kind = Kind.PERMISSION


class _Asking(msgspec.Struct, frozen=True):
    actor: Actor
    credential: Bearer | Cookie


def actor_in(tx: ReadTx, request: Call) -> Actor:
    """The account that asks, looked up in this transaction; the request is counted.

    Raises refusals of errorCode 10 and 11, `ForeignForm`, and `TooManyRequests`.
    """
    now_ms = context_of(request).clock()
    credential = _credential(request, now_ms)
    return _admitted(request, credential, _found(tx, request, credential, now_ms), now_ms)


async def actor(request: Call) -> Actor:
    """As `actor_in`, in a statement of its own: for requests that read nothing else, or read later."""
    now_ms = context_of(request).clock()
    credential = _credential(request, now_ms)
    return _admitted(request, credential, await _asked(request, credential, now_ms), now_ms)


def in_background(request: Call) -> None:
    """Mark a request that a page makes by itself and cannot mark: it does not prolong the session."""
    request.scope[_BACKGROUND] = True  # type: ignore[typeddict-unknown-key]


def still(tx: ReadTx, request: Call) -> Actor:
    """The account behind a request that goes on, as it is now; the request is not counted again. Raises
    `TokenUnreadable`."""
    now_ms = context_of(request).clock()
    return _found(tx, request, _credential(request, now_ms), now_ms)


def _admitted(request: Call, credential: Bearer | Cookie, actor: Actor, now_ms: int) -> Actor:
    """Count the request of the identified account and return the account. Raises `TooManyRequests`."""
    known = accounts_of(request)
    known.limits.count_request(actor.user_id, now_ms=now_ms)
    if actor.user_id not in known.actors and len(known.actors) >= _KNOWN_MAX:
        known.actors.clear()
    known.actors[actor.user_id] = actor
    if isinstance(credential, Cookie):
        if len(known.browsing) >= _KNOWN_MAX:
            known.browsing.clear()
        known.browsing[credential.hash] = actor.user_id
    request.scope[_ASKING] = _Asking(actor, credential)  # type: ignore[typeddict-unknown-key]
    return actor


def known_actor(request: Call) -> Known | None:
    """The account as of an earlier request, if there was one. The caller's statement must verify that account and
    session are unchanged (`accounts.unchanged`), and the caller counts the request.

    None without a token. Raises refusals of errorCode 10 and 11.
    """
    text = _token(request)
    if text is None:
        return None
    bearer = accounts_of(request).tokens.bearer_of_access(text, now_ms=context_of(request).clock())
    actor = accounts_of(request).actors.get(bearer.user_id)
    return None if actor is None else Known(actor, bearer.session_id)


def count(request: Call, actor: Actor) -> None:
    """Count the request of a `known_actor`. Raises `TooManyRequests`."""
    accounts_of(request).limits.count_request(actor.user_id, now_ms=context_of(request).clock())


def holder_of(scope: Scope) -> str:
    """Whose share of reads and changes the request takes: its account's, or its address's before the account is
    identified."""
    asking: _Asking | None = scope.get(_ASKING)  # type: ignore[assignment]
    if asking is not None:
        return asking.actor.user_id
    request: Call = Request(scope)
    try:
        shown = _shown(request, context_of(request).clock())
    except Refusal:
        return peers.address_of(request)
    if isinstance(shown, Cookie):
        return accounts_of(request).browsing.get(shown.hash) or peers.address_of(request)
    return shown.user_id


async def require_still(request: Call) -> None:
    """As `require_still_in`, by a statement on its own: a body may take a minute to come."""
    asking: _Asking | None = request.scope.get(_ASKING)  # type: ignore[assignment]
    if asking is not None:
        await _asked(request, asking.credential, context_of(request).clock())


def require_still_in(tx: ReadTx, request: Call) -> None:
    """Check that the request's account, if it was identified, still exists and its session lasts.

    Raises `TokenUnreadable` if it was disabled, deleted or signed out meanwhile.
    """
    asking: _Asking | None = request.scope.get(_ASKING)  # type: ignore[assignment]
    if asking is not None:
        _found(tx, request, asking.credential, context_of(request).clock())


async def sender(request: Call) -> Actor:
    """The account that sends a body in which the proof of `require_own_page` is still to come, and that may change
    nothing before. Raises refusals of errorCode 10 and 11."""
    now_ms = context_of(request).clock()
    return await _asked(request, _shown(request, now_ms), now_ms)


def session_of(request: Call) -> str:
    """The session of the request's account."""
    asking: _Asking = request.scope[_ASKING]  # type: ignore[typeddict-item]
    return asking.credential.session_id


def account_of(request: Call) -> Account | None:
    """The account as pages show it, if it was identified by its cookie; None otherwise."""
    account: Account | None = request.scope.get(_VISITING)  # type: ignore[assignment]
    return account


def csrf_of(request: Call) -> str:
    """The token for the forms of this request's session; empty without a cookie."""
    cookie = cookies.found(request)
    return "" if cookie is None or _header(request) is not None else cookie.csrf


async def require_own_page(request: Call, sent: str | None) -> None:
    """Check that a change comes from a form of ours: by the form's token `sent`, else by the token in the header.

    Requests with a token in `X-Authorization` pass.

    Raises `TokenUnreadable` or `TokenExpired` without a valid credential, and `ForeignForm`.
    """
    shown = _shown(request, context_of(request).clock())
    if isinstance(shown, Cookie):
        _require_csrf(request, shown, sent)
        request.scope[_OWN_PAGE] = True  # type: ignore[typeddict-unknown-key]


def change_nothing(request: Call) -> None:
    """Answer a change that is refused already, by a page of its sender; such a page needs no token of a form."""
    request.scope[_OWN_PAGE] = True  # type: ignore[typeddict-unknown-key]


def require_own_origin(request: Call) -> None:
    """Refuse requests that the browser marks as another site's, by `Sec-Fetch-Site`, else by `Origin`.

    For public forms too: a foreign site must not sign a visitor in to an account of its choice. Raises `ForeignForm`.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site.lower() not in _OWN_SITES:
            raise ForeignForm("origin")
        return
    origin = request.headers.get("origin")
    if origin is not None and not _is_own(request, origin):
        raise ForeignForm("origin")


def _credential(request: Call, now_ms: int) -> Bearer | Cookie:
    """The credential that identifies the caller, with the proof that a change needs. Raises as `actor_in`."""
    shown = _shown(request, now_ms)
    if isinstance(shown, Cookie) and request.method not in _READING and _OWN_PAGE not in request.scope:
        _require_csrf(request, shown, None)
    return shown


def _shown(request: Call, now_ms: int) -> Bearer | Cookie:
    """The request's credential; only this function knows which kinds exist."""
    text = _token(request)
    if text is not None:
        return accounts_of(request).tokens.bearer_of_access(text, now_ms=now_ms)
    cookie = cookies.found(request)
    if cookie is None:
        raise TokenUnreadable("header_missing")
    return cookie


def _require_csrf(request: Call, cookie: Cookie, sent: str | None) -> None:
    """Check the session's token and the origin of a request with a cookie. Raises `ForeignForm`."""
    require_own_origin(request)
    shown = sent or request.headers.get(CSRF_HEADER) or ""
    if not hmac.compare_digest(shown.encode(), cookie.csrf.encode()):
        raise ForeignForm("token")


def _found(tx: ReadTx, request: Call, credential: Bearer | Cookie, now_ms: int) -> Actor:
    """The account of the credential, while both are good. Raises `TokenUnreadable`."""
    statement, values = _question(credential, now_ms)
    return _answered(request, credential, tx.hot(statement, *values), now_ms)


async def _asked(request: Call, credential: Bearer | Cookie, now_ms: int) -> Actor:
    """As `_found`, by a statement on its own."""
    statement, values = _question(credential, now_ms)
    rows = await context_of(request).store.ask(statement, *values)
    return _answered(request, credential, rows, now_ms)


def _question(credential: Bearer | Cookie, now_ms: int) -> tuple[Hot, tuple[str | int, ...]]:
    if isinstance(credential, Cookie):
        return sessions.VISIT, (credential.session_id, credential.hash, now_ms)
    return accounts.IN_SESSION, (credential.user_id, credential.session_id)


def _answered(request: Call, credential: Bearer | Cookie, rows: Sequence[tuple[Any, ...]], now_ms: int) -> Actor:
    """The account in the rows; a browser's session is prolonged, except by background requests. Raises
    `TokenUnreadable`."""
    if not isinstance(credential, Cookie):
        actor = accounts.actor_of(credential.user_id, rows)
        if actor is None:
            raise TokenUnreadable("account_gone")
        return actor
    visit = sessions.visit_of(rows)
    if visit is None:
        raise TokenUnreadable("session_ended")
    if _sent(request, POLL_HEADER) is None and _BACKGROUND not in request.scope:
        accounts_of(request).browsers.used(credential.session_id, visit, now_ms=now_ms)
    request.scope[_VISITING] = visit.account  # type: ignore[typeddict-unknown-key]
    return visit.actor


def _is_own(request: Call, origin: str) -> bool:
    """True if the origin matches the address of this request, as far as known: a proxy may have changed it."""
    try:
        scheme, host, *_ = urlsplit(origin)
    except ValueError:
        return False
    if cookies.is_secure(request) and scheme != "https":
        return False
    hosts = {request.headers.get("host", ""), urlsplit(process_of(request).public_url).netloc}
    if process_of(request).behind_proxy:
        hosts.add(request.headers.get("x-forwarded-host", ""))
    return bool(host) and host.lower() in {each.lower() for each in hosts}


def _header(request: Call) -> bytes | None:
    return _sent(request, "x-authorization")


def _sent(request: Call, name: str) -> bytes | None:
    """A header as it came: to make Litestar's map of all headers costs as much as finding the account."""
    sought = name.encode()
    return next((value for each, value in request.scope["headers"] if each == sought), None)


def _token(request: Call) -> str | None:
    """The token in `X-Authorization`; the scheme word in any letter case, then any number of blanks (spec/rest 1).

    None without the header. Raises `TokenUnreadable`.
    """
    header = _header(request)
    if header is None:
        return None
    found = _HEADER.fullmatch(header.decode("latin-1"))
    if found is None:
        raise TokenUnreadable("header_form")
    return found.group(1)
