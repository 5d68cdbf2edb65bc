"""Row 16: PostgreSQL, Tripline with all roles and the devices on the same two cores.

Five thousand TLS devices publish 5,000 messages a second for ten minutes, each durable in PostgreSQL before its PUBACK;
twenty more drive recorded drives and wait for scores. Then the rate goes up by steps, each with devices of its
own, until it is not kept: a message in fifty is late by more than it should, is not sent, or waits a second for its
PUBACK. Beside it, in the same run, what PostgreSQL takes of the same rows by COPY in transactions of the same size.

Latency runs from the moment a message was due. Nobody is pinned: the three share the cores as a machine lets them.
"""

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench import alone, fleet, loadgen, peers, shared, trips
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from tests.support.postgres import Cluster

from tripline.domain import ids

RATE: Final = 5_000
DEVICES: Final = 5_000
SECONDS, QUICK_SECONDS, WARMUP_S = 600.0, 10.0, 5.0
STEP_DEVICES: Final = 1_000
STEP_SECONDS, QUICK_STEP_SECONDS, STEP_WARMUP_S = 30.0, 4.0, 2.0
STEP: Final = 1.2
MOST_STEPS, QUICK_STEPS = 12, 2
LATE_MS: Final = 1_000
KEPT: Final = 0.98
SIZES: Final = ("as at that rate", "as at the ceiling", "of 1,000")
"""Of the transactions in which PostgreSQL alone gets the rows."""
LARGE: Final = 1_000
ALONE_ROUNDS, ALONE_SECONDS, QUICK_ALONE_SECONDS = 3, 10.0, 2.0
ROW: Final = f"16 PostgreSQL on the same two cores, {RATE:,} messages/s"


