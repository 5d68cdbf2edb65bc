"""Puts messages to customers' servers into the outbox, in the transaction of the change that they tell of.

Each receiver has a row of its own, with its own `webhook-id`. Follows push 4. Not here: the sending.
"""

from dataclasses import dataclass

from tripline.domain import pushes
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.pushes import Selector
from tripline.store import outbox
from tripline.store.transactions import WriteTx
from tripline.wire import push


@dataclass(frozen=True, slots=True)
class Subject:
    """The sensor that a message is about, its owner, and the vehicle that it is on."""

    sensor_id: SensorId
    company_id: CompanyId
    vehicle_id: VehicleId | None


def network_status(tx: WriteTx, *, subject: Subject, status: NwStatus, at_ms: int, ids: TimeIds, now_ms: int) -> None:
    """Tell that the line of a sensor has another state since `at_ms` (class 600)."""
    operator, owner = outbox.subscriptions(tx, subject.company_id)
    receivers = pushes.receivers(operator, owner, (Selector.NETWORK_STATUS,))
    notice = push.Notice(
        master_company_id=operator.company_id,
        company_id=subject.company_id,
        sensor_id=subject.sensor_id,
        vehicle_id=push.vehicle_or_unset(subject.vehicle_id),
        ts=at_ms,
        ty=pushes.name_of(Selector.NETWORK_STATUS),
        pld=push.payload(push.NetworkStatus(status)),
    )
    send(tx, notice=notice, receivers=receivers, ids=ids, now_ms=now_ms)


def send(tx: WriteTx, *, notice: push.Notice, receivers: list[pushes.Receiver], ids: TimeIds, now_ms: int) -> None:
    """Put the message into the outbox behind all that is there, once for each receiver, due at once."""
    if not receivers:
        return
    first_id = ids.take(len(receivers), now_ms=now_ms)
    # Another program on this database may have numbered rows ahead of our clock.
    first = max(first_id, outbox.newest_no(tx) + 1)
    body = push.body(notice)
    outbox.add(
        tx,
        [
            outbox.Waiting(
                no=RowNo(first + place),
                id=ids.text(first_id + place),
                company_id=receiver.company_id,
                sensor_id=notice.sensor_id,
                selector=receiver.selector,
                body=body,
                due_ms=now_ms,
            )
            for place, receiver in enumerate(receivers)
        ],
    )
