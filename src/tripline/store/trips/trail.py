"""The way of a vehicle in the time before now: its trips' samples, packed.

The caller has checked that the vehicle is inside the scope. Not here: single microtrips (`microtrips.py`).
"""

from typing import Final

from sqlalchemy import bindparam, select

from tripline.domain.ids import VehicleId
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import Hot, ReadTx
from tripline.store.trips.trips import IS_THERE


def samples(tx: ReadTx, vehicle_id: VehicleId, *, since_ms: int, limit: int) -> list[bytes]:
    """Samples of the vehicle's trips that opened since then, newest message first; of at most `limit` messages."""
    return [row[0] for row in tx.hot(_SAMPLES, vehicle_id, since_ms, limit)]


_SAMPLES: Final = Hot(
    select(microtrip.c.samples)
    .join_from(trip, microtrip, microtrip.c.trip_no == trip.c.no)
    .where(trip.c.vehicle_id == bindparam("of_vehicle"), trip.c.created_ms >= bindparam("since_ms"), IS_THERE)
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc())
    .limit(bindparam("most")),
    "of_vehicle",
    "since_ms",
    "most",
)
