"""The end of a sensor's trips when the sensor itself goes, decided on the rows alone: no batch of it will come.

Not here: how trips end while their sensor lives (`placement.py`, `silence.py`).
"""

from tripline.domain import trips
from tripline.domain.ids import SensorId
from tripline.domain.trips import Cause
from tripline.services.ingest.tracks import SCOPE
from tripline.store.ingest import tracks
from tripline.store.transactions import WriteTx
from tripline.store.trips import batch_rows


def end_open(tx: WriteTx, sensor_id: SensorId, *, now_ms: int) -> bool:
    """End the sensor's open trips as they stand; whether that left anything for the scorer to do at once.

    Nothing more will come of them, so the scorer need not wait. Asked again, it finds nothing to end.
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
