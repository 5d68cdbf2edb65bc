"""Workers of several processes on one PostgreSQL database: each thing is done once, whoever dies in between."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select
from tests.support import databases, map_files, outbox, pushes, receivers, road_servers, scoring_rows, waits
from tests.support.databases import Database
from tests.support.outbox import Waiting
from tests.support.road_servers import Stand, all_on
from tests.support.scoring_rows import COMPANY, NOW_MS, VEHICLE, add_microtrip, drive, sample

from tripline import config
from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.adapters.maps.roads_valhalla import Valhalla
from tripline.adapters.signals.local import LocalSignals
from tripline.domain import companies
from tripline.domain.access import Actor, Authority
from tripline.domain.disputes import Reason
from tripline.domain.ids import CompanyId, RowNo, TimeIds, TripId, VehicleId, first_no
from tripline.domain.pushes import Channel
from tripline.language.catalogue import Language
from tripline.maintenance import maps
from tripline.ports.mails import Letter
from tripline.ports.outages import Outage
from tripline.ports.webhooks import Answered, Listening, Webhook
from tripline.scoring import quality
from tripline.services.accounts import letters, postman, registry
from tripline.services.accounts.postman import Postman
from tripline.services.eraser import Eraser
from tripline.services.push import claims, pusher
from tripline.services.push.pusher import Pusher
from tripline.services.scores import scorer
from tripline.services.scores.disputes import DisputeService
from tripline.store import tables
from tripline.store.accounts import mail_outbox
from tripline.store.database.postgres import PostgresStore
from tripline.store.erasure import erasures
from tripline.store.push import claims as push_claims
from tripline.store.scores import scores

CALM = drive(*[40.0] * 20)


@pytest.fixture
def database() -> Iterator[Database]:
    with databases.fresh() as database:
        yield database


@contextlib.asynccontextmanager
async def opened(database: Database, count: int) -> AsyncIterator[list[PostgresStore]]:
    """Stores as so many processes have them."""
    stores = [PostgresStore(database.url) for _ in range(count)]
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


class _KilledError(Exception):
    """The process is gone before its transaction was committed."""


# Scorers


async def test_scorers_side_by_side_give_every_trip_one_score_and_each_vehicle_its_sum(database, monkeypatch):
    monkeypatch.setattr("tripline.services.scores.scorer.JOBS", 3)
    vehicles = [f"2222222{number}-0000-11b2-8080-808080808080" for number in range(3)]

    async with opened(database, 3) as stores:
        rigs = [scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores)]
        for vehicle_id in vehicles:
            await rigs[0].add_vehicle(vehicle_id)
        for number in range(60):
            await rigs[0].add_trip(CALM, vehicle_id=vehicles[number % 3], distance_m=9_000)
        handled = await asyncio.gather(*(rig.drain() for rig in rigs))
        totals = await rigs[0].rows(tables.vehicle_score, "vehicle_id", "count", "distance_m")
        handled = sum(handled)
        found = await rigs[0].rows(tables.driving_score, "score")
        jobs = await rigs[0].rows(tables.scoring_job, "trip_no")

    assert handled == 60
    assert found == [(100,)] * 60
    assert totals == [(vehicle_id, 20, 20 * 9_000) for vehicle_id in vehicles]
    assert jobs == []


@pytest.mark.deep
async def test_scorers_side_by_side_count_each_drive_of_two_sensors_once(database, monkeypatch):
    """Rounds of changes: each turns round which of a vehicle's two trips covers the longer time."""
    monkeypatch.setattr("tripline.services.scores.scorer.JOBS", 2)
    vehicles = [f"2222222{number}-0000-11b2-8080-808080808080" for number in range(6)]
    sensors = [f"5555555{number}-0000-11b2-8080-808080808080" for number in range(2)]

    async with opened(database, 3) as stores:
        rigs = [scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores)]
        for vehicle_id in vehicles:
            await rigs[0].add_vehicle(vehicle_id)
        nos = [
            [
                await rigs[0].add_trip(drive(*[40.0] * 10), vehicle_id=each, sensor_id=sensor_id, distance_m=9_000)
                for sensor_id in sensors
            ]
            for each in vehicles
        ]
        seen = []
        for turn in range(5):
            for pair in nos:
                no, length = pair[turn % 2], 12 + 2 * turn
                late = [sample(second, 40) for second in range(length)]
                await rigs[0].write(lambda tx, no=no, late=late: [add_microtrip(tx, rigs[0].ids, no, x) for x in late])
                for each in pair:
                    await rigs[0].ask_again(each) if turn else None
            await asyncio.gather(*(rig.drain() for rig in rigs))
            while await rigs[0].rows(tables.scoring_job, "trip_no"):
                await asyncio.sleep(0)
                for rig in rigs:
                    rig.now_ms += scorer.LEASE_MS
                await asyncio.gather(*(rig.drain() for rig in rigs))
            scored = await rigs[0].rows(tables.driving_score, "trip_no")
            totals = await rigs[0].rows(tables.vehicle_score, "vehicle_id", "count")
            seen.append((sorted(scored) == sorted((pair[turn % 2],) for pair in nos), totals))

    assert seen == [(True, [(vehicle_id, 1) for vehicle_id in vehicles])] * 5


