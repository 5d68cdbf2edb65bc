"""Registering a draft: all good rows or none, once, whoever is killed or cancels at whichever moment."""

import asyncio
import json
from functools import partial

import pytest
from msgspec.structs import replace
from sqlalchemy import func, select, update
from tests.support import drafts as support
from tests.support import rest
from tests.support.drafts import Office, office

from tripline.domain.access import Authority
from tripline.domain.import_drafts import Note, NothingGood, NotNow, State
from tripline.ports.outages import Outage
from tripline.services import notifications
from tripline.services.imports import draft_rows, draft_worker, drafts
from tripline.services.imports import kinds as import_kinds
from tripline.store.database import nodes
from tripline.store.fleet import import_drafts
from tripline.store.tables import account, history, import_draft, sensor, vehicle, vehicle_company

HEADER = b"vehicleNo,mileage\n"
ROWS = 20
"""Rows of a block here, so that two are quick."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(draft_rows, "ROWS", ROWS)


class Killed(BaseException):
    """The process is gone."""


class Dying:
    """A store whose process is killed at a transaction, before it or behind its commit."""

    def __init__(self, store, at, *, committed):
        self._store = store
        self._left = at
        self._committed = committed
        self.shared = store.shared

    async def read(self, work, **how):
        return await self._run(self._store.read, work)

    async def write(self, work, **how):
        return await self._run(self._store.write, work)

    async def _run(self, run, work):
        self._left -= 1
        if self._left < 0 and not self._committed:
            raise Killed
        result = await run(work)
        if self._left < 0:
            raise Killed
        return result


async def count(app, table=vehicle):
    return (await app.store.read(lambda tx: tx.one(select(func.count()).select_from(table))))[0]


def test_good_rows_are_registered_and_the_others_stay_out(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(HEADER + b"A,1\nB,x\nA,2\nC,3\nD,4\n")
        await desk.edit(draft, 6, skip=True)
        await desk.does(draft, drafts.commit)
        await desk.work()
        rows = await app.store.read(lambda tx: tx.all(select(vehicle.c.vehicle_no).order_by(vehicle.c.vehicle_no)))
        return await desk.read(draft), [row[0] for row in rows]

    draft, registered = rest.run(tmp_path, scenario)

    assert (draft.state, draft.created, registered) == (State.DONE, 2, ["A", "C"])


@pytest.mark.parametrize("kind", import_kinds.KINDS)
def test_history_tells_who_registered_how_many(tmp_path, kind):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(import_kinds.KINDS[kind].sheet.sample_file(), kind)
        await desk.does(draft, drafts.commit)
        await desk.work()
        told = select(history.c.event, history.c.actor_id, history.c.company_id, history.c.changes)
        return desk.login, await app.store.read(lambda tx: tx.all(told.where(history.c.event.like("%IMPORTED"))))

    login, rows = rest.run(tmp_path, scenario)

    ((event, actor, company, changes),) = rows
    assert (event, actor, company) == (f"{kind.upper()}_IMPORTED", login.user_id, login.company_id)
    assert json.loads(changes) == [[kind, None, 2, False]]


def test_vehicles_of_a_director_and_of_a_partner_are_as_if_registered_one_by_one(tmp_path):
    async def scenario(app):
        desk = await office(app)
        partner = Office(app, (await app.partner(desk.login, "p@p.example"))[1])
        director = Office(app, await app.person(partner.login, Authority.DIRECTOR, "d"))
        draft = await director.checked(HEADER + b"A,1\n")
        await director.does(draft, drafts.commit)
        await director.work()
        row = await app.store.read(lambda tx: tx.one(select(vehicle.c.director_id, vehicle.c.company_id)))
        return tuple(row), (director.login.user_id, partner.login.company_id), await count(app, vehicle_company)

    row, expected, delegations = rest.run(tmp_path, scenario)

    assert (row, delegations) == (expected, 1)


def test_sensors_are_registered(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(import_kinds.SENSORS.sheet.sample_file(), "sensors")
        await desk.does(draft, drafts.commit)
        await desk.work()
        return await count(app, sensor)

    assert rest.run(tmp_path, scenario) == 2


def test_draft_without_a_good_row_is_not_registered(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(HEADER + b"A,x\n")
        with pytest.raises(NothingGood):
            await desk.does(draft, drafts.commit)
        return (await desk.read(draft)).state

    assert rest.run(tmp_path, scenario) is State.CHECKED


def test_cancelled_commit_registers_nothing_and_can_be_asked_for_again(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(3))
        await desk.does(draft, drafts.commit)
        cancelled = await desk.does(draft, drafts.cancel)
        await desk.work()
        none = await count(app)
        with pytest.raises(NotNow) as idle:
            await desk.does(draft, drafts.cancel)
        await desk.does(draft, drafts.commit)
        await desk.work()
        with pytest.raises(NotNow) as late:
            await desk.does(draft, drafts.cancel)
        return cancelled, none, idle.value.case, late.value.case, await count(app)

    cancelled, none, idle, late, all_of_them = rest.run(tmp_path, scenario)

    assert (cancelled.state, cancelled.note) == (State.CHECKED, Note.CANCELLED)
    assert (none, idle, late, all_of_them) == (0, "idle", "done", 3)


@pytest.mark.parametrize("at", range(8))
def test_commit_that_is_cancelled_at_any_moment_registers_all_or_none(tmp_path, at):
    class Cancelling(Dying):
        async def _run(self, run, work):
            self._left -= 1
            if self._left == -1:
                try:
                    await self.cancel()
                except NotNow:
                    self.late = True
            return await run(work)

        late = False

    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(ROWS + 1))
        await desk.does(draft, drafts.commit)
        store = Cancelling(app.store, at, committed=False)
        store.cancel = lambda: desk.does(draft, drafts.cancel)
        await desk.worker(store).work()
        if at == 7:  # behind the last transaction of the work
            try:
                await store.cancel()
            except NotNow:
                store.late = True
        return store.late, (await desk.read(draft)).state, await count(app)

    late, state, registered = rest.run(tmp_path, scenario)

    expected = (True, State.DONE, ROWS + 1) if late else (False, State.CHECKED, 0)
    assert (late, state, registered) == expected
    assert late == (at == 7)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("at", range(7))
def test_commit_whose_process_is_killed_at_any_moment_is_done_once(tmp_path, at, committed):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(ROWS + 1))
        await desk.does(draft, drafts.commit)
        with pytest.raises(Killed):
            await desk.worker(Dying(app.store, at, committed=committed)).work()
        await desk.work()
        return (await desk.read(draft)).state, await count(app)

    assert rest.run(tmp_path, scenario) == (State.DONE, ROWS + 1)


@pytest.mark.parametrize("at", [1, 6], ids=["begun", "about to register"])
def test_commit_that_another_process_took_over_is_left_to_that_one(tmp_path, at):
    class Overtaken(Dying):
        async def _run(self, run, work):
            self._left -= 1
            if self._left == -1:
                with pytest.raises(Killed):
                    await self.other.work()
            return await run(work)

    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(ROWS + 1))
        await desk.does(draft, drafts.commit)
        store = Overtaken(app.store, at, committed=False)
        store.other = desk.worker(Dying(app.store, 0, committed=True))
        await desk.worker(store).work()
        left = (await desk.read(draft)).state, await count(app)
        await desk.work()
        return left, ((await desk.read(draft)).state, await count(app))

    left, done = rest.run(tmp_path, scenario)

    assert left == (State.COMMITTING, 0)
    assert done == (State.DONE, ROWS + 1)


@pytest.mark.parametrize("at", range(9))
def test_check_whose_process_is_killed_at_any_moment_is_made_anew(tmp_path, at):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.upload(support.vehicles(ROWS + 1) + b"000001,,1\n")
        with pytest.raises(Killed):
            await desk.worker(Dying(app.store, at, committed=True)).work()
        await desk.work()
        found = await desk.read(draft)
        return found.state, found.good, found.duplicate

    assert rest.run(tmp_path, scenario) == (State.CHECKED, ROWS + 1, 1)


def test_draft_is_worked_on_by_one_process_until_that_falls_silent(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.upload(support.vehicles(1))
        other = desk.worker(Dying(app.store, 0, committed=True))
        await other._node.enter()
        with pytest.raises(Killed):
            await other.work()
        # Where nobody shares the database, the other one is known to be gone.
        early = await desk.worker().work()
        if app.store.shared:
            await app.store.write(lambda tx: nodes.bury(tx, for_ms=-1))
        await desk.work()
        return app.store.shared, early, (await desk.read(draft)).state

    shared, early, state = rest.run(tmp_path, scenario)

    assert (early, state) == (0 if shared else 1, State.CHECKED)


def test_draft_whose_work_met_an_outage_is_worked_on_again_by_the_same_process(tmp_path):
    class Away(Dying):
        async def _run(self, run, work):
            self._left -= 1
            if self._left == -1:
                raise Outage("away")
            return await run(work)

    async def scenario(app):
        desk = await office(app)
        draft = await desk.upload(support.vehicles(1))
        worker = desk.worker(Away(app.store, 2, committed=False))
        with pytest.raises(Outage):
            await worker.work()
        met = await desk.read(draft)
        again = await worker.work()
        return met.state, again, (await desk.read(draft)).state

    assert rest.run(tmp_path, scenario) == (State.CHECKING, 1, State.CHECKED)


def test_draft_of_a_process_that_is_known_to_be_gone_is_taken_over_at_once(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.upload(support.vehicles(1))
        other = desk.worker(Dying(app.store, 0, committed=True))
        await other._node.enter()
        with pytest.raises(Killed):
            await other.work()
        await other._node.leave()
        await desk.work()
        return (await desk.read(draft)).state

    assert rest.run(tmp_path, scenario) is State.CHECKED


def test_names_that_are_taken_after_the_check_keep_everything_out(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(3))
        await app.post(desk.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
        await desk.does(draft, drafts.commit)
        await desk.work()
        found = await desk.read(draft)
        none = await count(app)
        await desk.does(draft, drafts.commit)
        await desk.work()
        return found, none, await count(app)

    found, none, all_of_them = rest.run(tmp_path, scenario)

    assert (found.state, found.note, found.good, found.duplicate) == (State.CHECKED, Note.TAKEN, 2, 1)
    assert (none, all_of_them) == (1, 3)


def test_dry_run_checks_everything_anew_and_registers_nothing(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(3))
        await app.post(desk.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
        await desk.does(draft, drafts.check)
        await desk.work()
        found = await desk.read(draft)
        return found.state, found.good, found.duplicate, await count(app)

    assert rest.run(tmp_path, scenario) == (State.CHECKED, 2, 1, 1)


@pytest.mark.parametrize("change", [{"enabled": False}, {"authority": "DRIVER"}, {"company_id": None}])
def test_owner_who_may_not_register_any_more_registers_nothing(tmp_path, change):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(1))
        await desk.does(draft, drafts.commit)
        me = account.c.id == desk.login.user_id
        await app.store.write(lambda tx: tx.run(update(account).where(me).values(**change)))
        await desk.work()
        row = await app.store.read(lambda tx: tx.one(select(import_draft.c.state, import_draft.c.note)))
        return tuple(row), await count(app)

    assert rest.run(tmp_path, scenario) == (("checked", "forbidden"), 0)


def test_bug_is_told_to_the_owner_and_not_tried_for_ever(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("broken")

    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(1))
        await desk.does(draft, drafts.commit)
        monkeypatch.setattr("tripline.services.imports.draft_worker._registrations", broken)
        await desk.work()
        return await desk.read(draft)

    draft = rest.run(tmp_path, scenario)

    assert (draft.state, draft.note) == (State.CHECKED, Note.FAILED)


def test_draft_that_is_thrown_away_while_it_is_worked_on_registers_nothing(tmp_path):
    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(support.vehicles(1))
        await desk.does(draft, drafts.commit)
        await desk.does(draft, drafts.throw_away)
        await desk.work()
        return await count(app)

    assert rest.run(tmp_path, scenario) == 0


def test_hint_wakes_the_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(draft_worker, "LOOK_S", 60.0)

    async def scenario(app):
        desk = await office(app)
        worker = desk.worker()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(worker.run())
            await asyncio.sleep(0.05)
            draft = await desk.upload(support.vehicles(1))
            app.signals.notify("import.due")
            async with asyncio.timeout(20):
                while (await desk.read(draft)).state is not State.CHECKED:  # noqa: ASYNC110  the row has no event
                    await asyncio.sleep(0.01)
            running.cancel()

    rest.run(tmp_path, scenario)


def test_short_draft_waits_for_no_long_one_of_anybody(tmp_path, monkeypatch):
    monkeypatch.setattr(draft_worker, "SHORT_ROWS", 3)

    async def scenario(app):
        here, there = await office(app), Office(app, (await app.operator("bus"))[1])
        long = [await here.upload(support.vehicles(4, first=4 * at)) for at in range(3)]
        worker = here.worker()
        release = asyncio.Event()

        async def held(_):
            await release.wait()

        monkeypatch.setattr(worker, "_check", partial(checked_or_held, worker._check, held, long))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(worker.run())
            short = await there.upload(support.vehicles(3))
            notifications.send(app.signals, notifications.import_due())
            async with asyncio.timeout(20):
                while (await there.read(short)).state is not State.CHECKED:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            running.cancel()
        return [(await here.read(each)).state for each in long]

    assert rest.run(tmp_path, scenario) == [State.CHECKING] * 3


async def checked_or_held(check, held, long, draft):
    await (held(draft) if draft.id in {each.id for each in long} else check(draft))


def test_operators_take_turns_and_the_smallest_draft_of_each_goes_first(tmp_path):
    async def scenario(app):
        here, there = await office(app), Office(app, (await app.operator("bus"))[1])
        partner = Office(app, (await app.partner(here.login, "p@x.example"))[1])
        rows = {}
        for name, desk, count in [("o", here, 9), ("o", here, 5), ("partner", partner, 7), ("other", there, 8)]:
            rows[(await desk.upload(support.vehicles(count))).id] = f"{name} {count}"
        order, worker = [], here.worker()

        async def check(draft):
            order.append(rows[draft.id])
            await app.store.write(lambda tx: import_drafts.change(tx, replace(draft, state=State.CHECKED)))

        worker._check = check
        while await worker.work():
            pass
        return order

    assert rest.run(tmp_path, scenario) == ["o 5", "other 8", "partner 7", "o 9"]
