"""Keep the newest position of each vehicle whose data this process ingests: noted at once, written a little later.

A position is noted when its sample is durable, and written together with many other vehicles, at most once a second for
each vehicle, so that it costs ingest little. Moves are announced after the commit, many vehicles in one notification. A
killed process loses positions that were noted and not written; the vehicle's next sample corrects that.

Two sensors on one vehicle: the newest sample of either is the vehicle's position (spec/positions L4). Its heading comes
from samples of its own sensor.

Vehicles count as driving while their newest sample is young (spec/device-messages 4.7).
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from tripline import observe
from tripline.domain import positions
from tripline.domain.ids import SensorId, VehicleId
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import notifications, poll_loop
from tripline.store import positions as rows
from tripline.store.transactions import Store

EVERY_S: Final = 1.0
"""Least pause between two rounds of writing, so that no vehicle is written more often."""
PER_S: Final = 3_000
"""Vehicles written in a second; after more of them the pause is longer."""
LONGEST_S: Final = 4.0
"""From one round to the next, however many vehicles move, unless writing them takes longer."""
AT_ONCE: Final = 512
"""Vehicles in one transaction: it delays the commit of device messages by about three milliseconds."""
APART_S: Final = 0.05
"""Pause between two transactions of a round: device messages never wait for two transactions in a row. It is short, so
that maps read the whole round at once (`feed.QUIET_S`)."""
ROUND_S: Final = 3.0
"""Longest total pause within a round, however many vehicles move."""
TOLD_AT_ONCE: Final = 200
"""Vehicles in one notification: as many as fit into a notification of PostgreSQL."""
REMEMBERED: Final = 50_000
"""Most sensors in memory; beyond it, sensors that did not move recently are forgotten, together with the samples for
their next heading."""
CHECKED_S: Final = 10.0
"""Pause between two searches for vehicles whose newest sample is too old to count as driving."""
FINISH_S: Final = 5.0
"""How long shutdown waits for a store that is down."""
_PAUSE_S: Final = 1.0
_log = observe.logger("live")


class _SensorState(msgspec.Struct, eq=False):
    """A sensor's newest samples on a vehicle."""

    sensor_id: SensorId
    vehicle_id: VehicleId
    tail: bytes = b""
    """The newest samples, packed (`positions.newest`)."""
    newest_ms: int = -1


