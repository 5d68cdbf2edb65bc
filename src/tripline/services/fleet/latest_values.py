"""The latest values of a sensor (spec/rest 8.4, spec/device-messages 6.18).

Not here: which devices are connected to this process (`gateway/roster.py`).
"""

import msgspec

from tripline.domain import access, ids
from tripline.domain.access import Action, Actor
from tripline.domain.ids import SensorId
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.store.devices import connections, latest_values
from tripline.store.devices.latest_values import LatestValue
from tripline.store.fleet import sensors as rows
from tripline.store.transactions import ReadTx
from tripline.store.trips import microtrips


class Latest(msgspec.Struct, frozen=True):
    """The stored state of a sensor."""

    heard_ms: int | None
    """When its newest session was last heard of, or the receipt of its newest trip, microtrip, event or report; None:
    never."""
    lost_ms: int | None
    """When its last session ended; None: none has."""
    lost_reason: str | None
    """Why it ended."""
    held_by: str | None
    """The node that its device is connected with, where there are several processes; None: it is not connected."""
    microtrip: StoredMicrotrip | None
    """Its newest microtrip, when that was driven within the actor's reach."""
    values: list[LatestValue]


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> Latest:
    """The sensor's latest values. Raises `NotFound` or `Forbidden`.

    A sensor goes from vehicle to vehicle: who sees it on this one need not see where it was before.
    """
    access.admit(rows.inside(tx, access.scope_of(actor, Action.SENSOR_READ), sensor_id), access.Thing.SENSOR)
    values = latest_values.of_sensor(tx, sensor_id)
    heard = [ids.ms_of_no(no) for no in latest_values.newest_rows(tx, sensor_id)]
    # An event's value has the device's time; its row has the time of receipt.
    heard += [value.updated_ms for value in values if not value.name.isdecimal()]
    connection = connections.of_sensor(tx, sensor_id)
    if connection is not None:
        heard.append(connection.seen_ms)
    driven = access.scope_of(actor, Action.DRIVING_READ)
    return Latest(
        heard_ms=max(heard, default=None),
        lost_ms=None if connection is None else connection.lost_ms,
        lost_reason=None if connection is None else connection.reason,
        held_by=connection.node_id if connection is not None and connection.connected else None,
        microtrip=microtrips.latest_of_sensor(tx, driven, sensor_id),
        values=values,
    )
