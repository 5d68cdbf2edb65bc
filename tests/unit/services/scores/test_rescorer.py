"""Rescorings from the request to their end: equal to the live path, after any kill, bounded, giving way, tried only."""

import asyncio
import time

import pytest
from sqlalchemy import delete, update
from tests.support import map_files, road_servers, scoring_rows
from tests.support.road_servers import Stand, all_on
from tests.support.scoring_rows import COMPANY, DRIVER, START_MS, VEHICLE, drive, played, sample

from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.adapters.maps.roads_valhalla import Valhalla
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.refusals import BadParameter
from tripline.domain.rescorings import KEPT, NEXT, Cause, Ended, RescoringRequest, Stage, UnderWay
from tripline.maintenance import maps
from tripline.scoring.rules import Rules, Scoring
from tripline.services.scores import rescorer as module
from tripline.services.scores import rescorings, scorer
from tripline.services.scores.rescorer import Rescorer
from tripline.store import tables
from tripline.store.erasure import remains
from tripline.store.fleet import companies
from tripline.store.lists import Span
from tripline.store.scores import policies
from tripline.store.scores import rescorings as rows
from tripline.store.scores.policies import Kind

HARSH = drive(0, 0, 0, 0, 12, 24, 30, 30)
CALM = drive(*[50.0] * 20)
ROOT = Actor(UserId(DRIVER), Authority.SYS_ADMIN, None)
TABLES = (tables.trip, tables.driving_score, tables.gps_event, tables.vehicle_score, tables.scoring_job)
STRICT = Rules(scoring=Scoring(harsh_weight=0.9))


def worker(rig):
    """A rescorer, as a process has it."""
    clock = {"store": rig.store, "signals": rig.hints, "clock": lambda: rig.now_ms}
    return Rescorer(scorer=rig.scorer, **clock)


async def fleet(rig, trips=3):
    """Scored trips of one vehicle, harsh and calm in turn."""
    nos = [await rig.add_trip((HARSH, CALM)[turn % 2], distance_m=10_000) for turn in range(trips)]
    await rig.drain()
    rig.now_ms += 60_000
    return nos


async def begun(rig, **asked):
    return await rig.write(
        lambda tx: rescorings.begin(
            tx,
            actor=ROOT,
            company_id=CompanyId(COMPANY),
            asked=RescoringRequest(**asked),
            ids=rig.ids,
            now_ms=rig.now_ms,
        )
    )


async def look(rig, one):
    return await rig.store.read(lambda tx: rescorings.read(tx, actor=ROOT, rescoring_id=one.id))


async def done(rig, one):
    """Let it go on to its end: steps of a worker, then of the scorer."""
    work = worker(rig)
    while (now := await look(rig, one)).state is Stage.RUNNING:
        rig.now_ms += 1_000
        await work.go_on()
        await rig.drain()
    return now


async def everything(rig):
    return [await rig.rows(table, *table.c.keys()) for table in TABLES]


async def strictly(rig):
    """Have all trips be judged by a stricter policy from now on."""

    def choose(tx):
        kept = policies.keep(tx, STRICT, now_ms=1)
        policies.choose(tx, Kind.COMPANY, COMPANY, kept.no, from_ms=0, now_ms=1)

    await rig.write(choose)


def counts(found):
    counted = found.counted
    return counted.judged, counted.moved, counted.gained, counted.lost, counted.same, counted.failed


async def test_rescoring_by_the_same_policy_changes_no_row(rig):
    await fleet(rig)
    before = await everything(rig)
    ended = await done(rig, await begun(rig, everything=True))

    assert await everything(rig) == before
    assert counts(ended) == (3, 0, 0, 0, 3, 0)
    assert (ended.state, ended.progress, ended.looked_at) == (Stage.DONE, 1.0, 3)


def test_scores_by_another_policy_equal_the_live_path_bit_for_bit(tmp_path):
    columns = ("score", "accel", "de_accel", "over_speed", "over_speed_s", "distance_m", "policy")

    async def anew(rig):
        await fleet(rig)
        await strictly(rig)
        ended = await done(rig, await begun(rig))
        return await rig.rows(tables.driving_score, *columns), await rig.rows(tables.vehicle_score, "score"), ended

    async def live(rig):
        await rig.drain()
        await strictly(rig)
        await fleet(rig)
        return await rig.rows(tables.driving_score, *columns), await rig.rows(tables.vehicle_score, "score")

    (tmp_path / "anew").mkdir()
    (tmp_path / "live").mkdir()
    *rescored, ended = played(tmp_path / "anew", anew)

    assert rescored == list(played(tmp_path / "live", live))
    assert counts(ended) == (3, 2, 0, 0, 1, 0)


