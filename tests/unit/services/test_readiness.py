"""The conditions of readiness, and the answer when one fails."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog

from tripline.ports.maps import LostMap, RoadServer, RoadsOutage
from tripline.ports.outages import Fault, Outage, StoreOutage
from tripline.services import readiness
from tripline.services.readiness import Machine, Readiness, Report
from tripline.store.database.faults import Troubles

MIB = 2**20
NOW_MS = 1_760_000_000_000


@dataclass
class Store:
    """A store as far as readiness asks it."""

    trouble: Exception | None = None
    misfit: str | None = None
    hangs: bool = False
    troubles: Troubles = field(default_factory=Troubles)
    asked: int = 0
    looks: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it was asked so many times."""

    async def prove(self) -> None:
        self.asked += 1
        if self.asked == self.looks:
            self.enough.set()
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble

    async def read(self, work: Callable[[Any], Any]) -> Any:
        return self.misfit


def made(
    store: Store | None = None,
    *,
    free_mib: int = 1_000,
    ends_in_ms: int | None = 1,
    measure: Callable[[], Machine] | None = None,
    **more: Any,
) -> Readiness:
    found = Readiness(
        store=store or Store(),  # type: ignore[arg-type]
        clock=lambda: NOW_MS,
        measure=measure or (lambda: Machine(free_mib * MIB, 12, 1_024)),
        certificate_end_ms=lambda: None if ends_in_ms is None else NOW_MS + ends_in_ms,
        reserve_bytes=512 * MIB,
        place="/srv/tripline",
        **more,
    )
    found.opened()
    return found


def looked(found: Readiness) -> Report:
    async def look() -> None:
        async with asyncio.TaskGroup() as tasks:
            await found.look(tasks)

    asyncio.run(look())
    return found.report()


def wrong(report: Report) -> dict[str, str]:
    return {check.subject: check.text for check in report.checks if not check.well}


def test_lost_map_is_told_and_leaves_the_server_ready():
    lost = [LostMap("town", "gone")]

    with structlog.testing.capture_logs() as logs:
        found = made(measure=lambda: Machine(1_000 * MIB, 12, 1_024, lost))
        report = [looked(found), looked(found)][-1]

    assert report.ready
    assert report.lost_maps == lost
    assert logs == [{"event": "map.lost", "log_level": "warning", "part": "health", "map": "town", "error": "gone"}]


def test_server_that_finds_roads_is_told_of_and_leaves_this_one_ready() -> None:
    away = "Valhalla cannot be reached: ConnectError."
    tries = iter([RoadsOutage(away), None])

    def reach() -> None:
        trouble = next(tries)
        if trouble is not None:
            raise trouble

    found = made(reach_roads=reach)
    reports = [found.report(), looked(found), looked(found)]

    assert [report.road_server for report in reports] == [None, RoadServer(away), RoadServer()]
    assert [report.ready for report in reports] == [True, True, True]
    assert looked(made()).road_server is None


def test_server_that_finds_roads_is_asked_off_the_loop_and_holds_up_neither_start_nor_other_looks(monkeypatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 1.0)
    monkeypatch.setattr(readiness, "EVERY_S", 0.01)
    asked, answers = [], threading.Event()

    def reach() -> None:
        asked.append(threading.current_thread())
        answers.wait(5)

    store = Store(looks=2)
    found = made(store, reach_roads=reach)

    async def play() -> tuple[Report, Report]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(found.run())
            await found.looked()
            early = found.report()
            await asyncio.wait_for(store.enough.wait(), 5)
            told = found.report()
            answers.set()
            running.cancel()
        return early, told

    early, report = asyncio.run(asyncio.wait_for(play(), 10))

    assert (early.ready, early.road_server, report.ready) == (True, None, True)
    assert report.road_server == RoadServer("The road server does not answer within 1 s.")
    assert [each is threading.main_thread() for each in asked] == [False]


async def _no_bus() -> None:
    raise Outage("The bus does not answer: _TRANSPORT.")


async def _bus() -> None:
    pass