@dataclass(slots=True)
class Ceiling:
    """What the steps showed."""

    rate: float = 0.0
    """The highest rate that was kept."""
    since_no: int = 0
    """Row numbers of that step begin here."""
    acknowledged: int = 0
    sent: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether there was a rate that is kept and one that is not."""
        return {step["kept"] for step in self.steps} == {True, False}


def measure(quick: bool, *, seconds: float | None = None, scale: float = 1.0) -> list[Figure]:
    """PUBACK latency, shares of the cores, scores, the ceiling, the store alone. `scale`: of the first rate."""
    loadgen.build()
    seconds = seconds or (QUICK_SECONDS if quick else SECONDS)
    rate, devices = max(100, int(RATE * scale)), max(100, int(DEVICES * scale))
    most = QUICK_STEPS if quick else MOST_STEPS
    with shared.database() as database, tempfile.TemporaryDirectory(dir=disk()) as made:
        folder = Path(made)
        fleet.make_on(database.url(shared.DATABASE), devices + trips.DEVICES + most * STEP_DEVICES)
        variables = shared.variables(database)
        with peers.tripline(folder / "data", variables=variables, cores=shared.BOTH_CORES) as server:
            run, driven, waits_s, cores = _steady(folder, server, database, devices, rate, seconds)
            batch = shared.messages_in_a_commit(database)
            shared.check(database, acknowledged=run["acked_in_all"] + driven.microtrips)
            first = devices + trips.DEVICES
            ceiling = _ceiling(folder, server, first=first, rate=rate, most=most, quick=quick)
        acknowledged = run["acked_in_all"] + driven.microtrips
        shared.check(database, acknowledged=acknowledged + ceiling.acknowledged, sent=acknowledged + ceiling.sent)
        full = shared.messages_in_a_commit(database, since_no=ceiling.since_no) if ceiling.since_no else batch
        beside = {name: _alone(database, size, quick) for name, size in zip(SIZES, (batch, full, LARGE), strict=True)}
    row = ROW if scale == 1.0 else f"16 PostgreSQL on the same two cores, {rate:,} messages/s"
    return [
        *_of_load(row, run, rate, cores, batch),
        *_of_scores(row, driven, waits_s),
        *_of_ceiling(row, ceiling, full, beside),
    ]


def _steady(
    folder: Path, server: peers.Server, database: Cluster, devices: int, rate: int, seconds: float
) -> tuple[dict[str, Any], trips.Trips, list[float], dict[str, float]]:
    """The first load: what the generator saw, what was driven, how long scores took, who used how much."""
    users = fleet.users(folder, first=0, count=devices)
    load = {"users": users, "connections": devices, "rate": rate, "warmup": WARMUP_S, "seconds": seconds}
    driving = [fleet.token(devices + number) for number in range(trips.DEVICES)]
    with loadgen.Fleet(server, **load, cores=shared.BOTH_CORES, server=server.pid) as generator:
        generator.all_connected()
        with trips.driving(server, driving) as driven:
            time.sleep(WARMUP_S)
            watch = shared.Watch(server=server.pid, postgres=database.pid, generator=generator.pid)
            time.sleep(seconds * 0.95)
            cores = watch.cores()
        run = generator.over(within_s=seconds + loadgen.LONGEST_S)
    return run, driven, driven.waits_s(database), cores


def _ceiling(folder: Path, server: peers.Server, *, first: int, rate: int, most: int, quick: bool) -> Ceiling:
    """Up from the rate while it is kept, or down until one is."""
    found, wanted = Ceiling(), float(rate)
    seconds = QUICK_STEP_SECONDS if quick else STEP_SECONDS
    while len(found.steps) < most and not found.ended:
        step = len(found.steps)
        users = fleet.users(folder, first=first + step * STEP_DEVICES, count=STEP_DEVICES)
        load = {"users": users, "connections": STEP_DEVICES, "rate": int(wanted), "cores": shared.BOTH_CORES}
        since_no = ids.first_no(time.time_ns() // 1_000_000)
        run = loadgen.run(server, **load, warmup=STEP_WARMUP_S, seconds=seconds)
        found.acknowledged += run["acked_in_all"]
        found.sent += run["acked_in_all"] + run["never_acked"]
        kept = run["per_s"] >= KEPT * int(wanted) and run["p99_us"] <= LATE_MS * 1000 and not run["not_sent"]
        found.steps.append({"rate": int(wanted), "kept": kept, **run})
        if kept:
            found.rate, found.since_no = run["per_s"], since_no
        wanted = wanted * STEP if kept else wanted / STEP
    return found


def _alone(database: Cluster, batch: float, quick: bool) -> list[alone.Alone]:
    seconds, rounds = (QUICK_ALONE_SECONDS, 1) if quick else (ALONE_SECONDS, ALONE_ROUNDS)
    return [alone.copied(database, batch=max(1, round(batch)), seconds=seconds) for _ in range(rounds)]


def _of_load(row: str, run: dict[str, Any], rate: int, cores: dict[str, float], batch: float) -> list[Figure]:
    own = {name: used for name, used in cores.items() if name != "machine"}
    lost = run["never_acked"] + run["not_sent"]
    share = sum(own.values()) / 2
    return [
        Figure(row=row, name="acknowledged per second", value=run["per_s"], gate=rate * 0.995, detail=run),
        Figure(row=row, name="share of two cores, all three", value=share, gate=0.95, at_least=False, detail=cores),
        *(Figure(row=row, name=f"of it {name}, cores", value=used) for name, used in own.items()),
        Figure(row=row, name="machine, others' work too, cores", value=cores["machine"]),
        Figure(row=row, name="not acknowledged or not sent", value=lost, gate=0, at_least=False),
        Figure(row=row, name="p50 PUBACK, ms", value=run["p50_us"] / 1e3),
        Figure(row=row, name="p99 PUBACK, ms", value=run["p99_us"] / 1e3),
        Figure(row=row, name="slowest PUBACK, ms", value=run["max_us"] / 1e3),
        Figure(row=row, name="messages in a commit", value=batch),
    ]


def _of_scores(row: str, driven: trips.Trips, waits_s: list[float]) -> list[Figure]:
    missing = len(driven.ended_ms) - len(waits_s)
    figures = [Figure(row=row, name="trips without a score", value=missing, gate=0, at_least=False)]
    if waits_s:
        p50, p99 = (waits_s[int(len(waits_s) * part)] for part in (0.5, 0.99))
        detail = {"trips": len(waits_s), "longest_s": waits_s[-1]}
        figures += [
            Figure(row=row, name="score after the trip's PUBACK, p50, s", value=p50, detail=detail),
            Figure(row=row, name="the same, p99, s", value=p99, gate=2, stretch=0.5, at_least=False),
        ]
    return figures


def _of_ceiling(row: str, ceiling: Ceiling, batch: float, beside: dict[str, list[alone.Alone]]) -> list[Figure]:
    figures = [
        Figure(
            row=row,
            name="highest rate kept, messages/s" if ceiling.ended else "highest rate tried and kept, messages/s",
            value=ceiling.rate,
            gate=RATE,
            stretch=15_000,
            detail={"steps": ceiling.steps},
        ),
        Figure(row=row, name="messages in a commit then", value=batch),
    ]
    for name, rounds in beside.items():
        rates = [each.per_s for each in rounds]
        detail = {"rounds": [each.detail for each in rounds]}
        figures.append(of_rounds(row=row, name=f"COPY alone, batches {name}, rows/s", rounds=rates, detail=detail))
    ratios = [ceiling.rate / each.per_s for each in beside[SIZES[1]]]
    return [*figures, of_rounds(row=row, name="ceiling to COPY alone", rounds=ratios)]
