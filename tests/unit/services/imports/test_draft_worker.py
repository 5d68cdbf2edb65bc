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


async def test_good_rows_are_registered_and_the_others_stay_out(app: rest.Rest, desk):
    draft = await desk.checked(HEADER + b"A,1\nB,x\nA,2\nC,3\nD,4\n")
    await desk.edit(draft, 6, skip=True)
    await desk.does(draft, drafts.commit)
    await desk.work()
    rows = await app.store.read(lambda tx: tx.all(select(vehicle.c.vehicle_no).order_by(vehicle.c.vehicle_no)))
    draft, registered = await desk.read(draft), [row[0] for row in rows]

    assert (draft.state, draft.created, registered) == (State.DONE, 2, ["A", "C"])


@pytest.mark.parametrize("kind", import_kinds.KINDS)
async def test_history_tells_who_registered_how_many(app: rest.Rest, desk, kind):
    draft = await desk.checked(import_kinds.KINDS[kind].sheet.sample_file(), kind)
    await desk.does(draft, drafts.commit)
    await desk.work()
    told = select(history.c.event, history.c.actor_id, history.c.company_id, history.c.changes)
    login, rows = desk.login, await app.store.read(lambda tx: tx.all(told.where(history.c.event.like("%IMPORTED"))))

    ((event, actor, company, changes),) = rows
    assert (event, actor, company) == (f"{kind.upper()}_IMPORTED", login.user_id, login.company_id)
    assert json.loads(changes) == [[kind, None, 2, False]]


async def test_vehicles_of_a_director_and_of_a_partner_are_as_if_registered_one_by_one(app: rest.Rest, desk):
    partner = Office(app, (await app.partner(desk.login, "p@p.example"))[1])
    director = Office(app, await app.person(partner.login, Authority.DIRECTOR, "d"))
    draft = await director.checked(HEADER + b"A,1\n")
    await director.does(draft, drafts.commit)
    await director.work()
    row = await app.store.read(lambda tx: tx.one(select(vehicle.c.director_id, vehicle.c.company_id)))
    row, expected, delegations = (
        tuple(row),
        (director.login.user_id, partner.login.company_id),
        await count(app, vehicle_company),
    )

    assert (row, delegations) == (expected, 1)


async def test_sensors_are_registered(app: rest.Rest, desk):
    draft = await desk.checked(import_kinds.SENSORS.sheet.sample_file(), "sensors")
    await desk.does(draft, drafts.commit)
    await desk.work()

    assert await count(app, sensor) == 2


async def test_draft_without_a_good_row_is_not_registered(desk):
    draft = await desk.checked(HEADER + b"A,x\n")
    with pytest.raises(NothingGood):
        await desk.does(draft, drafts.commit)

    assert (await desk.read(draft)).state is State.CHECKED


async def test_cancelled_commit_registers_nothing_and_can_be_asked_for_again(app: rest.Rest, desk):
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
    idle, late, all_of_them = idle.value.case, late.value.case, await count(app)

    assert (cancelled.state, cancelled.note) == (State.CHECKED, Note.CANCELLED)
    assert (none, idle, late, all_of_them) == (0, "idle", "done", 3)


@pytest.mark.parametrize("at", range(8))
async def test_commit_that_is_cancelled_at_any_moment_registers_all_or_none(app: rest.Rest, at):
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
    late, state, registered = store.late, (await desk.read(draft)).state, await count(app)

    expected = (True, State.DONE, ROWS + 1) if late else (False, State.CHECKED, 0)
    assert (late, state, registered) == expected
    assert late == (at == 7)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("at", range(7))
async def test_commit_whose_process_is_killed_at_any_moment_is_done_once(app: rest.Rest, desk, at, committed):
    draft = await desk.checked(support.vehicles(ROWS + 1))
    await desk.does(draft, drafts.commit)
    with pytest.raises(Killed):
        await desk.worker(Dying(app.store, at, committed=committed)).work()
    await desk.work()

    assert (await desk.read(draft)).state, await count(app) == (State.DONE, ROWS + 1)


@pytest.mark.parametrize("at", [1, 6], ids=["begun", "about to register"])
async def test_commit_that_another_process_took_over_is_left_to_that_one(app: rest.Rest, at):
    class Overtaken(Dying):
        async def _run(self, run, work):
            self._left -= 1
            if self._left == -1:
                with pytest.raises(Killed):
                    await self.other.work()
            return await run(work)

    desk = await office(app)
    draft = await desk.checked(support.vehicles(ROWS + 1))
    await desk.does(draft, drafts.commit)
    store = Overtaken(app.store, at, committed=False)
    store.other = desk.worker(Dying(app.store, 0, committed=True))
    await desk.worker(store).work()
    left = (await desk.read(draft)).state, await count(app)
    await desk.work()
    done = ((await desk.read(draft)).state, await count(app))

    assert left == (State.COMMITTING, 0)
    assert done == (State.DONE, ROWS + 1)


