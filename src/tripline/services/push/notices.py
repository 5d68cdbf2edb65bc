"""Put messages to customers' servers into the outbox, in the transaction of the reported change.

Each receiver has its own row, with its own `webhook-id`. Each result of a call is sent twice: in the envelope of class
300 to operator and owner, if selected with `notifyMsgType`, and as the device sent it to the owner's `rpcNotify*`. A
call that the platform ended has no device body: only the envelope is sent. Follows spec/push 4.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tripline.domain import pushes
from tripline.domain.disputes import Dispute
from tripline.domain.ids import PLACEHOLDER, CompanyId, SensorId, TimeIds, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.pushes import Channel, Receiver, Selector
from tripline.domain.rpc import Call
from tripline.services import notifications
from tripline.services.notifications import Notification
from tripline.store.bulk import Bulk
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
    receivers: list[Receiver]


def connections(tx: WriteTx, told: Sequence[Connected], *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Push the connection of each device in the order given (class 500); return the notifications for after the
    commit."""
    companies = {each.subject.company_id for each in told}
    wanted = {company_id: _wanted(tx, company_id, Selector.CONNECTION) for company_id in companies}
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
    wanted = _wanted(tx, subject.company_id, Selector.NETWORK_STATUS)
    pld = push.payload(push.NetworkStatus(status))
    notice = _notice(subject, wanted.operator_id, Selector.NETWORK_STATUS, at_ms, pld)
    return put(tx, addressed(notice, wanted.receivers), ids=ids, now_ms=now_ms)


def dispute(
    tx: WriteTx, found: Dispute, *, sensor_id: SensorId | None, at_ms: int, ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    """Push the state of a dispute since `at_ms` (class 700); return the notifications for after the commit.

    `sensor_id`: the sensor of its trip; None: it was deleted.
    """
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
    wanted = _wanted(tx, found.company_id, Selector.DISPUTE)
    notice = _notice(subject, wanted.operator_id, Selector.DISPUTE, at_ms, push.payload(pld))
    return put(tx, addressed(notice, wanted.receivers), ids=ids, now_ms=now_ms)


def addressed(notice: push.Notice, receivers: Sequence[Receiver]) -> list[Message]:
    """The message, once for each receiver."""
    if not receivers:
        return []
    body = push.body(notice)
    return [Message(receiver.company_id, notice.sensor_id, receiver.selector, body) for receiver in receivers]


def put(tx: WriteTx, messages: Sequence[Message], *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Put messages into the outbox after all others, in this order, due at once; return the notifications for after
    the commit."""
    return _put(tx, outbox.NOTICES, messages, ids, now_ms)


def _put(
    tx: WriteTx, bulk: Bulk, messages: Sequence[tuple[Any, ...]], ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    if not messages:
        return ()
    made = ids.numbers(len(messages), now_ms=now_ms)
    values: list[Any] = []
    for no, text, message in zip(outbox.behind_all(tx, ids, made), ids.texts(made), messages, strict=True):
        values += (no, text, now_ms, *message)
    bulk.insert(tx, values)
    return notifications.PUSH_DUE


def _wanted(tx: WriteTx, company_id: CompanyId, selector: Selector) -> _Wanted:
    operator, owner = outbox.subscriptions(tx, company_id)
    return _Wanted(operator.company_id, pushes.receivers(operator, owner, (selector,)))


def _notice(
    subject: Subject,
    operator_id: CompanyId,
    selector: Selector,
    at_ms: int,
    pld: msgspec.Raw,
    request_id: str | msgspec.UnsetType = msgspec.UNSET,
) -> push.Notice:
    """The envelope of a message that originates from the platform."""
    return push.Notice(
        master_company_id=operator_id,
        company_id=subject.company_id,
        sensor_id=subject.sensor_id,
        vehicle_id=subject.vehicle_id or PLACEHOLDER,
        ts=at_ms,
        ty=pushes.name_of(selector),
        request_id=request_id,
        pld=pld,
    )


class Post(msgspec.Struct):
    """Collects the results of a transaction; `send` puts all of them into the outbox."""

    tx: WriteTx
    _wishes: dict[CompanyId, tuple[_Wanted, bool]] = msgspec.field(default_factory=dict)
    """What each company wants, and whether it also wants results as the device sent them."""
    _waiting: list[tuple[Any, ...]] = msgspec.field(default_factory=list)
    """As `outbox.RESULTS` takes them."""

    def tell(
        self, call: Call, vehicle_id: VehicleId | None, *, at_ms: int, text: bytes | None = None, body: bytes = b""
    ) -> None:
        """Add the result of a call, as JSON and as the device sent it; without both the platform ended the call.
        `vehicle_id`: the sensor's current vehicle."""
        if (wishes := self._wishes.get(call.company_id)) is None:
            verbatim = rpc_calls.wants_results(self.tx, call.company_id)
            wishes = self._wishes[call.company_id] = _wanted(self.tx, call.company_id, Selector.RPC), verbatim
        wanted, verbatim = wishes
        subject = Subject(call.sensor_id, call.company_id, vehicle_id)
        pld = msgspec.Raw(b'{"result":%d}' % (call.result_code or 0) if text is None else text)
        notice = _notice(subject, wanted.operator_id, Selector.RPC, at_ms, pld, call.id)
        sent = [(*message, Channel.NOTIFY) for message in addressed(notice, wanted.receivers)]
        if verbatim and text is not None:
            own = Message(call.company_id, call.sensor_id, Selector.RPC, body)
            sent.append((*own, Channel.RPC_NOTIFY))
        self._waiting += [(*message, channel.value, call.id, call.method) for *message, channel in sent]

    def send(self, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
        """Put the notices into the outbox, after all others; return the notifications for after the commit."""
        waiting, self._waiting = self._waiting, []
        return _put(self.tx, outbox.RESULTS, waiting, ids, now_ms)