@pytest.mark.parametrize("step", ["put_off", "hold", "hold_vehicles", "forget", "keep_score", "finish", "keep_total"])
async def test_scorer_killed_at_any_step_leaves_its_trips_to_another_one(database, monkeypatch, step):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        for _ in range(4):
            await first.add_trip(CALM, distance_m=9_000)
        own = getattr(scores, step)

        def killed(tx, *args, **how):
            own(tx, *args, **how)
            raise Outage("the process was killed")

        monkeypatch.setattr(scores, step, killed)
        with contextlib.suppress(Outage):
            await first.scorer.score_due()
        monkeypatch.setattr(scores, step, own)
        left = await second.rows(tables.driving_score, "score")
        second.now_ms += scorer.LEASE_MS
        found = left, await second.drain(), await second.rows(tables.vehicle_score, "count")

    assert found == ([], 4, [(4,)])


async def test_scorer_killed_while_it_judges_leaves_its_trips_to_another_one_when_its_lease_ends(database):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        await first.add_trip(CALM, distance_m=9_000)
        in_hand = await first.scorer._take()
        second.now_ms += scorer.LEASE_MS - 1
        early = await second.drain()
        second.now_ms += 1
        found = len(in_hand), early, await second.drain(), await second.rows(tables.driving_score, "score")

    assert found == (1, 0, 1, [(100,)])


@pytest.mark.deep
async def test_scorers_beside_a_slow_server_of_roads_judge_each_trip_once(database, tmp_path, monkeypatch):
    """Its answers to one batch take several times as long as a lease lasts."""
    monkeypatch.setattr(scorer, "LEASE_MS", 400)
    monkeypatch.setattr(scorer, "RENEW_S", 0.1)
    file = map_files.street(tmp_path / "a.osm.pbf", maxspeed="50")
    maps.imported(tmp_path / "maps", file, name="town", country="", progress=lambda _: None)
    on_street = all_on(7)

    def slowly(action, body):
        time.sleep(0.3)
        return on_street(action, body)

    with road_servers.standing(Stand(answer=slowly)) as stand:
        async with opened(database, 2) as stores:
            asked = Valhalla(stand.url, timeout_s=5.0)
            roads = OsmRoads(tmp_path / "maps", zone=scoring_rows.ZONE, asked=asked)
            rigs = [scoring_rows.Rig(Path(), store=store, slot=slot, roads=roads) for slot, store in enumerate(stores)]
            began = time.monotonic()
            for rig in rigs:
                rig.scorer._clock = lambda: NOW_MS + round((time.monotonic() - began) * 1_000)
            await rigs[0].add_vehicle()
            for _ in range(5):
                drive = [sample(second, 40.0, lat=47.003 + second / 10_000, lon=9.5) for second in range(180)]
                await rigs[0].add_trip(drive)

            async def scoring(rig):
                handled = 0
                while await rig.rows(tables.scoring_job, "trip_no"):
                    handled += await rig.scorer.score_due()
                    await asyncio.sleep(0.05)
                return handled

            async with asyncio.timeout(30):
                handled = await asyncio.gather(*(scoring(rig) for rig in rigs))
            told = [quality.read(body).maps[1:] for (body,) in await rigs[0].rows(tables.trip, "quality")]

    assert (sum(handled), len(stand.asked), told) == (5, 5, [("valhalla:5",)] * 5)


