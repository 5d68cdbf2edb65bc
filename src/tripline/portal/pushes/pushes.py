"""Pages of pushes: addresses and wanted messages, the secret, a test message, and sending messages again.

An address that a company registered may contain a password: pages show addresses without it, except the form in which
an administrator changes them.
"""

from typing import Any, Final

from litestar.response import Response

from tripline.domain import access, companies, fields, pushes
from tripline.domain.access import Action, Thing
from tripline.domain.companies import Company
from tripline.domain.device_messages import EVENT_NUMBERS, TRIP_NUMBERS
from tripline.domain.pushes import Channel, Selector, State
from tripline.domain.refusals import Refusal
from tripline.http import changes
from tripline.http.context import Call, context_of, trials_of
from tripline.language import kept
from tripline.portal.frame import digests, forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of
from tripline.services import admission, notifications
from tripline.services.fleet import companies as company_service
from tripline.services.push import http_requests, resender, secrets, service
from tripline.services.push.trials import Trial
from tripline.store.push.parked import Which
from tripline.store.push.queue import Addresses
from tripline.store.push.secrets import Secret
from tripline.store.transactions import ReadTx, WriteTx

OTHERS: Final = (Selector.RPC.value, Selector.CONNECTION.value, Selector.NETWORK_STATUS.value, Selector.DISPUTE.value)
KNOWN: Final = (*TRIP_NUMBERS, *EVENT_NUMBERS, *OTHERS)


@page("GET", "/pushes", access=Action.PUSH_MANAGE)
async def overview(request: Call) -> Response[bytes]:
    """Addresses, wanted messages, and the state of delivery."""
    visitor = await visitor_of(request)
    if visitor.actor.company_id is None:
        return views.without_company(request, title="portal.pushes.title")
    return await _overview(request, visitor)


@page("POST", "/pushes/test", access=Action.PUSH_MANAGE)
async def test(request: Call) -> Response[bytes]:
    """Send a test message and show the answer of the server."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    try:
        channel = form.one_of("channel", Channel)
        trial = await trials_of(request).send(
            actor=visitor.actor, company_id=access.company_of(visitor.actor), channel=channel
        )
    except pushes.NoAddress as refusal:
        return await _overview(request, visitor, error=refusal)
    return await _overview(request, visitor, trial=trial)


@page("POST", "/pushes/secret", access=Action.PUSH_MANAGE)
async def show_secret(request: Call) -> Response[bytes]:
    """Show the secret that signs the messages; create the first one."""
    await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    own, now_ms = access.company_of(visitor.actor), context.clock()
    found = await context.store.write(lambda tx: service.secret(tx, actor=visitor.actor, company_id=own, now_ms=now_ms))
    return _secret(request, found, now_ms)


@page("POST", "/pushes/secret/rotate", access=Action.PUSH_MANAGE)
async def rotate(request: Call) -> Response[bytes]:
    """Replace the secret that signed when the form was rendered; the old one stays valid for a day."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    own, by = access.company_of(visitor.actor), changes.by(request, visitor.actor)

    def work(tx: WriteTx) -> Secret:
        if form.text("digest") != _digest(service.kept_secret(tx, actor=visitor.actor, company_id=own)):
            raise GoesChanged("secret")
        return service.rotate(tx, **by, company_id=own)

    try:
        made = await context.store.write(work)
    except GoesChanged as refusal:
        return await _overview(request, visitor, error=refusal)
    notifications.send(context.signals, notifications.company_changed(own))
    return _secret(request, made, by["now_ms"])


@page("POST", "/pushes/send", access=Action.PUSH_MANAGE)
async def send(request: Call) -> Response[bytes]:
    """Send waiting messages at once, or resend failed or unconfirmed ones: the chosen messages, or all."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    own, now_ms = access.company_of(visitor.actor), context.clock()
    state = form.one_of("state", State)
    chosen = [fields.uuid("messageId", each) for each in form.many("messageId")]
    there = f"/pushes/messages?state={state.value}"
    told = (*notifications.company_changed(own), *notifications.PUSH_DUE)
    if state is State.WAITING:
        released = await context.store.write(
            lambda tx: service.hurry(tx, actor=visitor.actor, company_id=own, now_ms=now_ms)
        )
        notifications.send(context.signals, told)
        return views.moved(request, there, notice="portal.pushes.hurried", n=released)
    which = Which(company_id=own, message_ids=chosen or None, until_ms=now_ms, unconfirmed=state is State.UNCONFIRMED)
    sent = await resender.resend(
        context.store,
        admit=lambda tx: admission.admit(tx, visitor.actor, Action.PUSH_MANAGE, Thing.COMPANY, own),
        which=which,
        ids=context.ids,
        now_ms=now_ms,
    )
    notifications.send(context.signals, (*told, *notifications.RESEND_DUE))
    if sent.released:
        return views.moved(
            request, there, notice="portal.pushes.sent_again_and_released", n=sent.count, released=sent.released
        )
    return views.moved(request, there, notice="portal.pushes.sent_again", n=sent.count)


async def _overview(
    request: Call, visitor: Visitor, *, error: Refusal | None = None, trial: Trial | None = None
) -> Response[bytes]:
    own = access.company_of(visitor.actor)

    def work(tx: ReadTx) -> dict[str, Any]:
        admission.admit(tx, visitor.actor, Action.PUSH_MANAGE, Thing.COMPANY, own)
        company = company_service.read(tx, actor=visitor.actor, company_id=own)
        wanted = pushes.selected(company.notify_msg_type)
        known = [number for number in KNOWN if number in wanted]
        return {
            "urls": _urls(company),
            "wanted": known,
            # The registered selection has no number that is supported.
            "unread": company.notify_msg_type is not None and not known,
            "counts": service.counts(tx, actor=visitor.actor, company_id=own),
            "mute": service.mute(tx, actor=visitor.actor, company_id=own),
            "secret": _digest(service.kept_secret(tx, actor=visitor.actor, company_id=own)),
        }

    shown = await context_of(request).store.read(work)
    return views.show(
        request,
        "pushes/overview.html",
        title="portal.pushes.title",
        error=error,
        shown=shown,
        trial=trial,
        trouble=lambda text: kept.said(text, visitor.language),
    )


def _digest(secret: Secret | None) -> str:
    """Digest of a secret by its creation time; empty for the first secret, which is created on first view."""
    return digests.of({"made": str(secret.created_ms) if secret is not None and secret.former is not None else ""})


def _secret(request: Call, found: Secret, now_ms: int) -> Response[bytes]:
    until_ms = found.former_until_ms
    return views.show(
        request,
        "pushes/secret.html",
        title="portal.pushes.secret",
        secret=secrets.shown(found.secret),
        made_ms=found.created_ms,
        former_until_ms=until_ms if until_ms is not None and until_ms > now_ms else None,
    )


def _urls(company: Company) -> dict[str, str | None]:
    """Address of each channel, without credentials."""
    bare = companies.without_credentials(company)
    found = Addresses(bare.notify_host, bare.rpc_notify_host, bare.rpc_notify_port, bare.rpc_notify_base_path, None)
    return {channel.value: http_requests.url_of(channel, found) for channel in Channel}
