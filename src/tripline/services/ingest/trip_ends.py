"""End the trips of a sensor that is being removed, from the rows alone: no batch of it will follow.

Not here: ending trips of an active sensor (`placement.py`, `silence.py`).
"""

from tripline.domain import trips
from tripline.domain.ids import SensorId
from tripline.domain.trips import Cause
from tripline.services.ingest.tracks import SCOPE
from tripline.store.ingest import tracks
from tripline.store.transactions import WriteTx
from tripline.store.trips import batch_rows


def end_open(tx: WriteTx, sensor_id: SensorId, *, now_ms: int) -> bool:
    """End the sensor's open trips; true if any of them can be scored at once.

    No more data will arrive for them, so the scorer need not wait. Idempotent.
    """
    rows = batch_rows.Rows()
    for trip in tracks.open_trips(tx, SCOPE, sensor_id):
        reason = trips.why_not_scored(device_type=trip.device_type, vehicle_id=trip.vehicle_id, parking=trip.parking)
        if reason is None:
            rows.jobs[trip.no] = now_ms
        trip.state = trips.move(trip.state, Cause.REMOVED)
        rows.end(trip, start_ms=trip.first_ms, end_ms=trip.last_ms, closed_ms=now_ms, not_scored=reason)
    batch_rows.write(tx, SCOPE, rows)
    return bool(rows.jobs)
