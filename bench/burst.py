"""Row 18: ten times the load for two minutes, taken by the buffer behind the device listener and stored in time.

A gateway, a worker, Kafka and PostgreSQL on one machine. Some devices publish at the base rate all the time; after a
while others bring it to ten times that, for two minutes. Told is what devices waited for their PUBACKs, how far the
store fell behind, and how long after the burst it had everything; nothing may be lost. Beside it what broker and store
take alone.

Latency runs from the moment a message was due. Nobody is pinned.
"""

import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench import alone, fleet, loadgen, peers, shared
from bench.buffered import ALONE_SECONDS, DRAINED_S, GROUP, PRODUCED, QUICK_ALONE_SECONDS
from bench.device_channel import disk
from bench.table import Figure

BASE: Final = 500
TIMES: Final = 10
BASE_DEVICES, BURST_DEVICES = 500, 2_000
SECONDS, QUICK_SECONDS = 120.0, 6.0
LEAD_S, QUICK_LEAD_S = 15.0, 2.0
LOOK_S: Final = 0.5


def measure(quick: bool, *, seconds: float | None = None, scale: float = 1.0) -> list[Figure]:
    """PUBACKs during the burst, the backlog, the time until it is gone. `scale`: of the base rate."""
    loadgen.build()
    seconds = seconds or (QUICK_SECONDS if quick else SECONDS)
    base_rate, alone_s = max(10, int(BASE * scale)), QUICK_ALONE_SECONDS if quick else ALONE_SECONDS
    with shared.database() as database, shared.broker() as broker, tempfile.TemporaryDirectory(dir=disk()) as made:
        folder = Path(made)
        fleet.make_on(database.url(shared.DATABASE), BASE_DEVICES + BURST_DEVICES)
        own = {"variables": shared.variables(database, broker, bus_buffer_devices="true"), "cores": shared.BOTH_CORES}
        with (
            peers.tripline(folder / "gateway", "gateway", **own) as gateway,
            peers.tripline(folder / "worker", "worker", **own) as worker,
            shared.Backlog(broker, GROUP, shared.DEVICES_TOPIC) as backlog,
            _devices(folder, gateway, 0, BASE_DEVICES, base_rate, 10 * DRAINED_S) as base,
        ):
            base.all_connected()
            time.sleep(QUICK_LEAD_S if quick else LEAD_S)
            before = backlog.messages()
            more = base_rate * (TIMES - 1)
            with _devices(folder, gateway, BASE_DEVICES, BURST_DEVICES, more, seconds) as burst:
                burst.all_connected()
                pids = {"gateway": gateway.pid, "worker": worker.pid, "postgres": database.pid}
                watch = shared.Watch(**pids, broker=broker.brokers[0].pid, generator=burst.pid)
                largest = _largest(backlog, seconds)
                cores = watch.cores()
                run = burst.over(within_s=loadgen.LONGEST_S)
            drained_s = backlog.until(lambda left: left <= max(before, base_rate), within_s=DRAINED_S)
            calm = base.end()
            backlog.until(lambda left: left == 0, within_s=DRAINED_S)
        acknowledged = run["acked_in_all"] + calm["acked_in_all"]
        lost = run["never_acked"] + run["not_sent"] + calm["never_acked"] + calm["not_sent"]
        shared.check(database, acknowledged=acknowledged, sent=acknowledged + run["never_acked"] + calm["never_acked"])
        batch = shared.messages_in_a_commit(database)
        produced = alone.produced(broker, alone.frames(broker, shared.DEVICES_TOPIC), seconds=alone_s)
        copied = alone.copied(database, batch=max(1, round(batch)), seconds=alone_s)
    row = f"18 {base_rate:,} messages/s, ten times that for {seconds:.0f} s"
    return [
        Figure(row=row, name="acknowledged/s in the burst, of the others", value=run["per_s"], gate=more * 0.995),
        Figure(row=row, name="not acknowledged or not sent", value=lost, gate=0, at_least=False, detail=calm),
        Figure(row=row, name="PUBACK p50 in the burst, ms", value=run["p50_us"] / 1e3, detail=run),
        Figure(row=row, name="PUBACK p99 in the burst, ms", value=run["p99_us"] / 1e3),
        Figure(row=row, name="PUBACK p99 of the base, whole run, ms", value=calm["p99_us"] / 1e3),
        Figure(row=row, name="largest backlog, messages", value=largest),
        Figure(row=row, name="everything stored, s after the burst", value=drained_s),
        *(Figure(row=row, name=f"{name} in the burst, cores", value=used) for name, used in cores.items()),
        Figure(row=row, name=PRODUCED, value=produced.per_s, detail=produced.detail),
        Figure(row=row, name="messages in a commit", value=batch),
        Figure(row=row, name="COPY alone, such batches, rows/s", value=copied.per_s, detail=copied.detail),
    ]


def _devices(folder: Path, gateway: peers.Server, first: int, count: int, rate: int, seconds: float) -> loadgen.Fleet:
    told: dict[str, Any] = {"users": fleet.users(folder, first=first, count=count), "connections": count, "rate": rate}
    return loadgen.Fleet(gateway, **told, warmup=0, seconds=seconds, cores=shared.BOTH_CORES)


def _largest(backlog: shared.Backlog, seconds: float) -> int:
    """The largest number of messages that waited to be stored, over so long."""
    until, largest = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        largest = max(largest, backlog.messages())
        time.sleep(LOOK_S)
    return largest
