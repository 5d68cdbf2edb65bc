"""The rejected-message log is shared fairly and bounded: floods of devices and customers, and what is left of the
others."""

import datetime
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert
from tests.support import bus_rig, fleet_rows
from tests.support.bus_rig import BusRig
from tests.support.ingest_rig import COMPANY, MINUTE, NOW, SENSOR, FakeSource, Rig, frame

from tripline.config import Ingest
from tripline.domain.ids import SensorId
from tripline.ports.outages import Outage
from tripline.services.ingest import rejected_log
from tripline.store import tables
from tripline.store.ingest import rejected

HOUR = 60 * MINUTE
MIB = 2**20
NEIGHBOUR = "00000000-0000-11ef-8000-0000000000b0"
NEIGHBOURS = SensorId("00000000-0000-11ef-8000-0000000000b1")
THIRD = "00000000-0000-11ef-8000-0000000000c0"
THIRDS = SensorId("00000000-0000-11ef-8000-0000000000c1")
FLEET = [SensorId(f"00000000-0000-11ef-8000-0000000a{number:04x}") for number in range(60)]
"""More sensors of the first company."""


def register(rig: Rig) -> None:
    """Two more companies, and more sensors of the first."""

    def work(tx: object) -> None:
        for company_id, name in ((NEIGHBOUR, "neighbour"), (THIRD, "third")):
            values = {"name": name, "service_type": name, "master": True, "master_id": company_id, "token_prefix": name}
            tx.run(insert(tables.company).values(id=company_id, created_ms=0, **values))  # type: ignore[attr-defined]
        of = {NEIGHBOURS: NEIGHBOUR, THIRDS: THIRD} | dict.fromkeys(FLEET, COMPANY)
        for sensor_id, company_id in of.items():
            tx.run(insert(tables.sensor), fleet_rows.sensor(sensor_id, company_id))  # type: ignore[attr-defined]

    rig.run(rig.store.write(work))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """At most 400 rows."""
    with Rig.fresh(tmp_path, settings=Ingest(rejected_kept=400)) as made:
        register(made)
        yield made


def flood(rig: Rig, sensors: list[SensorId], each: int, *, body: bytes = b"no json", batch: int = 200) -> int:
    """So many bad messages of each sensor, in batches; the most rows that there ever were."""
    frames = [frame(FakeSource(sensor), body, rig.now_ms) for _ in range(each) for sensor in sensors]
    most = 0
    for start in range(0, len(frames), batch):
        rig.take_in(frames[start : start + batch])
        most = max(most, len(rig.rows(tables.rejected_message, "no")))
    return most


def tend(rig: Rig, *, at_the_end: bool = False) -> None:
    """What the sweep does, until nothing is left to do; and what the end of the program does."""
    while rig.run(rig.rejected.tend(now_ms=rig.now_ms)):
        pass
    if at_the_end:
        rig.run(rig.rejected.settle(now_ms=rig.now_ms))


def held(rig: Rig) -> Counter[str | None]:
    """Rows of each company."""
    return Counter(rig.rows(tables.rejected_message, "company_id"))


def counted(rig: Rig) -> list[tuple[str | None, str, int]]:
    """Rows that stand for several messages or have no body: sensor, reason, and how many."""
    rows = rig.rows(tables.rejected_message, "sensor_id", "reason", "messages", "body")
    return [(sensor, reason, messages) for sensor, reason, messages, body in rows if not body]


def told(rig: Rig) -> int:
    """How many messages the rows stand for."""
    return sum(rig.rows(tables.rejected_message, "messages"))


def test_flood_of_one_device_leaves_every_row_of_the_others(rig):
    rig.send(*[b"mine %d" % number for number in range(40)], sensor=NEIGHBOURS)

    flood(rig, [SENSOR], 440)
    tend(rig, at_the_end=True)

    assert held(rig) == {NEIGHBOUR: 40, COMPANY: 101}
    assert counted(rig) == [(SENSOR, "not_json", 340)]
    assert told(rig) == 480


def test_flood_of_a_whole_fleet_leaves_every_row_of_the_others_and_stays_within_the_bound(rig):
    rig.send(*[b"mine %d" % number for number in range(40)], sensor=NEIGHBOURS)

    most = [flood(rig, FLEET, 40)]
    for number in range(10):
        rig.send(b"later %d" % number, sensor=NEIGHBOURS)
        most.append(flood(rig, FLEET, 1))
        tend(rig)

    assert max(most) <= 400
    assert held(rig)[NEIGHBOUR] == 50
    assert held(rig)[COMPANY] == 300 - 50
    bodies = rig.rows(tables.rejected_message, "body")
    assert [body for body in bodies if body.startswith(b"later")] == [b"later %d" % number for number in range(10)]


