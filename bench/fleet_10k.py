"""Row 4: ten thousand TLS devices that send ten thousand messages a second, each durable before its PUBACK.

Latency runs from the moment a message was due, not from when the generator got round to sending it, so that a stall of
the server is seen in full.
"""

import tempfile
from pathlib import Path

from bench import fleet, loadgen, loop_lag, peers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, RATE = 10_000, 10_000
SECONDS, QUICK_SECONDS, WARMUP_S = 60.0, 10.0, 5.0
ROW = "4 10,000 TLS devices, 10,000 messages/s"


def measure(quick: bool) -> list[Figure]:
    """PUBACK latency, CPU share, memory."""
    loadgen.build()
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, DEVICES)
        users = fleet.users(data, first=0, count=DEVICES)
        with peers.tripline(data, variables=loop_lag.VARIABLES) as server:
            lag = loop_lag.LoopLag(server, data)
            empty_kib, _ = server.memory_kib()
            seconds = QUICK_SECONDS if quick else SECONDS
            load = {"users": users, "connections": DEVICES, "rate": RATE, "warmup": WARMUP_S, "seconds": seconds}
            with loadgen.Fleet(server, **load, server=server.pid) as devices:
                devices.all_connected()
                connected_kib, _ = server.memory_kib()
                connected = lag.mark()
                run = devices.over(within_s=seconds + loadgen.LONGEST_S)
                rss_kib, pss_kib = server.memory_kib()
                private_kib = server.private_kib()
            late = lag.figures(ROW, [(connected, lag.mark())])
        fleet.check(data, acknowledged=run["acked_in_all"])
    share = run["server_cpu_s"] / run["seconds"]
    lost = run["never_acked"] + run["not_sent"]
    return [
        Figure(
            row=ROW, name="p99 PUBACK, ms", value=run["p99_us"] / 1e3, gate=30, stretch=15, at_least=False, detail=run
        ),
        Figure(row=ROW, name="p50 PUBACK, ms", value=run["p50_us"] / 1e3),
        Figure(row=ROW, name="slowest PUBACK, ms", value=run["max_us"] / 1e3),
        Figure(row=ROW, name="acknowledged per second", value=run["per_s"], gate=RATE * 0.995),
        Figure(row=ROW, name="not acknowledged or not sent", value=lost, gate=0, at_least=False),
        Figure(row=ROW, name="server's share of one core", value=share, gate=1.0, at_least=False),
        Figure(row=ROW, name="memory, all connected, MiB", value=connected_kib / 1024, gate=300, at_least=False),
        Figure(row=ROW, name="memory after the load, MiB", value=rss_kib / 1024, stretch=300, at_least=False),
        Figure(row=ROW, name="of it no pages of files, MiB", value=private_kib / 1024),
        Figure(row=ROW, name="proportional memory, MiB", value=pss_kib / 1024),
        Figure(row=ROW, name="memory before the devices, MiB", value=empty_kib / 1024),
        Figure(row=ROW, name="time to connect all, s", value=run["connect_s"]),
        *late,
    ]
