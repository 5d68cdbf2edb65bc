"""Microtrips and device events from the bus: which are there already, and writing them.

Not here: their trips (`bus_trips.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Table, bindparam, select, update

from tripline.domain.access import Reach, Scope
from tripline.domain.ids import UserId
from tripline.store.bulk import Bulk
from tripline.store.scores import sums
from tripline.store.tables import device_event, driving_score, gps_event, microtrip
from tripline.store.transactions import ReadTx, WriteTx

AT_ONCE: Final = 500
"""Keys in one statement."""
MICROTRIPS: Final = Bulk(microtrip, "no", "trip_no", "id", "ts", "ty", "payload", "samples", "bus_key", "envelope")
EVENTS: Final = Bulk(
    device_event,
    *("no", "id", "company_id", "sensor_id", "vehicle_id", "user_id", "trip_id", "device_type"),
    *("ty", "sent_ty", "ts", "event_ms", "lat", "lon", "payload", "bus_key", "envelope"),
)


def microtrips(tx: ReadTx, scope: Scope, keys: Collection[int], *, since_no: int) -> dict[int, list[bytes]]:
    """Payloads of the stored microtrips with these keys, from `since_no` on."""
    return _stored(tx, scope, microtrip, keys, since_no)


def events(tx: ReadTx, scope: Scope, keys: Collection[int]) -> dict[int, list[bytes]]:
    """The payloads of the stored events with these keys."""
    return _stored(tx, scope, device_event, keys, None)


def driven_by(tx: WriteTx, scope: Scope, driven: Mapping[int, UserId | None]) -> None:
    """Update the drivers of these trips' scores and events, by trip number, from their latest messages."""
    _everything(scope)
    values = [{"of_trip": trip_no, "by": user_id} for trip_no, user_id in driven.items()]
    if values:
        before = sums.held(tx, driven)
        for table in (driving_score, gps_event):
            tx.run(update(table).where(table.c.trip_no == bindparam("of_trip")).values(user_id=bindparam("by")), values)
        sums.move(tx, before, sums.shares(tx, driven))


def _stored(
    tx: ReadTx, scope: Scope, table: Table, keys: Collection[int], since_no: int | None
) -> dict[int, list[bytes]]:
    _everything(scope)
    statement = select(table.c.bus_key, table.c.payload).where(table.c.bus_key.in_(bindparam("keys", expanding=True)))
    if since_no is not None and tx.shared:
        statement = statement.where(table.c.no >= since_no)  # spares the partitions of earlier weeks
    wanted = sorted(keys)
    found: dict[int, list[bytes]] = {}
    for start in range(0, len(wanted), AT_ONCE):
        rows: Sequence[Any] = tx.all(statement, {"keys": wanted[start : start + AT_ONCE]})
        for key, payload in rows:
            found.setdefault(key, []).append(bytes(payload))
    return found


def _everything(scope: Scope) -> None:
    assert Reach.ANY in scope.reaches, "the bus consumer works on every sensor"