def test_newest_messages_of_the_largest_holder_get_in_after_the_keeper_made_room(rig):
    flood(rig, FLEET, 10)
    tend(rig)

    rig.send(b"newest", sensor=FLEET[0])

    assert rig.rows(tables.rejected_message, "body")[-1] == b"newest"


def test_small_holders_may_add_while_the_log_is_crowded_up_to_their_share(rig):
    flood(rig, FLEET, 10)
    assert held(rig) == {COMPANY: 350}

    flood(rig, [NEIGHBOURS, THIRDS], 24)
    assert held(rig) == {COMPANY: 350, NEIGHBOUR: 24, THIRD: 24}
    flood(rig, [NEIGHBOURS, THIRDS], 2)

    assert held(rig).total() == 400
    assert told(rig) == 400


def test_what_does_not_fit_is_counted_when_there_is_room(rig):
    sent = 60 * 40
    flood(rig, FLEET, 40)
    tend(rig)
    before = sum(rig.rows(tables.rejected_message, "messages"))

    rig.now_ms += MINUTE
    tend(rig)

    assert before == 300
    assert sorted({sensor for sensor, _, _ in counted(rig)}) == FLEET
    assert 300 < told(rig) <= sent


@pytest.mark.parametrize(("sent", "kept", "more"), [(99, 99, []), (100, 100, []), (101, 100, [1]), (250, 100, [150])])
def test_first_hundred_of_an_hour_are_kept_and_the_others_counted(rig, sent, kept, more):
    flood(rig, [SENSOR], sent, batch=30)
    tend(rig, at_the_end=True)

    assert rig.rows(tables.rejected_message, "body").count(b"no json") == kept
    assert counted(rig) == [(SENSOR, "not_json", number) for number in more]


@pytest.mark.parametrize(("later_ms", "kept"), [(HOUR - 1, 100), (HOUR, 101), (-HOUR, 101), (-HOUR + 1, 100)])
def test_budget_is_new_every_hour_also_when_the_clock_was_set_back(rig, later_ms, kept):
    flood(rig, [SENSOR], 150)

    rig.now_ms += later_ms
    flood(rig, [SENSOR], 1)

    assert rig.rows(tables.rejected_message, "body").count(b"no json") == kept


def test_numbers_are_told_after_a_minute_and_then_every_ten(rig):
    flood(rig, [SENSOR], 110)
    found = []
    for minutes in (0.99, 0.01, 1, 8.9, 0.1, 60, 60):
        rig.now_ms += round(minutes * MINUTE)
        tend(rig)
        found.append([messages for _, _, messages in counted(rig)])
        if minutes == 0.01:
            flood(rig, [SENSOR], 7)

    assert found == [[], [10], [10], [10], [10, 7], [10, 7], [10, 7]]


def test_number_says_until_when_and_has_no_body(rig):
    flood(rig, [SENSOR], 102, body=b"x" * 5_000)
    rig.now_ms += MINUTE
    tend(rig)

    *_, (source, sensor, company, reason, detail, body, messages) = rig.rows(
        tables.rejected_message, "source", "sensor_id", "company_id", "reason", "detail", "body", "messages"
    )

    until = datetime.datetime.fromtimestamp(NOW / 1000, datetime.UTC)
    text = f"2 more messages until {until:%Y-%m-%d %H:%M:%S} UTC; they were counted, not kept"
    assert (source, sensor, company, reason, detail, body) == ("device", SENSOR, COMPANY, "not_json", text, b"")
    assert messages == 2


@pytest.mark.parametrize(("length", "kept"), [(1_000, 250), (4_096, 210), (200_000, 205)])
def test_log_is_bounded_in_bytes_whatever_is_sent(tmp_path, length, kept):
    with Rig.fresh(tmp_path, settings=Ingest(rejected_kept=250, rejected_mib=1)) as rig:
        register(rig)
        flood(rig, [NEIGHBOURS], 5, body=b"y" * length)

        for _ in range(3):
            flood(rig, FLEET, 10, body=b"x" * length)
            sizes = rig.rows(tables.rejected_message, "size")
            assert sum(sizes) <= MIB
            bodies = rig.rows(tables.rejected_message, "body")
            assert sum(map(len, bodies)) <= sum(sizes)
            tend(rig)

        assert held(rig)[NEIGHBOUR] == 5
        assert sum(rig.rows(tables.rejected_message, "size")) <= MIB * 3 // 4
        assert held(rig).total() <= kept


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_message_that_just_fits_is_kept(tmp_path, over):
    with Rig.fresh(tmp_path, settings=Ingest(rejected_mib=1, rejected_per_hour=1_000)) as rig:
        crowded = MIB * 7 // 8
        rig.send(b"first")
        (size,) = rig.rows(tables.rejected_message, "size")
        full, rest = divmod(crowded - size, 4_096 + size - 5)
        rig.send(*[b"x" * 4_096] * full)
        left = rest - (size - 5)

        rig.send(b"x" * (left + over))

        assert len(rig.rows(tables.rejected_message, "no")) == 1 + full + (over <= 0)


