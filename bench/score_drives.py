"""Scores trips without a map by another version, and prints the CPU seconds; for `versions.py`.

    PYTHONPATH=CHECKOUT/src:CHECKOUT python score_drives.py DRIVES HOURS TRIPS

`DRIVES` is a folder of recorded drives. Scored are `HOURS` trips of an hour, 3,600 samples of the longest drive in
messages of thirty, one after another; then `TRIPS` trips of a fleet, the drives in turn, as many at once as the scorer
takes. A first trip of each is not counted. The time runs from the look for work to the commit, on SQLite with durable
commits.

It uses no more than versions from before maps have too.
"""

import asyncio
import csv
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.support import scoring_rows
from tests.support.scoring_rows import Rig

from tripline.domain import samples

HOUR: Final = 3_600
TOGETHER: Final = 30
OF_VEHICLE: Final = 40
_SCORES: Final = scoring_rows.tables.driving_score
Rows = list[tuple[int, float, float, float]]
"""A drive: epoch ms, latitude, longitude, km/h in each row."""


async def _spent(drives: list[Rows], hours: int, trips: int) -> dict[str, float]:
    longest = max(drives, key=len)
    hour = [(at * 1_000, *longest[at % len(longest)][1:]) for at in range(HOUR)]
    spent = {}
    for name, rows, count in (("hours", [hour], hours), ("fleet", drives, trips)):
        if not count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            rig = Rig(Path(folder))
            try:
                spent[name] = await _scored(rig, rows, count, alone=name == "hours")
            finally:
                await rig.store.close()
    return spent


async def _scored(rig: Rig, drives: list[Rows], count: int, *, alone: bool) -> float:
    """CPU seconds for so many trips."""
    vehicles = [f"{number:08d}-0000-11b2-8080-808080808080" for number in range(-(-count // OF_VEHICLE))]
    for vehicle_id in vehicles:
        await rig.add_vehicle(vehicle_id)
    await rig.add_trip(_messages(drives[0], 0), vehicle_id=vehicles[0])
    await rig.drain()  # it loads the kernel and writes the first policies
    spent_s = 0.0
    for number in range(1, 1 + count):
        await rig.add_trip(_messages(drives[number % len(drives)], number), vehicle_id=vehicles[number % len(vehicles)])
        if alone or number == count:
            begin_s = time.process_time()
            await rig.drain()
            spent_s += time.process_time() - begin_s
    scored = len(await rig.rows(_SCORES, _SCORES.primary_key.columns.keys()[0]))
    # A quarter of the recorded drives is too short for a score.
    if scored < 0.7 * count:
        raise RuntimeError(f"{count} trips were driven, {scored} have a score")
    return spent_s


def _messages(rows: Rows, day: int) -> list[bytes]:
    begin_ms = scoring_rows.START_MS + day * 86_400_000 - rows[0][0]
    packed = [samples.RECORD.pack(begin_ms + row[0], *row[1:], samples.NO_FLAGS, samples.FLAG_OWN_TIME) for row in rows]
    return [b"".join(packed[first : first + TOGETHER]) for first in range(0, len(packed), TOGETHER)]


def _recording(file: Path) -> Rows:
    with file.open(encoding="utf-8") as opened:
        rows = [(int(at), float(lat), float(lon), float(kmh)) for at, lat, lon, kmh, *_ in list(csv.reader(opened))[1:]]
    return [(number * 1_000 + rows[0][0], *row[1:]) for number, row in enumerate(rows)]


def main(drives: str, hours: str, trips: str) -> None:
    """Measure, and print JSON."""
    recorded = [_recording(file) for file in sorted(Path(drives).glob("*.csv"))]
    print(json.dumps(asyncio.run(_spent(recorded, int(hours), int(trips)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