async def test_score_that_changes_gets_a_new_time_and_an_equal_one_keeps_it(rig):
    nos = await fleet(rig)
    before = dict(await rig.rows(tables.driving_score, "trip_no", "created_ms"))
    await strictly(rig)
    asked_ms = rig.now_ms
    await done(rig, await begun(rig))
    after = dict(await rig.rows(tables.driving_score, "trip_no", "created_ms"))

    assert [(after[no] >= asked_ms, after[no] == before[no]) for no in nos] == [
        (True, False),
        (False, True),
        (True, False),
    ]


@pytest.mark.parametrize("steps", range(1, 8))
async def test_killed_anywhere_it_goes_on_and_counts_each_trip_once(rig, monkeypatch, steps):
    """A step that is not written is as good as a kill: whoever takes the lease goes on from the row."""
    monkeypatch.setattr(module, "BITE", 2)

    await fleet(rig, trips=5)
    await strictly(rig)
    one = await begun(rig)
    for step in range(steps):
        work = worker(rig)
        if step % 2:

            async def killed(*_):
                return 0

            work._keep = killed
        await work.go_on()
        await rig.drain()
        rig.now_ms += module.LEASE_MS + 1
    ended, named, jobs = (
        await done(rig, one),
        await rig.rows(tables.driving_score, "policy"),
        await rig.rows(tables.scoring_job, "trip_no"),
    )

    assert counts(ended) == (5, 3, 0, 0, 2, 0)
    assert (set(named), jobs) == ({(4,)}, [])


async def test_lease_keeps_others_off_until_it_ends(rig):
    await fleet(rig)
    await begun(rig, dry_run=True)
    taken = await rig.write(lambda tx: rows.take(tx, now_ms=rig.now_ms, until_ms=rig.now_ms + module.LEASE_MS))
    kept_off = await worker(rig).go_on()
    rig.now_ms += module.LEASE_MS
    other = await worker(rig).go_on()
    late = await worker(rig)._keep(taken, taken)

    assert (kept_off, other, late) == (0, 1, 0)


async def test_dry_run_says_what_would_change_and_writes_no_score(rig):
    await fleet(rig)
    strict = await rig.write(lambda tx: policies.keep(tx, STRICT, now_ms=1))
    before = await everything(rig)
    own = await done(rig, await begun(rig, dry_run=True, everything=True))
    tried = await done(rig, await begun(rig, dry_run=True, everything=True, policy=strict.no))
    unmoved = before == await everything(rig)

    assert unmoved
    assert (counts(own), counts(tried)) == ((3, 0, 0, 0, 3, 0), (3, 2, 0, 0, 1, 0))
    assert tried.counted.most > 0


@pytest.mark.parametrize("batch", [scorer.SAMPLES, 1], ids=["one batch", "a trip at a time"])
def test_dry_run_beside_a_slow_server_of_roads_stays_with_the_worker_that_has_it(tmp_path, monkeypatch, batch):
    """Its answers together take longer than a lease lasts; each trip is asked for once."""
    monkeypatch.setattr(module, "LEASE_MS", 2_000)
    monkeypatch.setattr(scorer, "RENEW_S", 0.1 if batch > 1 else 10.0)
    monkeypatch.setattr(scorer, "SAMPLES", batch)
    maps.imported(
        tmp_path / "maps", map_files.street(tmp_path / "a.osm.pbf"), name="town", country="", progress=lambda _: None
    )
    on_street = all_on(7)

    def slowly(action, body):
        time.sleep(0.4)
        return on_street(action, body)

    async def play(rig, url):
        street = [sample(second, 40.0, lat=47.003 + second / 10_000, lon=9.5) for second in range(180)]
        for _ in range(8):
            await rig.add_trip(street)
        await rig.drain()
        one = await begun(rig, dry_run=True, everything=True)
        began, begin_ms = time.monotonic(), rig.now_ms
        roads = OsmRoads(tmp_path / "maps", zone=scoring_rows.ZONE, asked=Valhalla(url, timeout_s=5.0))

        def clock():
            return begin_ms + round((time.monotonic() - began) * 1_000)

        works = [
            Rescorer(store=rig.store, signals=rig.hints, scorer=rig.scorer, clock=clock, roads=roads) for _ in range(2)
        ]

        async def trying(work):
            while (await look(rig, one)).state is Stage.RUNNING:
                await work.go_on()
                await asyncio.sleep(0.02)

        async with asyncio.timeout(30):
            await asyncio.gather(*map(trying, works))
        return counts(await look(rig, one))[0]

    with road_servers.standing(Stand(answer=slowly)) as stand:
        judged = played(tmp_path, lambda rig: play(rig, stand.url))

    assert (judged, len(stand.asked)) == (8, 8)