def test_what_others_wrote_before_is_known(rig):
    flood(rig, FLEET, 10)
    rig.restart()

    flood(rig, FLEET, 1)

    assert held(rig) == {COMPANY: 350}


def test_what_another_process_writes_is_known_after_a_minute(rig):
    rig.send(b"first")
    other = rejected_log.RejectedLog(store=rig.store, settings=rig.settings, ids=rig.ids)
    entries = [rejected_log.Entry("bus", None, THIRD, f"t{number}", "kind", "", b"") for number in range(349)]
    rig.run(other.know(now_ms=NOW))
    plan = other.plan(entries, now_ms=NOW)
    rig.run(rig.store.write(lambda tx: plan.write(tx, rig.ids)))

    rig.now_ms += MINUTE
    rig.send(b"second", b"third", sensor=SENSOR)

    assert held(rig) == {COMPANY: 3, THIRD: 349}, "within the share of a small holder"
    rig.send(*[b"more"] * 100)
    assert held(rig).total() <= 400


def test_unknown_sensors_share_what_is_nobodys(rig):
    unknown = [SensorId(f"00000000-0000-11ef-8000-0000000f{number:04x}") for number in range(50)]
    rig.send(b"mine", sensor=NEIGHBOURS)

    flood(rig, unknown, 12)
    rig.send(b"mine too", sensor=NEIGHBOURS)
    tend(rig)

    assert held(rig) == {NEIGHBOUR: 2, None: 298}


def test_senders_remembered_are_bounded_and_every_message_is_counted(rig, monkeypatch):
    monkeypatch.setattr(rejected_log, "MOST_SENDERS", 5)
    rig.settings = Ingest(rejected_per_hour=1)
    rig.restart()

    flood(rig, FLEET, 3, batch=180)
    tend(rig, at_the_end=True)

    log = rig.rejected
    assert len(log._windows) == 5
    assert len(log._counted) == 6
    assert told(rig) == 180
    assert [row[0] for row in counted(rig)].count(None) == 1


def test_end_of_the_program_writes_every_number_however_many(rig, monkeypatch):
    monkeypatch.setattr(rejected, "PURGED_AT_ONCE", 7)
    rig.settings = Ingest(rejected_per_hour=1)
    rig.restart()

    flood(rig, FLEET, 3, batch=180)
    tend(rig, at_the_end=True)

    assert counted(rig) == [(sensor, "not_json", 2) for sensor in FLEET]


def test_outage_uses_up_nobodys_budget(rig):
    rig.store.away = True
    with pytest.raises(Outage):
        flood(rig, [SENSOR], 150)
    rig.store.away = False

    flood(rig, [SENSOR], 150)
    tend(rig, at_the_end=True)

    assert told(rig) == 150
    assert rig.rows(tables.rejected_message, "body").count(b"no json") == 100


def test_log_that_is_as_it_should_be_is_left_alone(rig):
    flood(rig, FLEET[:3], 100)
    before = rig.rows(tables.rejected_message)

    tend(rig)

    assert rig.rows(tables.rejected_message) == before


def test_customers_on_the_bus_share_too(tmp_path):
    with BusRig.fresh(tmp_path, settings=Ingest(rejected_kept=400)) as rig:
        register(rig)
        rig.send(*[b"mine %d" % number for number in range(40)], sensor=NEIGHBOURS)

        for _ in range(11):
            rig.take([bus_rig.message(b"{", topic="acme.sf-trip", company=COMPANY) for _ in range(40)])
        rig.deliver(*({"msgType": "trip", "data": {"sensorId": THIRDS}} for _ in range(3)))
        tend(rig, at_the_end=True)

        assert held(rig) == {NEIGHBOUR: 40, COMPANY: 101, None: 3}
        assert told(rig) == 40 + 440 + 3