def test_everything_well_is_ready_and_says_what_was_looked_at() -> None:
    report = looked(made(reach_bus=_bus))

    assert (report.status, report.ready) == ("ready", True)
    assert [check.subject for check in report.checks] == ["listeners", "store", "schema", "disk", "certificate", "bus"]
    assert wrong(report) == {}


@pytest.mark.parametrize(("free_mib", "ready"), [(511, False), (512, True), (513, True)])
def test_less_free_space_than_the_reserve_is_not_ready(free_mib: int, ready: bool) -> None:
    report = looked(made(free_mib=free_mib))

    assert report.ready is ready
    assert list(wrong(report)) == ([] if ready else ["disk"])


def test_little_space_is_told_with_place_setting_and_remedy() -> None:
    assert wrong(looked(made(free_mib=12))) == {
        "disk": "12 MiB are free in /srv/tripline, less than store.reserve_mib (512); free space before it is full."
    }


@pytest.mark.parametrize(("ends_in_ms", "ready"), [(-1, False), (0, False), (1, True), (None, True)])
def test_certificate_that_ended_is_not_ready(ends_in_ms: int | None, ready: bool) -> None:
    assert looked(made(ends_in_ms=ends_in_ms)).ready is ready


def test_certificate_that_ended_is_told_with_its_end() -> None:
    assert wrong(looked(made(ends_in_ms=-60_000))) == {
        "certificate": "The certificate expired at 2025-10-09 08:52 UTC; clients refuse it. Renew it, then restart."
    }


@pytest.mark.parametrize("fault", list(Fault))
def test_store_that_met_a_fault_is_not_ready_at_once_and_says_which(fault: Fault) -> None:
    store = Store()
    found = made(store)
    before = looked(found).ready
    store.troubles.meet(StoreOutage(fault, f"The store met {fault.value}."))

    report = found.report()

    assert (before, report.status) == (True, "failing")
    assert wrong(report)["store"].startswith(f"The store met {fault.value}. ")


async def test_store_that_does_not_answer_is_not_ready_and_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 0.01)
    monkeypatch.setattr(readiness, "EVERY_S", 0.001)
    store = Store(hangs=True)
    found = made(store)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(found.run())
        await asyncio.sleep(0.1)
        report = found.report()
        running.cancel()

    assert wrong(report) == {"store": "The store does not answer within 0.01 s."}
    assert store.asked == 1


def test_store_that_answers_again_is_ready_again() -> None:
    store = Store(trouble=Outage("The store is too busy."))
    found = made(store)
    before = looked(found)
    store.trouble = None

    assert wrong(before) == {"store": "The store is too busy."}
    assert looked(found).ready


def test_missing_migration_is_not_ready() -> None:
    assert wrong(looked(made(Store(misfit="run `tripline migrate`.")))) == {"schema": "run `tripline migrate`."}


def test_bus_that_is_away_is_not_ready_where_it_matters() -> None:
    assert wrong(looked(made(reach_bus=_no_bus))) == {"bus": "The bus does not answer: _TRANSPORT."}


async def test_first_look_waits_for_store_and_machine_and_not_for_the_bus() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    measured = threading.Event()

    def measure() -> Machine:
        measured.wait(5)
        return Machine(MIB, 12, 1_024)

    found = made(reach_bus=never, measure=measure)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(found.run())
        looked = tasks.create_task(found.looked())
        await asyncio.sleep(0.05)
        early = looked.done()
        measured.set()
        await asyncio.wait_for(looked, 20)
        running.cancel()
    report = found.report()

    assert not early
    assert list(wrong(report)) == ["disk"]


def test_listeners_are_part_of_it_from_the_start_to_the_end() -> None:
    found = made()
    found._listeners = "starting"
    statuses = [looked(found).status]
    found.opened()
    statuses.append(found.report().status)
    found.stopping()
    statuses.append(found.report().status)

    assert statuses == ["starting", "ready", "stopping"]


def test_change_is_logged_once_with_its_reason() -> None:
    store = Store()
    found = made(store)
    with structlog.testing.capture_logs() as lines:
        for misfit in (None, "wrong", "wrong", None, None):
            store.misfit = misfit
            looked(found)

    told = [(line["event"], line.get("check"), line.get("reason")) for line in lines]
    assert told == [("health.failing", "schema", "wrong"), ("health.well", None, None)]
