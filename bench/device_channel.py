"""Rows 1 to 3: the device channel over TLS against mosquitto and amqtt, in rounds taken in turn.

All servers run for the whole measurement, on one core, and are loaded one after the other from the other core; a
round is one load of each. The figure is Tripline's messages per second of its own CPU time over the peer's in the same
round, so that neither a waiting server nor a machine that changes its speed between rounds counts. Tripline looks up
sensors, applies every rule, commits with `synchronous=FULL` and acknowledges after the commit; the peers store nothing.
"""

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import fleet, loadgen, loop_lag, peers
from bench.table import Figure, of_rounds

DOCUMENTED: Final = "documented"


@dataclass(frozen=True, slots=True)
class Load:
    """How the servers are loaded, and what is demanded: gate and stretch of the ratio to each peer."""

    row: str
    kind: str
    connections: int
    window: int
    mosquitto: tuple[float, float] | None
    amqtt: tuple[float, float] | None
    is_hard: bool = False
    """Loaded as published clients do, and longer, without amqtt: a write (so a TLS record) of its own a message."""

    form: str = DOCUMENTED
    """What devices send, in which order. Another form is compared with the documented one in place of the peers."""


LOADS = (
    Load("1 one message in flight, 1,000 devices", "single", 1_000, 1, (0.35, 0.7), (6, 10)),
    Load("1 the same, 124 bytes, ten seconds", "short", 1_000, 1, (0.35, 0.7), None, is_hard=True),
    Load("2 twenty in flight, 200 devices", "single", 200, 20, (1.0, 2.0), None),
    Load("2 the same, 124 bytes, each its own record, ten seconds", "short", 200, 20, (1.0, 2.0), None, is_hard=True),
    Load("3 30-point aggregates, twenty in flight, 200 devices", "aggregate", 200, 20, (0.2, 0.35), (2.5, 4)),
    Load("1 with `try` and two other keys, ten seconds", "short", 1_000, 1, None, None, is_hard=True, form="keys"),
    Load("2 with `try` and two other keys, ten seconds", "short", 200, 20, None, None, is_hard=True, form="keys"),
    Load("2 numbers as text, ten seconds", "short", 200, 20, None, None, is_hard=True, form="text"),
    Load("2 the newest first, ten seconds", "short", 200, 20, None, None, is_hard=True, form="newest"),
    Load("2 a backlog between live data, ten seconds", "short", 200, 20, None, None, is_hard=True, form="backlog"),
    Load("3 with `try` and two other keys", "aggregate", 200, 20, None, None, form="keys"),
)
FORMS: Final = {"keys": (1 / 1.15, 1 / 1.05), "text": (1 / 1.5, None), "newest": (0.6, 0.9), "backlog": (0.6, 0.9)}
"""Gate and stretch of the rate in another form over the rate in the documented form."""
ROUNDS, SECONDS, HARD_SECONDS = 5, 4.0, 10.0
QUICK_ROUNDS, QUICK_SECONDS = 2, 2.0
WARMUP_SECONDS = 1.0
MOST_CONNECTIONS = max(load.connections for load in LOADS)


def measure(quick: bool) -> list[Figure]:
    """Ratios to the peers and absolute figures of every load."""
    loadgen.build()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        folder = Path(made)
        figures, acknowledged = _all_loads(folder, rounds, quick)
        fleet.check(folder / "data", acknowledged=acknowledged)
    return figures


def _all_loads(folder: Path, rounds: int, quick: bool) -> tuple[list[Figure], int]:
    """The figures, and how many messages Tripline acknowledged."""
    figures: list[Figure] = []
    acknowledged = 0
    with contextlib.ExitStack() as running:
        tls = peers.certificate(folder / "tls")
        fleet.make(folder / "data", MOST_CONNECTIONS * rounds * 2 * len(LOADS))
        servers = [
            running.enter_context(peers.tripline(folder / "data", variables=loop_lag.VARIABLES)),
            running.enter_context(peers.mosquitto(folder, tls)),
            running.enter_context(peers.amqtt(folder, tls)),
            running.enter_context(peers.amqtt_stripped(folder, tls)),
        ]
        lag = loop_lag.LoopLag(servers[0], folder / "data")
        taken = 0
        for load in LOADS:
            loaded = [(each.name, each, load.form) for each in servers[: 2 if load.is_hard else None]]
            if load.form != DOCUMENTED:
                loaded = [loaded[0], ("the documented form", servers[0], DOCUMENTED)]
            spans = []
            runs: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in loaded}
            for _ in range(rounds):
                for name, server, form in loaded:  # with sensors of its own each, so that none has a trip open already
                    users = fleet.users(folder, first=taken * MOST_CONNECTIONS, count=load.connections)
                    taken += server is servers[0]
                    began = lag.mark()
                    runs[name].append(_loaded(server, load, form, users, quick))
                    if name == "tripline":
                        spans.append((began, lag.mark()))
                    if server is servers[0]:
                        acknowledged += runs[name][-1]["acked_in_all"]
            figures += [*_figures(load, runs), *lag.figures(load.row, spans)]
    return figures, acknowledged


def disk() -> str | None:
    """Where the database lies: beside the benchmark, because /tmp may be memory."""
    folder = Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    return os.fspath(folder)


def _loaded(server: peers.Server, load: Load, form: str, users: Path, quick: bool) -> dict[str, Any]:
    seconds = HARD_SECONDS if load.is_hard else SECONDS
    return loadgen.run(
        server,
        *(["--apart"] if load.is_hard else []),
        users=users,
        kind=load.kind,
        form=form,
        connections=load.connections,
        window=load.window,
        warmup=WARMUP_SECONDS,
        seconds=QUICK_SECONDS if quick else seconds,
    )


def _figures(load: Load, runs: dict[str, list[dict[str, Any]]]) -> list[Figure]:
    ours = runs["tripline"]
    figures = []
    of_form = ("the documented form", FORMS.get(load.form))
    of_amqtt = [(name, load.amqtt) for name in ("amqtt", "amqtt stripped")]
    for peer, demanded in (("mosquitto", load.mosquitto), *of_amqtt, of_form):
        if peer not in runs:
            continue
        ratios = [a["per_cpu_s"] / b["per_cpu_s"] for a, b in zip(ours, runs[peer], strict=True)]
        gate, stretch = demanded or (None, None)
        figures.append(
            of_rounds(row=load.row, name=f"x {peer}", rounds=ratios, gate=gate, stretch=stretch, detail=runs)
        )
    for name in runs:
        rates = [run["per_cpu_s"] for run in runs[name]]
        figures.append(of_rounds(row=load.row, name=f"{name}, messages per CPU second", rounds=rates))
    share = max(run["generator_share"] for of_one in runs.values() for run in of_one)
    figures.append(Figure(row=load.row, name="load generator's share of its core, at most", value=share))
    return figures
