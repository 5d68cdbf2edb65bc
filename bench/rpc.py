"""Row 13: a thousand calls a second to ten thousand TLS devices, each answered by the device.

Every device subscribed to its requests and acknowledges each one at once, at QoS 1. An application asks over kept HTTP
connections at a fixed rate, one device after the other. The figure is the whole round trip, from when the request was
due to the last byte of the answer: token, rights, the call's record kept, the message to the device, its
acknowledgement kept (`synchronous=FULL` both), the answer. Devices and application share the other core.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench import fleet, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, QUICK_DEVICES, RATE = 10_000, 2_000, 1_000
SECONDS, QUICK_SECONDS, WARMUP_S = 30.0, 8.0, 5.0
MOST_S = 600
ROW = "13 1,000 calls/s to 10,000 TLS devices"


def measure(quick: bool) -> list[Figure]:
    """Round trips, and what they cost."""
    loadgen.build()
    devices = QUICK_DEVICES if quick else DEVICES
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, devices)
        users, paths = fleet.users(data, first=0, count=devices), _paths(data)
        with (
            peers.tripline(data) as server,
            loadgen.Fleet(
                server, "--answer", users=users, connections=devices, publishers=0, warmup=0, seconds=MOST_S
            ) as answering,
        ):
            answering.all_connected()
            run = _called(server, fleet.token_of_admin(data), paths, QUICK_SECONDS if quick else SECONDS)
            rss_kib, _ = server.memory_kib()
            answered = answering.end()
        kept = fleet.count(data, "rpc_call WHERE state = 'ACKED'")
    if run["others"] or run["unanswered"] or kept != answered["answered"]:
        raise RuntimeError(f"{answered['answered']} calls were acknowledged, {kept} are kept; {run}")
    return _figures(run, answered, rss_kib)


def _paths(data: Path) -> Path:
    path = data / "paths.txt"
    path.write_text("".join(f"/api/plugins/rpc/twoway/{sensor_id}\n" for sensor_id in fleet.sensors(data)))
    return path


def _called(server: peers.Server, token: str, paths: Path, seconds: float) -> dict[str, Any]:
    command = ["taskset", "-c", str(peers.GENERATOR_CORE), str(loadgen.CALLS), "--port", server.api.rpartition(":")[2]]
    command += ["--paths", str(paths), "--token", token, "--rate", str(RATE), "--server", str(server.pid)]
    command += ["--warmup", str(WARMUP_S), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _figures(run: dict[str, Any], answered: dict[str, Any], rss_kib: int) -> list[Figure]:
    seconds, share_of_devices = run["seconds"], answered["generator_cpu_s"] / answered["seconds"]
    detail = {"calls": run, "devices": answered}
    return [
        Figure(row=ROW, name="p99 round trip, ms", value=run["p99_us"] / 1e3, gate=20, at_least=False, detail=detail),
        Figure(row=ROW, name="p50 round trip, ms", value=run["p50_us"] / 1e3),
        Figure(row=ROW, name="slowest round trip, ms", value=run["max_us"] / 1e3),
        Figure(row=ROW, name="answered per second", value=run["per_s"], gate=RATE * 0.995),
        Figure(row=ROW, name="server's share of one core", value=run["server_cpu_s"] / seconds, at_least=False),
        Figure(row=ROW, name="application's share of its core", value=run["generator_cpu_s"] / seconds),
        Figure(row=ROW, name="devices' share of the same core", value=share_of_devices),
        Figure(row=ROW, name="resident memory, MiB", value=rss_kib / 1024, gate=300, at_least=False),
    ]
