"""Presence in rows and for customers: take-overs, restarts, outages, and class 500 without flapping."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import delete, select
from tests.support import fleet_rows, stores
from tests.support.ingest_rig import COMPANY, NOW, SENSOR, UNMAPPED, VEHICLE, Rig

from tripline import observe
from tripline.domain import ids
from tripline.ports.outages import Outage
from tripline.services import presence
from tripline.services.presence import BATCH, SEEN_EVERY_MS, PresenceKeeper
from tripline.store import tables
from tripline.store.devices import connections
from tripline.store.transactions import Hot

ABSENT_S = 30
TOLD = Hot(select(tables.push_outbox.c.no))
COLUMNS = ("sensor_id", "connected", "changed_ms", "seen_ms", "lost_ms", "reason", "told")


class Scene(Rig):
    """A keeper over the rig's store; `s` counts seconds since the beginning."""

    @classmethod
    def over(cls, folder: Path) -> "Scene":
        scene = cls.fresh(folder)
        scene.keeper = scene.made()
        scene.want("500")
        return scene

    def made(self, absent_s=ABSENT_S):
        return PresenceKeeper(
            store=self.store, ids=self.ids, signals=self.signals, clock=lambda: self.now_ms, absent_s=absent_s
        )

    def at(self, s, *told, sensor=SENSOR):
        """At a second: sessions that begin (`+1`) or end (`-1`, or `-1 reason`), and then a round."""
        self.now_ms = NOW + s * 1000
        for each in told:
            number, _, reason = each[1:].partition(" ")
            if each[0] == "+":
                self.keeper.connected(sensor, int(number), self.now_ms, lambda: None)
            else:
                self.keeper.lost(sensor, int(number), self.now_ms, seen_ms=self.now_ms - 7, reason=reason or "lost")
        self.run(self.keeper.round())

    def restarted(self, s):
        """The server was killed, and is up again."""
        self.now_ms = NOW + s * 1000
        self.restart()
        self.keeper = self.made()
        self.run(self.keeper.begin())

    def told(self):
        """What was pushed: connected or not, and the second."""
        return [(body["pld"]["connected"], (body["ts"] - NOW) / 1000) for body in self.pushed()]

    def facts(self):
        return self.rows(tables.device_connection, *COLUMNS)


@pytest.fixture
def scene(tmp_path):
    with Scene.over(tmp_path) as made:
        yield made


STORIES = {
    "first connect is told at once": ([(0, "+1")], [(True, 0)]),
    "lost for less than the time": ([(0, "+1"), (10, "-1"), (39,)], [(True, 0)]),
    "lost for the time": ([(0, "+1"), (10, "-1"), (40,)], [(True, 0), (False, 10)]),
    "told once": ([(0, "+1"), (10, "-1"), (40,), (41,), (99,)], [(True, 0), (False, 10)]),
    "back in time": ([(0, "+1"), (10, "-1"), (39, "+2"), (99,)], [(True, 0)]),
    "back too late": ([(0, "+1"), (10, "-1"), (40,), (41, "+2")], [(True, 0), (False, 10), (True, 41)]),
    "taken over": ([(0, "+1"), (10, "+2", "-1 taken_over"), (99,)], [(True, 0)]),
    "taken over, ended first": ([(0, "+1"), (10, "-1 taken_over", "+2"), (99,)], [(True, 0)]),
    "taken over, ended later": ([(0, "+1"), (10, "+2"), (11, "-1 taken_over"), (99,)], [(True, 0)]),
    "taken over, then lost": ([(0, "+1"), (10, "+2", "-1"), (20, "-2"), (50,)], [(True, 0), (False, 20)]),
    "newer one ends first": ([(0, "+1"), (10, "+2", "-2"), (20, "-1 taken_over"), (40,)], [(True, 0), (False, 10)]),
    "on and off": (
        [(10 * step, f"{'-' if step % 2 else '+'}{step // 2}") for step in range(20)] + [(219,)],
        [(True, 0)],
    ),
    "within one batch": ([(0, "+1", "-1", "+2", "-2", "+3"), (99,)], [(True, 0)]),
    "here for less than a batch": ([(0, "+1", "-1"), (99,)], []),
}


