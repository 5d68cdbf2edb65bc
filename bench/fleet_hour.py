"""Ten thousand TLS devices for an hour: what the server holds in memory, and whether it grows.

Each device sends a message every twenty seconds, as boxes do that collect samples, so the hour shows what piles up with
time and with trips, not what a burst needs (`fleet_10k.py`). What grows in the second half of the hour is the figure:
the first fills caches, pages of the file among them.
"""

import tempfile
from pathlib import Path

from bench import fleet, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure

DEVICES, RATE = 10_000, 500
SECONDS, QUICK_SECONDS, WARMUP_S = 3600.0, 60.0, 5.0
LOOKS = 12
"""Times that memory is read, evenly over the load."""
ROW = "4 10,000 TLS devices for an hour, 500 messages/s"


def measure(quick: bool, seconds: float | None = None) -> list[Figure]:
    """Memory at the end, its growth over the second half, messages lost."""
    loadgen.build()
    seconds = seconds or (QUICK_SECONDS if quick else SECONDS)
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, DEVICES)
        users = fleet.users(data, first=0, count=DEVICES)
        with peers.tripline(data) as server:
            load = {"users": users, "connections": DEVICES, "rate": RATE, "warmup": WARMUP_S, "seconds": seconds}
            with loadgen.Fleet(server, **load, server=server.pid) as devices:
                devices.all_connected()
                looks = []
                for _ in range(LOOKS):
                    devices.wait(seconds / LOOKS)
                    looks.append((server.memory_kib()[0] / 1024, server.private_kib() / 1024))
                run = devices.over(within_s=loadgen.LONGEST_S)
        fleet.check(data, acknowledged=run["acked_in_all"])
    resident, private = zip(*looks, strict=True)
    growth = private[-1] - private[LOOKS // 2 - 1]
    detail = run | {"resident_mib": resident, "private_mib": private}
    lost = run["never_acked"] + run["not_sent"]
    return [
        Figure(row=ROW, name="memory at the end, MiB", value=resident[-1], gate=300, at_least=False, detail=detail),
        Figure(row=ROW, name="of it no pages of files, MiB", value=private[-1]),
        Figure(row=ROW, name="its growth in the second half, MiB", value=growth, gate=10, at_least=False),
        Figure(row=ROW, name="p99 PUBACK, ms", value=run["p99_us"] / 1e3),
        Figure(row=ROW, name="not acknowledged or not sent", value=lost, gate=0, at_least=False),
    ]
