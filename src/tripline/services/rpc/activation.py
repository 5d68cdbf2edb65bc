"""Activation: what an answer of the device does to the mounting that waits for it (spec/rpc 6.3)."""

from tripline.domain import rpc, sensors
from tripline.domain.history import Event, Fact
from tripline.domain.ids import TimeIds
from tripline.domain.rpc import Call
from tripline.store.fleet import history
from tripline.store.rpc import activations as rpc_activations
from tripline.store.transactions import WriteTx


def acknowledged(tx: WriteTx, call: Call) -> None:
    """The device acknowledged an activation; one that it refuses is no longer awaited."""
    if refuses(call.response_code):
        rpc_activations.withdraw(tx, call)


def concluded(tx: WriteTx, call: Call, *, ids: TimeIds, now_ms: int) -> bool:
    """The device's result of an activation came: mount the sensor when it says success; whether it is mounted now.

    A request that was superseded or cancelled maps nothing. Nor does one whose vehicle is gone or another company's.
    """
    if not rpc_activations.withdraw(tx, call):
        return False
    if not rpc.is_success(call.result_code) or call.vehicle_id is None:
        return False
    status = sensors.NEXT[sensors.Status.DEACTIVATED, sensors.SensorEvent.MOUNT]
    if not rpc_activations.mount(tx, call.sensor_id, call.vehicle_id, status):
        return False
    # Whoever asked for the mounting did it, however long the device took.
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
    """Whether an acknowledgement's code refuses the activation; no code refuses nothing (spec/rpc 6.2)."""
    return code is not None and not rpc.is_success(code)
