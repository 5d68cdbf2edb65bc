"""A deleted sensor: its trips end and stay with their vehicles, nothing names it in the end, nothing else goes."""

import asyncio

import pytest
from sqlalchemy import func, insert, select
from tests.support import dangling
from tests.support.ingest_rig import (
    COMPANY,
    MINUTE,
    NOW,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    FakeSource,
    Rig,
    frame,
    microtrip,
    trip_message,
)

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.services.eraser import Eraser
from tripline.services.fleet import sensor_removal
from tripline.store import tables
from tripline.store.erasure import erasures
from tripline.store.scores import scores as jobs

ADMIN = Actor(UserId("00000000-0000-11ef-8000-0000000000ff"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
LATER = NOW + MINUTE
BATTERY = {"ty": 104, "ts": NOW, "pld": {"wbv": 11.4, "clt": NOW}}
LOG = ("rejected_message.sensor_id",)
"""The log keeps telling what came from where."""


class TellingSource(FakeSource):
    """Says when it is told."""

    def __init__(self):
        super().__init__()
        self.told = asyncio.Event()

    def settled(self, tokens):
        super().settled(tokens)
        self.told.set()


async def let_go(_):
    """Nobody is taking anything in."""


def delete(rig, sensor_id=SENSOR, actor=ADMIN):
    rig.run(
        rig.store.write(
            lambda tx: sensor_removal.remove(tx, actor=actor, sensor_id=sensor_id, ids=rig.ids, now_ms=LATER)
        )
    )


def erase(rig, let_go=let_go):
    """Let the eraser work the list off; how much was on it."""
    eraser = Eraser(store=rig.store, signals=rig.signals, let_go=let_go, stopwatch=lambda: 0.0)
    return rig.run(eraser.erase_pending())


def mentions(rig, *deleted):
    return rig.run(rig.store.read_short(lambda tx: dangling.references(tx, *deleted, besides=LOG)))


def due(rig):
    """Row numbers of the trips that the scorer would take."""
    return [job.trip_no for job in rig.run(rig.store.read_short(lambda tx: jobs.due(tx, now_ms=2**60, limit=100)))]


def count(rig, table):
    return rig.run(rig.store.read_short(lambda tx: tx.all(select(func.count()).select_from(table))[0][0]))


def test_open_trip_ends_at_its_last_sample_and_is_scored_once(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW), microtrip(NOW + 7_000))
        ((no, *_),) = rig.rows(tables.trip, "no", "id")

        delete(rig)

        ended = rig.rows(tables.trip, "state", "start_ms", "end_ms", "closed_ms", "not_scored", "vehicle_id")
        assert ended == [("LAPSED", NOW, NOW + 7_000, LATER, None, VEHICLE)]
        assert due(rig) == [no]

        erase(rig)

        assert rig.rows(tables.trip, "state", "closed_ms", "sensor_id") == [("LAPSED", LATER, None)]
        assert due(rig) == [no]


def test_what_the_sensor_drove_on_vehicles_stays_without_it(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW), BATTERY, trip_message(NOW, NOW + 1_000), b"{")
        trip_ids = rig.rows(tables.trip, "id")

        delete(rig)
        assert erase(rig) == 1

        assert rig.rows(tables.trip, "id", "sensor_id", "vehicle_id", "state") == [
            (trip_ids[0], None, VEHICLE, "COMPLETE")
        ]
        assert rig.rows(tables.device_event, "sensor_id", "vehicle_id") == [(None, VEHICLE)]
        assert count(rig, tables.microtrip) == 1
        assert count(rig, tables.sensor_attribute) == 0
        assert mentions(rig, SENSOR) == {}
        assert rig.rows(tables.rejected_message, "sensor_id") == [SENSOR]
        assert erase(rig) == 0


