"""Row 13: calls to ten thousand TLS devices, each answered by the device.

Every device subscribed to its requests and acknowledges each one at once, at QoS 1. An application asks over kept HTTP
connections at a fixed rate, one device after the other. Latency is the whole round trip, from when the request was
due to the last byte of the answer: token, rights, the call's record kept, the message to the device, its
acknowledgement kept (`synchronous=FULL` both), the answer. Measured twice, each on a fresh server of one core: 500 a
second while the same devices send 5,000 messages a second, and more calls alone than the server answers. Devices and
application share the other core.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench import fleet, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, QUICK_DEVICES = 10_000, 2_000
SECONDS, QUICK_SECONDS, WARMUP_S = 30.0, 8.0, 5.0
RATE, MESSAGES = 500, 5_000
ASKED, ANSWERED = 1_500, 1_000
"""Calls a second alone: how many are asked for, and how many are to be answered."""
MOST_S = 600
BESIDE = "13 500 calls/s beside 5,000 messages/s, 10,000 TLS devices"
ALONE = "13 1,500 calls/s asked, 10,000 TLS devices"


def measure(quick: bool) -> list[Figure]:
    """Round trips beside messages; how many calls one core answers."""
    loadgen.build()
    beside, alone = _run(quick, RATE, MESSAGES), _run(quick, ASKED, 0)
    messages = beside["devices"]
    return [
        _figure(BESIDE, "p99 round trip, ms", beside["calls"]["p99_us"] / 1e3, gate=100, detail=beside),
        _figure(BESIDE, "p50 round trip, ms", beside["calls"]["p50_us"] / 1e3),
        _figure(BESIDE, "slowest round trip, ms", beside["calls"]["max_us"] / 1e3),
        Figure(row=BESIDE, name="calls answered per second", value=beside["calls"]["per_s"], gate=RATE * 0.995),
        Figure(row=BESIDE, name="messages acknowledged per second", value=messages["per_s"], gate=MESSAGES * 0.99),
        _figure(BESIDE, "p99 PUBACK, ms", messages["p99_us"] / 1e3),
        *_shares(BESIDE, beside),
        Figure(row=ALONE, name="answered per second", value=alone["calls"]["per_s"], gate=ANSWERED, detail=alone),
        *_shares(ALONE, alone),
    ]


def _run(quick: bool, rate: int, messages: int) -> dict[str, Any]:
    """Calls at a rate, while the devices send so many messages a second."""
    devices = QUICK_DEVICES if quick else DEVICES
    sending = {"publishers": devices, "rate": messages} if messages else {"publishers": 0}
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, devices)
        users, paths = fleet.users(data, first=0, count=devices), _paths(data)
        load = {"users": users, "connections": devices, "warmup": 0, "seconds": MOST_S, **sending}
        with peers.tripline(data) as server, loadgen.Fleet(server, "--answer", **load) as answering:
            answering.all_connected()
            seconds = QUICK_SECONDS if quick else SECONDS
            calls = _called(server, fleet.token_of_admin(data), paths, rate, seconds)
            rss_kib, _ = server.memory_kib()
            answered = answering.end()
        kept = fleet.count(data, "rpc_call WHERE state = 'ACKED'")
        fleet.check(data, acknowledged=answered["acked_in_all"])
    if calls["others"] or calls["unanswered"] or kept != answered["answered"]:
        raise RuntimeError(f"{answered['answered']} calls were acknowledged, {kept} are kept; {calls}")
    return {"calls": calls, "devices": answered, "rss_mib": rss_kib / 1024}


def _paths(data: Path) -> Path:
    path = data / "paths.txt"
    path.write_text("".join(f"/api/plugins/rpc/twoway/{sensor_id}\n" for sensor_id in fleet.sensors(data)))
    return path


def _called(server: peers.Server, token: str, paths: Path, rate: int, seconds: float) -> dict[str, Any]:
    command = ["taskset", "-c", str(peers.GENERATOR_CORE), str(loadgen.CALLS), "--port", server.api.rpartition(":")[2]]
    command += ["--paths", str(paths), "--token", token, "--rate", str(rate), "--server", str(server.pid)]
    command += ["--warmup", str(WARMUP_S), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _figure(row: str, name: str, value: float, **rest: Any) -> Figure:
    return Figure(row=row, name=name, value=value, at_least=False, **rest)


def _shares(row: str, run: dict[str, Any]) -> list[Figure]:
    """What it cost."""
    calls, devices = run["calls"], run["devices"]
    return [
        _figure(row, "server's share of one core", calls["server_cpu_s"] / calls["seconds"]),
        _figure(row, "application's share of its core", calls["generator_cpu_s"] / calls["seconds"]),
        _figure(row, "devices' share of the same core", devices["generator_cpu_s"] / devices["seconds"]),
        _figure(row, "resident memory, MiB", run["rss_mib"], gate=300),
    ]
