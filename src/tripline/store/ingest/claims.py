"""Claims of sensors by processes, on a database where several processes ingest data.

A process caches a sensor's state only after writing its id into the sensor's row. Every batch begins by locking the
rows of its sensors and checking the claim and the cached state; stale sensors are claimed and read again
(`services/ingest/tracks.py`). So a batch waits only for another batch, or a change, of the same sensor, and never
writes from stale state.

Only on PostgreSQL. Not here: the cached state (`tracks.py`), the order of locks (`docs/locks.md`).
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from sqlalchemy import ARRAY, String, any_, bindparam, func, literal_column, or_, select, text, update

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.store.tables import sensor, trip, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

BATCHES: Final = 7_472_105
"""Number of the advisory lock that all batches share, to make them visible; it is never locked exclusively."""
_IDS: Final = any_(bindparam("ids", type_=ARRAY(String)))
# `key_share` makes it FOR NO KEY UPDATE: rows that refer to the sensor may be inserted meanwhile.
_TAKEN: Final = (
    select(sensor.c.id)
    .where(sensor.c.id == _IDS, sensor.c.ingest_node.is_distinct_from(bindparam("node")))
    .order_by(sensor.c.id)
    .with_for_update(key_share=True)
    .subquery()
)
_CLAIM: Final = Hot(
    update(sensor).where(sensor.c.id == _TAKEN.c.id).values(ingest_node=bindparam("node")), "ids", "node"
)
_LOCK: Final = Hot(
    select(
        sensor.c.id,
        sensor.c.ingest_node,
        sensor.c.company_id,
        sensor.c.type,
        sensor.c.vehicle_id,
        vehicle.c.current_driver_id,
    )
    .outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
    .where(sensor.c.id == _IDS)
    .order_by(sensor.c.id)
    .with_for_update(key_share=True, of=sensor),
    "ids",
)
_NAMING: Final = (
    select(trip.c.sensor_id)
    .where(or_(trip.c.vehicle_id == _IDS, trip.c.user_id == _IDS), trip.c.sensor_id.is_not(None))
    .distinct()
    .subquery()
)
_REMEMBERING: Final = (
    select(sensor.c.id)
    .join(_NAMING, _NAMING.c.sensor_id == sensor.c.id)
    .order_by(sensor.c.id)
    .with_for_update(key_share=True, of=sensor)
    .subquery()
)
_RELEASE: Final = Hot(update(sensor).where(sensor.c.id == _REMEMBERING.c.id).values(ingest_node=None), "ids")
_ENTER: Final = Hot(select(func.pg_advisory_xact_lock_shared(literal_column(str(BATCHES)))))
_UNDER_WAY: Final = Hot(
    text(
        "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0"
        f" AND objid = {BATCHES} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
)


class Facts(NamedTuple):
    """The cached properties of a sensor that other processes may change."""

    company_id: CompanyId
    sensor_type: str
    vehicle_id: VehicleId | None
    driver_id: UserId | None


def claim(tx: WriteTx, scope: Scope, sensor_ids: Collection[SensorId], *, node_id: str) -> None:
    """Claim these sensors for the node and lock their rows: other nodes may no longer write from cached state."""
    scope.require_everything()
    tx.hot(_CLAIM, list(sensor_ids), node_id)


def enter(tx: WriteTx, scope: Scope) -> None:
    """Mark the batch as `under_way`. Call it first in the transaction."""
    scope.require_everything()
    tx.hot(_ENTER)


def changed(tx: WriteTx, scope: Scope, remembered: dict[SensorId, Facts], *, node_id: str) -> set[SensorId]:
    """Lock the rows of the sensors of a batch. Return the sensors whose claim or remembered facts are stale."""
    scope.require_everything()
    found = {row[0]: (row[1], row[2:]) for row in tx.hot(_LOCK, list(remembered))}
    return {sensor_id for sensor_id, facts in remembered.items() if found.get(sensor_id) != (node_id, facts)}


def under_way(tx: ReadTx, scope: Scope) -> set[str]:
    """Unique names of the batches in progress, of all processes."""
    scope.require_everything()
    return {row[0] for row in tx.hot(_UNDER_WAY)}


def release_naming(tx: WriteTx, scope: Scope, deleted: Iterable[str]) -> None:
    """Have every sensor with a trip of these vehicles or drivers read again: late samples may join any trip."""
    scope.require_everything()
    tx.hot(_RELEASE, list(deleted))