async def test_scorer_stopped_in_order_while_it_judges_leaves_its_trips_to_another_one_at_once(database):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        await first.add_trip(CALM, distance_m=9_000)
        judging = asyncio.Event()

        async def judged(_):
            judging.set()
            await asyncio.Event().wait()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(first.scorer, "_judged", judged)
            stopped = asyncio.create_task(first.scorer.score_due())
            await judging.wait()
            in_hand = await second.drain()
            stopped.cancel()
            await asyncio.wait([stopped])
        found = in_hand, await second.drain(), await second.rows(tables.driving_score, "score")

    assert found == (0, 1, [(100,)])


@pytest.mark.parametrize("order", ["first is late", "first is still in time"])
async def test_trip_that_two_scorers_judge_is_kept_as_one_of_them_judged_it(database, order):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        no = await first.add_trip(CALM, distance_m=9_000)
        before = await first.scorer._take()
        await first.write(lambda tx: scoring_rows.add_microtrip(tx, first.ids, no, scoring_rows.sample(60, 180.0)))
        second.now_ms += scorer.LEASE_MS
        after = await second.scorer._take()
        for rig, tasks in [(first, before), (second, after)][:: 1 if order == "first is still in time" else -1]:
            await rig.scorer._score(tasks)
        (less, more), *left = (
            [len(task.packed) for task in (*before, *after)],
            await second.rows(tables.driving_score, "over_speed"),
            await second.rows(tables.vehicle_score, "count"),
            await second.rows(tables.scoring_job, "trip_no"),
        )

    assert less < more
    assert left == [[(1,)], [(1,)], []]


async def test_trip_that_was_judged_without_its_late_samples_is_due_again_at_once(database):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        no = await first.add_trip(CALM, distance_m=9_000)
        # Numbered before all the others, by a process that commits after them.
        numbers = TimeIds(node=7, slot=9)
        tasks = await first.scorer._take()
        await second.write(
            lambda tx: tx.run(
                insert(tables.microtrip).values(
                    no=first_no(scoring_rows.START_MS - 1),
                    trip_no=no,
                    id=numbers.next(now_ms=scoring_rows.START_MS),
                    ty=2,
                    payload=b"{}",
                    samples=scoring_rows.sample(60, 180.0),
                )
            )
        )
        await first.scorer._score(tasks)
        between = await first.rows(tables.driving_score, "over_speed")
        found = between, await second.drain(), await first.rows(tables.driving_score, "over_speed")

    assert found == ([], 1, [(1,)])


async def test_trips_in_one_scorers_hands_are_left_to_it_and_new_ones_are_not(database):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        held = await first.add_trip(CALM, distance_m=9_000)
        in_hand = await first.scorer._take()
        other = await second.add_trip(CALM, distance_m=9_000)
        handled = await second.drain()
        scored = await second.rows(tables.driving_score, "trip_no")
        await first.scorer._score(in_hand)
        trips, at_last = [held, other], await second.rows(tables.driving_score, "trip_no")

    assert [task.job.trip_no for task in in_hand] == trips[:1]
    assert (handled, scored) == (1, [(trips[1],)])
    assert at_last == [(no,) for no in trips]


