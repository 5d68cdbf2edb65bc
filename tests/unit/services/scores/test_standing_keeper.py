"""Percentiles as a worker counts them: of whom, when, a bounded piece at a time, and by one worker."""

import asyncio

import pytest
from sqlalchemy import delete, insert, update
from tests.support import fleet_rows
from tests.support import standings as support
from tests.support.scoring_rows import COMPANY, NOW_MS, ZONE, Rig
from tests.support.standings import Clock, keeper, until_idle

from tripline.domain import trends
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.trends import Period, Subject, Sums
from tripline.services.scores import standing_keeper
from tripline.services.scores.standing_keeper import EVERY_MS, LEASE_MS
from tripline.store import tables
from tripline.store.erasure import remains
from tripline.store.fleet import companies
from tripline.store.scores import standings
from tripline.store.scores import trends as trend_rows

DAY = trends.day_of(NOW_MS, ZONE) - 100
"""Not among the latest days, which a worker that starts counts anyway."""
SUMS = Sums(1, 0, 0, 0, 0, 0, 1_000, 0, 0)


class Fleet:
    """Vehicles, people and companies of two service types with scores on a day, and a worker."""

    def __init__(self, rig):
        self.rig = rig
        self.clock = Clock(NOW_MS)
        self.keeper = keeper(self.rig.store, self.clock)

    async def vehicles(self, count, *, service_type="s", first=0):
        """New vehicles, each worse than the one before."""
        ids = [f"{service_type}{number:05}" for number in range(first, first + count)]

        def add(tx):
            tx.run(
                insert(tables.vehicle), [fleet_rows.vehicle(each, COMPANY, service_type=service_type) for each in ids]
            )
            score(tx, Subject.VEHICLE, ids)

        await self.rig.write(add)
        return ids

    async def idle(self):
        await until_idle(self.keeper, self.clock)

    async def kept(self):
        return await self.rig.store.read(support.kept)

    async def as_expected(self):
        kept, expected = await self.rig.store.read(lambda tx: (support.kept(tx), support.expected(tx)))
        return kept == expected and bool(kept)

    async def note(self, day=DAY):
        await self.rig.write(lambda tx: standings.note(tx, [day]))


def score(tx, kind, ids, *, day=DAY):
    """Scores of a day, each worse than the one before."""
    rows = [
        {"subject": each, "kind": kind.value, "period": period.value, "day": trends.first_day(day, period), "policy": 1}
        | SUMS._replace(burden=number)._asdict()
        for number, each in enumerate(ids)
        for period in Period
    ]
    tx.run(insert(tables.score_sum), rows)
    standings.note(tx, [day])


@pytest.fixture
async def fleet(rig):
    return Fleet(rig)


async def test_percentiles_are_among_those_of_the_same_kind_and_service_type(fleet):
    await fleet.vehicles(20)
    await fleet.vehicles(25, service_type="t")
    await fleet.vehicles(19, service_type="u")
    await fleet.idle()

    assert await fleet.as_expected()
    assert sorted(await fleet.kept()) == sorted(
        ("vehicle", period.value, trends.first_day(DAY, period), of) for period in Period for of in ("s", "t")
    )


async def test_more_members_than_one_read_takes_are_all_counted(fleet, monkeypatch):
    monkeypatch.setattr(standing_keeper, "PAGE", 7)

    await fleet.vehicles(30)
    await fleet.vehicles(21, service_type="t")
    await fleet.idle()

    assert await fleet.as_expected()


async def test_mostly_unknown_harsh_driving_takes_no_part(fleet):
    """Of 21 vehicles the second is known for half its distance, the first for a metre less."""
    ids = await fleet.vehicles(21)

    def blur(tx):
        for each, vague_m in zip(ids, (501, 500), strict=False):
            of = tables.score_sum.c.subject == each
            tx.run(update(tables.score_sum).where(of).values(vague_m=vague_m))

    await fleet.rig.write(blur)
    await fleet.idle()

    def percentiles(tx):
        key = {"first": DAY, "last": DAY, "limit": 1, "ascending": True}
        return [trend_rows.of_subject(tx, Subject.VEHICLE, each, Period.DAY, **key)[0].percentile for each in ids[:3]]

    assert (await fleet.as_expected(), await fleet.rig.store.read(percentiles)) == (True, [None, 97.5, 92.5])


async def test_change_is_counted_a_minute_later_and_once_a_minute(fleet):
    await fleet.vehicles(20)
    found = []
    for wait_ms in (0, EVERY_MS - 1, 1):
        fleet.clock.now_ms += wait_ms
        while await fleet.keeper.keep():
            pass
        found.append(len(await fleet.kept()))

    assert found == [0, 0, 3]


async def test_change_while_its_period_is_counted_is_counted_again(fleet):
    ids = await fleet.vehicles(20)
    while await fleet.keeper.keep():
        pass
    fleet.clock.now_ms += EVERY_MS
    read = fleet.keeper._groups

    async def changing(*values):
        """Another vehicle is scored behind the reads, before the percentiles are written."""
        found = await read(*values)
        if len(ids) == 20:
            ids.extend(await fleet.vehicles(1, first=20))
            await fleet.rig.write(lambda tx: standings.fold(tx, due_ms=0, limit=9))
        return found

    fleet.keeper._groups = changing
    while await fleet.keeper.keep():
        pass
    before = await fleet.as_expected()
    fleet.clock.now_ms += EVERY_MS
    while await fleet.keeper.keep():
        pass

    assert (before, await fleet.as_expected()) == (False, True)


