"""Applying for a service account: the form and the confirmation.

The answer is the same for an address with an account, with an application under review, or with neither
(`services/accounts/applications.py`). Decisions are made on another page (`admin/applications.py`).
"""

from typing import Final

from litestar.response import Response

from tripline.domain import applications
from tripline.domain.access import Gate
from tripline.domain.refusals import Refusal
from tripline.http import languages, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.portal.frame import forms, record_forms, views
from tripline.portal.frame.forms import Form
from tripline.portal.frame.page import page
from tripline.services.accounts import applications as service
from tripline.services.accounts.limits import TooManyForms

PATH: Final = "/apply"
SENT: Final = "/apply/sent"
_FIELDS: Final = {
    name: record_forms.python_name(name)
    for name in (
        *("serviceName", "companyName", "contactName", "department", "mobile", "email", "introduction"),
        *("providerManagerName", "providerManagerEmail", "notifyHost"),
    )
}
"""The form's field names, as in REST, and their names in the domain."""
_LABELS: Final = {name: f"portal.apply.{known}" for name, known in _FIELDS.items()}


@page("GET", PATH, access=Gate.ANYONE)
async def show(request: Call) -> Response[bytes]:
    """The form that applies for a service account."""
    return views.show(request, "apply/form.html", title="portal.apply.title")


@page("POST", PATH, access=Gate.ANYONE, refuses=(TooManyForms,))
async def take(request: Call) -> Response[bytes]:
    """Submit an application for a service account; the result comes by mail."""
    sent = await forms.read(request)
    context = context_of(request)
    language, now_ms = languages.asked_of(request), context.clock()
    try:
        form = applications.form(**_said(sent))
        accounts_of(request).limits.count_form(peers.address_of(request), now_ms=now_ms)
        await context.store.write(
            lambda tx: service.submit(tx, form=form, language=language, ids=context.ids, now_ms=now_ms)
        )
    except Refusal as refusal:
        return views.show(
            request, "apply/form.html", title="portal.apply.title", error=refusal, labels=_LABELS, typed=sent.typed
        )
    return views.moved(request, SENT)


@page("GET", SENT, access=Gate.ANYONE)
async def show_sent(request: Call) -> Response[bytes]:
    """Explain the next steps after an application."""
    return views.show(request, "apply/sent.html", title="portal.apply.sent")


def _said(form: Form) -> dict[str, str | None]:
    """The submitted values by domain name, with line ends normalized."""
    values = {known: form.text(name).replace("\r\n", "\n") for name, known in _FIELDS.items()}
    return {known: value or None for known, value in values.items()}
