"""Put messages to customers' servers into the outbox, in the transaction of the reported change.

Each receiver has its own row, with its own `webhook-id`. Each result of a call is sent twice: in the envelope of class
300 to operator and owner, if selected with `notifyMsgType`, and as the device sent it to the owner's `rpcNotify*`. A
call that the platform ended has no device body: only the envelope is sent. Follows spec/push 4. Not here: sending.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from tripline.domain import pushes
from tripline.domain.disputes import Dispute
from tripline.domain.ids import PLACEHOLDER, CompanyId, RowNo, SensorId, TimeIds, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.pushes import Channel, Receiver, Selector
from tripline.domain.rpc import Call
from tripline.services import notifications
from tripline.services.notifications import Notification
from tripline.store.push import outbox
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import WriteTx
from tripline.wire import push


class Message(NamedTuple):
    """A message to a customer's server."""

    receiver_id: CompanyId
    sensor_id: SensorId
    selector: int
    """Number of `notifyMsgType`."""
    body: bytes


class Subject(msgspec.Struct, frozen=True):
    """The sensor that a message concerns, its owner, and its vehicle."""

    sensor_id: SensorId
    company_id: CompanyId
    vehicle_id: VehicleId | None


class Connected(msgspec.Struct, frozen=True):
    """A device connected or disconnected at the instant."""

    subject: Subject
    connected: bool
    at_ms: int


class _Wanted(NamedTuple):
    """The operator above a company, and the receivers of messages about its sensors."""

    operator_id: CompanyId
    receivers: list[pushes.Receiver]


def connections(tx: WriteTx, told: Sequence[Connected], *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Push the connection of each device in the order given (class 500); return the notifications for after the
    commit."""
    wanted: dict[CompanyId, _Wanted] = {}
    for company_id in dict.fromkeys(each.subject.company_id for each in told):
        operator, owner = outbox.subscriptions(tx, company_id)
        receivers = pushes.receivers(operator, owner, (Selector.CONNECTION,))
        wanted[company_id] = _Wanted(operator.company_id, receivers)
    messages: list[Message] = []
    for each in told:
        of_company = wanted[each.subject.company_id]
        if of_company.receivers:
            pld = push.payload(push.Connection(each.connected))
            notice = _notice(each.subject, of_company.operator_id, Selector.CONNECTION, each.at_ms, pld)
            messages += addressed(notice, of_company.receivers)
    return put(tx, messages, ids=ids, now_ms=now_ms)


def network_status(
    tx: WriteTx, *, subject: Subject, status: NwStatus, at_ms: int, ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    """Push the new state of a sensor's line since `at_ms` (class 600); return the notifications for after the
    commit."""
    operator, owner = outbox.subscriptions(tx, subject.company_id)
    receivers = pushes.receivers(operator, owner, (Selector.NETWORK_STATUS,))
    pld = push.payload(push.NetworkStatus(status))
    notice = _notice(subject, operator.company_id, Selector.NETWORK_STATUS, at_ms, pld)
    return send(tx, notice=notice, receivers=receivers, ids=ids, now_ms=now_ms)


def dispute(
    tx: WriteTx, found: Dispute, *, sensor_id: SensorId | None, at_ms: int, ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    """Push the state of a dispute since `at_ms` (class 700); return the notifications for after the commit.

    `sensor_id`: the sensor of its trip; None: it was deleted.
    """
    operator, owner = outbox.subscriptions(tx, found.company_id)
    event = found.event
    pld = push.Dispute(
        dispute_id=found.id,
        trip_id=found.trip_id,
        state=found.state,
        reason=found.reason,
        event_ty=None if event is None else event.event_type,
        event_ts=None if event is None else event.event_ms,
    )
    subject = Subject(sensor_id or SensorId(PLACEHOLDER), found.company_id, found.vehicle_id)
    notice = _notice(subject, operator.company_id, Selector.DISPUTE, at_ms, push.payload(pld))
    receivers = pushes.receivers(operator, owner, (Selector.DISPUTE,))
    return send(tx, notice=notice, receivers=receivers, ids=ids, now_ms=now_ms)


def send(
    tx: WriteTx, *, notice: push.Notice, receivers: list[pushes.Receiver], ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    """Put the message into the outbox after all others, once for each receiver, due at once; return the notifications
    for after the commit."""
    return put(tx, addressed(notice, receivers) if receivers else [], ids=ids, now_ms=now_ms)


def addressed(notice: push.Notice, receivers: Iterable[pushes.Receiver]) -> list[Message]:
    """The message, once for each receiver."""
    body = push.body(notice)
    return [Message(receiver.company_id, notice.sensor_id, receiver.selector, body) for receiver in receivers]


def put(tx: WriteTx, messages: Sequence[Message], *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Like `send`, for any number of messages, in this order."""
    if not messages:
        return ()
    made = ids.numbers(len(messages), now_ms=now_ms)
    values: list[Any] = []
    for no, text, message in zip(outbox.behind_all(tx, ids, made), ids.texts(made), messages, strict=True):
        values += (no, text, *message, now_ms)
    outbox.NOTICES.insert(tx, values)
    return notifications.push_due()


def _notice(subject: Subject, operator_id: CompanyId, selector: Selector, at_ms: int, pld: msgspec.Raw) -> push.Notice:
    """The envelope of a message that originates from the platform."""
    return push.Notice(
        master_company_id=operator_id,
        company_id=subject.company_id,
        sensor_id=subject.sensor_id,
        vehicle_id=push.vehicle_or_unset(subject.vehicle_id),
        ts=at_ms,
        ty=pushes.name_of(selector),
        pld=pld,
    )


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
