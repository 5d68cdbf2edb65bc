"""Pages for errors (refused, not found, too large, broken, unavailable), with the next step for the visitor.

A visitor without a session is sent to the sign-in and back. A form submitted without a session, or before a new one, is
returned with all typed values, ready to be submitted again. A form that changes a deleted record is returned with all
typed values, for copying.
"""

from functools import partial
from typing import Any, Final

from litestar.response import Response
from litestar.types import Receive, Scope, Send

from tripline.http import answers, cookies, languages
from tripline.http.authentication import ForeignForm
from tripline.http.context import Call
from tripline.http.errors import Trouble
from tripline.language import catalogue
from tripline.portal.frame import addresses, forms, notices, record_forms, views, visitors, words
from tripline.portal.frame.page import HTML, is_served
from tripline.portal.frame.visitors import Visitor

UNAUTHORIZED: Final = 401
NOT_FOUND: Final = 404
TOLD: Final = (400, 403, 404, 405, 408, 409, 413, 429, 500, 503)
"""Statuses with a title of their own."""
_PASSING: Final = (408, 429, 500, 503)
"""Statuses of errors that a later attempt may avoid."""
_BEFORE_ANY_PAGE: Final = (404, 405)
"""Statuses of requests that reach no page."""
_EDIT: Final = "/edit"
"""Suffix of the addresses of forms that change a record."""
_FOR_PROGRAMS: Final = ("/api/", "/health/", "/metrics/")
"""Addresses of programs, themselves and below."""
_FOR_SCRIPTS: Final = ("/map/", "/share/")
"""Addresses of the scripts of the map and of shared vehicles."""
_IN_PLACE: Final = {"hx-retarget": f"#{views.CONTENT}", "hx-reswap": "innerHTML"}
"""Headers that make htmx replace the content with the error page, regardless of its target."""


def tell(request: Call, trouble: Trouble) -> Response[bytes]:
    """The error as a page; as JSON to programs, and on listeners without the portal."""
    path = request.scope["path"]
    if f"{path}/".startswith(_FOR_PROGRAMS) or path.startswith(_FOR_SCRIPTS) or not is_served(request):
        return answers.error(request, trouble)
    form = forms.sent(request)
    is_late = isinstance(trouble.refusal, ForeignForm) and trouble.refusal.case == "token"
    if form is not None and (is_late or trouble.status == UNAUTHORIZED):
        return _kept(request, trouble, form)
    if trouble.status == UNAUTHORIZED:
        return _signed_out(request)
    visitor = visitors.known(request)
    if form is not None and visitor is not None and trouble.status == NOT_FOUND and path.endswith(_EDIT):
        return _gone(request, visitor, trouble, form)
    if trouble.status in _BEFORE_ANY_PAGE and visitor is None:
        return answers.Made(partial(_answer_visitor, request, trouble))
    return _told(request, trouble)


async def _answer_visitor(request: Call, trouble: Trouble, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for an unknown address with an error page, after looking the visitor up."""
    await visitors.seek(request)
    await _told(request, trouble).to_asgi_response(None, request)(scope, receive, send)


def _told(request: Call, trouble: Trouble) -> Response[bytes]:
    return _page(
        request, trouble, "trouble.html", f"portal.trouble.{trouble.status if trouble.status in TOLD else 400}"
    )


def _signed_out(request: Call) -> Response[bytes]:
    """Redirect to the sign-in, which explains the end of the session and leads back."""
    there = addresses.sign_in(request)
    if views.is_partial(request):
        headers = {**views.HEADERS, "hx-redirect": there}
        answer = Response(b"", status_code=UNAUTHORIZED, media_type=HTML, headers=headers)
    else:
        answer = Response(b"", status_code=303, media_type=HTML, headers={**views.HEADERS, "location": there})
    if cookies.found(request) is not None:
        answer.cookies.append(notices.kept(request, "portal.trouble.session_ended", "info", {}))
    return answer


def _kept(request: Call, trouble: Trouble, form: forms.Form) -> Response[bytes]:
    signed_out = trouble.status == UNAUTHORIZED
    values = [(name, each) for name, value in form.typed.items() for each in _each(value)]
    title = "portal.trouble.signed_out" if signed_out else "portal.trouble.signed_in_again"
    return _page(request, trouble, "kept_form.html", title, values=values, signed_out=signed_out)


def _gone(request: Call, visitor: Visitor, trouble: Trouble, form: forms.Form) -> Response[bytes]:
    record = request.scope["path"].removesuffix(_EDIT)
    typed = [
        (words.label(visitor, name), record_forms.read(visitor, name, each))
        for name, value in form.typed.items()
        for each in _each(value)
        if each and catalogue.FIELD + name in catalogue.of_portal(visitor.language)
    ]
    new = f"{record.rpartition('/')[0]}/new"
    return _page(request, trouble, "gone.html", "portal.trouble.gone", record=record, new=new, typed_here=typed)


def _page(request: Call, trouble: Trouble, template: str, title: str, **values: Any) -> Response[bytes]:
    return views.show(
        request,
        template,
        title=title,
        status=trouble.status,
        headers={**trouble.headers, **(_IN_PLACE if views.is_partial(request) else {})},
        message=_message(request, trouble),
        can_repeat=trouble.status in _PASSING and request.method == "GET",
        **values,
    )


def _message(request: Call, trouble: Trouble) -> str:
    """The sentence about the error; an unknown path has a text of its own, because the text for REST is too general."""
    language = languages.asked_of(request)
    if trouble.status == NOT_FOUND and trouble.refusal is None:
        return catalogue.text("portal.trouble.nowhere", language, path=request.scope["path"])
    return trouble.said(language)


def _each(value: Any) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)
