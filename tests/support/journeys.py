"""Stored trips, microtrips and device events, written as rows."""

import json
from typing import Any

from sqlalchemy import insert

from tripline.domain.ids import RowNo, TimeIds
from tripline.store.tables import device_event, microtrip, trip
from tripline.store.transactions import WriteTx


def keep_trip(tx: WriteTx, ids: TimeIds, *, created_ms: int, payload: Any = None, **columns: Any) -> tuple[RowNo, str]:
    """Row number and id of a new trip of a sensor; a payload closes it."""
    no = ids.take(1, now_ms=created_ms)
    trip_id = ids.text(no)
    row = {
        "no": no,
        "id": trip_id,
        "created_ms": created_ms,
        "company_id": "company",
        "sensor_id": "sensor",
        "service_type": "ace",
        "device_type": "GPS",
        "parking": False,
        "state": "OPEN" if payload is None else "COMPLETE",
        "start_ms": created_ms,
        "end_ms": None if payload is None else created_ms + 60_000,
        "message_ty": None if payload is None else 1,
        "payload": None if payload is None else json.dumps(payload).encode(),
    }
    tx.run(insert(trip), {**row, **columns})
    return no, trip_id


def keep_microtrip(tx: WriteTx, ids: TimeIds, trip_no: RowNo, *, created_ms: int, payload: Any, ty: int = 2) -> str:
    """Id of a new microtrip."""
    no = ids.take(1, now_ms=created_ms)
    row = {
        "no": no,
        "trip_no": trip_no,
        "id": ids.text(no),
        "ts": created_ms - 500,
        "ty": ty,
        "payload": json.dumps(payload).encode(),
        "samples": b"",
    }
    tx.run(insert(microtrip), row)
    return ids.text(no)


def keep_event(tx: WriteTx, ids: TimeIds, *, created_ms: int, payload: Any = None, **columns: Any) -> str:
    """Id of a new device event."""
    no = ids.take(1, now_ms=created_ms)
    row = {
        "no": no,
        "id": ids.text(no),
        "company_id": "company",
        "sensor_id": "sensor",
        "device_type": "OBD",
        "ty": 104,
        "event_ms": created_ms - 500,
        "payload": json.dumps(payload or {}).encode(),
    }
    tx.run(insert(device_event), {**row, **columns})
    return ids.text(no)
