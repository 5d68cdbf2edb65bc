"""Apply a device's answer to its pending activation (spec/rpc 6.3)."""

from tripline.domain import rpc, sensors
from tripline.domain.history import Event, Fact
from tripline.domain.ids import TimeIds
from tripline.domain.rpc import Call
from tripline.store.fleet import history
from tripline.store.rpc import activations as rpc_activations
from tripline.store.transactions import WriteTx


def acknowledged(tx: WriteTx, call: Call) -> None:
    """Handle an acknowledgement; a refused activation is no longer pending."""
    if refuses(call.response_code):
        rpc_activations.withdraw(tx, call)


def concluded(tx: WriteTx, call: Call, *, ids: TimeIds, now_ms: int) -> bool:
    """Handle the result of an activation: mount the sensor on success; true if it was mounted.

    A superseded or cancelled request mounts nothing, nor does one whose vehicle was deleted or changed its company.
    """
    if not rpc_activations.withdraw(tx, call):
        return False
    if not rpc.is_success(call.result_code) or call.vehicle_id is None:
        return False
    status = sensors.NEXT[sensors.Status.DEACTIVATED, sensors.SensorEvent.MOUNT]
    if not rpc_activations.mount(tx, call.sensor_id, call.vehicle_id, status):
        return False
    # The requester counts as the person who mounted it, however long the device took.
    fact = Fact(
        event=Event.MOUNTED,
        actor_id=call.user_id,
        company_id=call.company_id,
        sensor_id=call.sensor_id,
        vehicle_id=call.vehicle_id,
    )
    history.add(tx, fact, ids=ids, now_ms=now_ms)
    return True


def refuses(code: int | None) -> bool:
    """True if an acknowledgement's code refuses the activation; a missing code does not (spec/rpc 6.2)."""
    return code is not None and not rpc.is_success(code)
