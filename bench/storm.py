"""Row 15: ten thousand TLS devices that all come back at once after the server was started anew.

Every device dials again a quarter of a second after it was cut off, and again while nobody answers. 500 of them publish
all the time, together 500 messages a second; what each message waits for its PUBACK is measured from when it was due,
from the moment the first device is back: so the figure shows what those that are back feel of those that are not yet
(a process of their own reads their answers, so that they do not wait for the other devices' side of the handshakes).
The server is stopped once in order (SIGTERM) and once killed; the time runs from the start of the new process, which
opens the database and everything else first.
"""

import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import fleet, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, QUICK_DEVICES = 10_000, 2_000
PUBLISHERS, RATE = 500, 500
AFTERWARDS_S = 3.0
"""How long everybody is watched after the last one is back."""
LONGEST_S = loadgen.LONGEST_S
BACK_S, STALL_MS = 30, 1_000
ROW = "15 reconnect storm, 10,000 TLS devices"
STOPS = {"SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


def measure(quick: bool) -> list[Figure]:
    """Times of return, refusals, stalls, memory."""
    loadgen.build()
    devices = QUICK_DEVICES if quick else DEVICES
    figures: list[Figure] = []
    for name, stop in STOPS.items():
        with tempfile.TemporaryDirectory(dir=disk()) as made:
            figures += _figures(name, _storm(Path(made) / "data", devices, stop))
    return figures


@dataclass(frozen=True, slots=True)
class _Storm:
    some: dict[str, Any]
    """What those saw that publish."""
    crowd: dict[str, Any]
    """What all the others saw."""
    started_ns: int
    """When the new server's process was started (the clock of the generator)."""
    ready_ns: int
    """When it said that it was ready."""
    cpu_s: float
    """What the new server used until the last one was back, and some seconds more."""
    peak_kib: int
    rss_kib: int

    def of_both(self, name: str) -> int:
        """A count of all devices."""
        return int(self.some[name] + self.crowd[name])


def _storm(data: Path, devices: int, stop: signal.Signals) -> _Storm:
    fleet.make(data, devices)
    port = peers.free_port()
    with contextlib.ExitStack() as running, contextlib.ExitStack() as first:
        old = first.enter_context(peers.tripline(data, device_port=port))
        some = running.enter_context(_some(old, data, 0, PUBLISHERS, rate=RATE))
        crowd = running.enter_context(_some(old, data, PUBLISHERS, devices - PUBLISHERS, rate=0))
        for each in (some, crowd):
            each.all_connected()
        time.sleep(AFTERWARDS_S)
        os.kill(old.pid, stop)
        first.close()
        started_ns = time.monotonic_ns()
        new = running.enter_context(peers.tripline(data, device_port=port))
        ready_ns = time.monotonic_ns()
        for each in (some, crowd):
            each.all_connected()
        time.sleep(AFTERWARDS_S)
        rss_kib, _ = new.memory_kib()
        storm = _Storm(some.end(), crowd.end(), started_ns, ready_ns, new.cpu_s(), new.peak_kib(), rss_kib)
    stored, acknowledged = fleet.stored(data), storm.some["acked_in_all"]
    if storm.of_both("lost") != devices or storm.of_both("connected") != devices:
        raise RuntimeError(f"{storm.of_both('lost')} were cut off, {storm.of_both('connected')} are connected")
    if not acknowledged <= stored <= acknowledged + PUBLISHERS:
        raise RuntimeError(f"{acknowledged} messages were acknowledged, {stored} are stored")
    return storm


def _some(server: peers.Server, data: Path, first: int, count: int, *, rate: int) -> loadgen.Fleet:
    """Some of the devices, in a process of their own."""
    users = fleet.users(data, first=first, count=count)
    told = {"users": users, "connections": count, "publishers": count if rate else 0, "rate": rate}
    return loadgen.Fleet(server, "--reconnect", **told, warmup=0, seconds=10 * LONGEST_S)


def _figures(name: str, storm: _Storm) -> list[Figure]:
    def since_start(at_ns: int) -> float:
        return (at_ns - storm.started_ns) / 1e9

    def figure(what: str, value: float, **rest: Any) -> Figure:
        return Figure(row=ROW, name=f"{name}: {what}", value=value, at_least=False, **rest)

    first, last = (pick(each[at] for each in (storm.some, storm.crowd))
                   for pick, at in ((min, "first_back_ns"), (max, "last_back_ns")))  # fmt: skip
    detail = {"some": storm.some, "crowd": storm.crowd}
    turned_away = storm.of_both("refused") + storm.of_both("failed")
    return [
        figure("all back, s after the new start", since_start(last), gate=BACK_S, detail=detail),
        figure("server ready, s after its start", since_start(storm.ready_ns)),
        figure("first one back, s after the new start", since_start(first)),
        figure("refused, or cut off before they were let in", turned_away, gate=0),
        figure("longest PUBACK of those back, ms", storm.some["longest_after_us"] / 1e3, gate=STALL_MS),
        figure("server's CPU seconds", storm.cpu_s),
        figure("largest memory on the way, MiB", storm.peak_kib / 1024),
        figure("resident memory afterwards, MiB", storm.rss_kib / 1024),
    ]
