"""The page on which a company sets its push addresses and the messages it wants.

Addresses are shown in full here, with user, password and query: only administrators see the form.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from litestar.response import Response

from tripline.domain import access, companies, fields, pushes
from tripline.domain.access import Action
from tripline.domain.companies import Company
from tripline.domain.device_messages import EVENT_NUMBERS, TRIP_NUMBERS
from tripline.domain.refusals import BadParameter, Refusal
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import forms, record_forms, views, words
from tripline.portal.frame.forms import Form
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.portal.pushes.pushes import KNOWN, OTHERS
from tripline.services import notifications
from tripline.services.fleet import companies as company_service
from tripline.store.transactions import ReadTx, WriteTx

_WANTED: Final = "notifyMsgType"
_BETWEEN: Final = ","
_LABELS: Final = {
    "notifyHost": "portal.pushes.notify",
    "rpcNotifyHost": "portal.pushes.rpc.host",
    "rpcNotifyPort": "portal.pushes.rpc.port",
    "rpcNotifyBasePath": "portal.pushes.rpc.path",
    _WANTED: "portal.pushes.wanted",
}


@page("GET", "/pushes/addresses", access=Action.PUSH_MANAGE)
async def addresses_form(request: Call) -> Response[bytes]:
    """Change the addresses and the wanted messages."""
    visitor, company = await visitor_and(
        request,
        lambda tx, visitor: company_service.find(
            tx, actor=visitor.actor, action=Action.COMPANY_MODIFY, company_id=access.company_of(visitor.actor)
        ),
    )
    return _form(request, visitor, record_forms.shown(_texts(company)))


@page("POST", "/pushes/addresses", access=Action.PUSH_MANAGE)
async def change(request: Call) -> Response[bytes]:
    """Store the addresses and the wanted messages; messages waiting for a changed address are sent at once."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, own, said = context_of(request), access.company_of(visitor.actor), _said(form)

    def find(tx: ReadTx) -> Company:
        return company_service.find(tx, actor=visitor.actor, action=Action.COMPANY_MODIFY, company_id=own)

    def apply(tx: WriteTx, now: Company) -> Company:
        return company_service.change(tx, **changes.by(request, visitor.actor), company_id=own, named=_named(said, now))

    after = await record_forms.saved(
        request,
        visitor,
        said,
        await context.store.read_short(find),
        find=find,
        texts=_texts,
        apply=apply,
        show=lambda _, shown, error: _form(request, visitor, shown, error=error),
    )
    if isinstance(after, Response):
        return after
    notifications.send(context.signals, notifications.company_changed(own))
    return views.moved(request, "/pushes", notice="portal.pushes.saved")


def _form(request: Call, visitor: Visitor, shown: FormValues, *, error: Refusal | None = None) -> Response[bytes]:
    return views.show(
        request,
        "pushes/addresses.html",
        title="portal.pushes.change",
        error=error,
        labels=_LABELS,
        shown=shown,
        chosen=shown.texts[_WANTED].split(_BETWEEN),
        trips=TRIP_NUMBERS,
        events=EVENT_NUMBERS,
        others=OTHERS,
        options=lambda numbers: [(str(number), visitor.say(f"portal.pushes.type.{number}")) for number in numbers],
    )


def _texts(company: Company) -> dict[str, str]:
    return {
        "notifyHost": words.text(company.notify_host),
        "rpcNotifyHost": words.text(company.rpc_notify_host),
        "rpcNotifyPort": words.text(company.rpc_notify_port),
        "rpcNotifyBasePath": words.text(company.rpc_notify_base_path),
        _WANTED: _numbers(str(number) for number in pushes.selected(company.notify_msg_type)),
    }


def _said(form: Form) -> dict[str, str]:
    return {name: _numbers(form.many("wanted")) if name == _WANTED else form.text(name) for name in _LABELS}


def _named(said: Mapping[str, str], company: Company) -> dict[str, Any]:
    """The submitted fields of a company's record.

    Raises a single `BadParameter` with all invalid fields, the first one leading.
    """
    checked = fields.Checks()
    named: dict[str, Any] = {
        "notify_host": said["notifyHost"] or None,
        "rpc_notify_host": said["rpcNotifyHost"] or None,
        "rpc_notify_port": checked(_port, "rpcNotifyPort", said["rpcNotifyPort"]),
        "rpc_notify_base_path": said["rpcNotifyBasePath"] or None,
    }
    if said[_WANTED] != _texts(company)[_WANTED]:
        # An unchanged selection keeps the registered text, including entries that are not numbers.
        named["notify_msg_type"] = said[_WANTED].replace(_BETWEEN, ", ") or None
    checked.whole(lambda **values: companies.changed(company, values), named)
    checked.end()
    return named


def _port(name: str, text: str) -> int | None:
    port = parameters.whole(text, most_digits=5)
    if text and port is None:
        raise BadParameter("number", field=name)
    return port


def _numbers(found: Iterable[str]) -> str:
    """The given message numbers that the form offers."""
    chosen = set(found)
    return _BETWEEN.join(str(number) for number in sorted(KNOWN) if str(number) in chosen)