@pytest.mark.parametrize("name", STORIES)
def test_connection_is_told_without_flapping(scene, name):
    story, told = STORIES[name]
    for s, *sessions in story:
        scene.at(s, *sessions)

    assert scene.told() == told


def test_envelope_has_the_keys_of_4_2_and_whoever_sends_is_told(scene):
    scene.at(1, "+1")

    about = {"masterCompanyId": COMPANY, "companyId": COMPANY, "sensorId": SENSOR, "vehicleId": VEHICLE}
    assert scene.pushed() == [{**about, "ts": NOW + 1000, "ty": "CONNECTION", "pld": {"connected": True}}]
    assert list(scene.pushed()[0]) == [*about, "ts", "ty", "pld"]
    assert scene.rows(tables.push_outbox, "company_id", "selector", "due_ms") == [(COMPANY, 500, NOW + 1000)]
    assert (observe.SIGNAL_PUSH_DUE, "") in scene.signals.told


def test_sensor_on_no_vehicle_is_told_with_the_placeholder(scene):
    scene.at(0, "+1", sensor=UNMAPPED)

    assert [body["vehicleId"] for body in scene.pushed()] == [ids.PLACEHOLDER]


def test_company_that_did_not_ask_is_told_nothing_also_not_later(scene):
    scene.want("600")
    scene.at(0, "+1")
    scene.want("500")
    scene.at(1)

    assert scene.told() == []
    assert scene.facts() == [(SENSOR, True, NOW, NOW, None, None, True)]


def test_end_is_kept_with_its_reason_and_stays_known_when_the_device_is_back(scene):
    scene.at(0, "+1")
    scene.at(10, "-1 silent")
    ended = scene.facts()
    scene.at(12, "+2")

    lost = NOW + 10_000
    assert ended == [(SENSOR, False, lost, lost - 7, lost, "silent", True)]
    assert scene.facts() == [(SENSOR, True, NOW + 12_000, NOW + 12_000, lost, "silent", True)]


def test_end_that_was_not_written_yet_stays_known_when_the_device_is_back(scene):
    scene.at(0, "+1")
    scene.at(10, "-1 silent", "+2")

    assert scene.facts() == [(SENSOR, True, NOW + 10_000, NOW + 10_000, NOW + 10_000, "silent", True)]


@pytest.mark.parametrize("told", [("+2", "-1 taken_over"), ("-1 taken_over", "+2")])
def test_take_over_is_no_end(scene, told):
    scene.at(0, "+1")
    scene.at(10, *told)

    assert scene.facts() == [(SENSOR, True, NOW + 10_000, NOW + 10_000, None, None, True)]


def test_killed_server_ends_its_sessions_when_they_were_last_heard_of(scene):
    scene.at(0, "+1")
    scene.restarted(500)

    assert scene.facts() == [(SENSOR, False, NOW, NOW, NOW, "server_lost", True)]


@pytest.mark.parametrize(("back_s", "told"), [(529, [(True, 0)]), (531, [(True, 0), (False, 0), (True, 531)])])
def test_after_a_restart_devices_have_the_time_to_come_back(scene, back_s, told):
    scene.at(0, "+1")
    scene.restarted(500)
    scene.at(501)
    scene.at(min(back_s, 530))
    scene.at(back_s, "+1")

    assert scene.told() == told


def test_stopped_server_leaves_its_reason_and_the_device_is_not_told_away_before_it_had_time(scene):
    scene.at(0, "+1")
    scene.keeper.lost(SENSOR, 1, NOW + 5_000, seen_ms=NOW + 4_000, reason="server_stopping")
    scene.run(scene.keeper.finish())
    scene.restarted(900)
    scene.at(929)
    before = scene.told()
    scene.at(930)

    assert scene.facts()[0][2:6] == (NOW + 5_000, NOW + 4_000, NOW + 5_000, "server_stopping")
    assert (before, scene.told()) == ([(True, 0)], [(True, 0), (False, 5)])


