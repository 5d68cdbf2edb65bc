"""Corrections of a trip's driver beside other changes: sums, percentiles and rankings equal those of all scores.

Two servers share one store. A correction runs while the trip is scored again, while a late message names a driver or
brings a sample, beside another correction and beside its undo; a process is killed between corrections.
"""

import asyncio
import contextlib
import os
import random
import ssl
import threading
import time

import httpx
import pytest
from sqlalchemy import select, update
from tests.support import delegating, fleet, kept_sums, scoring_rows, servers, standings, stores, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.scored_fleet import Fleet
from tests.support.spec import world

from tripline.domain.access import Scope
from tripline.domain.ids import UserId
from tripline.store.scores import rescore, scores, sums
from tripline.store.tables import account, driving_score, gps_event, scoring_job, trip, vehicle_score
from tripline.store.trips import bus_trips, drivers

SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
START_MS = 1_780_000_000_000
PATIENCE_S = 30
ROUNDS = 6
KILLS = 4


class Beside:
    """An operator's scored trip on two servers, and people who may have driven it."""

    def __init__(self, one, other):
        self.one, self.other = one, other

    async def begin(self):
        _, admin = await self.one.operator("taxi")
        self.own = await Fleet(self.one, admin).drive()
        self.admin = admin
        people = [await delegating.driver(self.one, admin, name) for name in ("lee", "park")]
        self.people = [self.own.driver.user_id, *(each.user_id for each in people)]
        await self.own.trip()
        return self

    @property
    def path(self):
        return f"/api/tre/v1_3/trip/{self.own.trip_id}/driver"

    async def correct(self, server, driver_id):
        return (await server.call(self.admin, "PUT", self.path, {"driverId": driver_id})).status_code

    async def withdraw(self, server):
        return (await server.call(self.admin, "DELETE", self.path)).status_code

    async def score_again(self):
        """Ask for a score again, as a change of the map does, and work it out at the other server."""

        def ask(tx):
            rescore.ask(tx, [row[0] for row in tx.all(select(trip.c.no))], due_ms=self.other.now_ms)

        await self.other.store.write(ask)
        await self._drain()
        return 200

    async def late_sample(self):
        """A sample comes behind the score; the trip is scored again at the other server."""

        def add(tx):
            (no,) = tx.all(select(trip.c.no).where(trip.c.id == self.own.trip_id))[0]
            scoring_rows.add_microtrip(tx, self.other.ids, no, scoring_rows.sample(random.uniform(30, 60), 60.0))
            rescore.ask(tx, [no], due_ms=self.other.now_ms)

        await self.other.store.write(add)
        await self._drain()
        return 200

    async def late_driver(self, driver_id):
        """A message of the bus names a driver: the recorded one while a correction is in force."""

        def name(tx):
            (no,) = tx.all(select(trip.c.no).where(trip.c.id == self.own.trip_id))[0]
            if tx.shared:
                scores.hold(tx, [no])
            known = drivers.of_trip(tx, self.own.trip_id)
            column = trip.c.user_id if known.corrected_ms is None else trip.c.recorded_user_id
            tx.run(update(trip).where(trip.c.no == no).values({column.name: driver_id}))
            if known.corrected_ms is None:
                bus_trips.driven_by(tx, Scope.everything("test"), {no: UserId(driver_id)})

        await self.other.store.write(name)
        return 200

    async def _drain(self):
        beside = Fleet(self.other, self.admin)
        await beside.score()

    async def settled(self):
        """Nothing waits; names agree; stored sums and percentiles are those of all scores."""
        await self.own.score()
        await standings.count(self.one.store, now_ms=self.one.now_ms)
        return await self.one.store.read(check)


def check(tx):
    """What is wrong with stored scores: nothing, as a rule."""
    named = {
        table.name: sorted(tuple(row) for row in tx.all(select(table.c.trip_no, table.c.user_id).distinct()))
        for table in (driving_score, gps_event)
    }
    driven = sorted(tuple(row) for row in tx.all(select(trip.c.no, trip.c.user_id)))
    latest = {
        tuple(row)
        for row in tx.all(select(account.c.latest_trip_id, account.c.id).where(account.c.latest_trip_id.is_not(None)))
    }
    trips = dict(tuple(row) for row in tx.all(select(trip.c.id, trip.c.user_id)))
    wrong = {
        "jobs": tx.all(select(scoring_job.c.trip_no)),
        "sums": _differing(sums.kept(tx), kept_sums.recomputed(tx)),
        "percentiles": _differing(standings.kept(tx), standings.expected(tx)),
        "scores": [] if named["driving_score"] == driven else [named, driven],
        "events": [] if set(named["gps_event"]) <= set(driven) else [named, driven],
        "accumulated": [
            tuple(row)
            for row in tx.all(select(vehicle_score.c.vehicle_id, vehicle_score.c.user_id))
            if row[1] != scores.newest_driver(tx, row[0])
        ],
        "latest": [each for each in latest if trips.get(each[0]) != each[1]],
    }
    return {name: found for name, found in wrong.items() if found}


