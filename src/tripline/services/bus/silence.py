"""Trips over the bus without a trip message end by silence, like those from devices (I1, spec/gaps H8).

The specification has no separate rule: a customer's system may omit the message as a box may. Such a trip is scored
from its samples. Later data with the customer's trip id continues it: a microtrip reopens it, a trip message completes
it, each followed by rescoring.

Silent trips are found in the rows, so the result is the same after a restart and in any process.
"""

from typing import Final, NamedTuple

from tripline import observe
from tripline.config import Ingest
from tripline.domain import trips
from tripline.domain.instants import MINUTE_MS
from tripline.domain.trips import Cause, State
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services.bus.batches import SCOPE
from tripline.services.poll_loop import periodically
from tripline.store.transactions import Store, WriteTx
from tripline.store.trips import batch_rows, bus_trips

LOOK_S: Final = 5.0
"""Pause between two checks."""
_AT_ONCE: Final = 200
"""Most trips ended in one transaction; the rest follow at once."""
_log = observe.logger("trips")


class _Ended(NamedTuple):
    trips: int
    asked: int
    """Trips queued for scoring."""


class Silence:
    """Ends trips over the bus without any message for the length of the gap."""

    def __init__(self, *, store: Store, settings: Ingest, signals: Signals, clock: Clock) -> None:
        self._store = store
        self._gap_ms = settings.trip_gap_minutes * MINUTE_MS
        self._signals = signals
        self._clock = clock

    async def run(self) -> None:
        await periodically(self.end_silent, every_s=LOOK_S, log=_log, failed="trip.failed")

    async def end_silent(self) -> int:
        """End some silent trips; return their number. Raises `Outage`."""
        now_ms = self._clock()
        since_ms = int(now_ms - self._gap_ms)
        found = await self._store.read(lambda tx: bus_trips.silent(tx, SCOPE, since_ms=since_ms, limit=_AT_ONCE))
        if not found:
            return 0
        ended, asked = await self._store.write(
            lambda tx: _end(tx, found, since_ms=since_ms, now_ms=now_ms), locked=True
        )
        if asked:
            self._signals.notify(observe.SIGNAL_SCORING_DUE)
        return ended


def _end(tx: WriteTx, found: list[str], *, since_ms: int, now_ms: int) -> _Ended:
    locked = bus_trips.lock(tx, SCOPE, found)
    # A microtrip may have arrived between the search and the lock.
    still = set(bus_trips.silent(tx, SCOPE, since_ms=since_ms, limit=_AT_ONCE))
    rows = batch_rows.Rows()
    ended = [trip for trip in locked.values() if trip.id in still and trip.live is State.OPEN]
    for trip in ended:
        bounds = bus_trips.bounds(tx, SCOPE, trip.no)
        trip.state = trips.move(trip.live, Cause.SILENCE).value
        trip.closed_ms, trip.changed = now_ms, True
        trip.end_ms = None if bounds is None else bounds.last_ms
        trip.not_scored = trips.why_not_scored(trip.device_type, trip.vehicle_id, parking=trip.parking)
        if trip.not_scored is None:
            rows.jobs[trip.no] = now_ms
    bus_trips.change(tx, SCOPE, ended)
    batch_rows.write(tx, SCOPE, rows)
    return _Ended(len(ended), len(rows.jobs))