async def test_lease_of_a_dry_run_is_renewed_at_its_half_unless_another_worker_has_taken_it(rig):
    await fleet(rig)
    one = await begun(rig, dry_run=True)
    taken = await rig.write(lambda tx: rows.take(tx, now_ms=rig.now_ms, until_ms=rig.now_ms + module.LEASE_MS))
    lease = module._Lease(rig.store, lambda: rig.now_ms, taken)
    held = []
    for passed_ms in (29_999, 1, module.LEASE_MS):
        rig.now_ms += passed_ms
        await lease.renew()
        held.append(lease.held.due_ms - rig.now_ms)
        if passed_ms == 1:
            await rig.write(lambda tx: rows.take(tx, now_ms=lease.held.due_ms, until_ms=lease.held.due_ms + 1))

    assert (held, (await look(rig, one)).due_ms - rig.now_ms) == ([30_001, 60_000, 0], 1)


@pytest.mark.parametrize(
    ("asked", "judged"),
    [
        ({"from_ms": START_MS}, 3),
        ({"from_ms": START_MS + 1}, 0),
        ({"to_ms": START_MS}, 0),
        ({"to_ms": START_MS + 1}, 3),
        ({}, 0),
        ({"everything": True}, 3),
    ],
)
async def test_period_bounds_what_is_judged(rig, asked, judged):
    await fleet(rig)
    await rig.write(lambda tx: tx.run(update(tables.trip).values(start_ms=START_MS)))
    everything_else = {} if asked == {} else {"everything": True}

    assert counts(await done(rig, await begun(rig, **{**everything_else, **asked})))[0] == judged


async def test_trips_of_other_companies_and_later_ones_are_left_alone(rig):
    first, *_ = await fleet(rig)
    other = "99999999-0000-11b2-8080-808080808080"
    await rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.no == first).values(company_id=other)))
    rig.now_ms = START_MS
    one = await begun(rig, everything=True)
    await rig.add_trip(CALM, distance_m=10_000)
    ended = await done(rig, one)

    assert counts(ended)[0] == 2
    assert ended.looked_at == 3


async def test_one_runs_at_a_time_and_the_next_after_its_end(rig):
    await fleet(rig)
    one = await begun(rig)
    with pytest.raises(UnderWay):
        await begun(rig, dry_run=True)
    cancelled = await rig.write(lambda tx: rescorings.cancel(tx, actor=ROOT, rescoring_id=one.id, now_ms=rig.now_ms))
    second = await done(rig, await begun(rig))

    assert (cancelled.state, cancelled.ended_ms is not None, second.state) == (Stage.CANCELLED, True, Stage.DONE)
    assert len(NEXT) == 1 + len(Cause)


async def test_cancelled_rescoring_asks_for_nothing_more_and_does_not_end_twice(rig, monkeypatch):
    monkeypatch.setattr(module, "BITE", 2)

    await fleet(rig, trips=5)
    await strictly(rig)
    one = await begun(rig)
    await worker(rig).go_on()
    await rig.write(lambda tx: rescorings.cancel(tx, actor=ROOT, rescoring_id=one.id, now_ms=rig.now_ms))
    await rig.drain()
    rig.now_ms += module.LEASE_MS
    again = await worker(rig).go_on()
    with pytest.raises(Ended):
        await rig.write(lambda tx: rescorings.cancel(tx, actor=ROOT, rescoring_id=one.id, now_ms=rig.now_ms))
    named = await rig.rows(tables.driving_score, "policy")

    assert again == 0
    assert sorted(named) == [(1,), (1,), (1,), (4,), (4,)]


async def test_it_gives_way_while_many_trips_wait(rig, monkeypatch):
    monkeypatch.setattr(module, "BITE", 2)

    await fleet(rig)
    one = await begun(rig, everything=True)
    for _ in range(2):
        await rig.add_trip(CALM, distance_m=10_000)
    await worker(rig).go_on()
    waiting = await look(rig, one), len(await rig.rows(tables.scoring_job, "trip_no"))
    await rig.drain()
    (waiting, jobs), judged = waiting, counts(await done(rig, one))[0]

    assert (waiting.batch, waiting.looked_at, jobs) == (None, 0, 2)
    assert judged == 3


