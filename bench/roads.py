"""Row 28: trips with the roads of maps: the matcher alone, an hour scored with a map, and a map of an 80 MB extract.

**The matcher**: made drives along the shipped extract (`evaluation/road_drives.py`), 5 m of noise, points a second of
CPU time, counted before they are thinned; one sample a second, and one in 3 s.

**A trip of an hour**: 3,600 samples along roads of the extract in 120 messages, as in row 25, which it is to be held
against: from the moment the scorer looks for work to the commit.

**A large map**: the roads of the extract thirty times side by side, which is what an extract of 80 MB has. A fresh
process that has loaded its modules finds the roads of a trip of an hour: how long its first answer takes from opening
the folder, and what its memory grows by, also after such a trip in each of the thirty. Pages of mapped files count in.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import osmium
from bench import scoring
from bench.device_channel import disk
from bench.scoring import Rows
from bench.table import Figure, of_rounds
from evaluation.road_drives import METRES, World, sampled
from evaluation.roads import MAP
from msgspec.structs import replace
from tests.support import made_roads, scoring_rows, stores
from tests.support.scoring_rows import Rig

from tripline import observe
from tripline.adapters.maps import files
from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.domain.maps import Area, Bounds
from tripline.roads import classes, matcher
from tripline.roads.builder import Builder
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.scoring.drives import Drives
from tripline.store import tables
from tripline.store.database.sqlite import SqliteStore

ROW: Final = "28 roads and limits by a map"
DRIVES, QUICK_DRIVES = 100, 20
ROUNDS, QUICK_ROUNDS = 7, 3
HOURS, QUICK_HOURS = 30, 5
STARTS, QUICK_STARTS = 5, 2
ACROSS, DOWN = 6, 5
"""Extracts side by side."""
APART: Final = 4_000_000
"""In units: 0.4 degrees; the extract is 0.2 wide and 0.25 high."""
_FIRST: Final = """
import re, sys, time
from pathlib import Path
from zoneinfo import ZoneInfo
import numpy as np
from msgspec.structs import replace
from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.roads import limited, located, matcher
from tripline.adapters.maps import files as map_files
from tripline.scoring.drives import Drives

def memory():
    text = Path("/proc/self/status").read_text()
    return [int(re.search(rf"{name}:\\s+(\\d+)", text)[1]) / 1024 for name in ("VmRSS", "RssAnon")]

with np.load(sys.argv[2]) as kept:
    given = {name: kept[name] for name in kept}
drives = Drives(em=None, limit_kmh=None, **given)
before, begin, cpu = memory(), time.perf_counter(), time.process_time()
roads = OsmRoads(Path(sys.argv[1]), zone=ZoneInfo("Asia/Seoul"))
told = roads.located(drives)
took, cpu = time.perf_counter() - begin, time.process_time() - cpu
one = memory()
down, across, apart = map(int, sys.argv[3:])
for number in range(1, down * across):
    lat = drives.lat - number // across * apart / 1e7
    lon = drives.lon + number % across * apart / 1e7
    more = roads.located(replace(drives, lat=lat, lon=lon))
    assert (more.drives.road >= 0).mean() > 0.9