def test_outage_loses_nothing_and_gives_devices_their_time_again(scene):
    scene.at(0, "+1")
    scene.at(0, "+1", sensor=UNMAPPED)
    scene.store.away = True
    for s in (10, 11):
        scene.keeper.lost(SENSOR, 1, NOW + 10_000, seen_ms=NOW, reason="store_away")
        scene.now_ms = NOW + s * 1000
        assert scene.run(scene.keeper._tried()) is False
    scene.store.away = False
    scene.at(300)
    scene.at(329)
    waiting = scene.told()
    scene.at(330)

    assert waiting == [(True, 0), (True, 0)]
    assert scene.told() == [(True, 0), (True, 0), (False, 10)]
    assert [row[5] for row in scene.facts()] == ["store_away", None]


def test_what_waits_during_an_outage_is_one_change_for_each_sensor(scene):
    scene.store.away = True
    for number in range(1, 1000):
        scene.keeper.connected(SENSOR, number, NOW, lambda: None)
        scene.keeper.lost(SENSOR, number, NOW, seen_ms=NOW, reason="lost")

    with pytest.raises(Outage):
        scene.run(scene.keeper.round())

    assert len(scene.keeper._waiting) == 1
    assert REGISTRY.get_sample_value("tripline_presence_waiting") == 1


def test_end_finds_the_store_away_and_gives_up(scene):
    scene.store.away = True
    scene.keeper.connected(SENSOR, 1, NOW, lambda: None)

    scene.run(scene.keeper.finish(timeout_s=0.01))

    assert scene.facts() == []


def test_deleted_sensor_leaves_nothing(scene):
    scene.at(0, "+1")

    def remove(tx):
        tx.run(delete(tables.sensor).where(tables.sensor.c.id == SENSOR))
        connections.forget(tx, SENSOR)

    scene.run(scene.store.write(remove))
    scene.at(1, "-1 credential_ended")
    scene.at(99)

    assert scene.facts() == []
    assert scene.told() == [(True, 0)]


def test_long_session_is_heard_of_once_a_minute_and_only_then(scene):
    heard = [(SENSOR, NOW), (UNMAPPED, NOW)]
    scene.keeper._heard = lambda: heard
    scene.at(0, "+1")
    scene.at(0, "+1", sensor=UNMAPPED)
    seen = []
    for after_ms, sensors in ((SEEN_EVERY_MS - 1, 1), (SEEN_EVERY_MS, 1), (2 * SEEN_EVERY_MS, 2)):
        heard[:sensors] = [(sensor, NOW + after_ms - 5) for sensor, _ in heard[:sensors]]
        scene.at(after_ms / 1000)
        seen.append([row[3] - NOW for row in scene.facts()])

    assert seen == [[0, 0], [SEEN_EVERY_MS - 5, 0], [2 * SEEN_EVERY_MS - 5] * 2]


def test_lost_device_is_not_made_to_be_heard_of_later(scene):
    scene.keeper._heard = lambda: [(SENSOR, NOW + SEEN_EVERY_MS)]
    scene.at(0, "+1")
    scene.at(1, "-1")
    scene.at(61)

    assert scene.facts()[0][3] == NOW + 1000 - 7


def more_than_a_batch(scene):
    """Sensors, one more than are written at once."""
    sensors = [f"00000000-0000-11ef-8000-1{number:011x}" for number in range(BATCH + 1)]
    made = [fleet_rows.sensor(each, COMPANY, service_type="harbour", vehicle_id=VEHICLE) for each in sensors]
    scene.run(scene.store.write(lambda tx: tx.run(tables.sensor.insert(), made)))
    return sensors


def test_more_changes_than_a_batch_are_all_written(scene):
    for sensor in more_than_a_batch(scene):
        scene.keeper.connected(sensor, 1, NOW, lambda: None)
    scene.at(0)

    assert len(scene.facts()) == len(scene.told()) == BATCH + 1


