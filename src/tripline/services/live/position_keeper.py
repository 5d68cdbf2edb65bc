"""Keeps the newest position of each vehicle whose data this process takes in: noted at once, written a little later.

A position is noted when the sample is durable, and written with those of many other vehicles, at most once a second for
each vehicle, so that it costs the stream of messages little. What moved is told after the commit, many vehicles in one
notification. What was noted and not written is lost with a process that is killed: the vehicle's next sample mends
that.

Two sensors on one vehicle: the newest sample of either is the vehicle's position (spec/positions L4). Its heading is
made of samples of its own sensor.

Not here: which sample is the newest (`domain/positions.py`), the rows (`store/positions.py`).
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from tripline import observe
from tripline.domain import positions
from tripline.domain.ids import SensorId, VehicleId
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import notifications, poll_loop
from tripline.store import positions as rows
from tripline.store.transactions import Store

EVERY_S: Final = 1.0
"""From the end of a round of writing to the next, so that no vehicle is written more often."""
AT_ONCE: Final = 512
"""Vehicles in one transaction: it delays the commit of what devices send by about three milliseconds."""
APART_S: Final = 0.15
"""Between two transactions of a round. So 2,500 vehicles are written each second when 10,000 move, and what devices
send never waits for two of them in a row."""
ROUND_S: Final = 3.0
"""How long a round rests in all at most, however many vehicles move."""
TOLD_AT_ONCE: Final = 200
"""Vehicles in one notification: what PostgreSQL carries in one notification."""
REMEMBERED: Final = 50_000
"""Sensors with something to be remembered of; when there are more, those that did not move lately are forgotten, and
with them what their next heading is made of."""
FINISH_S: Final = 5.0
"""How long a stop waits for a store that is away."""
_PAUSE_S: Final = 1.0
_log = observe.logger("live")


class _Seen:
    """What is remembered of a sensor on a vehicle."""

    __slots__ = ("newest_ms", "sensor_id", "tail", "vehicle_id")

    def __init__(self, sensor_id: SensorId, vehicle_id: VehicleId) -> None:
        self.sensor_id = sensor_id
        self.vehicle_id = vehicle_id
        self.tail = b""
        """The newest samples, packed (`positions.newest`)."""
        self.newest_ms = -1


class PositionKeeper:
    """Notes and writes positions. Use it on the event loop."""

    def __init__(self, *, store: Store, signals: Signals, fastest_kmh: float = positions.FASTEST_KMH) -> None:
        """`fastest_kmh`: a greater speed is none."""
        self._fastest_kmh = fastest_kmh
        self._store = store
        self._signals = signals
        self._seen: dict[SensorId, _Seen] = {}
        self._moved: dict[VehicleId, _Seen] = {}
        """Vehicles whose position is to be written, with whose newest sample it is."""

    def saw(self, sensor_id: SensorId, vehicle_id: VehicleId, packed: bytes, last_ms: int) -> None:
        """Samples of a sensor on this vehicle are durable. `packed` is in the form of `domain/samples.py`, `last_ms`
        the largest of their times. Cheap; never blocks. A redelivered message is not to come here."""
        seen = self._seen.get(sensor_id)
        if seen is None or seen.vehicle_id != vehicle_id:
            seen = self._seen[sensor_id] = _Seen(sensor_id, vehicle_id)
        if positions.is_next(packed, last_ms=last_ms, newest_ms=seen.newest_ms):
            seen.tail = (seen.tail + packed)[-positions.TAIL_BYTES :]
            seen.newest_ms = last_ms
        else:
            before, seen.tail = seen.tail, positions.newest(seen.tail, packed, last_ms=last_ms)
            if positions.last_of(seen.tail) == positions.last_of(before):
                return
            seen.newest_ms = positions.time_of(seen.tail)
        # As a rule it waits already, and a sample costs no more than this look.
        if self._moved.get(vehicle_id) is not seen:
            self._await_writing(seen)

    async def run(self) -> None:
        """Write what moved, until cancelled. Trouble costs a pause; nothing that was noted is lost by it."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.write_down(apart_s=APART_S)
            except Exception as error:  # noqa: BLE001  ingest goes on after any error
                poll_loop.report(error, _log, failed="live.failed", outage="live.outage")

    async def finish(self, timeout_s: float = FINISH_S) -> None:
        """Write what is left, unless the store stays away. Nothing is to be noted any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._moved:
                    try:
                        await self.write_down()
                    except Outage as outage:
                        _log.warning("live.outage", error=str(outage))
                        await asyncio.sleep(_PAUSE_S)

    async def write_down(self, *, apart_s: float = 0.0) -> None:
        """Write what has moved by now, with so much time between two transactions. Raises `Outage`: what was not
        written waits on."""
        # In the order of the table, so that few of its pages are touched at a time.
        waiting = sorted(self._moved)
        rest_s = min(apart_s, ROUND_S * AT_ONCE / max(len(waiting), 1))
        for start in range(0, len(waiting), AT_ONCE):
            if start:
                await asyncio.sleep(rest_s)
            await self._write(waiting[start : start + AT_ONCE])
        if len(self._seen) > REMEMBERED:
            kept = {*waiting, *self._moved}
            self._seen = {each: seen for each, seen in self._seen.items() if seen.vehicle_id in kept}

    async def _write(self, vehicle_ids: Sequence[VehicleId]) -> None:
        """Write these vehicles' positions and publish them; if that fails, they wait for the next round."""
        # Removed before the write: moves during it are written in the next round.
        taken = [self._moved.pop(vehicle_id) for vehicle_id in vehicle_ids]
        given = [value for seen in taken for value in (*self._position(seen), seen.sensor_id)]
        try:
            await self._store.write(lambda tx: rows.write(tx, given), locked=True)
        except BaseException:
            for seen in taken:
                self._await_writing(seen)
            raise
        for first in range(0, len(vehicle_ids), TOLD_AT_ONCE):
            notifications.send(self._signals, notifications.vehicles_moved(vehicle_ids[first : first + TOLD_AT_ONCE]))

    def _position(self, seen: _Seen) -> positions.Position:
        return positions.position(seen.vehicle_id, seen.tail, fastest_kmh=self._fastest_kmh)

    def _await_writing(self, seen: _Seen) -> None:
        """This is to be written, unless another sensor knows better where the vehicle is."""
        other = self._moved.get(seen.vehicle_id)
        if other is None or positions.is_newer(seen.tail, other.tail):
            self._moved[seen.vehicle_id] = seen
