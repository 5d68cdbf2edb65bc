"""Invariants after any fault: everything acknowledged is stored once, in the order sent; every trip
has one score, that of the same drive on an undisturbed server; the log says what happened, and nothing it must not.
"""

import asyncio
import contextlib
import json
import sqlite3
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support import producers, producers_bus, servers, waits
from tests.support.clusters import Node
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tripline import observe

Rows = Callable[[str], list[tuple[Any, ...]]]
"""The rows of a statement on the store that is looked at."""
PATIENCE_S = 60
MICROTRIPS = """
    SELECT trip.sensor_id, trip.tid, microtrip.ty, microtrip.ts, microtrip.payload
    FROM microtrip JOIN trip ON trip.no = microtrip.trip_no"""
TRIPS = "SELECT sensor_id, no, tid, state, payload FROM trip"
SCORES = """
    SELECT trip_no, score, accel, de_accel, over_speed, over_speed_s, distance_m FROM driving_score"""
EVENTS = """
    SELECT gps_event.trip_no, event_ms - trip.start_ms, event_type, speed_mh, lat, lon, info
    FROM gps_event JOIN trip ON trip.no = gps_event.trip_no ORDER BY gps_event.trip_no, event_ms, event_type"""


@dataclass(frozen=True)
class Verdict:
    """What scoring made of a trip: the score's row, and its GPS events with their times since the start."""

    score: tuple[Any, ...]
    events: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Stored:
    """Everything that a store holds of one sensor."""

    microtrips: list[dict[str, Any]]
    """As messages, in the order stored."""
    trips: list[tuple[int, str, Any]]
    """Number, state and message of each, in the order driven."""
    verdicts: list[Verdict | None]
    """What was made of each."""


def stored(rows: Rows, sensor_ids: Iterable[str]) -> dict[str, Stored]:
    """What a store holds of these sensors, by sensor."""
    of_them = f"WHERE trip.sensor_id IN ({_listed(sensor_ids)})"
    scores: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for no, *score in rows(SCORES):
        scores[no].append(tuple(score))
    assert all(len(found) == 1 for found in scores.values()), "a trip has two scores"
    events: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for no, *event in rows(EVENTS):
        events[no].append(tuple(event))
    found: dict[str, Stored] = defaultdict(lambda: Stored([], [], []))
    for sensor_id, _, ty, ts, payload in rows(f"{MICROTRIPS} {of_them} ORDER BY microtrip.no"):
        found[str(sensor_id)].microtrips.append({"ty": ty, "ts": ts, "pld": json.loads(payload)})
    for sensor_id, no, tid, state, payload in rows(f"{TRIPS} {of_them} ORDER BY start_ms, no"):
        of_sensor = found[str(sensor_id)]
        of_sensor.trips.append((tid, state, json.loads(payload) if payload else None))
        of_sensor.verdicts.append(Verdict(scores[no][0], tuple(events[no])) if no in scores else None)
    return dict(found)


@cache
def undisturbed() -> dict[str, Verdict | None]:
    """What an embedded server makes of each drive that devices drive here, with nothing happening to it; None: it is
    too short to be scored."""
    drives = producers.drives()
    embedded = {"TRIPLINE_STORE_URL": ""}
    with TemporaryDirectory() as folder, servers.serving(Path(folder) / "data", variables=embedded) as server:
        with Company(server.api, server.data, variables=embedded) as company:
            registered = [company.vehicle_with_sensor(number) for number in range(len(drives))]
        tls = ssl.create_default_context(cafile=str(server.ca))
        for one, drive in zip(registered, drives, strict=True):
            box = CarefulDevice(one.token, server.device_host, server.device_port, tls)
            asyncio.run(box.play([json.dumps(message).encode() for message in drive.bodies(0)]))

        with contextlib.closing(sqlite3.connect(server.data / "tripline.db")) as database:

            def rows(statement: str) -> list[tuple[Any, ...]]:
                return database.execute(statement).fetchall()

            everything_scored(rows)
            found = stored(rows, [one.sensor_id for one in registered])
    verdicts = {drive.name: found[one.sensor_id].verdicts[0] for one, drive in zip(registered, drives, strict=True)}
    assert [verdict is None for verdict in verdicts.values()] == [False, False, True, False]
    return verdicts


def until(reached: Callable[[], bool], *, within_s: float = PATIENCE_S) -> None:
    """Wait until this is so."""
    waits.seen(reached, within_s=within_s)


def everything_scored(rows: Rows, *, within_s: float = PATIENCE_S) -> None:
    """Wait until no trip waits for its score."""
    waits.seen(lambda: rows("SELECT count(*) FROM scoring_job"), lambda found: found == [(0,)], within_s=within_s)


