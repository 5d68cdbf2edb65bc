"""The page on which a company says where its pushes go, and which messages it wants.

Here addresses are shown whole, with what they hold of user, password and query: it is their administrators' form.

Not here: what became of messages (`pushes.py`).
"""

import hashlib
from collections.abc import Collection
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import companies, pushes
from tripline.domain.access import Action
from tripline.domain.companies import Company
from tripline.domain.refusals import BadParameter, Refusal
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, views
from tripline.portal.forms import Form
from tripline.portal.page import page
from tripline.portal.pushes import EVENTS, KNOWN, OTHERS, TRIPS, own_of
from tripline.portal.visitors import Visitor, visitor_in, visitor_of
from tripline.services import hints
from tripline.services.fleet import companies as company_service
from tripline.store.transactions import ReadTx, WriteTx

_DIGEST: Final = 12
"""Bytes of a digest: it has to tell two records apart, no more."""


class Registered(msgspec.Struct, frozen=True):
    """What a company registered about its pushes: the fields that a form changes."""

    notify_host: str | None
    notify_msg_type: companies.MessageTypes | None
    rpc_notify_host: str | None
    rpc_notify_port: int | None
    rpc_notify_base_path: str | None


@page("GET", "/pushes/addresses", access=Action.PUSH_MANAGE)
async def addresses_form(request: Call) -> Response[bytes]:
    """Change where messages go and which are wanted."""

    def work(tx: ReadTx) -> tuple[Visitor, Company]:
        visitor = visitor_in(tx, request)
        return visitor, company_service.find_to_change(tx, actor=visitor.actor, company_id=own_of(visitor.actor))

    visitor, company = await rim_of(request).store.read_short(work)
    return _form(request, visitor, _registered(company))


@page("POST", "/pushes/addresses", access=Action.PUSH_MANAGE)
async def change(request: Call) -> Response[bytes]:
    """Keep where messages go and which are wanted; what waits for a changed address goes out at once."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    rim = rim_of(request)
    own, now_ms = own_of(visitor.actor), rim.clock()

    def work(tx: WriteTx) -> bool:
        company = company_service.find_to_change(tx, actor=visitor.actor, company_id=own)
        if form.text("digest") != _digest(_registered(company)):
            return False
        named = _named(form, company)
        company_service.change(tx, actor=visitor.actor, company_id=own, named=named, ids=rim.ids, now_ms=now_ms)
        return True

    error = None
    try:
        saved = await rim.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        saved, error = False, refusal
    if not saved:
        company = await rim.store.read_short(
            lambda tx: company_service.find_to_change(tx, actor=visitor.actor, company_id=own)
        )
        return _form(request, visitor, _registered(company), error=error, form=form)
    hints.tell(rim.signals, hints.company_changed(own))
    return views.moved(request, "/pushes", notice="portal.pushes.saved")


def _form(
    request: Call,
    visitor: Visitor,
    registered: Registered,
    *,
    error: Refusal | None = None,
    form: Form | None = None,
) -> Response[bytes]:
    wanted = pushes.selected(registered.notify_msg_type)
    chosen = tuple(str(number) for number in wanted) if form is None else form.many("wanted")
    return views.show(
        request,
        visitor,
        "pushes/addresses.html",
        title="portal.pushes.change",
        error=error,
        status=HTTPStatus.CONFLICT if form is not None and error is None else None,
        labels={
            "notifyHost": "portal.pushes.notify",
            "rpcNotifyHost": "portal.pushes.rpc.host",
            "rpcNotifyPort": "portal.pushes.rpc.port",
            "rpcNotifyBasePath": "portal.pushes.rpc.path",
            "notifyMsgType": "portal.pushes.wanted",
        },
        typed={} if form is None else form.typed,
        registered=registered,
        chosen=chosen,
        trips=TRIPS,
        events=EVENTS,
        others=OTHERS,
        options=lambda numbers: [(str(number), visitor.say(f"portal.pushes.type.{number}")) for number in numbers],
        digest=_digest(registered),
        changed=_changed(visitor, registered, form) if form is not None and error is None else (),
    )


def _named(form: Form, company: Company) -> dict[str, Any]:
    """The fields of a company's record that the form says. Raises `BadParameter`."""
    port = form.text("rpcNotifyPort")
    if port and not (port.isascii() and port.isdecimal() and len(port) <= 5):
        raise BadParameter("number", field="rpcNotifyPort")
    named: dict[str, Any] = {
        "notify_host": form.text("notifyHost") or None,
        "rpc_notify_host": form.text("rpcNotifyHost") or None,
        "rpc_notify_port": int(port) if port else None,
        "rpc_notify_base_path": form.text("rpcNotifyBasePath") or None,
    }
    wanted = {int(each) for each in _numbers(form)}
    if wanted != pushes.selected(company.notify_msg_type) & set(KNOWN):
        # Only then: what is no number is kept as it was sent.
        named["notify_msg_type"] = ", ".join(str(number) for number in sorted(wanted)) or None
    return named


def _registered(company: Company) -> Registered:
    return Registered(**{name: getattr(company, name) for name in Registered.__struct_fields__})


def _digest(registered: Registered) -> str:
    """What a form carries of the record that it was filled from."""
    return hashlib.blake2s(msgspec.json.encode(registered), digest_size=_DIGEST).hexdigest()


def _changed(visitor: Visitor, registered: Registered, form: Form) -> list[tuple[str, str, str]]:
    """What somebody else saved meanwhile: what each field is called, its text now, and the one in the form."""
    texts = {
        "notifyHost": ("portal.pushes.notify", registered.notify_host),
        "rpcNotifyHost": ("portal.pushes.rpc.host", registered.rpc_notify_host),
        "rpcNotifyPort": ("portal.pushes.rpc.port", registered.rpc_notify_port),
        "rpcNotifyBasePath": ("portal.pushes.rpc.path", registered.rpc_notify_base_path),
    }
    found = [
        (visitor.say(label), "" if now is None else str(now), form.text(name)) for name, (label, now) in texts.items()
    ]
    now, mine = pushes.selected(registered.notify_msg_type), {int(each) for each in _numbers(form)}
    found.append((visitor.say("portal.pushes.wanted"), _named_numbers(visitor, now), _named_numbers(visitor, mine)))
    return [each for each in found if each[1] != each[2]]


def _named_numbers(visitor: Visitor, numbers: Collection[int]) -> str:
    return ", ".join(visitor.say(f"portal.pushes.type.{number}") for number in KNOWN if number in numbers)


def _numbers(form: Form) -> list[str]:
    """The numbers of messages that the form asks for, of those that it offers."""
    return [each for each in form.many("wanted") if each in {str(number) for number in KNOWN}]


handlers: Final[list[Any]] = [addresses_form, change]