async def test_trips_that_wait_for_long_leave_the_turn_to_others(rig, monkeypatch):
    monkeypatch.setattr(module, "LOOKS", 1)

    await fleet(rig)
    one = await begun(rig, everything=True)
    asked = await worker(rig).go_on()
    waits = await worker(rig).go_on()
    found = asked, waits, (await look(rig, one)).batch is not None, counts(await done(rig, one))

    assert found == (1, 0, True, (3, 0, 0, 0, 3, 0))


async def test_job_that_fails_is_counted_and_holds_up_no_other(rig):
    first, *_ = await fleet(rig)
    cut = tables.microtrip.c.trip_no == first
    await rig.write(lambda tx: tx.run(update(tables.microtrip).where(cut).values(samples=b"cut off")))

    assert counts(await done(rig, await begun(rig, everything=True))) == (2, 0, 0, 0, 2, 1)


async def test_trip_that_goes_meanwhile_holds_up_nothing_and_leaves_no_job(rig):
    first, *_ = await fleet(rig)
    work = worker(rig)
    keep = work._keep

    async def late(taken, now):
        await rig.write(lambda tx: tx.run(delete(tables.trip).where(tables.trip.c.no == first)))
        return await keep(taken, now)

    work._keep = late
    one = await begun(rig, everything=True)
    await work.go_on()
    await rig.drain()
    ended = await done(rig, one)

    assert (ended.state, await rig.rows(tables.scoring_job, "trip_no")) == (Stage.DONE, [])


async def test_long_way_without_a_trip_of_the_company_takes_several_steps(rig, monkeypatch):
    monkeypatch.setattr(module, "BITE", 1)
    monkeypatch.setattr(module, "LOOKED_THROUGH", 2)

    await fleet(rig, trips=5)
    one = await begun(rig)
    await worker(rig).go_on()
    first = await look(rig, one)
    ended = await done(rig, one)

    assert (first.looked_at, first.state, ended.looked_at) == (2, Stage.RUNNING, 5)
    assert 0 <= first.progress < 1


def test_policy_goes_with_a_dry_run_and_must_exist(tmp_path):
    async def play(rig):
        await fleet(rig)
        for asked in ({"policy": 2}, {"policy": 9, "dry_run": True}):
            with pytest.raises(BadParameter) as caught:
                await begun(rig, **asked)
            yield_case.append(caught.value.case)

    yield_case: list[str] = []
    played(tmp_path, play)

    assert yield_case == ["policy_tried_only", "policy_unknown"]


async def test_so_many_are_kept_and_they_go_with_the_company(rig):
    await fleet(rig)
    await rig.write(lambda tx: tx.run(delete(tables.vehicle).where(tables.vehicle.c.id == VehicleId(VEHICLE))))
    for _ in range(KEPT + 2):
        rig.now_ms += 1
        await rig.write(lambda tx: tx.run(update(tables.rescoring).values(state="DONE")))
        one = await begun(rig)
    kept = await rig.store.read(
        lambda tx: rescorings.of_company(tx, company_id=CompanyId(COMPANY), span=Span(limit=1_000))
    )
    nameless = await rig.write(lambda tx: remains.erase_some_of_person(tx, UserId(DRIVER), limit=1_000))
    await rig.write(lambda tx: companies.remove(tx, CompanyId(COMPANY)))
    found = len(kept), kept[0].id == one.id, nameless > 0, await rig.rows(tables.rescoring, "id")

    assert found == (KEPT, True, True, [])


async def test_two_workers_and_their_scorer_end_it_together(rig, monkeypatch):
    monkeypatch.setattr(module, "BITE", 3)
    monkeypatch.setattr(module, "LOOK_S", 0.001)

    await fleet(rig, trips=20)
    await strictly(rig)
    one = await begun(rig)
    works = [asyncio.ensure_future(each) for each in (worker(rig).run(), worker(rig).run(), rig.scorer.run())]
    async with asyncio.timeout(30):
        while (now := await look(rig, one)).state is Stage.RUNNING:
            rig.now_ms += 50
            await asyncio.sleep(0.01)
    for each in works:
        each.cancel()
    await asyncio.gather(*works, return_exceptions=True)

    assert (counts(now), set(await rig.rows(tables.driving_score, "policy"))) == ((20, 10, 0, 0, 10, 0), {(4,)})