@pytest.mark.parametrize("at", range(9))
async def test_check_whose_process_is_killed_at_any_moment_is_made_anew(app: rest.Rest, desk, at):
    draft = await desk.upload(support.vehicles(ROWS + 1) + b"000001,,1\n")
    with pytest.raises(Killed):
        await desk.worker(Dying(app.store, at, committed=True)).work()
    await desk.work()
    found = await desk.read(draft)

    assert (found.state, found.good, found.duplicate) == (State.CHECKED, ROWS + 1, 1)


async def test_draft_is_worked_on_by_one_process_until_that_falls_silent(app: rest.Rest, desk):
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
    shared, state = app.store.shared, (await desk.read(draft)).state

    assert (early, state) == (0 if shared else 1, State.CHECKED)


async def test_draft_whose_work_met_an_outage_is_worked_on_again_by_the_same_process(app: rest.Rest):
    class Away(Dying):
        async def _run(self, run, work):
            self._left -= 1
            if self._left == -1:
                raise Outage("away")
            return await run(work)

    desk = await office(app)
    draft = await desk.upload(support.vehicles(1))
    worker = desk.worker(Away(app.store, 2, committed=False))
    with pytest.raises(Outage):
        await worker.work()
    met = await desk.read(draft)
    again = await worker.work()

    assert (met.state, again, (await desk.read(draft)).state) == (State.CHECKING, 1, State.CHECKED)


async def test_draft_of_a_process_that_is_known_to_be_gone_is_taken_over_at_once(app: rest.Rest, desk):
    draft = await desk.upload(support.vehicles(1))
    other = desk.worker(Dying(app.store, 0, committed=True))
    await other._node.enter()
    with pytest.raises(Killed):
        await other.work()
    await other._node.leave()
    await desk.work()

    assert (await desk.read(draft)).state is State.CHECKED


async def test_names_that_are_taken_after_the_check_keep_everything_out(app: rest.Rest, desk):
    draft = await desk.checked(support.vehicles(3))
    await app.post(desk.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
    await desk.does(draft, drafts.commit)
    await desk.work()
    found = await desk.read(draft)
    none = await count(app)
    await desk.does(draft, drafts.commit)
    await desk.work()
    all_of_them = await count(app)

    assert (found.state, found.note, found.good, found.duplicate) == (State.CHECKED, Note.TAKEN, 2, 1)
    assert (none, all_of_them) == (1, 3)


async def test_dry_run_checks_everything_anew_and_registers_nothing(app: rest.Rest, desk):
    draft = await desk.checked(support.vehicles(3))
    await app.post(desk.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
    await desk.does(draft, drafts.check)
    await desk.work()
    found = await desk.read(draft)

    assert (found.state, found.good, found.duplicate, await count(app)) == (State.CHECKED, 2, 1, 1)


@pytest.mark.parametrize("change", [{"enabled": False}, {"authority": "DRIVER"}, {"company_id": None}])
async def test_owner_who_may_not_register_any_more_registers_nothing(app: rest.Rest, desk, change):
    draft = await desk.checked(support.vehicles(1))
    await desk.does(draft, drafts.commit)
    me = account.c.id == desk.login.user_id
    await app.store.write(lambda tx: tx.run(update(account).where(me).values(**change)))
    await desk.work()
    row = await app.store.read(lambda tx: tx.one(select(import_draft.c.state, import_draft.c.note)))

    assert (tuple(row), await count(app)) == (("checked", "forbidden"), 0)


async def test_bug_is_told_to_the_owner_and_not_tried_for_ever(desk, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("broken")

    draft = await desk.checked(support.vehicles(1))
    await desk.does(draft, drafts.commit)
    monkeypatch.setattr("tripline.services.imports.draft_worker._registrations", broken)
    await desk.work()
    draft = await desk.read(draft)

    assert (draft.state, draft.note) == (State.CHECKED, Note.FAILED)


async def test_draft_that_is_thrown_away_while_it_is_worked_on_registers_nothing(app: rest.Rest, desk):
    draft = await desk.checked(support.vehicles(1))
    await desk.does(draft, drafts.commit)
    await desk.does(draft, drafts.throw_away)
    await desk.work()

    assert await count(app) == 0


async def test_hint_wakes_the_worker(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(draft_worker, "LOOK_S", 60.0)

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


async def test_short_draft_waits_for_no_long_one_of_anybody(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(draft_worker, "SHORT_ROWS", 3)

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
        notifications.send(app.signals, notifications.IMPORT_DUE)
        async with asyncio.timeout(20):
            while (await there.read(short)).state is not State.CHECKED:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        running.cancel()

    assert [(await here.read(each)).state for each in long] == [State.CHECKING] * 3


async def checked_or_held(check, held, long, draft):
    await (held(draft) if draft.id in {each.id for each in long} else check(draft))


async def test_operators_take_turns_and_the_smallest_draft_of_each_goes_first(app: rest.Rest):
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

    assert order == ["o 5", "other 8", "partner 7", "o 9"]