async def test_jobs_that_one_scorer_is_about_to_take_are_left_to_it_and_new_ones_are_not(database):
    async with opened(database, 2) as stores:
        first, second = (scoring_rows.Rig(Path(), store=store, slot=slot) for slot, store in enumerate(stores))
        await first.add_vehicle()
        held = await first.add_trip(CALM, distance_m=9_000)
        loop, in_hand, go_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

        def hold(tx):
            found = [job.trip_no for job in scores.claim(tx, now_ms=NOW_MS, limit=9)]
            loop.call_soon_threadsafe(in_hand.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(20)
            return found

        holding = asyncio.create_task(first.store.write(hold, locked=True))
        await in_hand.wait()
        other = await second.add_trip(CALM, distance_m=9_000)
        handled = await second.scorer.score_due()
        scored = await second.rows(tables.driving_score, "trip_no")
        go_on.set()
        in_hand = await holding

    assert in_hand == [held]
    assert (handled, scored) == (1, [(other,)])


async def test_microtrip_that_comes_while_its_trip_is_judged_is_scored_too(database):
    async with opened(database, 2) as stores:
        rig = scoring_rows.Rig(Path(), store=stores[0], slot=0)
        await rig.add_vehicle()
        no = await rig.add_trip(drive(*[40.0] * 5), distance_m=9_000)

        def late(tx):
            scoring_rows.add_microtrip(tx, rig.ids, no, scoring_rows.sample(60, 180.0))

        keep = scores.hold_vehicles

        def hold(tx, vehicle_ids):
            keep(tx, vehicle_ids)
            asyncio.run_coroutine_threadsafe(stores[1].write(late), loop).result(20)

        loop = asyncio.get_running_loop()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scores, "hold_vehicles", hold)
            await rig.scorer.score_due()
        between = await rig.rows(tables.driving_score, "score")
        await rig.drain()
        found = (
            between,
            len(await rig.rows(tables.driving_score, "score")),
            await rig.rows(tables.scoring_job, "trip_no"),
        )

    assert found == ([], 1, [])


async def test_bad_trip_is_put_off_and_holds_up_no_other(database):
    async with opened(database, 1) as stores:
        rig = scoring_rows.Rig(Path(), store=stores[0], slot=0)
        await rig.add_vehicle()
        bad = await rig.add_trip([b"cut"], distance_m=9_000)
        await rig.add_trip(CALM, distance_m=9_000)
        await rig.drain()
        jobs = await rig.rows(tables.scoring_job, "trip_no", "attempts")
        found = await rig.rows(tables.driving_score, "score")

    assert (jobs, found) == ([(bad, 1)], [(100,)])


# Pushers


