"""A deleted vehicle: nothing of it is seen from then on, nothing is left in the end, nothing else goes with it."""

import asyncio

from sqlalchemy import func, insert, select, update
from tests.support import dangling, rest, scores, stores
from tests.support.ingest_rig import (
    COMPANY,
    DRIVER,
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    TOPIC,
    VEHICLE,
    FakeSource,
    Rig,
    microtrip,
    trip_message,
)

from tripline.domain import ids
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import PLACEHOLDER, CompanyId, SensorId, UserId, VehicleId
from tripline.observe import SIGNAL_SENSOR_CHANGED
from tripline.ports.outages import Outage
from tripline.services import eraser as services_eraser
from tripline.services.eraser import Eraser
from tripline.services.fleet import vehicles
from tripline.store import tables
from tripline.store.accounts import accounts
from tripline.store.erasure import erasures
from tripline.store.scores import scores as jobs
from tripline.store.scores import sums

ADMIN = Actor(UserId("00000000-0000-11ef-8000-0000000000ff"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
DRIVING = (
    tables.trip,
    tables.microtrip,
    tables.device_event,
    tables.driving_score,
    tables.gps_event,
    tables.vehicle_score,
    tables.scoring_job,
    tables.trip_findings,
)
EVENT = {"ty": 101, "ts": NOW, "pld": {"ty": 101, "lat": 35.1, "lon": 129.0, "clt": NOW}}


class TellingSource(FakeSource):
    """Says when it is told."""

    def __init__(self):
        super().__init__()
        self.told = asyncio.Queue()

    def settled(self, tokens):
        super().settled(tokens)
        self.told.put_nowait(tokens)


class Stopwatch:
    """Seconds that pass only when somebody looks."""

    def __init__(self, step_s=0.0):
        self.now_s = 0.0
        self.step_s = step_s

    def __call__(self):
        self.now_s += self.step_s
        return self.now_s


async def let_go(_):
    """Nobody is taking anything in."""


def eraser(rig, *, let_go=let_go, stopwatch=None):
    return Eraser(store=rig.store, signals=rig.signals, let_go=let_go, stopwatch=stopwatch or Stopwatch())


def delete(rig, vehicle_id=VEHICLE):
    """The commit of a deletion; the sensors concerned."""
    told = rig.run(
        rig.store.write(
            lambda tx: vehicles.delete(tx, actor=ADMIN, vehicle_id=VehicleId(vehicle_id), ids=rig.ids, now_ms=NOW)
        )
    )
    return [SensorId(detail) for subject, detail in told if subject == SIGNAL_SENSOR_CHANGED]


def erase(rig, **more):
    return rig.run(eraser(rig, **more).erase_pending())


def counts(rig):
    """How many rows each table of driving data has."""

    def work(tx):
        return {table.name: tx.all(select(func.count()).select_from(table))[0][0] for table in DRIVING}

    return rig.run(rig.store.read_short(work))


def mentions(rig, *deleted):
    return rig.run(rig.store.read_short(lambda tx: dangling.references(tx, *deleted)))


def due(rig):
    """Trips that the scorer would take now."""
    return [job.trip_no for job in rig.run(rig.store.read_short(lambda tx: jobs.due(tx, now_ms=2**60, limit=100)))]


def drive(rig, number, *, at, sensor=SENSOR):
    """A trip of two microtrips and an event."""
    rig.send(microtrip(at, tid=number), microtrip(at + 1_000, tid=number), EVENT, at=at, sensor=sensor)
    rig.send(trip_message(at, at + 1_000, tid=number), at=at + 2_000, sensor=sensor)


def keep_scores(rig, vehicle_id, first, count):
    """Trips of the vehicle, driven by the driver, with scores, GPS events and an accumulated score."""

    def work(tx):
        for number in range(first, first + count):
            scores.add_trip(tx, number, vehicle_id, user_id=DRIVER)
            scores.add_score(tx, number, vehicle_id, created_ms=number, user_id=DRIVER)
            scores.add_event(tx, number, vehicle_id, created_ms=number, event_ms=number, trip_id=scores.trip_id(number))
        nos = [ids.no_of(scores.trip_id(number)) for number in range(first, first + count)]
        jobs.keep(tx, [jobs.Found(no, 1, b"found") for no in nos], now_ms=NOW)
        sums.move(tx, {}, sums.shares(tx, nos))
        row = {"vehicle_id": vehicle_id, "created_ms": 1, "count": count, "score": 1.0, "distance_m": 1.0}
        tx.run(insert(tables.vehicle_score), {**row, "sums": b""})

    rig.run(rig.store.write(work))


def test_everything_of_the_vehicle_goes_and_nothing_of_another_one(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        drive(rig, 1, at=NOW)
        drive(rig, 2, at=NOW + MINUTE)
        keep_scores(rig, VEHICLE, 0, 3)
        keep_scores(rig, OTHER_VEHICLE, 10, 2)
        trips = rig.rows(tables.trip, "id", "vehicle_id")
        gone = [trip_id for trip_id, vehicle_id in trips if vehicle_id == VEHICLE]

        assert delete(rig) == [SENSOR]
        assert erase(rig) == 1

        assert counts(rig) == {
            "trip": 2,
            "microtrip": 0,
            "device_event": 0,
            "driving_score": 2,
            "gps_event": 2,
            "vehicle_score": 1,
            "scoring_job": 0,
            "trip_findings": 2,
        }
        assert mentions(rig, VEHICLE, *gone) == {}
        assert rig.rows(tables.sensor, "id", "vehicle_id", "status")[0] == (SENSOR, None, "DEACTIVATED")
        assert rig.rows(tables.vehicle, "id") == [OTHER_VEHICLE]
        assert erase(rig) == 0


def test_drivers_latest_trip_becomes_the_one_before_on_a_vehicle_that_is_there(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        keep_scores(rig, OTHER_VEHICLE, 0, 2)
        later = scores.TRIP_MS + 60 * MINUTE
        drive(rig, 1, at=later)
        drive(rig, 2, at=later + MINUTE)
        assert rig.rows(tables.account, "latest_trip_id") == [rig.rows(tables.trip, "id")[-1]]

        delete(rig)
        erase(rig)

        assert rig.rows(tables.account, "latest_trip_id") == [scores.trip_id(1)]


def test_only_trip_of_a_driver_leaves_no_latest_trip(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        drive(rig, 1, at=NOW)

        delete(rig)
        erase(rig)

        assert rig.rows(tables.account, "latest_trip_id") == [None]


def test_waiting_jobs_of_the_vehicle_are_scored_no_more(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        drive(rig, 1, at=NOW)
        assert len(due(rig)) == 1
        number = due(rig)[0]

        delete(rig)

        assert due(rig) == []
        assert rig.run(rig.store.read_short(lambda tx: jobs.job(tx, number))) is None


def test_open_trip_of_a_device_that_goes_on_sending_is_left_behind(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        sensors = delete(rig)
        rig.take_in([], again=sensors)

        rig.send(microtrip(NOW + 1_000), EVENT, trip_message(NOW, NOW + 2_000), at=NOW + 1_000)
        erase(rig)

        assert mentions(rig, VEHICLE) == {}
        assert rig.rows(tables.trip, "vehicle_id", "user_id", "state", "not_scored") == [
            (None, None, "COMPLETE", "unmapped")
        ]
        assert counts(rig)["microtrip"] == counts(rig)["device_event"] == 1
        assert due(rig) == []


def test_late_trip_message_does_not_complete_a_trip_of_the_deleted_vehicle(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW, tid=1))
        rig.send(microtrip(NOW + 60 * MINUTE, tid=2), at=NOW + 60 * MINUTE)
        rig.take_in([], again=delete(rig))

        rig.send(trip_message(NOW, NOW + 1_000, tid=1), at=NOW + 61 * MINUTE)
        assert due(rig) == []
        erase(rig)

        assert rig.rows(tables.trip, "vehicle_id", "tid", "not_scored") == [(None, 1, "unmapped")]
        assert rig.rows(tables.scoring_job, "trip_no") == []


def test_message_redelivered_after_the_deletion_is_dropped_while_the_first_one_is_there(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        rig.take_in([], again=delete(rig))

        source = rig.send(microtrip(NOW))

        assert source.settlements == [[1]]
        assert counts(rig)["microtrip"] == 1


def test_batch_under_way_at_the_deletion_leaves_nothing_behind(tmp_path):
    """It was placed on the vehicle, and is committed after the deletion but before the erasing."""
    with Rig.fresh(tmp_path) as rig:
        source = TellingSource()
        write = rig.store.write
        placed, go = asyncio.Event(), asyncio.Event()

        async def held(work, **how):
            placed.set()
            await go.wait()
            return await write(work, **how)

        def offer(intake, at, *, tid, token):
            body = b'{"ty":2,"ts":%d,"pld":{"tid":%d,"clt":%d}}' % (at, tid, at)
            intake.offer(source, TOPIC, body, at, token)

        async def scenario():
            intake = rig.intake()
            running = asyncio.create_task(intake.run())
            offer(intake, NOW, tid=1, token=1)
            await source.told.get()
            later = NOW + 60 * MINUTE
            rig.store.write = held
            offer(intake, later, tid=2, token=2)
            await placed.wait()
            rig.store.write = write
            await write(
                lambda tx: vehicles.delete(tx, actor=ADMIN, vehicle_id=VehicleId(VEHICLE), ids=rig.ids, now_ms=NOW)
            )
            erasing_all = asyncio.create_task(eraser(rig, let_go=intake.let_go_of).erase_pending())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not erasing_all.done()
            go.set()
            assert await erasing_all == 1
            offer(intake, later + 1_000, tid=2, token=3)
            await source.told.get()
            await source.told.get()
            intake.stop()
            await running

        rig.run(scenario())

        assert source.settlements == [[1], [2], [3]]
        assert mentions(rig, VEHICLE) == {}
        assert rig.rows(tables.trip, "vehicle_id", "tid") == [(None, 2)]
        # On PostgreSQL the deletion is noticed inside the batch's transaction: its frame is placed anew, on no vehicle.
        assert counts(rig)["microtrip"] == (2 if stores.on_postgresql() else 1)
        assert rig.rows(tables.account, "latest_trip_id") == [None]


def test_erasing_goes_on_where_a_killed_process_was(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        for number in range(4):
            drive(rig, number, at=NOW + number * MINUTE)
        keep_scores(rig, VEHICLE, 100, 60)
        delete(rig)
        one = eraser(rig, stopwatch=Stopwatch(services_eraser.BUDGET_S))
        rig.run(_some_transactions(one, rig, 2))
        left = counts(rig)
        assert 0 < left["gps_event"] + left["driving_score"] < 120

        rig.restart()
        assert erase(rig) == 1

        assert sum(counts(rig).values()) == 0
        assert mentions(rig, VEHICLE) == {}


async def _some_transactions(one, rig, count):
    """Let the eraser commit so many transactions, then cut it off."""
    erasing_all = asyncio.create_task(one.erase_pending())
    write, done = rig.store.write, 0

    async def counted(work, **how):
        nonlocal done
        if done == count:
            erasing_all.cancel()
            await asyncio.sleep(0)
        done += 1
        return await write(work, **how)

    rig.store.write = counted
    await asyncio.wait([erasing_all])
    assert erasing_all.cancelled()


def test_transaction_ends_when_its_time_is_up(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        keep_scores(rig, VEHICLE, 0, services_eraser.ROWS * 3)
        delete(rig)
        seen = []
        write = rig.store.write

        async def counting(work, **how):
            result = await write(work, **how)
            seen.append(result)
            return result

        rig.store.write = counting
        # Each look takes a third of the time: two steps fit into a transaction.
        erase(rig, stopwatch=Stopwatch(services_eraser.BUDGET_S / 3))

        assert all(done.rows <= 2 * services_eraser.ROWS for done in seen)
        assert sum(done.rows for done in seen) == 3 * services_eraser.ROWS * 3
        assert sum(done.through for done in seen) == 1


def test_many_vehicles_without_driving_data_go_in_one_transaction(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.run(
            rig.store.write(
                lambda tx: [
                    erasures.begin(tx, VehicleId(f"00000000-0000-11ef-8000-0000000001{number:02d}"), now_ms=number)
                    for number in range(30)
                ]
            )
        )
        seen = []
        write = rig.store.write

        async def counting(work, **how):
            seen.append(await write(work, **how))
            return seen[-1]

        rig.store.write = counting

        assert erase(rig) == 30
        assert seen == [(30, 30, 0)]
        assert rig.rows(tables.erasure, "id") == []


def test_eraser_erases_when_it_is_asked_also_after_an_outage(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        delete(rig)
        write = rig.store.write
        done = asyncio.Queue()
        outages = [Outage("taken away by the test")]

        async def failing_first(work, **how):
            try:
                if outages:
                    raise outages.pop()
                return await write(work, **how)
            finally:
                done.put_nowait(work)

        async def scenario():
            rig.store.write = failing_first
            running = asyncio.create_task(eraser(rig).run())
            await done.get()
            rig.signals.notify("erasure.due")
            await done.get()
            running.cancel()

        rig.run(scenario())

        assert rig.rows(tables.erasure, "id") == []


async def test_deleted_vehicle_is_nowhere_seen_before_anything_is_erased(app: rest.Rest, admin):
    driver = await app.person(admin, Authority.DRIVER, "driver")

    async def vehicle(number):
        return (await app.post(admin, "/vehicle", {"vehicleNo": number, "mileage": 1}))["id"]["id"]

    gone, there = await vehicle("1"), await vehicle("2")

    def work(tx):
        for number in range(6):
            of = gone if number % 2 else there
            common = {"user_id": driver.user_id}
            scores.add_trip(tx, number, of, company_id=admin.company_id, **common)
            scores.add_score(tx, number, of, created_ms=number, **common)
            scores.add_event(tx, number, of, created_ms=number, event_ms=number, **common)
        tx.run(update(tables.vehicle).where(tables.vehicle.c.id == gone).values(current_driver_id=driver.user_id))
        tx.run(update(tables.account).values(latest_trip_id=scores.trip_id(5)))

    await app.store.write(work)
    lists = {
        "scores": f"/api/tre/v1_2/driver/{driver.user_id}/analytics/drivingScore",
        "events": f"/api/tre/v1_2/driver/{driver.user_id}/analytics/gpsEvent",
        "trips": f"/driver/{driver.user_id}/trips",
    }

    async def seen():
        pages = {}
        for name, path in lists.items():
            page = await app.get(driver, path, limit=2)
            pages[name] = (await app.get(driver, path, limit=2, idOffset=page["nextPageLink"]["idOffset"]))["data"]
            pages[name] = [*page["data"], *pages[name]]
        return {name: [row["vehicleId"]["id"] for row in rows] for name, rows in pages.items()}

    before = await seen()
    answer = (await app.call(admin, "DELETE", f"/vehicle/{gone}")).json()
    after = await seen()
    trip = scores.trip_id(1)
    paths = (
        f"/vehicle/{gone}",
        f"/vehicle/{gone}/trips?limit=1",
        f"/api/tre/v1_3/vehicle/{gone}/analytics/drivingScore?limit=1",
        f"/trip/{trip}/microtrips?limit=1",
        f"/api/tre/v1_3/trip/{trip}/analytics/drivingScore",
        f"/api/tre/v1_2/driver/{driver.user_id}/analytics/drivingScore?limit=1&idOffset={trip}",
        f"/driver/{driver.user_id}/trips?limit=1&idOffset={trip}",
    )
    refusals = [(await app.refused(login, "GET", path))[:2] for path in paths for login in (admin, driver)]
    again = await vehicle("1")
    person = await app.get(admin, f"/driver/{driver.user_id}")

    assert before == {name: [gone, there, gone, there] for name in ("scores", "events", "trips")}
    assert answer == {}
    assert after == {name: [there, there, there] for name in ("scores", "events", "trips")}
    assert refusals == [(404, 32)] * 10 + [(400, 31)] * 4
    assert again not in (gone, there)
    assert (person["latestTripId"]["id"], person["vehicleId"]) == (PLACEHOLDER, None)
    assert app.signals.told[-1] == ("erasure.due", "")


async def test_deletion_ends_delegations_and_rights_and_is_done_once(app: rest.Rest, admin):
    _, owner = await app.partner(admin, "p@p.example")
    driver = await app.person(owner, Authority.DRIVER, "driver")
    record = await app.post(owner, "/vehicle", {"vehicleNo": "1", "mileage": 1})
    vehicle_id = record["id"]["id"]
    await app.post(owner, f"/driver/{driver.user_id}/relation/vehicle", {"vehicleId": {"id": vehicle_id}})
    first = (await app.call(owner, "DELETE", f"/vehicle/{vehicle_id}")).status_code
    second = (await app.refused(owner, "DELETE", f"/vehicle/{vehicle_id}"))[:2]
    left = await app.store.read(lambda tx: dangling.references(tx, vehicle_id, besides=("erasure.id",)))
    alive = await app.store.read(lambda tx: accounts.actor(tx, driver.user_id))

    assert (first, second, left, alive == driver.actor) == (200, (404, 32), {}, True)
