"""Row 17: Kafka behind the device listener, on one machine with PostgreSQL, a gateway and a worker.

First the gateway alone takes what devices send as fast as they are acknowledged, and the topic fills; then one worker
starts and empties it into PostgreSQL; then both are at it together. Beside it, in the same run: the same frames from
librdkafka under the gateway's own settings, without a gateway; and the same rows by COPY.

Nobody is pinned: all share the cores as a machine lets them; who used how much is in the table.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import alone, fleet, loadgen, peers, shared
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from tests.support.postgres import Cluster

ROW: Final = "17 Kafka behind the device listener"
GROUP: Final = "tripline.devices"
CONNECTIONS: Final = 1_000
WINDOWS: Final = {"one in flight on 1,000 connections": (1_000, 1), "twenty in flight on 200": (200, 20)}
ROUNDS, SECONDS, QUICK_SECONDS, WARMUP_S = 3, 10.0, 3.0, 1.0
ALONE_SECONDS, QUICK_ALONE_SECONDS = 10.0, 2.0
DRAINED_S: Final = 1_800
PRODUCED: Final = "librdkafka alone, messages/s"


@dataclass(frozen=True, slots=True)
class Drained:
    """What a worker did with what was there when it came."""

    messages: int
    per_s: float
    cores: dict[str, float]


def measure(quick: bool, *, seconds: float | None = None) -> list[Figure]:
    """The gateway's ceiling, a worker's rate, both together, broker and store alone."""
    loadgen.build()
    seconds, rounds = seconds or (QUICK_SECONDS if quick else SECONDS), 1 if quick else ROUNDS
    alone_s = QUICK_ALONE_SECONDS if quick else ALONE_SECONDS
    with shared.database() as database, shared.broker() as broker, tempfile.TemporaryDirectory(dir=disk()) as made:
        folder = Path(made)
        fleet.make_on(database.url(shared.DATABASE), CONNECTIONS * len(WINDOWS) * (rounds + 1))
        variables = shared.variables(database, broker, bus_buffer_devices="true")
        processes = {"postgres": database.pid, "broker": broker.brokers[0].pid}
        with peers.tripline(
            folder / "gateway", "gateway", variables=variables, cores=shared.BOTH_CORES
        ) as gateway, shared.Backlog(broker, GROUP, shared.DEVICES_TOPIC) as backlog:  # fmt: skip
            watch = shared.Watch(gateway=gateway.pid, **processes)
            runs = [_loaded(folder, gateway, number, seconds) for number in range(rounds)]
            cores = watch.cores()
            frames = alone.frames(broker, shared.DEVICES_TOPIC)
            produced = [alone.produced(broker, frames, seconds=alone_s) for _ in range(rounds)]
            with peers.tripline(
                folder / "worker", "worker", variables=variables, cores=shared.BOTH_CORES
            ) as worker:  # fmt: skip
                drained = _drained(backlog, worker, processes)
                batch = shared.messages_in_a_commit(database)
                together = _loaded(folder, gateway, rounds, seconds)
                backlog.until(lambda left: left == 0, within_s=DRAINED_S)
        _check(database, [*runs, together])
        copied = [alone.copied(database, batch=max(1, round(batch)), seconds=alone_s) for _ in range(rounds)]
    return [
        *_of_gateway(runs, cores, produced),
        *_of_worker(drained, batch, copied),
        *_of_both(together),
    ]


def _loaded(folder: Path, gateway: peers.Server, number: int, seconds: float) -> dict[str, dict[str, Any]]:
    """One round: each way of publishing, with devices of its own."""
    runs = {}
    for place, (name, (connections, window)) in enumerate(WINDOWS.items()):
        first = (number * len(WINDOWS) + place) * CONNECTIONS
        users = fleet.users(folder, first=first, count=connections)
        load = {"users": users, "connections": connections, "window": window, "cores": shared.BOTH_CORES}
        runs[name] = loadgen.run(gateway, **load, warmup=WARMUP_S, seconds=seconds)
    return runs


def _drained(backlog: shared.Backlog, worker: peers.Server, processes: dict[str, int]) -> Drained:
    """From the worker's first commit to its last."""
    whole = backlog.messages()
    backlog.until(lambda left: left < whole, within_s=DRAINED_S)
    watch, began, first = shared.Watch(worker=worker.pid, **processes), time.monotonic(), backlog.messages()
    backlog.until(lambda left: left == 0, within_s=DRAINED_S)
    return Drained(whole, first / (time.monotonic() - began), watch.cores())


def _check(database: Cluster, rounds: list[dict[str, dict[str, Any]]]) -> None:
    runs = [run for each in rounds for run in each.values()]
    acknowledged = sum(run["acked_in_all"] for run in runs)
    shared.check(database, acknowledged=acknowledged, sent=acknowledged + sum(run["never_acked"] for run in runs))


def _of_gateway(
    rounds: list[dict[str, dict[str, Any]]], cores: dict[str, float], produced: list[alone.Alone]
) -> list[Figure]:
    figures = []
    for name in WINDOWS:
        runs = [each[name] for each in rounds]
        rates, latency = [run["per_s"] for run in runs], [run["p99_us"] / 1e3 for run in runs]
        ratios = [run["per_s"] / beside.per_s for run, beside in zip(runs, produced, strict=True)]
        figures += [
            of_rounds(row=ROW, name=f"{name}: acknowledged/s", rounds=rates, detail={"runs": runs}),
            of_rounds(row=ROW, name="to librdkafka alone", rounds=ratios),
            of_rounds(row=ROW, name="per CPU second of the gateway", rounds=[run["per_cpu_s"] for run in runs]),
            of_rounds(row=ROW, name="PUBACK p99, ms", rounds=latency),
        ]
    rates = [each.per_s for each in produced]
    figures.append(of_rounds(row=ROW, name=PRODUCED, rounds=rates, detail={"runs": [each.detail for each in produced]}))
    return [*figures, Figure(row=ROW, name="gateway, cores", value=cores["gateway"], detail=cores)]


def _of_worker(drained: Drained, batch: float, copied: list[alone.Alone]) -> list[Figure]:
    rates, detail = [each.per_s for each in copied], {"rounds": [each.detail for each in copied]}
    told = {"messages": drained.messages, **drained.cores}
    return [
        Figure(row=ROW, name="one worker drains, messages/s", value=drained.per_s, detail=told),
        Figure(row=ROW, name="worker, cores", value=drained.cores["worker"]),
        Figure(row=ROW, name="messages in a commit", value=batch),
        of_rounds(row=ROW, name="COPY alone, such batches, rows/s", rounds=rates, detail=detail),
    ]


def _of_both(together: dict[str, dict[str, Any]]) -> list[Figure]:
    return [
        Figure(row=ROW, name=f"{name}, worker beside it: acknowledged/s", value=run["per_s"], detail=run)
        for name, run in together.items()
    ]
