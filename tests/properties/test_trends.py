"""Sums, percentiles and accumulated scores, whatever happened in which order: what is kept equals what all scores give
anew."""

import asyncio
import datetime
import itertools
import math
import shutil
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update
from tests.support import kept_sums, standings, stores
from tests.support.limits import Roads, along
from tests.support.scoring_rows import COMPANY, START_MS, VEHICLE, ZONE, Rig, add_microtrip, drive, sample

from tripline.domain import trends
from tripline.domain.access import Actor, Authority, Scope
from tripline.domain.disputes import Reason
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.trends import NOTHING, Period
from tripline.scoring import policy, quality
from tripline.scoring.rules import Rules, Scoring, read
from tripline.scoring.score import ScoredTrip, lacking
from tripline.services.scores.disputes import DisputeService
from tripline.store import tables
from tripline.store.erasure import erasures, remains
from tripline.store.fleet import people
from tripline.store.scores import policies, scores, sums
from tripline.store.scores.policies import Kind
from tripline.store.trips import bus_trips, drivers

DAY_MS = 86_400_000
OTHER_VEHICLE = "22222223-0000-11b2-8080-808080808080"
VEHICLES = (VEHICLE, OTHER_VEHICLE)
SENSORS = (COMPANY, "66666666-0000-11b2-8080-808080808080")
"""Drives of two on one vehicle are one drive: all begin alike."""
DRIVERS = tuple(f"33333333-000{number}-11b2-8080-808080808080" for number in range(3))
MANAGER = Actor(UserId("44444444-0000-11b2-8080-808080808080"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
DROVE = Actor(UserId("55555555-0000-11b2-8080-808080808080"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
ROUTES = (
    along([50.0] * 20),
    drive(0, 0, 0, 0, 12, 24, 30, 30),
    [sample(second, math.nan, lat=36 + (14 * second + 7 * second % 5) / 111_195) for second in range(250)],
    drive(*[30.0] * 5, 44, 58, *[58.0] * 4, 40, 22, *[22.0] * 4, 90, 127, 128, 127, 90),
)

RULES = {
    "lenient": Rules(scoring=Scoring(harsh_weight=0.3)),
    "strict": Rules(scoring=Scoring(harsh_weight=0.9)),
    "third": read(policies.THIRD),
}

NAMES = ("trips", "accel", "de_accel", "over_speed", "over_ms", "distance_m", "burden", "known_m", "added_m", "vague_m")
TRIPS = st.lists(st.tuples(st.floats(1e-6, 100), st.integers(1, 400_000)), min_size=1, max_size=20)
A_TRIP = {"accel": 1, "de_accel": 2, "over_speed": 3, "over_speed_s": 4.5, "driving_ms": 600_000, "known_m": 4_000}
AMONG = st.integers(0, 99)
"""Which of the trips, vehicles or drivers that there are."""
STEPS = st.one_of(
    st.tuples(
        *(st.just("drive"), st.sampled_from(ROUTES), st.sampled_from(SENSORS), st.integers(-1, 9), AMONG),
        *(st.integers(0, 40), st.integers(3_000, 60_000)),
    ),
    st.tuples(st.just("drain")),
    st.tuples(st.just("late"), AMONG),
    st.tuples(st.just("again"), AMONG),
    st.tuples(st.just("map"), st.booleans()),
    st.tuples(st.just("policy"), st.sampled_from(["lenient", "strict", "third"])),
    st.tuples(st.just("annul"), AMONG),
    st.tuples(st.just("begin"), AMONG, st.integers(0, 40)),
    st.tuples(st.just("driven"), AMONG, AMONG),
    st.tuples(st.just("correct"), AMONG, AMONG),
    st.tuples(st.just("uncorrect"), AMONG),
    st.tuples(st.just("remap"), AMONG, AMONG),
    st.tuples(st.just("no vehicle"), AMONG),
    st.tuples(st.just("no driver"), AMONG),
    st.tuples(st.just("some remains")),
    st.tuples(st.just("count")),
)


class Life:
    """What happens to an installation."""

    def __init__(self, rig):
        self.rig = rig
        self.trips = []
        self.gone = set()
        self.desk = DisputeService(store=rig.store, ids=rig.ids, clock=lambda: rig.now_ms)
        self.counts = standings.Clock(rig.now_ms)
        self.counter = standings.keeper(rig.store, self.counts)

    async def begin(self):
        """People that drive; a worker that has counted the latest days, as each does that starts."""
        for each in VEHICLES:
            await self.rig.add_vehicle(each)
        for each in DRIVERS:
            await self.rig.add_driver(each)
        await self._count()

    def trip(self, which):
        return self.trips[which % len(self.trips)] if self.trips else None

    async def step(self, name, *values):
        self.rig.now_ms += 1_000
        await getattr(self, "_" + name.replace(" ", "_"))(*values)

    async def _drive(self, packed, sensor, vehicle, driver, day, metres):
        """Of no vehicle yet (-1), or of one of those that are there."""
        alive = [each for each in VEHICLES if each not in self.gone]
        if not alive:
            return
        people = [None, *(each for each in DRIVERS if each not in self.gone)]
        on = None if vehicle < 0 else alive[vehicle % len(alive)]
        trip_no = await self.rig.add_trip(packed, vehicle_id=on, sensor_id=sensor, distance_m=metres)
        self.trips.append(trip_no)
        await self._change(trip_no, user_id=people[driver % len(people)], start_ms=START_MS + day * DAY_MS)

    async def _drain(self):
        await self.rig.drain()

    async def _late(self, which):
        """A sample more, which makes it another score."""
        if (trip_no := self.trip(which)) is not None:
            await self.rig.write(lambda tx: add_microtrip(tx, self.rig.ids, trip_no, sample(40 + which, 140)))
            await self._again(which)

    async def _again(self, which):
        if (trip_no := self.trip(which)) is not None:
            await self.rig.write(lambda tx: tx.run(delete(tables.scoring_job).filter_by(trip_no=trip_no)))
            await self.rig.ask_again(trip_no)

    async def _map(self, is_there):
        """A map that tells the limits of some roads is imported or removed; the trips are scored anew."""
        self.rig.scorer._roads = Roads() if is_there else None
        for each in range(len(self.trips)):
            await self._again(each)

    async def _policy(self, which):
        """Another policy for the company; the trips are scored anew by it. `lenient` scores some alike."""
        rules = RULES[which]

        def choose(tx):
            kept = policies.of_rules(tx, rules) or policies.keep(tx, rules, now_ms=self.rig.now_ms)
            policies.choose(tx, Kind.COMPANY, COMPANY, kept.no, from_ms=0, now_ms=self.rig.now_ms, by=None)

        await self.rig.write(choose)
        for each in range(len(self.trips)):
            await self._again(each)

    async def _annul(self, which):
        ((trip_no, trip_id),) = [
            row for row in await self.rig.rows(tables.driving_score, "trip_no", "trip_id") if row[0] == self.trip(which)
        ] or [(None, None)]
        vehicle = await self.rig.rows(tables.trip, "no", "vehicle_id")
        if trip_no is None or dict(vehicle)[trip_no] in self.gone:
            return
        waiting = [row[0] for row in await self.rig.rows(tables.dispute, "trip_no")]
        if trip_no in waiting:
            return
        opened = await self.desk.open(
            actor=DROVE, trip_id=TripId(trip_id), reason=Reason.OTHER, text="not me", event_id=None
        )
        await self.rig.write(
            lambda tx: self.desk.decide(tx, actor=MANAGER, dispute_id=opened.id, accept=True, answer="seen")
        )

    async def _begin(self, which, day):
        """A late sample moves the beginning of the trip to another day."""
        if (trip_no := self.trip(which)) is not None:
            await self._change(trip_no, start_ms=START_MS + day * DAY_MS)
            await self._again(which)

    async def _driven(self, which, driver):
        """The bus tells who drove."""
        alive = [each for each in DRIVERS if each not in self.gone]
        if (trip_no := self.trip(which)) is not None and alive:
            by = alive[driver % len(alive)]
            await self._change(trip_no, user_id=by)
            scope = Scope.everything("test")
            await self.rig.write(lambda tx: bus_trips.driven_by(tx, scope, {trip_no: UserId(by)}))

    async def _correct(self, which, driver):
        """A manager names another driver."""
        alive = [each for each in DRIVERS if each not in self.gone]
        if alive:
            await self._give(which, lambda known: (UserId(alive[driver % len(alive)]), known.recorded_id, 1))

    async def _uncorrect(self, which):
        """The driver of the messages again."""
        await self._give(which, lambda known: (known.recorded_id, None, None))

    async def _give(self, which, chosen):
        ids = dict(await self.rig.rows(tables.trip, "no", "id"))
        if (trip_no := self.trip(which)) not in ids:
            return

        def work(tx):
            known = drivers.of_trip(tx, ids[trip_no])
            driver_id, recorded_id, corrected_ms = chosen(known)
            values = {"recorded_id": recorded_id, "corrected_ms": corrected_ms, "now_ms": self.rig.now_ms}
            drivers.change(tx, known, driver_id, **values)

        await self.rig.write(work)

    async def _remap(self, which, vehicle):
        """A trip of no vehicle becomes one of a vehicle; none ever goes from one to another."""
        alive = [each for each in VEHICLES if each not in self.gone]
        of = dict(await self.rig.rows(tables.trip, "no", "vehicle_id"))
        if (trip_no := self.trip(which)) in of and of[trip_no] is None and alive:
            await self._change(trip_no, vehicle_id=alive[vehicle % len(alive)])
            await self._again(which)

    async def _no_vehicle(self, which):
        gone = VEHICLES[which % len(VEHICLES)]
        if gone not in self.gone:
            self.gone.add(gone)
            await self.rig.write(lambda tx: erasures.begin(tx, VehicleId(gone), now_ms=self.rig.now_ms))

    async def _no_driver(self, which):
        gone = DRIVERS[which % len(DRIVERS)]
        if gone not in self.gone:
            self.gone.add(gone)
            await self.rig.write(lambda tx: people.remove(tx, UserId(gone)))
            await self.rig.write(lambda tx: erasures.begin(tx, gone, erasures.Kind.PERSON, now_ms=self.rig.now_ms))

    async def _some_remains(self):
        """A few rows of everything that was deleted."""
        for each in sorted(self.gone):
            await self.rig.write(lambda tx, each=each: _erase(tx, each, 2))

    async def _count(self):
        """A worker counts the percentiles of what has changed."""
        await standings.until_idle(self.counter, self.counts)

    async def _change(self, trip_no, **values):
        await self.rig.write(lambda tx: tx.run(update(tables.trip).where(tables.trip.c.no == trip_no).values(values)))

    async def settle(self):
        """Score and erase all that waits."""
        await self.rig.drain()
        for each in sorted(self.gone):
            while await self.rig.write(lambda tx, each=each: _erase(tx, each, 50)):
                pass
        await self.rig.drain()
        await self._count()


def _erase(tx, gone, limit):
    if gone in VEHICLES:
        return remains.erase_some_of_vehicle(tx, VehicleId(gone), limit=limit)
    return remains.erase_some_of_person(tx, UserId(gone), limit=limit)


def added_up(tx):
    """Counts, distance and score of every subject and period, from the scores and their trips alone."""
    rows = tx.all(
        select(
            *(tables.driving_score, tables.trip.c.company_id.label("owner")),
            *(tables.trip.c.start_ms, tables.trip.c.quality),
        ).join(tables.trip, tables.trip.c.no == tables.driving_score.c.trip_no)
    )
    found = {}
    for row in rows:
        date = datetime.datetime.fromtimestamp(row.start_ms / 1_000, ZONE).date()
        begins = {"day": date, "week": date - datetime.timedelta(date.weekday()), "month": date.replace(day=1)}
        for subject, (period, first) in itertools.product((row.vehicle_id, row.owner, row.user_id), begins.items()):
            if subject is not None:
                of = found.setdefault(
                    (subject, period, (first - datetime.date(1970, 1, 1)).days, row.policy), Counter()
                )
                of.update(trips=1, accel=row.accel, de_accel=row.de_accel, over_speed=row.over_speed)
                of.update(over_ms=round(row.over_speed_s * 1_000), distance_m=round(row.distance_m))
                of.update(added_m=round(row.added_m))
                of.update(vague_m=0 if quality.read(row.quality).harsh_known else round(row.distance_m))
                of.update(known_m=round(quality.read(row.quality).limits.known * row.distance_m))
                of.update(
                    burden=round(-round(row.distance_m + row.added_m) * (math.log(row.score) - math.log(100)) * 1e6)
                )
    return found


def _scored(tx, vehicle_id):
    row = tables.driving_score.c
    return [
        ScoredTrip(*each)
        for each in tx.all(select(row.score, row.distance_m, row.added_m).where(row.vehicle_id == vehicle_id))
    ]


def totals(tx):
    """The accumulated score of every vehicle, as kept and as all its trips give it."""
    kept = {each: known for each in VEHICLES if (known := scores.total(tx, each)) is not None}
    made = {each: policy.sums(_scored(tx, each)) for each in VEHICLES}
    return (
        {each: (total.trips, total.distance_m, total.score) for each, total in kept.items()},
        {each: (of.trips, of.distance_m, policy.accumulated(of, "pooled")) for each, of in made.items() if of.trips},
    )


def counted(kept):
    """What is kept, in the form of `added_up`."""
    return {key[:4]: {name: getattr(each, name) for name in NAMES} for key, each in kept.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trends")


@settings(max_examples=stores.examples(30))
@given(steps=st.lists(STEPS, max_size=25))
def test_sums_equal_all_scores_added_up_whatever_happened_in_which_order(folder, steps):
    async def play():
        here = folder / "store"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        rig = Rig(here, roads=Roads())
        try:
            life = Life(rig)
            await life.begin()
            for step in steps:
                await life.step(*step)
            await life.settle()
            return await rig.store.read(
                lambda tx: (
                    *(sums.kept(tx), kept_sums.recomputed(tx), added_up(tx), *totals(tx)),
                    *(standings.kept(tx), standings.expected(tx)),
                    *(kept_sums.ranks(tx), kept_sums.expected_ranks(tx)),
                )
            )
        finally:
            await rig.store.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trends, "GROUP", 1)
        kept, recomputed, expected, accumulated, made_anew, percentiles, of_sums, ranks, ranks_of_sums = asyncio.run(
            play()
        )

    assert accumulated == made_anew
    assert kept == recomputed
    assert percentiles == of_sums
    assert ranks == ranks_of_sums
    assert counted(kept) == {key: dict.fromkeys(NAMES, 0) | dict(of) for key, of in expected.items()}


@given(TRIPS, st.randoms(use_true_random=False))
def test_sums_give_the_pooled_score_in_any_order_and_nothing_is_left_when_all_is_taken_out(trips, random):
    shares = [trends.of_trip(lacking=lacking(score), distance_m=metres, **A_TRIP) for score, metres in trips]
    pooled = math.fsum(m * math.log(s / 100) for s, m in trips) / math.fsum(m for _, m in trips)
    total = NOTHING
    for share in shares:
        total = total.plus(share)
    shuffled = random.sample(shares, len(shares))
    left = total
    for share in shuffled:
        left = left.plus(share, -1)

    assert total.score == pytest.approx(100 * math.exp(pooled), abs=1e-4)
    assert left == NOTHING


@given(st.integers(0, 100_000), st.sampled_from(Period))
def test_periods_follow_each_other_without_gap(at, period):
    first = trends.first_day(at, period)

    assert first <= at < trends.next_day(first, period)
    assert trends.first_day(trends.next_day(first, period), period) == trends.next_day(first, period)
    assert trends.first_day(trends.next_day(first, period) - 1, period) == first