def _differing(stored, expected):
    return {
        key: (stored.get(key), expected.get(key))
        for key in {*stored, *expected}
        if stored.get(key) != expected.get(key)
    }


RACES = {
    "scored again": lambda to: (to.score_again(),),
    "late sample": lambda to: (to.late_sample(),),
    "late driver": lambda to: (to.late_driver(to.people[0]),),
    "another correction": lambda to: (to.correct(to.other, to.people[1]),),
    "undo": lambda to: (to.withdraw(to.other),),
    "all": lambda to: (to.late_sample(), to.correct(to.other, to.people[1]), to.withdraw(to.other)),
}


@pytest.mark.parametrize("race", RACES)
async def test_correction_beside_another_change_leaves_what_all_scores_give(servers, race):
    to = await Beside(*servers).begin()
    found = [await to.settled()]
    answers = set()
    for number in range(ROUNDS):
        for app in servers:
            app.now_ms += 60_000
        whom = to.people[2 - number % 2]
        answers |= set(await asyncio.gather(to.correct(to.one, whom), *RACES[race](to)))
        found.append(await to.settled())

    assert answers <= {200, 409}
    assert found == [{}] * (ROUNDS + 1)


async def test_corrections_at_both_servers_end_with_one_driver_and_its_history(servers):
    to = await Beside(*servers).begin()
    answers = await asyncio.gather(
        *(to.correct(app, to.people[1 + number % 2]) for number, app in enumerate(servers * 4))
    )
    page = await to.one.get(to.admin, f"/vehicle/{to.own.vehicle_id}/history", limit=50)
    moves = [each for each in reversed(page["data"]) if each["event"].startswith("TRIP_DRIVER")]
    read = await to.one.get(to.admin, to.path)
    people, found = to.people, await to.settled()

    assert (set(answers), found) == ({200}, {})
    now = people[0]
    for given, taken in zip(moves[1::2], moves[::2], strict=True):
        kinds = {each["event"]: each["userName"] for each in (given, taken)}
        assert set(kinds) == {"TRIP_DRIVER_SET", "TRIP_DRIVER_UNSET"}
    assert read["driverId"]["id"] in people[1:]
    assert read["recordedDriverId"]["id"] == now


@pytest.mark.deep
def test_killed_server_leaves_a_correction_whole_or_not_made(tmp_path):
    data = tmp_path / "data"
    moments = random.Random(SEED)
    server = servers.start(data)
    with Company(server.api, data) as company:
        vehicle = company.vehicle_with_sensor(1)
        people = [
            company.post("/api/tre/v1/driver", {"name": name, "email": f"{name}@x.example", "password": fleet.PASSWORD})
            for name in ("kim", "lee")
        ]
        for each in people:
            body = {"vehicleId": {"id": vehicle.vehicle_id}}
            company.post(f"/api/tre/v1/driver/{each['id']['id']}/relation/vehicle", body)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play([*world.drive(START_MS, 1), *world.drive(START_MS + 7_200_000, 2)]))
        judged(data)
        (newest, _) = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=2)["data"]
        token = company.http.headers["X-Authorization"]
    path = f"/api/tre/v1_3/trip/{newest['id']['id']}/driver"
    done = 0
    for _ in range(KILLS):
        with httpx.Client(base_url=server.api, headers={"X-Authorization": token}, timeout=20) as http:
            timer = threading.Timer(moments.uniform(0.05, 0.5), server.kill)
            timer.start()
            with contextlib.suppress(httpx.TransportError):
                while True:
                    answer = http.put(path, json={"driverId": people[done % 2]["id"]["id"]})
                    assert answer.status_code == 200, answer.text
                    done += 1
            timer.join()
        server.process.stdout.close()
        server = servers.start(data)
    judged(data)
    assert server.stop() == 0
    server.process.stdout.close()

    async def look():
        store = stores.Database(data).open()
        try:
            await standings.count(store, now_ms=int(time.time() * 1000))
            return await store.read(check)
        finally:
            await store.close()

    assert done
    assert asyncio.run(look()) == {}


def judged(data):
    waits.seen(
        lambda: stores.Database(data).rows("SELECT trip_no FROM scoring_job"),
        lambda found: not found,
        within_s=PATIENCE_S,
    )
