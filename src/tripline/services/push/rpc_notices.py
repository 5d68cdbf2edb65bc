"""Put results of calls into the outbox, in the transaction that stores them (spec/push 4.2 to 4.4).

Each result is sent twice: in the envelope of class 300 to operator and owner, if selected with `notifyMsgType`, and
as the device sent it to the owner's `rpcNotify*`. A call that the platform ended has no device body: only the envelope
is sent.
"""

import msgspec

from tripline.domain import pushes
from tripline.domain.ids import CompanyId, RowNo, TimeIds, VehicleId
from tripline.domain.pushes import Channel, Receiver, Selector
from tripline.domain.rpc import Call
from tripline.services import notifications
from tripline.services.notifications import Notification
from tripline.store.push import outbox
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import WriteTx
from tripline.wire import push


class Result(msgspec.Struct, frozen=True):
    """The result of a call."""

    call: Call
    vehicle_id: VehicleId | None
    """The sensor's current vehicle."""
    at_ms: int
    text: bytes
    """JSON of the result."""
    body: bytes | None
    """The result as the device sent it; None: the platform ended the call."""


class _Wishes(msgspec.Struct, frozen=True):
    """Selections of a company and its operator for results."""

    operator_id: CompanyId
    receivers: list[Receiver]
    verbatim: bool


class Post(msgspec.Struct):
    """Collects the results of a transaction; `send` puts all of them into the outbox."""

    tx: WriteTx
    _wishes: dict[CompanyId, _Wishes] = msgspec.field(default_factory=dict)
    _waiting: list[tuple[Result, CompanyId, Channel, bytes]] = msgspec.field(default_factory=list)

    def tell(self, result: Result) -> None:
        """Add a result for its receivers."""
        call = result.call
        wishes = self._wishes_of(call.company_id)
        if wishes.receivers:
            notice = push.Notice(
                master_company_id=wishes.operator_id,
                company_id=call.company_id,
                sensor_id=call.sensor_id,
                vehicle_id=push.vehicle_or_unset(result.vehicle_id),
                ts=result.at_ms,
                ty=pushes.name_of(Selector.RPC),
                request_id=call.id,
                pld=msgspec.Raw(result.text),
            )
            body = push.body(notice)
            self._waiting += [(result, receiver.company_id, Channel.NOTIFY, body) for receiver in wishes.receivers]
        if wishes.verbatim and result.body is not None:
            self._waiting.append((result, call.company_id, Channel.RPC_NOTIFY, result.body))

    def tell_ended(self, call: Call, vehicle_id: VehicleId | None, *, at_ms: int) -> None:
        """Add the result of a call that the platform ended."""
        self.tell(Result(call, vehicle_id, at_ms, b'{"result":%d}' % (call.result_code or 0), None))

    def send(self, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
        """Put the notices into the outbox, after all others; return the notifications for after the commit."""
        if not self._waiting:
            return ()
        made = ids.numbers(len(self._waiting), now_ms=now_ms)
        numbers = outbox.behind_all(self.tx, ids, made)
        outbox.add(
            self.tx,
            [
                outbox.Waiting(
                    no=RowNo(no),
                    id=text,
                    company_id=receiver_id,
                    sensor_id=result.call.sensor_id,
                    selector=Selector.RPC,
                    body=body,
                    due_ms=now_ms,
                    channel=channel,
                    request_id=result.call.id,
                    method=result.call.method,
                )
                for no, text, (result, receiver_id, channel, body) in zip(
                    numbers, ids.texts(made), self._waiting, strict=True
                )
            ],
        )
        self._waiting = []
        return notifications.push_due()

    def _wishes_of(self, company_id: CompanyId) -> _Wishes:
        known = self._wishes.get(company_id)
        if known is None:
            operator, owner = outbox.subscriptions(self.tx, company_id)
            receivers = pushes.receivers(operator, owner, (Selector.RPC,))
            verbatim = rpc_calls.wants_results(self.tx, company_id)
            known = self._wishes[company_id] = _Wishes(operator.company_id, receivers, verbatim)
        return known