assert (told.drives.road >= 0).mean() > 0.9
print(took, cpu, one[0] - before[0], *(now - then for now, then in zip(memory(), before)))
"""


def measure(quick: bool) -> list[Figure]:
    """All three."""
    observe.configure_logging(level="warning", as_json=False)
    world = World.of(MAP)
    driven = [world.drive(seed, metres=METRES) for seed in range(QUICK_DRIVES if quick else DRIVES)]
    figures = []
    for interval in (1, 3):
        own, _ = sampled(driven, noise_m=5.0, interval_s=interval, seed=5)
        rates = []
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            begin = time.process_time()
            matcher.matched(world.index, own)
            rates.append(own.time_ms.size / (time.process_time() - begin) / 1_000)
        gates = {"gate": 100, "stretch": 500} if interval == 1 else {}
        detail = {"points": own.time_ms.size, "trips": len(own)}
        name = f"matcher, one sample in {interval} s, thousand points/s of CPU"
        figures.append(of_rounds(row=ROW, name=name, rounds=rates, detail=detail, **gates))
    hour = _hour(world)
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        _put(Path(folder) / "maps", "one", world.index, world.texts)
        figures += asyncio.run(_scored(Path(folder), hour, QUICK_HOURS if quick else HOURS))
        return figures + _large(Path(folder), hour, QUICK_STARTS if quick else STARTS)


def _hour(world: World) -> Drives:
    """An hour along the roads of the extract, one sample a second, 5 m of noise: a drive over and over."""
    own, _ = sampled([world.drive(3, metres=METRES)], noise_m=5.0, interval_s=1, seed=5)
    long = made_roads.some(own, np.arange(scoring.HOUR) % own.time_ms.size)
    return replace(long, time_ms=own.time_ms[0] + np.arange(scoring.HOUR) * 1_000)


async def _scored(folder: Path, hour: Drives, count: int) -> list[Figure]:
    rows: Rows = np.stack([hour.time_ms, hour.lat, hour.lon, hour.speed_kmh], axis=1)
    figures = []
    for name, roads in (("with a map", OsmRoads(folder / "maps", zone=scoring_rows.ZONE)), ("without one", None)):
        own = folder / name.replace(" ", "_")
        own.mkdir()
        rig = Rig(own, store=SqliteStore(stores.fresh_file(own)), roads=roads)
        spent, cpu = [], []
        try:
            await rig.add_vehicle()
            for number in range(1 + count):
                await rig.add_trip(scoring.messages(rows, number))
                begin, cpu_begin = time.perf_counter(), time.process_time()
                await rig.scorer.score_due()
                spent.append((time.perf_counter() - begin) * 1_000)
                cpu.append((time.process_time() - cpu_begin) * 1_000)
            events = len(await rig.rows(tables.gps_event, "no"))
        finally:
            await rig.store.close()
        detail = {"samples": len(rows), "GPS events of a trip": events / len(spent), "the first, ms": spent[0]}
        gates: dict[str, Any] = {"gate": 60, "at_least": False} if roads else {}
        text = f"an hour at 1 Hz scored and written {name}, ms"
        figures.append(of_rounds(row=ROW, name=text, rounds=spent[1:], detail=detail, **gates))
        figures.append(of_rounds(row=ROW, name=f"of it CPU {name}, ms", rounds=cpu[1:]))
    return figures


def _large(folder: Path, hour: Drives, starts: int) -> list[Figure]:
    index, texts = _repeated()
    area = _put(folder / "large", "large", index, texts)
    kept = folder / "hour.npz"
    names = ("starts", "time_ms", "lat", "lon", "speed_kmh", "column", "obd", "stated_m")
    np.savez(kept, **{name: getattr(hour, name) for name in names})
    places = [str(each) for each in (DOWN, ACROSS, APART)]
    command = [sys.executable, "-c", _FIRST, str(folder / "large"), str(kept), *places]
    told = [[float(text) for text in _run(command).split()] for _ in range(starts)]
    wall, cpu, first, resident, private = (list(column) for column in zip(*told, strict=True))
    detail = {"roads": area.roads, "vertices": index.lat.size, "MiB on disk": area.size / 2**20}
    return [
        of_rounds(row=ROW, name="80 MB extract: first answer, s", rounds=wall, gate=1, at_least=False, detail=detail),
        of_rounds(row=ROW, name="of it CPU, s", rounds=cpu),
        of_rounds(row=ROW, name="memory it adds with that trip, MiB", rounds=first),
        of_rounds(row=ROW, name="with a trip in each of thirty places, MiB", rounds=resident, gate=300, at_least=False),
        of_rounds(row=ROW, name="of it no pages of files, MiB", rounds=private),
    ]


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _repeated() -> tuple[RoadIndex, Texts]:
    """The roads of the extract side by side, with nodes and ways of their own; the first is where it is."""
    roads = []
    for way in osmium.FileProcessor(str(MAP), osmium.osm.NODE | osmium.osm.WAY).with_locations():
        if way.is_way() and "highway" in way.tags:
            tags = {tag.k: tag.v for tag in way.tags}
            line = [(node.ref, node.location.y, node.location.x) for node in way.nodes if node.location.valid()]
            if classes.class_of(tags) and len(line) > 1:
                roads.append((way.id, tags, line))
    builder = Builder()
    for copy, (down, across) in enumerate(product(range(DOWN), range(ACROSS))):
        for link, tags, line in roads:
            moved = [(node + (copy << 40), lat - down * APART, lon + across * APART) for node, lat, lon in line]
            named = {**tags, "name": f"{tags['name']} {copy}"} if "name" in tags else tags
            builder.road(link + (copy << 40), named, moved)
    return builder.built(otherwise="CH")


def _put(folder: Path, name: str, index: RoadIndex, texts: Texts) -> Area:
    """Put a map into a folder."""
    place = folder / f"{name}.made"
    place.mkdir(parents=True)
    files.write(place, index, texts)
    area = Area(
        name=name,
        format=files.FORMAT,
        folder=place.name,
        map="made",
        source="made",
        imported_ms=0,
        roads=index.link.size,
        bounds=Bounds(
            *(float(each) / UNITS for each in (index.lon.min(), index.lat.min(), index.lon.max(), index.lat.max()))
        ),
    )
    return files.put(folder, area)
