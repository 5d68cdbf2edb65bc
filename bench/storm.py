"""Row 15: ten thousand TLS devices that all come back at once after the server was started anew.

Every device dials again a quarter of a second after it was cut off, and again while nobody answers. 500 of them publish
all the time, together 500 messages a second; what each message waits for its PUBACK is measured from when it was due,
from the moment the first device is back: so the figure shows what those that are back feel of those that are not yet.
The server is stopped once in order (SIGTERM) and once killed; the time runs from the start of the new process, which
opens the database and everything else first.
"""

import contextlib
import json
import os
import select
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
LONGEST_S = 60.0
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
    run: dict[str, Any]
    started_ns: int
    """When the new server's process was started (the clock of the generator)."""
    ready_ns: int
    """When it said that it was ready."""
    cpu_s: float
    """What the new server used until the last one was back, and some seconds more."""
    peak_kib: int
    rss_kib: int


def _storm(data: Path, devices: int, stop: signal.Signals) -> _Storm:
    fleet.make(data, devices)
    users = fleet.users(data, first=0, count=devices)
    port = peers.free_port()
    with contextlib.ExitStack() as first:
        old = first.enter_context(peers.tripline(data, device_port=port))
        with _Fleet(old, users, devices) as them:
            them.all_connected()
            time.sleep(AFTERWARDS_S)
            os.kill(old.pid, stop)
            first.close()
            started_ns = time.monotonic_ns()
            with peers.tripline(data, device_port=port) as new:
                ready_ns = time.monotonic_ns()
                them.all_connected()
                time.sleep(AFTERWARDS_S)
                rss_kib, _ = new.memory_kib()
                peak_kib, cpu_s = new.peak_kib(), new.cpu_s()
                run = them.end()
        stored = fleet.stored(data)
    if run["lost"] != devices or run["connected"] != devices:
        raise RuntimeError(f"of {devices} devices {run['lost']} were cut off and {run['connected']} are connected")
    if not run["acked_in_all"] <= stored <= run["acked_in_all"] + devices:
        raise RuntimeError(f"{run['acked_in_all']} messages were acknowledged, {stored} are stored")
    return _Storm(run, started_ns, ready_ns, cpu_s, peak_kib, rss_kib)


class _Fleet:
    """The devices; leaving ends them."""

    def __init__(self, server: peers.Server, users: Path, devices: int) -> None:
        self._process = loadgen.start(
            server,
            "--reconnect",
            users=users,
            connections=devices,
            publishers=PUBLISHERS,
            rate=RATE,
            warmup=0,
            seconds=10 * LONGEST_S,
        )

    def __enter__(self) -> "_Fleet":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def all_connected(self) -> None:
        """Return when every device is connected (again)."""
        assert self._process.stderr is not None
        readable, _, _ = select.select([self._process.stderr], [], [], LONGEST_S)
        line = self._process.stderr.readline() if readable else b""
        if b"all connected" not in line:
            raise RuntimeError(f"not everybody is connected after {LONGEST_S} s. {line.decode()}")

    def end(self) -> dict[str, Any]:
        """Disconnect; what the devices saw."""
        self._process.send_signal(signal.SIGTERM)
        out, err = self._process.communicate(timeout=LONGEST_S)
        if not out:
            raise RuntimeError(err.decode())
        answer: dict[str, Any] = json.loads(out)
        return answer


def _figures(name: str, storm: _Storm) -> list[Figure]:
    run = storm.run

    def since_start(at_ns: int) -> float:
        return (at_ns - storm.started_ns) / 1e9

    def figure(what: str, value: float, **rest: Any) -> Figure:
        return Figure(row=ROW, name=f"{name}: {what}", value=value, at_least=False, **rest)

    return [
        figure("all back, s after the new start", since_start(run["last_back_ns"]), gate=BACK_S, detail=run),
        figure("server ready, s after its start", since_start(storm.ready_ns)),
        figure("first one back, s after the new start", since_start(run["first_back_ns"])),
        figure("refused, or cut off before they were let in", run["refused"] + run["failed"], gate=0),
        figure("longest PUBACK of those back, ms", run["longest_after_us"] / 1e3, gate=STALL_MS),
        figure("server's CPU seconds", storm.cpu_s),
        figure("largest memory on the way, MiB", storm.peak_kib / 1024),
        figure("resident memory afterwards, MiB", storm.rss_kib / 1024),
    ]