class PositionKeeper:
    """Notes and writes positions. Use it on the event loop."""

    def __init__(
        self, *, store: Store, signals: Signals, clock: Clock, gap_ms: float, fastest_kmh: float = positions.FASTEST_KMH
    ) -> None:
        """`gap_ms`: a vehicle whose newest sample is older is not driving. `fastest_kmh`: a greater speed is
        ignored."""
        self._clock = clock
        self._gap_ms = gap_ms
        self._fastest_kmh = fastest_kmh
        self._store = store
        self._signals = signals
        self._seen: dict[SensorId, _SensorState] = {}
        self._moved: dict[VehicleId, _SensorState] = {}
        """Vehicles with a position to write, and the sensor that has the newest sample."""

    def saw(self, sensor_id: SensorId, vehicle_id: VehicleId, packed: bytes, last_ms: int) -> None:
        """Note durable samples of a sensor on this vehicle. `packed` is in the form of `domain/samples.py`, `last_ms`
        the latest of their times. Cheap; never blocks. Do not call it for redelivered messages."""
        seen = self._seen.get(sensor_id)
        if seen is None or seen.vehicle_id != vehicle_id:
            seen = self._seen[sensor_id] = _SensorState(sensor_id, vehicle_id)
        if positions.is_next(packed, last_ms=last_ms, newest_ms=seen.newest_ms):
            seen.tail = (seen.tail + packed)[-positions.TAIL_BYTES :]
            seen.newest_ms = last_ms
        elif positions.is_past(seen.tail, last_ms):
            return
        else:
            before, seen.tail = seen.tail, positions.newest(seen.tail, packed, last_ms=last_ms)
            if positions.last_of(seen.tail) == positions.last_of(before):
                return
            seen.newest_ms = positions.time_of(seen.tail)
        # Usually the vehicle is already waiting, so that a sample costs just this lookup.
        if self._moved.get(vehicle_id) is not seen:
            self._await_writing(seen)

    async def run(self) -> None:
        """Write moves until cancelled; pause after a failure. Noted positions remain."""
        rest_s, checked = EVERY_S, 0.0
        while True:
            await asyncio.sleep(rest_s)
            rest_s, began, count = EVERY_S, time.monotonic(), len(self._moved)
            try:
                await self.write_down(apart_s=APART_S)
                if began >= checked + CHECKED_S:
                    await self.note_idle()
                    checked = began
            except Exception as error:  # noqa: BLE001  ingest goes on after any error
                poll_loop.report(error, _log, failed="live.failed", outage="live.outage")
            else:
                rest_s = pause_s(count, took_s=time.monotonic() - began)

    async def finish(self, timeout_s: float = FINISH_S) -> None:
        """Write the remaining positions, unless the store stays down. Nothing may be noted any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._moved:
                    try:
                        await self.write_down()
                    except Outage as outage:
                        _log.warning("live.outage", error=str(outage))
                        await asyncio.sleep(_PAUSE_S)

    async def write_down(self, *, apart_s: float = 0.0) -> None:
        """Write all moves so far, pausing `apart_s` between two transactions. Raises `Outage`: unwritten positions
        remain."""
        # In table order, so that few of its pages are touched at a time.
        waiting = sorted(self._moved)
        rest_s = min(apart_s, ROUND_S * AT_ONCE / max(len(waiting), 1))
        for start in range(0, len(waiting), AT_ONCE):
            if start:
                await asyncio.sleep(rest_s)
            await self._write(waiting[start : start + AT_ONCE])
        if len(self._seen) > REMEMBERED:
            kept = {*waiting, *self._moved}
            self._seen = {each: seen for each, seen in self._seen.items() if seen.vehicle_id in kept}

    async def note_idle(self) -> None:
        """Note the vehicles that no longer count as driving, also those of other processes. Raises `Outage`."""
        until_ms = self._driving_since()
        if await self._store.read_short(lambda tx: rows.any_idle(tx, until_ms)):
            await self._store.write(lambda tx: rows.note_idle(tx, until_ms), locked=True)

    async def _write(self, vehicle_ids: Sequence[VehicleId]) -> None:
        """Write these vehicles' positions and publish them; if that fails, they wait for the next round."""
        # Removed before the write: moves during it are written in the next round.
        taken = [self._moved.pop(vehicle_id) for vehicle_id in vehicle_ids]
        since_ms = self._driving_since()
        given: list[object] = []
        for seen in taken:
            position = positions.position(seen.vehicle_id, seen.tail, fastest_kmh=self._fastest_kmh)
            is_driving = position.time_ms > since_ms and not position.parking
            given += (*position, True if is_driving else None, seen.sensor_id)
        try:
            await self._store.write(lambda tx: rows.write(tx, given), locked=True)
        except BaseException:
            for seen in taken:
                self._await_writing(seen)
            raise
        for first in range(0, len(vehicle_ids), TOLD_AT_ONCE):
            notifications.send(self._signals, notifications.vehicles_moved(vehicle_ids[first : first + TOLD_AT_ONCE]))

    def _driving_since(self) -> int:
        return int(self._clock() - self._gap_ms)

    def _await_writing(self, seen: _SensorState) -> None:
        """Queue the position for writing, unless another sensor has a newer one of the vehicle."""
        other = self._moved.get(seen.vehicle_id)
        if other is None or positions.is_newer(seen.tail, other.tail):
            self._moved[seen.vehicle_id] = seen


def pause_s(count: int, *, took_s: float) -> float:
    """The pause after a round that wrote so many vehicles and took so long."""
    return max(EVERY_S, min(count / PER_S, LONGEST_S) - took_s)