def hold(load: producers.Load, rows: Rows) -> None:
    """Everything that must hold of a load that came to its end: see the head of this file."""
    everything_scored(rows)
    found = stored(rows, [box.registered.sensor_id for box in load.boxes])
    expected = undisturbed()
    for box in load.boxes:
        sent_microtrips = [message for message in box.sent if message["ty"] == 2]
        sent_trips = [message["pld"] for message in box.sent if message["ty"] == 1]
        of_sensor = found[box.registered.sensor_id]
        assert box.acknowledged == len(box.sent)
        _same(of_sensor.microtrips, sent_microtrips)
        assert of_sensor.trips == [(trip["tid"], "COMPLETE", trip) for trip in sent_trips]
        assert of_sensor.verdicts == [expected[name] for name in box.driven]
    totals = {str(vehicle_id): count for vehicle_id, count in rows("SELECT vehicle_id, count FROM vehicle_score")}
    rejected = {str(sensor_id) for (sensor_id,) in rows("SELECT sensor_id FROM rejected_message")}
    for box in load.boxes:
        assert box.registered.sensor_id not in rejected
        assert totals.get(box.registered.vehicle_id, 0) == sum(expected[name] is not None for name in box.driven)


def hold_of_bus(load: producers_bus.BusLoad, rows: Rows) -> None:
    """The same of what a customer's own system wrote to the bus."""
    wanted = sum(len(vehicle.microtrips) for vehicle in load.vehicles)
    sensor_ids = [vehicle.registered.sensor_id for vehicle in load.vehicles]
    sensors = _listed(sensor_ids)
    of_them = f"FROM microtrip JOIN trip ON trip.no = trip_no WHERE sensor_id IN ({sensors})"
    ended = f"SELECT count(*) FROM trip WHERE state = 'COMPLETE' AND sensor_id IN ({sensors})"
    trips = sum(len(vehicle.trips) for vehicle in load.vehicles)
    until(lambda: rows(f"SELECT count(*) {of_them}")[0][0] >= wanted and rows(ended) == [(trips,)])
    everything_scored(rows)
    found, expected = stored(rows, sensor_ids), undisturbed()
    ids = {str(sensor_id): [] for (sensor_id,) in rows(f"SELECT id FROM sensor WHERE id IN ({sensors})")}
    for sensor_id, trip_id in rows(f"SELECT sensor_id, id FROM trip WHERE sensor_id IN ({sensors}) ORDER BY start_ms"):
        ids[str(sensor_id)].append(str(trip_id))
    events: dict[str, list[Any]] = defaultdict(list)
    for sensor_id, payload in rows("SELECT sensor_id, payload FROM device_event ORDER BY no"):
        events[str(sensor_id)].append(json.loads(payload))
    for vehicle in load.vehicles:
        sensor_id = vehicle.registered.sensor_id
        kept = found[sensor_id]
        _same(
            [{"ts": message["pld"][-1]["clt"], "pld": message["pld"]} for message in kept.microtrips],
            [{"ts": payload[-1]["clt"], "pld": payload} for payload in vehicle.microtrips],
        )
        assert ids[sensor_id] == [trip_id for trip_id, _ in vehicle.trips]
        assert [(state, payload) for _, state, payload in kept.trips] == [("COMPLETE", each) for each in vehicle.ended]
        assert events[sensor_id] == vehicle.events
        assert kept.verdicts == [expected[name] for _, name in vehicle.trips]
    assert rows("SELECT count(*) FROM rejected_message") == [(0,)]


def _listed(ids: Iterable[str]) -> str:
    return ", ".join(f"'{each}'" for each in ids)


def _same(kept: Sequence[Any], sent: Sequence[Any]) -> None:
    """Equal, and when not: what is missing, what is there twice, or where the order breaks, in few words."""
    if kept == sent:
        return
    there, wanted = [message["ts"] for message in kept], [message["ts"] for message in sent]
    lost = [wanted.index(ts) for ts in sorted(set(wanted) - set(there))]
    twice = [wanted.index(ts) for ts in sorted({ts for ts in there if there.count(ts) > 1})]
    strange = len(set(there) - set(wanted))
    raise AssertionError(
        f"{len(sent)} sent, {len(kept)} kept: lost {lost or None}, twice {twice or None}, strange {strange}, "
        f"in order: {there == sorted(there)}"
    )


def logs_are_plain(nodes: Iterable[Node], secrets: Iterable[str] = ()) -> None:
    """Each line of each log is an event of the catalogue, none is a bug, and no secret or position is in any."""
    unwanted = list(secrets)
    for node in nodes:
        text, events = node.log.read_text("utf-8", "replace"), node.events()
        strange = [each for each in events if each.get("event") not in observe.EVENTS]
        bugs = [each for each in events if each.get("level") == "error" or "exception" in each]
        assert strange == [], (node.name, strange[:3])
        assert bugs == [], (node.name, bugs[:3])
        assert [each for each in unwanted if each in text] == [], node.name


def secrets_of(load: producers.Load) -> list[str]:
    """What of a load must not be in a log: tokens, and where the vehicles were."""
    points = [drive.points[len(drive.points) // 2] for drive in producers.drives()]
    return [*(box.registered.token for box in load.boxes), *(str(point.lat) for point in points)]
