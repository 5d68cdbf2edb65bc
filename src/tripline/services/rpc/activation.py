"""Activation: what an answer of the device does to the mounting that waits for it (rpc.md 6.3)."""

from tripline.domain import rpc, sensors
from tripline.domain.rpc import Call
from tripline.store import rpc_activations
from tripline.store.transactions import WriteTx


def acknowledged(tx: WriteTx, call: Call) -> None:
    """The device acknowledged an activation; one that it refuses is awaited no more."""
    if refuses(call.response_code):
        rpc_activations.withdraw(tx, call)


def concluded(tx: WriteTx, call: Call) -> bool:
    """The device's result of an activation came: mount the sensor when it says success; whether it is mounted now.

    A request that was superseded or cancelled maps nothing. Nor does one whose vehicle is gone or another company's.
    """
    if not rpc_activations.withdraw(tx, call):
        return False
    if not rpc.is_success(call.result_code) or call.vehicle_id is None:
        return False
    status = sensors.NEXT[sensors.Status.DEACTIVATED, sensors.Event.MOUNT]
    return rpc_activations.mount(tx, call.sensor_id, call.vehicle_id, status)


def refuses(code: int | None) -> bool:
    """Whether an acknowledgement's code says that the device will not be activated; none says nothing (rpc.md 6.2)."""
    return code is not None and not rpc.is_success(code)
