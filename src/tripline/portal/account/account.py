"""The page of the visitor's own account: name, password, language, theme, and sessions."""

import re
from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain import fields
from tripline.domain import passwords as rules
from tripline.domain.access import Gate
from tripline.domain.refusals import NotFound, Refusal
from tripline.http import authentication, cookies, errors, languages, parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.language.catalogue import Language
from tripline.portal.account.passwords import chosen
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import SYSTEM, guest_in, visitor_and, visitor_of
from tripline.services.accounts import login, preferences
from tripline.services.accounts import sessions as service
from tripline.services.accounts.hash_turns import TooManyLogins
from tripline.services.accounts.preferences import Theme
from tripline.store.lists import Span

PATH: Final = "/account"
_SHOWN: Final = 50
_LABELS: Final = {
    "currentPassword": "portal.account.current",
    "newPassword": "portal.account.new",
    "again_password": "portal.account.again",
}


# The order matters: many browsers name others too, for compatibility.
_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("Whale/", "Whale"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_PROGRAM: Final = re.compile(r"[!-~]{1,60}")


@page("GET", PATH, access=Gate.ACCOUNT)
async def show(request: Call) -> Response[bytes]:
    """The visitor's account."""
    return await _shown(request)


@page(
    "POST",
    "/account/password",
    access=Gate.ACCOUNT,
    refuses=(login.WrongPassword, login.MustWait, rules.PasswordsDiffer, rules.PasswordTooShort, TooManyLogins),
)
async def change_password(request: Call) -> Response[bytes]:
    """Set a new password; ends every session except this browser's, which gets a new cookie."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    attempts = peers.attempts_of(request)
    checked = fields.Checks()
    current = checked(fields.required, "currentPassword", form.secret("currentPassword"))
    new = checked.whole(chosen, {"name": "newPassword", "form": form})
    try:
        checked.end()
        await login.change_password(
            context.store,
            actor=visitor.actor,
            current=current,
            new=new,
            attempts=attempts,
            passwords=accounts_of(request).passwords,
            ids=context.ids,
        )
    except Refusal as refusal:
        return await _shown(request, error=refusal)
    cookie = await context.store.write(
        lambda tx: service.opened(
            tx,
            user_id=visitor.actor.user_id,
            client=attempts.client,
            settings=accounts_of(request).browsers.settings,
            before=None,
            now_ms=attempts.now_ms,
        )
    )
    answer = views.moved(request, PATH, notice="portal.account.password_changed")
    answer.headers.update(cookies.given(request, cookie))
    return answer


@page("POST", "/account/preferences", access=Gate.ANYONE)
async def prefer(request: Call) -> Response[bytes]:
    """Choose language or theme. An account stores both; a guest's browser stores the language."""
    form = await forms.read(request)
    context = context_of(request)
    answer = views.moved(request, addresses.within(form.text(addresses.NEXT)))
    language, theme = form.text("language"), form.text("theme")
    if cookies.found(request) is not None:
        await authentication.require_own_page(request, form.secret(forms.CSRF))
    visitor = await context.store.read_short(lambda tx: guest_in(tx, request))
    if visitor is None:
        if language in frozenset(Language):
            answer.cookies.append(languages.kept(request, language))
        return answer
    wanted = preferences.Wanted(
        language=Language(language) if language in frozenset(Language) else None,
        theme=Theme(theme) if theme in frozenset(Theme) else None,
        of_system=theme == SYSTEM,
    )
    await context.store.write(lambda tx: preferences.choose(tx, actor=visitor.actor, wanted=wanted))
    return answer


@page("POST", "/account/sessions/end", access=Gate.ACCOUNT, refuses=(NotFound,))
async def end(request: Call) -> Response[bytes]:
    """End one of the visitor's sessions."""
    form = await forms.read(request)
    session_id = fields.uuid("session", form.text("session"))
    visitor = await visitor_of(request)
    await context_of(request).store.write(partial(service.end, actor=visitor.actor, session_id=session_id))
    if session_id == authentication.session_of(request):
        return _left(request)
    return views.moved(request, PATH, notice="portal.account.session_ended")


@page("POST", "/account/sessions/end-others", access=Gate.ACCOUNT)
async def end_others(request: Call) -> Response[bytes]:
    """End the visitor's other sessions."""
    await forms.read(request)
    await _end_all(request, keeps=True)
    return views.moved(request, PATH, notice="portal.account.others_ended")


@page("POST", "/account/sessions/end-all", access=Gate.ACCOUNT)
async def end_all(request: Call) -> Response[bytes]:
    """End all of the visitor's sessions, including this browser's."""
    await forms.read(request)
    await _end_all(request, keeps=False)
    return _left(request)


async def _end_all(request: Call, *, keeps: bool) -> None:
    visitor = await visitor_of(request)
    kept = authentication.session_of(request) if keeps else None
    await context_of(request).store.write(partial(service.end_all, actor=visitor.actor, kept=kept))


def _left(request: Call) -> Response[bytes]:
    answer = views.moved(request, addresses.SIGN_IN)
    answer.headers.update(cookies.taken(request))
    return answer


async def _shown(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    now_ms = context_of(request).clock()
    span = Span(limit=_SHOWN + 1, after=parameters.query_id(request.query_params, "after"))
    _, found = await visitor_and(
        request, lambda tx, visitor: service.listed(tx, actor=visitor.actor, now_ms=now_ms, span=span)
    )
    return views.show(
        request,
        "account/own.html",
        title="portal.account.title",
        error=error,
        labels=_LABELS,
        headers={} if error is None else errors.retry_after(error),
        sessions=found[:_SHOWN],
        current=authentication.session_of(request),
        named=named,
        following=found[_SHOWN - 1].id if len(found) > _SHOWN else None,
        shortest=rules.SHORTEST,
        longest=rules.LONGEST,
    )


def named(agent: str | None) -> str | None:
    """The browser and system, or the program; None without a printable name."""
    if agent is None:
        return None
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser is not None:
        return browser if system is None else f"{browser}, {system}"
    program = _PROGRAM.match(agent)
    return program[0] if program else None