class Receiver:
    """Implements `ports.webhooks.WebhookSender`: keeps what arrives, for all pushers."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bytes]] = []
        self.by: Counter[str] = Counter()
        self.holds: asyncio.Event | None = None

    def sender(self, name: str) -> "Sender":
        return Sender(self, name)


class Sender:
    def __init__(self, receiver: Receiver, name: str) -> None:
        self._receiver = receiver
        self._name = name

    async def post(self, webhook: Webhook, listening: Listening | None = None) -> Answered:
        if self._receiver.holds is not None:
            self._receiver.by[self._name] += 1
            await self._receiver.holds.wait()
        await asyncio.sleep(0)
        headers = dict(webhook.headers)
        self._receiver.got.append((headers["webhook-id"], webhook.body))
        self._receiver.by[self._name] += 1
        return Answered(200)


@pytest.fixture
def quick(monkeypatch):
    """Leases of two seconds rather than twenty."""
    monkeypatch.setattr(claims, "SPARE_S", 1.5)
    monkeypatch.setattr(claims, "MARGIN_S", 0.2)
    monkeypatch.setattr(claims, "RENEW_S", 0.2)
    monkeypatch.setattr(claims, "FOREIGN_S", 0.1)
    monkeypatch.setattr(pusher, "RENEW_S", 0.2)
    monkeypatch.setattr(pusher, "ANEW_SHARED_S", 0.3)


def made(world: pushes.World, store: PostgresStore, receiver: Receiver, name: str) -> Pusher:
    return Pusher(
        store=store,
        sender=receiver.sender(name),
        settings=config.Push(timeout_s=0.3),
        signals=world.signals,
        clock=lambda: world.now_ms,
        holder=name,
    )


async def test_pushers_side_by_side_send_everything_once_and_each_sensors_in_order(database, quick):
    async with opened(database, 2) as stores:
        world = pushes.World(stores[0], config.Push(), ids=TimeIds(node=7, slot=1))
        fleet = [await world.company(name, notify_host=f"http://{name}.example/") for name in ("a", "b", "c", "d")]
        receiver = Receiver()
        sending = [made(world, store, receiver, name) for store, name in zip(stores, ("one", "two"), strict=True)]
        expected = {}
        async with asyncio.TaskGroup() as tasks:
            for each in sending:
                tasks.create_task(each.run())
            for round_no in range(10):
                for company_id in fleet:
                    for sensor in range(3):
                        body = b"%d" % round_no
                        (message_id,) = await world.put(company_id, sensor, body)
                        expected[message_id] = (company_id, sensor, round_no)
                world.now_ms += 1
            await waits.until(lambda: len(receiver.got) >= 120, within_s=20)
            for each in sending:
                each.stop()
        got, left = receiver.got, await world.rows()

    assert Counter(message_id for message_id, _ in got) == Counter(list(expected))
    assert left == []
    lanes: dict[Any, list[int]] = {}
    for message_id, _ in got:
        company_id, sensor, round_no = expected[message_id]
        lanes.setdefault((company_id, sensor), []).append(round_no)
    assert all(lane == list(range(10)) for lane in lanes.values())


@pytest.mark.deep
async def test_receivers_of_a_killed_pusher_are_taken_over_with_the_same_ids_and_bodies(database, quick):
    async with opened(database, 2) as stores:
        world = pushes.World(stores[0], config.Push(), ids=TimeIds(node=7, slot=1))
        company_id = await world.company("a", notify_host="http://a.example/")
        receiver = Receiver()
        receiver.holds = asyncio.Event()
        first, second = (made(world, store, receiver, name) for store, name in zip(stores, ("one", "two"), strict=True))
        ids = await world.put(company_id, 0, b"1", b"2")
        first._claims.leave_all = lambda: asyncio.sleep(0)  # who is killed says no farewell
        killed = asyncio.create_task(first.run())
        await waits.until(lambda: receiver.by["one"] == 1, within_s=20)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(second.run())
            foreign = receiver.by["two"]
            killed.cancel()
            await asyncio.wait([killed])
            receiver.holds.set()
            await waits.until(lambda: len(receiver.got) == 2, within_s=20)
            second.stop()
        got, left = receiver.got, await world.rows()

    assert foreign == 0
    assert got == [(ids[0], b"1"), (ids[1], b"2")]
    assert left == []


async def test_mute_receiver_and_its_repair_are_those_of_every_process(database, quick):
    async with opened(database, 3) as stores:
        world = pushes.World(stores[0], config.Push(), ids=TimeIds(node=7, slot=1))
        mute, good = receivers.Receiver(lambda _: receivers.SILENT), receivers.Receiver()

        def sending(store: PostgresStore) -> contextlib.AbstractAsyncContextManager[Pusher]:
            return world.pushing(timeout_s=0.4, place_s=0.02, store=store)

        async with receivers.serving(mute), receivers.serving(good):
            company_id = await world.company("a", notify_host=mute.url)
            async with sending(stores[0]):
                ids = await world.put(company_id, 0, b"0", b"1", b"2")
                await world.until_tried(1)
                world.move(1_000)
                await world.until_mute(3)
            async with sending(stores[1]), sending(stores[2]):
                ids += await world.put(company_id, 0, b"3", b"4", b"5")
                await world.until_mute(6)
                came = [request.id for request in mute.requests]
                await world.readdress(company_id, good.url)
                ids += await world.put(company_id, 0, b"6")
                await world.until([])
        again = [request.id for request in good.requests]

    assert came == [ids[0], *ids[:6]]
    assert again == ids


async def test_message_committed_after_greater_numbers_is_sent(database, quick):
    async with opened(database, 1) as stores:
        world = pushes.World(stores[0], config.Push(), ids=TimeIds(node=7, slot=1))
        company_id = await world.company("a", notify_host="http://a.example/")
        receiver = Receiver()
        sending = made(world, stores[0], receiver, "one")
        late = Waiting(
            no=RowNo(first_no(world.now_ms) + 3),
            id="late",
            company_id=company_id,
            sensor_id=pushes.SENSORS[1],
            selector=2,
            body=b"late",
            due_ms=world.now_ms,
        )
        world.now_ms += 500
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(sending.run())
            await world.put(company_id, 0, b"early")
            await waits.until(lambda: len(receiver.got) == 1, within_s=20)
            await stores[0].write(lambda tx: outbox.add(tx, [late]))
            world.signals.notify("push.due")
            await waits.until(lambda: len(receiver.got) == 2, within_s=20)
            sending.stop()
        found = [body for _, body in receiver.got]

    assert found == [b"early", b"late"]


async def test_claims_are_one_holders_until_they_run_out(database):
    key = (companies.CompanyId("11111111-0000-11b2-8080-808080808080"), Channel.NOTIFY)
    other = (key[0], Channel.RPC_NOTIFY)

    async with opened(database, 1) as stores:

        def take(keys, holder, lease_ms):
            return stores[0].write(lambda tx: push_claims.take(tx, keys, holder=holder, lease_ms=lease_ms), locked=True)

        def renew(holder):
            return stores[0].write(
                lambda tx: push_claims.renew(tx, [key, other], holder=holder, lease_ms=60_000), locked=True
            )

        seen = [await take([key], "one", 60_000), await take([key, other], "two", 60_000)]
        seen += [await renew("one"), await renew("two"), await take([key], "one", -1), await take([key], "two", 60_000)]
        await stores[0].write(lambda tx: push_claims.leave(tx, [key, other], holder="two"), locked=True)
        found = [*seen, await take([key], "one", 60_000)]

    assert found == [{key}, {other}, {key}, {other}, {key}, {key}, {key}]


# Postmen


class Box:
    """Implements `ports.mails.Mailer`: keeps letters."""

    def __init__(self) -> None:
        self.letters: list[str] = []
        self.dies = False

    async def send(self, letter: Letter) -> None:
        await asyncio.sleep(0)
        if self.dies:
            raise _KilledError
        self.letters.append(letter.recipient)


def _postman(store: PostgresStore, box: Box, now_ms: Callable[[], int]) -> Postman:
    return Postman(
        store=store,
        mailer=box,
        link_hours=24,
        public_url="https://x/",
        zone=scoring_rows.ZONE,
        signals=LocalSignals(),
        clock=now_ms,
    )


async def _mails(store: PostgresStore, ids: TimeIds, count: int) -> None:
    """Letters of rejection, to so many people."""

    def add(tx):
        for number in range(count):
            application_id = ids.next(now_ms=NOW_MS)
            row = dict.fromkeys(("service_name", "company_name", "contact_name", "mobile", "introduction"), "x")
            row |= {"id": application_id, "created_ms": NOW_MS, "email": f"{number}@x.example", "state": "REJECTED"}
            row |= {"language": "en"}
            tx.run(insert(tables.service_application).values(**row, login=f"{number}@x.example"))
            mail_outbox.add(
                tx,
                ids=ids,
                kind=letters.Kind.REJECTED,
                recipient=f"{number}@x.example",
                now_ms=NOW_MS,
                application_id=application_id,
            )

    await store.write(add)


async def test_postmen_side_by_side_send_each_letter_once(database):
    async with opened(database, 3) as stores:
        ids, box = TimeIds(node=7, slot=3), Box()
        await _mails(stores[0], ids, 15)
        await asyncio.gather(*(_postman(store, box, lambda: NOW_MS).send_due() for store in stores))
        found = box.letters

    assert Counter(found) == {f"{number}@x.example": 1 for number in range(15)}


async def test_letter_of_a_killed_postman_is_sent_by_another_one_when_its_time_is_over(database):
    async with opened(database, 2) as stores:
        ids, box, clock = TimeIds(node=7, slot=3), Box(), [NOW_MS]
        await _mails(stores[0], ids, 1)
        (mail,) = await stores[0].read(lambda tx: mail_outbox.due(tx, now_ms=NOW_MS, limit=9))
        claimed = await stores[0].write(lambda tx: mail_outbox.claim(tx, mail, until_ms=NOW_MS + postman.LEASE_MS))
        other = _postman(stores[1], box, lambda: clock[0])
        seen = [await other.send_due()]
        clock[0] += postman.LEASE_MS - 1
        seen.append(await other.send_due())
        clock[0] += 1
        seen.append(await other.send_due())
        left = await stores[1].read(lambda tx: tx.all(select(func.count()).select_from(tables.mail_outbox)))
        found = claimed, seen, box.letters, left[0][0]

    assert found == (True, [0, 0, 1], ["0@x.example"], 0)


async def test_postmen_side_by_side_wait_for_a_new_score_and_send_its_letter_once(database):
    async with opened(database, 3) as stores:
        rig, box = scoring_rows.Rig(Path(), store=stores[0], slot=0), Box()
        await rig.add_vehicle()
        await rig.add_trip(CALM, distance_m=9_000)
        await rig.drain()
        ((trip_id,),) = await rig.rows(tables.trip, "id")
        new = {"company_id": COMPANY, "authority": Authority.COMPANY_ADMIN, "password_hash": "h", "phone": None}
        people = [
            await rig.write(
                lambda tx, name=name: registry.create(
                    tx, **new, name=name, email=f"{name}@x.example", ids=rig.ids, now_ms=NOW_MS
                )
            )
            for name in ("opens", "decides")
        ]
        opens, decides = (Actor(each, Authority.COMPANY_ADMIN, CompanyId(COMPANY)) for each in people)
        desk = DisputeService(store=rig.store, ids=rig.ids, clock=lambda: rig.now_ms)
        asked = {"reason": Reason.DEVICE, "text": "not I", "event_id": None, "mail": Language.KOREAN}
        contested = await desk.open(actor=opens, trip_id=TripId(trip_id), **asked)
        closed = {"dispute_id": contested.id, "accept": True, "answer": None}
        await rig.write(lambda tx: desk.decide(tx, actor=decides, **closed))
        postmen = [_postman(store, box, lambda: rig.now_ms) for store in stores]
        seen = []
        for scored in (False, True):
            if scored:
                await rig.drain()
                rig.now_ms += postman.EARLY_MS
            await asyncio.gather(*(each.send_due() for each in postmen))
            seen.append((list(box.letters), len(await rig.rows(tables.mail_outbox, "no"))))

    assert seen == [([], 1), (["opens@x.example"], 0)]


# Eraser


async def test_erasers_side_by_side_erase_everything_and_count_each_thing_once(database):
    vehicles = [VehicleId(f"222222{number:02d}-0000-11b2-8080-808080808080") for number in range(12)]

    async with opened(database, 3) as stores:
        rig = scoring_rows.Rig(Path(), store=stores[0], slot=0)
        await rig.add_vehicle()
        for vehicle_id in vehicles:
            await rig.add_trip(CALM, vehicle_id=vehicle_id)
        await rig.write(
            lambda tx: [erasures.begin(tx, vehicle_id, now_ms=number) for number, vehicle_id in enumerate(vehicles)]
        )
        ticks = random.Random(7)

        async def let_go(_):
            await asyncio.sleep(ticks.uniform(0, 0.01))

        erasers = [
            Eraser(store=store, signals=LocalSignals(), let_go=let_go, stopwatch=asyncio.get_running_loop().time)
            for store in stores
        ]
        through = await asyncio.gather(*(each.erase_pending() for each in erasers))
        while any(await asyncio.gather(*(each.erase_pending() for each in erasers))):
            pass
        left = [await rig.rows(*of) for of in ((tables.trip, "no"), (tables.microtrip, "no"), (tables.erasure, "id"))]

    assert sum(through) == 12
    assert left == [[], [], []]


async def test_score_of_a_vehicle_that_is_deleted_meanwhile_is_not_kept(database):
    async with opened(database, 2) as stores:
        rig = scoring_rows.Rig(Path(), store=stores[0], slot=0)
        await rig.add_vehicle()
        await rig.add_trip(CALM, distance_m=9_000)

        def delete(tx):
            tx.run(tables.vehicle.delete().where(tables.vehicle.c.id == VEHICLE))
            erasures.begin(tx, VehicleId(VEHICLE), now_ms=NOW_MS)

        hold, loop = scores.hold_vehicles, asyncio.get_running_loop()

        def deleted_before(tx, vehicle_ids):
            asyncio.run_coroutine_threadsafe(stores[1].write(delete), loop).result(20)
            hold(tx, vehicle_ids)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scores, "hold_vehicles", deleted_before)
            await rig.scorer.score_due()
        found = await rig.rows(tables.driving_score, "trip_no"), await rig.rows(tables.vehicle_score, "count")

    assert found == ([], [])
