"""Trial messages: send one at once to a company's server, and show an administrator the server's answer.

A trial is sent like every other message (address guard, signature, no redirects), but without queue or record: it is
not repeated, and does not affect the pusher's view of the receiver.
"""

from typing import Final

import msgspec

from tripline.domain import access, pushes
from tripline.domain.access import Action, Actor
from tripline.domain.ids import PLACEHOLDER, CompanyId, RequestId, RowNo, SensorId, TimeIds
from tripline.domain.pushes import Channel
from tripline.domain.shares import Holder, Shares
from tripline.ports.clocks import Clock
from tripline.ports.webhooks import WebhookFailedError, WebhookSender
from tripline.services.push import http_requests, secrets
from tripline.services.shares import Places
from tripline.store.fleet import companies
from tripline.store.push import queue as push_queue
from tripline.store.push.queue import Content, Row
from tripline.store.push.secrets import Secret
from tripline.store.transactions import Store, WriteTx
from tripline.wire import push

AT_ONCE: Final = Shares(total=16, operator=12, company=1, account=1)
"""Concurrent trials in this process."""
_NOTHING: Final = msgspec.Raw(b"{}")
_METHOD: Final = "test"
_AFTER_S: Final = 5


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a trial message."""

    channel: Channel
    at_ms: int
    status: int | None = None
    """HTTP status; None: none arrived."""
    took_ms: int | None = None
    start: str = ""
    """Beginning of the response body."""
    trouble: str | None = None
    """Reason for a missing answer, without the address."""

    @property
    def is_delivered(self) -> bool:
        """True if the server accepted the message as delivered."""
        return self.status is not None and 200 <= self.status <= 299


class Trials:
    """Sends trial messages."""

    def __init__(self, *, store: Store, sender: WebhookSender, ids: TimeIds, clock: Clock) -> None:
        self._store = store
        self._sender = sender
        self._ids = ids
        self._clock = clock
        self._places = Places(AT_ONCE)

    async def send(self, *, actor: Actor, company_id: CompanyId, channel: Channel) -> Trial:
        """Send a trial message to one of the company's addresses, and return its outcome.

        Takes as long as the server may take to connect and to answer. Raises `NotFound`, `Forbidden`,
        `pushes.NoAddress` or `pushes.TrialUnderWay`.
        """
        now_ms = self._clock()
        url, secret, master_id = await self._store.write(lambda tx: _prepared(tx, actor, company_id, channel, now_ms))
        row, content = self._message(company_id, master_id, channel, now_ms)
        webhook = http_requests.request(channel, row, content, url=url, secret=secret, now_ms=now_ms)
        holder = Holder(master_id, company_id, actor.user_id)
        full = pushes.TrialUnderWay(after_s=_AFTER_S)
        gave_way = pushes.TrialUnderWay("gave_way", after_s=_AFTER_S)
        async with self._places.place(holder, full=full, gave_way=gave_way):
            try:
                reply = await self._sender.ask(webhook)
            except WebhookFailedError as failed:
                return Trial(channel=channel, at_ms=now_ms, trouble=str(failed))
        start = reply.start.decode("utf-8", "replace")
        return Trial(channel=channel, at_ms=now_ms, status=reply.status, took_ms=reply.took_ms, start=start)

    def _message(
        self, company_id: CompanyId, master_id: CompanyId, channel: Channel, now_ms: int
    ) -> tuple[Row, Content]:
        no = self._ids.take(1, now_ms=now_ms)
        nothing = SensorId(PLACEHOLDER)
        row = Row(RowNo(no), self._ids.text(no), nothing, 0, now_ms)
        if channel is Channel.RPC_NOTIFY:
            return row, Content(nothing, bytes(_NOTHING), RequestId(PLACEHOLDER), _METHOD)
        notice = push.Notice(
            master_company_id=master_id,
            company_id=company_id,
            sensor_id=nothing,
            vehicle_id=PLACEHOLDER,
            ts=now_ms,
            ty=pushes.TRIAL,
            pld=_NOTHING,
        )
        return row, Content(nothing, push.body(notice), None, None)


def _prepared(
    tx: WriteTx, actor: Actor, company_id: CompanyId, channel: Channel, now_ms: int
) -> tuple[str, Secret, CompanyId]:
    """Load the address and secret of the message, and the company's operator; creates a missing secret."""
    scope = access.scope_of(actor, Action.PUSH_MANAGE)
    company = access.admitted(companies.find(tx, scope, company_id), access.Thing.COMPANY)
    found = push_queue.addresses(tx, company_id)
    url = None if found is None else http_requests.url_of(channel, found)
    if url is None:
        raise pushes.NoAddress()
    return url, secrets.of(tx, company_id, now_ms=now_ms), company.master_id
