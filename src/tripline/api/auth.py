"""Log-in, refresh, and who am I (spec/rest 1 and 2).

The body is JSON whatever its Content-Type: an existing client sends it as a form, with `! ' ( ) *` percent-encoded
inside the values. Only when such a log-in fails are those five decoded and the credentials tried once more, so that a
password that really contains `%21` works too.
"""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter
from tripline.http import answers, parameters, peers, permission
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import operation
from tripline.services.accounts import login
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.tokens import Pair, TokenExpired, TokenUnreadable
from tripline.services.fleet import people
from tripline.wire.rest import people as rest_people
from tripline.wire.rest.accounts import Login, Refresh, TokenPair

_FORM: Final = "application/x-www-form-urlencoded"
_FORM_ESCAPES: Final = {b"%21": b"!", b"%27": b"'", b"%28": b"(", b"%29": b")", b"%2A": b"*", b"%2a": b"*"}


@operation(
    "POST",
    "/api/auth/login",
    access=Gate.ANYONE,
    request=Login,
    answer=TokenPair,
    refuses=(login.WrongCredentials, login.MustWait, TooManyLogins),
)
async def log_in(request: Call) -> ASGIApp:
    """Tokens for a username (the e-mail address) and password.

    After 5 wrong passwords of one account from one address the next attempt has to wait; the wait doubles each time.
    """
    body = await parameters.body(request)
    plain = _unescaped(body) if _is_form(request) else body
    pair = await login.log_in(
        context_of(request).store,
        claims=[_claim(each) for each in ([body] if plain == body else [body, plain])],
        attempts=peers.attempts_of(request),
        passwords=accounts_of(request).passwords,
        tokens=accounts_of(request).tokens,
    )
    return _tokens(pair)


@operation(
    "POST",
    "/api/auth/token",
    access=Gate.ANYONE,
    request=Refresh,
    answer=TokenPair,
    refuses=(TokenExpired, TokenUnreadable),
)
async def refresh(request: Call) -> ASGIApp:
    """New tokens for a refresh token; no other header is needed.

    Each use gives the next refresh token. The previous one is valid for another 10 seconds, in case an answer was lost;
    any older one ends the whole session, because it must have been copied.
    """
    context = context_of(request)
    body = await parameters.json_object(request)
    token = _text(body, "refreshToken")
    pair = await login.refresh(
        context.store, refresh_token=token, tokens=accounts_of(request).tokens, now_ms=context.clock()
    )
    return _tokens(pair)


@operation("GET", "/api/auth/user", access=Gate.ACCOUNT, answer=rest_people.UserRecord)
async def me(request: Call) -> ASGIApp:
    """The caller's own record."""
    context = context_of(request)
    actor = await permission.permitted(request)
    return answers.ok(rest_people.user_record(await context.store.read_short(lambda tx: people.own(tx, actor=actor))))


def _claim(body: bytes) -> login.Claim:
    values = parameters.object_in(body)
    return _text(values, "username"), _text(values, "password")


def _is_form(request: Call) -> bool:
    kind: str = request.headers.get("content-type", "")
    return kind.split(";")[0].strip().lower() == _FORM


def _unescaped(body: bytes) -> bytes:
    """The body with the five characters decoded. None of them makes another escape, so one after the other will do."""
    for escape, character in _FORM_ESCAPES.items():
        body = body.replace(escape, character)
    return body


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None or value == "":
        raise BadParameter.missing(name)
    if not isinstance(value, str):
        raise BadParameter("text", field=name)
    return value


def _tokens(pair: Pair) -> ASGIApp:
    return answers.ok(TokenPair(pair.token, pair.refresh_token))
