"""Row 8: the scoring kernel, points a second of CPU time on one core, the memory it takes above its input, and pages
mapped.

The input is the real drives over and over, as the arrays of 10 million samples, faults and events and all; distances
are summed, no trip states its own. The peer in the same run is a plain loop over the same samples that does only the
core of the work (haversine, rate, one threshold, limit), in turn with the kernel.
"""

import math
import resource
import time
import tracemalloc
from pathlib import Path

import numpy as np
from bench.table import Figure, of_rounds

import tripline.simulator
from tripline.scoring import kernel
from tripline.scoring.drives import Drives
from tripline.scoring.rules import Rules

DRIVES = Path(tripline.simulator.__file__).parent / "drives"
POINTS = 10_000_000
QUICK_POINTS = 1_000_000
ROUNDS = 7
LOOP_POINTS = 200_000
ROW = "8 scoring kernel, 10 M points of real drives"


def measure(quick: bool) -> list[Figure]:
    """Speed, memory and the ratio to the loop."""
    drives = _drives(QUICK_POINTS if quick else POINTS)
    points = drives.time_ms.size
    kernel_rates, loop_rates = [], []
    for _ in range(ROUNDS):
        kernel_rates.append(points / _cpu_s(lambda: kernel.findings(drives, Rules())) / 1e6)
        loop_rates.append(LOOP_POINTS / _cpu_s(lambda: _loop(drives, LOOP_POINTS)) / 1e6)
    ratios = [fast / slow for fast, slow in zip(kernel_rates, loop_rates, strict=True)]
    detail = {"points": points, "trips": len(drives), "block": kernel.BLOCK}
    return [
        of_rounds(row=ROW, name="M points/s of CPU", rounds=kernel_rates, gate=10, stretch=100, detail=detail),
        of_rounds(row=ROW, name="times a plain loop", rounds=ratios, detail={"loop M points/s": loop_rates}),
        Figure(row=ROW, name="MiB above its input", value=_extra_mib(drives), gate=16, at_least=False),
        Figure(row=ROW, name="page faults, M points", value=_faults(drives) / points * 1e6, gate=200, at_least=False),
    ]


def _cpu_s(work) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _faults(drives: Drives) -> int:
    """Pages that the system maps while scoring: 2,000 a block if each one's memory is returned to it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kernel.findings(drives, Rules())
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _extra_mib(drives: Drives) -> float:
    """The most memory held at once while scoring, the findings included."""
    tracemalloc.start()
    kernel.findings(drives, Rules())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def _drives(points: int) -> Drives:
    """The real drives, repeated until there are this many samples."""
    files = [np.genfromtxt(f, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3)) for f in sorted(DRIVES.glob("*.csv"))]
    times = -(-points // sum(len(file) for file in files))
    lengths = np.tile([len(file) for file in files], times)
    columns = np.tile(np.concatenate(files), (times, 1))
    return Drives(
        starts=np.concatenate(([0], np.cumsum(lengths))),
        time_ms=columns[:, 0].astype(np.int64),
        lat=columns[:, 1].copy(),
        lon=columns[:, 2].copy(),
        speed_kmh=columns[:, 3].copy(),
        em=None,
        limit_kmh=None,
        column=np.zeros(lengths.size, np.int8),
        obd=np.zeros(lengths.size, np.bool_),
        stated_m=np.full(lengths.size, np.nan),
    )


def _loop(drives: Drives, points: int) -> tuple[float, int]:
    """What a plain program would do for each sample: distance, harsh changes, samples over the limit."""
    rows = zip(
        *(column[:points].tolist() for column in (drives.time_ms, drives.lat, drives.lon, drives.speed_kmh)),
        strict=True,
    )
    t0, lat0, lon0, v0 = next(rows)
    metres, events = 0.0, 0
    for t1, lat1, lon1, v1 in rows:
        half = (
            math.sin(math.radians(lat1 - lat0) / 2) ** 2
            + math.cos(math.radians(lat0)) * math.cos(math.radians(lat1)) * math.sin(math.radians(lon1 - lon0) / 2) ** 2
        )
        metres += 12_742_017.6 * math.asin(math.sqrt(half))
        if 500 <= t1 - t0 <= 5_500 and abs(v1 - v0) * 1_000 / (t1 - t0) >= 8:
            events += 1
        if v1 > 121:
            events += 1
        t0, lat0, lon0, v0 = t1, lat1, lon1, v1
    return metres, events