def test_more_who_stay_away_than_a_batch_are_told_without_waiting_for_the_next_look(scene, monkeypatch):
    monkeypatch.setattr(presence, "LOOK_S", 3600)
    scene.keeper = scene.made(absent_s=0)
    for sensor in more_than_a_batch(scene):
        scene.keeper.connected(sensor, 1, NOW, lambda: None)
    scene.at(0)
    for sensor in list(scene.keeper._live):
        scene.keeper.lost(sensor, 1, NOW, seen_ms=NOW, reason="lost")

    async def work():
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(scene.keeper.run(list))
            while len(await scene.store.read(lambda tx: tx.hot(TOLD))) < 2 * (BATCH + 1):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            running.cancel()

    scene.run(work())

    assert [connected for connected, _ in scene.told()] == [True] * (BATCH + 1) + [False] * (BATCH + 1)


@pytest.mark.parametrize("turns", range(6))
def test_cancelled_in_the_moment_in_which_it_is_asked_ends(scene, turns):
    """Waiting must not swallow the cancellation, in whichever turn of the loop it comes."""

    async def work():
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(scene.keeper.run(list))
            await asyncio.sleep(0.05)
            scene.keeper._asked.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()

    scene.run(work())


def test_round_ends_although_others_come_all_the_time(scene, monkeypatch):
    writes = 0
    write = scene.store.write

    async def busy(work, **how):
        nonlocal writes
        writes += 1
        if writes < 10:
            scene.keeper.connected(UNMAPPED, writes, NOW, lambda: None)
        return await write(work, **how)

    monkeypatch.setattr(scene.store, "write", busy)
    scene.at(0, "+1")

    assert writes == 1


def test_disconnects_are_counted_by_reason(scene):
    def count():
        return REGISTRY.get_sample_value("tripline_device_disconnects_total", {"reason": "flooded"}) or 0

    before = count()
    scene.at(0, "+1", "-1 flooded")

    assert count() == before + 1


def test_bug_costs_the_change_that_it_is_about(scene):
    only_this = f"new.sensor_id = '{SENSOR}'"
    scene.run(scene.store.write(lambda tx: stores.spoil(tx, "INSERT ON device_connection", when=only_this)))
    scene.keeper.connected(SENSOR, 1, NOW, lambda: None)
    scene.at(0, "+1", sensor=UNMAPPED)
    before = scene.facts()
    scene.run(scene.store.write(stores.mend))
    scene.at(1, "-1")

    assert [row[:2] for row in before] == [(UNMAPPED, True)]
    assert [row[:2] for row in scene.facts()] == [(SENSOR, False), (UNMAPPED, True)]


def test_bug_while_looking_who_is_away_is_survived(scene):
    scene.at(0, "+1")
    scene.at(10, "-1")
    scene.run(scene.store.write(lambda tx: stores.spoil(tx, "UPDATE ON device_connection")))
    scene.now_ms = NOW + 40_000
    tried = scene.run(scene.keeper._tried())
    scene.run(scene.store.write(stores.mend))
    scene.at(41)

    assert tried is False
    assert scene.told() == [(True, 0), (False, 10)]


def test_run_writes_what_it_is_told_and_sees_who_stays_away(tmp_path):
    with Scene.over(tmp_path) as scene:
        scene.keeper = scene.made(absent_s=0)

        async def work():
            async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
                running = tasks.create_task(scene.keeper.run(list))
                scene.keeper.connected(SENSOR, 1, NOW, lambda: None)
                while not await scene.store.read(lambda tx: connections.of_sensor(tx, SENSOR)):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                scene.keeper.lost(SENSOR, 1, NOW + 1, seen_ms=NOW, reason="lost")
                scene.now_ms = NOW + 2
                while len(await scene.store.read(lambda tx: tx.hot(TOLD))) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                running.cancel()

        scene.run(work())

        assert [connected for connected, _ in scene.told()] == [True, False]


@pytest.mark.sqlite("how SQLite finds rows")
def test_looking_who_stayed_away_reads_only_those_that_are_not_told(scene):
    plans = []

    def look(tx):
        tx.connection.connection.driver_connection.set_trace_callback(plans.append)
        connections.away(tx, before_ms=NOW, limit=1)
        tx.connection.connection.driver_connection.set_trace_callback(None)
        asked = next(each for each in plans if "device_connection" in each)
        return [row[3] for row in tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]

    assert "USING INDEX ix_device_connection_untold" in scene.run(scene.store.read(look))[0]