def test_what_the_sensor_drove_on_no_vehicle_goes_with_it_and_another_sensors_stays(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(*(microtrip(NOW + step) for step in range(120)), BATTERY, sensor=UNMAPPED)
        rig.send(microtrip(NOW), BATTERY)
        kept = rig.rows(tables.trip, "id")[1]

        delete(rig, UNMAPPED)
        erase(rig)

        assert rig.rows(tables.trip, "id", "sensor_id", "state") == [(kept, SENSOR, "OPEN")]
        assert (count(rig, tables.microtrip), count(rig, tables.device_event), count(rig, tables.scoring_job)) == (
            1,
            1,
            0,
        )
        assert rig.rows(tables.sensor_attribute, "sensor_id") == [SENSOR]
        assert mentions(rig, UNMAPPED) == {}


def test_messages_that_come_later_are_acknowledged_and_kept_as_unknown(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        delete(rig)
        source = FakeSource(SENSOR)

        rig.take_in([frame(source, microtrip(NOW + 1_000), NOW + 1_000)], again=[SENSOR])

        assert source.settlements == [[1]]
        assert rig.rows(tables.rejected_message, "sensor_id", "reason") == [(SENSOR, "unknown_sensor")]
        assert count(rig, tables.microtrip) == 1


@pytest.mark.sqlite("on PostgreSQL a batch sees the deletion")
def test_batch_that_was_under_way_leaves_no_open_trip_and_no_mention(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        delete(rig)
        # The pipeline has not heard of it yet: what it knew of the sensor is still in its memory.
        rig.send(trip_message(NOW, NOW + 1), microtrip(LATER, tid=42), BATTERY, at=LATER)
        assert mentions(rig, SENSOR) != {}

        async def forget(deleted):
            rig.pipeline.tracks.forget_deleted(frozenset(deleted))

        erase(rig, forget)

        assert rig.rows(tables.trip, "state", "sensor_id") == [("COMPLETE", None), ("LAPSED", None)]
        assert len(due(rig)) == 2
        assert mentions(rig, SENSOR) == {}
        source = rig.send(microtrip(LATER + 1), at=LATER + 1)
        assert source.settlements == [[1]]
        assert mentions(rig, SENSOR) == {}


def test_intake_lets_go_of_a_deleted_sensor(tmp_path):
    with Rig.fresh(tmp_path) as rig:

        async def scenario():
            intake = rig.intake()
            source = TellingSource()
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(intake.run())
                intake.offer(source, "v1/sensors/me/tre", b'{"ty":1,"pld":{"tid":1}}', NOW, 1)
                await source.told.wait()
                known = len(intake._pipeline.tracks)
                await intake.let_go_of([SENSOR])
                after = len(intake._pipeline.tracks)
                intake.stop()
                await running
            return known, after

        assert rig.run(scenario()) == (1, 0)


def test_many_trips_are_let_go_of_in_short_steps(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        (row,) = rig.run(rig.store.read_short(lambda tx: [dict(r._mapping) for r in tx.all(select(tables.trip))]))
        copies = [
            {**row, "no": row["no"] + 1 + step, "id": f"trip {step}", "state": "COMPLETE", "closed_ms": NOW}
            for step in range(1_000)
        ]
        rig.run(rig.store.write(lambda tx: tx.run(insert(tables.trip), copies)))
        delete(rig)
        touched = []

        def steps(tx):
            touched.append(sensor_removal.erase_some(tx, SENSOR, limit=50))
            return touched[-1]

        while rig.run(rig.store.write(steps)):
            pass

        assert touched == [50] * 20 + [1, 0]
        assert mentions(rig, SENSOR) == {"erasure.id": 1}


def test_deletion_comes_to_its_end_after_a_restart(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW), BATTERY)
        delete(rig)

        rig.restart()
        erase(rig)

        assert mentions(rig, SENSOR) == {}
        assert rig.run(rig.store.read_short(lambda tx: erasures.pending(tx, limit=9, kind=erasures.Kind.SENSOR))) == []


@pytest.mark.parametrize(
    ("actor", "sensor_id", "refusal"),
    [
        (Actor(ADMIN.user_id, Authority.DIRECTOR, ADMIN.company_id), SENSOR, Forbidden),
        (Actor(ADMIN.user_id, Authority.COMPANY_ADMIN, CompanyId("another")), SENSOR, Forbidden),
        (ADMIN, "00000000-0000-11ef-8000-0000000000aa", NotFound),
    ],
)
def test_who_may_not_delete_changes_nothing(tmp_path, actor, sensor_id, refusal):
    with Rig.fresh(tmp_path) as rig:
        with pytest.raises(refusal):
            delete(rig, sensor_id, actor)

        assert rig.rows(tables.sensor, "id") == [SENSOR, UNMAPPED]
        assert rig.rows(tables.erasure, "id") == []
