"""Row 14: a thousand messages a second pushed to customers' servers, beside an ingest that goes on at its rate.

A thousand TLS devices publish 5,000 messages a second; every fifth is of a sensor whose company wants them. In turn:
nobody wants any; one receiver gets the thousand; a hundred receivers get ten each a second, and of these ten are dead
(nobody listens at five, five take the request and never answer). Ingest's rate is compared with that of the round's
first load. Receivers share the generator's core. The living must get theirs during the load. We wait for the rest,
which must come once.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import fleet, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure, of_rounds

DEVICES, RATE, EVERY = 1_000, 5_000, 5
ROUNDS, SECONDS = 3, 10.0
QUICK_ROUNDS, QUICK_SECONDS = 1, 5.0
WARMUP_S = 1.0
DRAIN_S = 30.0
"""How long we wait for late messages."""
ROW = "14 1,000 pushes/s beside 5,000 messages/s"


@dataclass(frozen=True, slots=True)
class Load:
    """Who is pushed to: the living, those where nobody is, those that do not answer."""

    name: str
    taking: int
    absent: int = 0
    mute: int = 0

    @property
    def all(self) -> int:
        """How many there are."""
        return self.taking + self.absent + self.mute

    def living(self, messages: int) -> int:
        """How many of so many messages, sent by the devices in turn, go to those that take them."""
        rounds, more = divmod(-(-messages // EVERY), self.all)
        return rounds * self.taking + min(more, self.taking)


LOADS = (Load("no receiver", 0), Load("1 receiver", 1), Load("100 receivers, 10 dead", 90, 5, 5))


def measure(quick: bool) -> list[Figure]:
    """What was delivered when, and what ingest felt of it."""
    loadgen.build()
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    runs: dict[str, list[dict[str, Any]]] = {load.name: [] for load in LOADS}
    with tempfile.TemporaryDirectory(dir=disk()) as made, contextlib.ExitStack() as running:
        data = Path(made) / "data"
        fleet.make(data, DEVICES * len(LOADS) * rounds)
        receivers = {load.name: running.enter_context(_receiving(load)) for load in LOADS if load.all}
        for number, load in enumerate(LOADS * rounds):
            if load.all:
                fleet.wanted(data, receivers[load.name].addresses, _watched(number), name=f"{number}")
        server = running.enter_context(peers.tripline(data, variables={"TRIPLINE_PUSH_ALLOW_PRIVATE": "true"}))
        for number, load in enumerate(LOADS * rounds):
            users = fleet.users(data, first=number * DEVICES, count=DEVICES)
            run = loadgen.run(server, users=users, connections=DEVICES, rate=RATE, warmup=WARMUP_S, seconds=seconds)
            if load.all:
                run["pushes"] = receivers[load.name].got(load.living(run["acked_in_all"]))
            runs[load.name].append(run)
        acknowledged = sum(run["acked_in_all"] for of_one in runs.values() for run in of_one)
        if fleet.stored(data) != acknowledged:
            raise RuntimeError(f"{acknowledged} messages were acknowledged, {fleet.stored(data)} are stored")
    return _figures(runs)


def _watched(number: int) -> list[str]:
    """Every fifth sensor of a load: neighbours publish one after the other."""
    return [fleet.token(each) for each in range(number * DEVICES, (number + 1) * DEVICES, EVERY)]


class _Receiving:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.addresses: list[str] = json.loads(self._line())

    def got(self, expected: int) -> dict[str, Any]:
        """What came until the load ended, and how long the rest took after it."""
        during = self._asked()
        taken, began = during["taken"], time.monotonic()
        under_way = during["under_way_ms"]
        twice = during["twice"]
        while taken < expected and time.monotonic() - began < DRAIN_S:
            time.sleep(0.1)
            more = self._asked()
            taken, twice = taken + more["taken"], twice + more["twice"]
            under_way += more["under_way_ms"]
        under_way.sort()
        return {
            "during_load": during["taken"],
            "expected": expected,
            "taken": taken,
            "twice": twice,
            "drained_s": time.monotonic() - began,
            "p50_ms": under_way[len(under_way) // 2],
            "p99_ms": under_way[int(len(under_way) * 0.99)],
            "max_ms": under_way[-1],
        }

    def _asked(self) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._line())
        return told

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextlib.contextmanager
def _receiving(load: Load) -> Iterator[_Receiving]:
    command = ["taskset", "-c", str(peers.GENERATOR_CORE), sys.executable, "-m", "bench.receivers"]
    command += [str(each) for each in (load.taking, load.absent, load.mute)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield _Receiving(process)
    finally:
        process.kill()
        process.wait()


def _figures(runs: dict[str, list[dict[str, Any]]]) -> list[Figure]:
    alone = runs[LOADS[0].name]

    def rounds(name: str, what: str, values: list[float], **rest: Any) -> Figure:
        return of_rounds(row=ROW, name=f"{name}: {what}", rounds=values, **rest)

    figures = [rounds(LOADS[0].name, "PUBACK p99, ms", [run["p99_us"] / 1e3 for run in alone], detail=runs)]
    figures.append(rounds(LOADS[0].name, "server's share of one core", _shares(alone)))
    for load in LOADS[1:]:
        ours = runs[load.name]
        pushes = [run["pushes"] for run in ours]
        ratios = [a["per_s"] / b["per_s"] for a, b in zip(ours, alone, strict=True)]
        part = [got["during_load"] / got["expected"] for got in pushes]
        missing = [abs(got["expected"] - got["taken"]) + got["twice"] for got in pushes]
        figures += [
            rounds(load.name, "part delivered during the load", part, gate=0.99),
            rounds(load.name, "delivered p99, ms", [got["p99_ms"] for got in pushes], at_least=False),
            rounds(load.name, "the last one after the load, s", [got["drained_s"] for got in pushes], at_least=False),
            rounds(load.name, "missing or twice", missing, gate=0, at_least=False),
            rounds(load.name, "ingest to ingest alone", ratios, gate=0.9),
            rounds(load.name, "PUBACK p99, ms", [run["p99_us"] / 1e3 for run in ours], at_least=False),
            rounds(load.name, "messages not sent", [run["not_sent"] for run in ours], gate=0, at_least=False),
            rounds(load.name, "server's share of one core", _shares(ours), at_least=False),
        ]
    return figures


def _shares(runs: list[dict[str, Any]]) -> list[float]:
    return [run["server_cpu_s"] / run["seconds"] for run in runs]