@pytest.mark.parametrize("left", [20, 19])
async def test_deleted_driver_leaves_the_group_with_the_erased_sums(fleet, left):
    ids = [f"d{number:05}" for number in range(left + 1)]
    for each in ids:
        await fleet.rig.add_driver(each)
    await fleet.rig.write(lambda tx: score(tx, Subject.DRIVER, ids))
    await fleet.idle()
    before = len(await fleet.kept())

    def remove(tx):
        tx.run(delete(tables.account).where(tables.account.c.id == ids[0]))
        while remains.erase_some_of_person(tx, UserId(ids[0]), limit=9):
            pass

    await fleet.rig.write(remove)
    await fleet.idle()
    kept, expected = await fleet.rig.store.read(lambda tx: (support.kept(tx), support.expected(tx)))

    assert (before, len(kept), kept == expected) == (3, 3 if left == 20 else 0, True)


async def test_removed_company_leaves_the_group(fleet):
    ids = [f"c{number:05}" for number in range(21)]

    def add(tx):
        row = {"created_ms": 0, "name": "c", "service_type": "s", "master": False, "master_id": COMPANY}
        tx.run(insert(tables.company), [row | {"id": each, "token_prefix": each[1:]} for each in ids])
        score(tx, Subject.COMPANY, ids)

    await fleet.rig.write(add)
    await fleet.idle()
    await fleet.rig.write(lambda tx: companies.remove(tx, CompanyId(ids[3])))
    await fleet.idle()

    assert await fleet.as_expected()


async def test_latest_period_is_counted_first(fleet):
    for day in (DAY, DAY + 7, DAY - 7):
        await fleet.note(day)
    while await fleet.keeper.keep():
        pass
    now_ms = NOW_MS + EVERY_MS
    taken = [await fleet.rig.write(lambda tx: standings.take(tx, now_ms=now_ms, until_ms=now_ms + 1)) for _ in range(3)]
    found = [(each.period, each.day) for each in taken]

    assert found[0] == (Period.DAY, DAY + 7)
    assert [day for _, day in found] == sorted((day for _, day in found), reverse=True)


async def test_period_is_left_to_the_worker_that_took_it_until_its_lease_ends(fleet):
    other_clock = Clock(NOW_MS)
    other = keeper(fleet.rig.store, other_clock)
    await fleet.vehicles(20)
    while await fleet.keeper.keep() or await other.keep():
        pass
    fleet.clock.now_ms += EVERY_MS
    other_clock.now_ms += EVERY_MS
    replaced = fleet.keeper._replaced

    async def slow(held, kind, groups):
        """While the first is about to write, another worker looks: at once, and behind the lease."""
        if not fleet.seen:
            fleet.seen.append(await other.keep())
            other_clock.now_ms += LEASE_MS
            while await other.keep():
                pass
            await fleet.rig.write(lambda tx: tx.run(update(tables.score_standing).values(percentile=1.0)))
        return await replaced(held, kind, groups)

    fleet.seen = []
    fleet.keeper._replaced = slow
    while await fleet.keeper.keep():
        pass
    marked = await fleet.rig.rows(tables.score_standing, "percentile")

    assert fleet.seen == [1]  # another period, not this one
    assert set(marked) == {(1.0,)}  # the first wrote nothing any more


async def test_worker_rests_four_times_as_long_as_it_works(tmp_path):
    rig = Rig(tmp_path)
    slept = []
    now = iter(range(1_000))
    worker = standing_keeper.StandingKeeper(store=rig.store, clock=lambda: NOW_MS, stopwatch=lambda: next(now) / 1_000)
    sleep = asyncio.sleep

    async def noted(seconds):
        slept.append(seconds)
        await sleep(0)

    await rig.write(lambda tx: standings.note(tx, [DAY]))
    asyncio.sleep = noted
    try:
        while await worker.keep():
            pass
    finally:
        asyncio.sleep = sleep
        await rig.store.close()

    assert slept
    assert all(each == pytest.approx(0.004) for each in slept)


async def test_unchanged_percentiles_are_not_written_again(fleet, monkeypatch):
    written = []
    replace = standings.replace

    def noted(tx, taken, kind, groups):
        written.append((kind, taken.period, *groups))
        return replace(tx, taken, kind, groups)

    monkeypatch.setattr(standings, "replace", noted)

    await fleet.vehicles(20)
    ids = await fleet.vehicles(20, service_type="t")
    await fleet.idle()
    first, of_day = len(written), tables.score_sum.c.period == "day"
    better = update(tables.score_sum).where(of_day, tables.score_sum.c.subject == ids[1]).values(distance_m=5)
    await fleet.rig.write(lambda tx: (tx.run(better), standings.note(tx, [DAY])))
    await fleet.idle()
    as_expected = await fleet.as_expected()

    assert as_expected
    assert written[:first] == [
        (Subject.VEHICLE, period, "s", "t") for period in (Period.DAY, Period.WEEK, Period.MONTH)
    ]
    assert written[first:] == [(Subject.VEHICLE, Period.DAY, "t")]
