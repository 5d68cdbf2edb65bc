"""Deleting a person or company: some things go with it, others stay, and nothing names it any more."""

import asyncio
from dataclasses import dataclass

import pytest
from sqlalchemy import func, insert, select
from tests.support import dangling, delegating, journeys, rest, scoring_rows
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
from tests.support.rest import Login

from tripline import observe
from tripline.domain import access
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import PLACEHOLDER, CompanyId, UserId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.scoring.rules import Rules
from tripline.services.eraser import Eraser
from tripline.services.fleet import removal
from tripline.services.scores import results as scores_results
from tripline.services.scores.judgement import judged
from tripline.store import tables
from tripline.store.erasure import erasures, remains
from tripline.store.scores import policies
from tripline.store.scores import scores as score_rows
from tripline.store.scores.scores import Found


@dataclass(frozen=True)
class World:
    """A vehicle of the owner, delegated to the borrower, whose director and driver have all that one can have."""

    of: delegating.Companies
    vehicle: str
    sensor: str
    director: Login
    driver: Login


async def made(app):
    """The world, with rows of every kind that names the borrower or its people."""
    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner)
    sensor = await delegating.new_sensor(app, of.owner, on=vehicle)
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, vehicle)
    await delegating.register(app, of.borrower, of.below)
    await delegating.register(app, of.below, of.borrower)
    director = await delegating.director(app, of.borrower, "director")
    driver = await delegating.driver(app, of.borrower, "driver")
    await delegating.give(app, of.borrower, director, vehicle)
    await delegating.give(app, of.borrower, driver, vehicle, drive=True)
    await app.store.write(lambda tx: lived(tx, app, of, vehicle, sensor, driver))
    await app.store.write(delegating.drives_now(vehicle, driver))
    for email in ("director@people.example", "driver@people.example", "borrower@partners.example"):
        await app.http.post("/api/auth/login", json={"username": email, "password": "pass phrase"})
    return World(of, vehicle, sensor, director, driver)


def lived(tx, app, of, vehicle, sensor, driver):
    """What driving and mailing leave behind."""
    delegating.scored_trip(app, of.owner, vehicle, driver)(tx)
    trip = {"company_id": of.owner.company_id, "vehicle_id": vehicle, "sensor_id": sensor, "user_id": driver.user_id}
    journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS, **trip)
    event = {"no": 1, "id": "event", "company_id": of.owner.company_id, "vehicle_id": vehicle, "device_type": "GPS"}
    tx.run(
        insert(tables.device_event),
        {**event, "user_id": driver.user_id, "ty": 130, "event_ms": rest.NOW_MS, "payload": b"{}"},
    )
    tx.run(tables.vehicle_score.update().values(user_id=driver.user_id))
    for user in (driver, of.borrower):
        link = {"token_hash": f"{user.user_id:a<64}", "user_id": user.user_id, "created_ms": 1, "expires_ms": 2}
        tx.run(insert(tables.account_link), {**link, "purpose": "password"})
        mail = {"no": len(tx.all(select(tables.mail_outbox))) + 1, "created_ms": 1, "kind": "reset", "due_ms": 1}
        tx.run(
            insert(tables.mail_outbox),
            {**mail, "recipient": "x@x.example", "account_id": user.user_id, "language": "en"},
        )
    push = {"no": 1, "id": "push", "company_id": of.borrower.company_id, "sensor_id": "s", "selector": 600}
    tx.run(insert(tables.push_outbox), {**push, "body": b"{}", "due_ms": 1})


async def named_in(app, *deleted):
    """Where the ids are named now."""
    return await app.store.read(lambda tx: dangling.references(tx, *deleted))


def drivers_in(record):
    """The drivers that a page's records name."""
    return {item["userId"]["id"] for item in record["data"]}


async def test_deleted_driver_is_named_nowhere_and_what_was_driven_stays(app: rest.Rest):
    world = await app.staged(made)
    before = set(await named_in(app, world.driver.user_id))
    app.signals.told.clear()
    await app.call(world.of.borrower, "DELETE", f"/driver/{world.driver.user_id}")
    analytics = f"/api/tre/v1_3/vehicle/{world.vehicle}/analytics"
    pages = [
        await app.get(world.of.owner, path, limit=9)
        for path in (f"/vehicle/{world.vehicle}/trips", f"{analytics}/drivingScore", f"{analytics}/gpsEvent")
    ]
    total = await app.get(world.of.owner, f"{analytics}/drivingScore/stat")
    vehicle = await app.get(world.of.owner, f"/vehicle/{world.vehicle}")
    kept = [len(page["data"]) for page in pages], [drivers_in(page) for page in pages], total["userId"]["id"]
    told = list(app.signals.told)
    after = await dangling.left(app.store, world.driver.user_id)

    assert before == {
        "account.id",
        "device_event.user_id",
        "driving_score.user_id",
        "gps_event.user_id",
        "mail_outbox.account_id",
        "account_link.user_id",
        "account_session.user_id",
        "reach.principal",
        "score_rank.subject",
        "score_sum.subject",
        "trip.user_id",
        "vehicle.current_driver_id",
        "vehicle_score.user_id",
        "vehicle_user.user_id",
    }
    assert after == {}
    assert kept == ([2, 1, 1], [{PLACEHOLDER}] * 3, PLACEHOLDER)
    assert (vehicle["currentDriverId"]["id"], vehicle["delegateUserCount"]) == (PLACEHOLDER, 1)
    assert told == [(observe.SIGNAL_SENSOR_CHANGED, world.sensor), (observe.SIGNAL_ERASURE_DUE, "")]


async def test_deleted_director_leaves_the_vehicles_it_managed(app: rest.Rest, of):
    director = await delegating.director(app, of.owner, "director")
    vehicle = await delegating.new_vehicle(app, director)
    await app.call(of.owner, "DELETE", f"/director/{director.user_id}")
    left = await app.get(of.owner, f"/vehicle/{vehicle}")

    assert (left["directorId"]["id"], await dangling.left(app.store, director.user_id)) == (PLACEHOLDER, {})


async def test_deleted_borrower_gives_back_what_was_delegated_and_goes_with_its_people(app: rest.Rest):
    world = await app.staged(made)
    borrower = world.of.borrower
    gone = (borrower.company_id, borrower.user_id, world.director.user_id, world.driver.user_id)
    before = set(await named_in(app, *gone))
    app.signals.told.clear()
    refused = await app.refused(borrower, "DELETE", f"/company/{borrower.company_id}")
    deleted = await app.call(world.of.operator, "DELETE", f"/company/{borrower.company_id}")
    vehicle = await app.get(world.of.owner, f"/vehicle/{world.vehicle}")
    refused, deleted, after, told, sensor, company, revoked, below = (
        refused[:2],
        deleted.json(),
        await dangling.left(app.store, *gone),
        app.signals.told,
        world.sensor,
        borrower.company_id,
        [(await app.refused(login, "GET", f"/vehicle/{world.vehicle}"))[0] for login in (borrower, world.driver)],
        (await app.get(world.of.below, "/company/me"))["masterId"]["id"] == world.of.operator.company_id,
    )

    assert {
        "account.company_id",
        "company.id",
        "company.registered_by_id",
        "company_relation.from_company_id",
        "company_relation.to_company_id",
        "push_outbox.company_id",
        "vehicle_company.to_company_id",
        "vehicle_user.company_id",
    } <= before
    assert (refused, deleted, after) == ((403, 20), {}, {})
    assert (vehicle["currentDriverId"]["id"], vehicle["delegateUserCount"]) == (PLACEHOLDER, 0)
    assert told == [
        *((observe.SIGNAL_SENSOR_CHANGED, sensor), (observe.SIGNAL_ERASURE_DUE, "")),
        (observe.SIGNAL_COMPANY_CHANGED, company),
    ]
    assert revoked == [401, 401]
    assert below


async def test_company_that_owned_and_drove_is_named_nowhere_after_all_is_deleted(app: rest.Rest, of):
    vehicle = await delegating.new_vehicle(app, of.below)
    sensor = (await app.post(of.below, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20}))["id"]
    await app.post(of.below, f"/sensor/{sensor['id']}/vehicle/{vehicle}")
    path = f"/company/{of.below.company_id}"

    def unmapped(tx):
        """What the sensor sent while it was on no vehicle."""
        sent = {"company_id": of.below.company_id, "sensor_id": sensor["id"]}
        journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS, payload={"tid": 1}, closed_ms=1, **sent)
        event = {"no": 1, "id": "event", "device_type": "GPS", "ty": 130, "event_ms": 1, "payload": b"{}"}
        tx.run(insert(tables.device_event), event | sent)

    await app.store.write(unmapped)
    in_use = [(await app.refused(of.operator, "DELETE", path))[:2]]
    await app.call(of.below, "DELETE", f"/sensor/{sensor['id']}")
    in_use.append((await app.refused(of.operator, "DELETE", path))[:2])
    await app.call(of.below, "DELETE", f"/vehicle/{vehicle}")
    deleted = await app.call(of.operator, "DELETE", path)
    found = in_use, deleted.json(), await dangling.left(app.store, of.below.company_id, of.below.user_id)

    assert found == ([(400, 30)] * 2, {}, {})


async def test_score_judged_before_its_driver_was_deleted_is_judged_again_without(tmp_path):
    calm = scoring_rows.drive(*[50.0] * 20)

    rig = scoring_rows.Rig(tmp_path)
    await rig.add_vehicle()
    await rig.add_trip(calm, distance_m=10_000)
    work = await rig.store.read(
        lambda tx: [score_rows.task(tx, job) for job in score_rows.due(tx, now_ms=rig.now_ms, limit=9)]
    )
    policy = await rig.write(lambda tx: policies.keep(tx, Rules(), now_ms=rig.now_ms))
    results = judged(work, {None: policy})
    await rig.write(lambda tx: remains.erase_some_of_person(tx, UserId(scoring_rows.DRIVER), limit=50))
    kept = await rig.write(
        lambda tx: scores_results.keep(tx, results, ids=rig.ids, now_ms=rig.now_ms, zone=scoring_rows.ZONE)
    )
    named = await rig.rows(tables.driving_score, "user_id")
    await rig.drain()
    left = await rig.rows(tables.driving_score, "user_id"), await rig.rows(tables.vehicle_score, "user_id")
    await rig.store.close()

    assert [task.job.user_id for task in work] == [scoring_rows.DRIVER]
    assert (kept, named) == ([], [])
    assert left == ([(None,)], [(None,)])


@pytest.mark.parametrize("role", [access.Authority.DIRECTOR, access.Authority.DRIVER])
def test_nobody_without_a_row_in_the_table_deletes_people_or_companies(role):
    for action in (access.Action.PERSON_DELETE, access.Action.COMPANY_DELETE, access.Action.COMPANY_ADMIN_MANAGE):
        assert role not in access.RULES[action]


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
            lambda tx: removal.remove_sensor(tx, actor=actor, sensor_id=sensor_id, ids=rig.ids, now_ms=LATER)
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
    return [
        job.trip_no for job in rig.run(rig.store.read_short(lambda tx: score_rows.due(tx, now_ms=2**60, limit=100)))
    ]


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
        found = [Found(no, 1, b"found") for no in rig.rows(tables.trip, "no")]
        rig.run(rig.store.write(lambda tx: score_rows.keep(tx, found, now_ms=NOW)))

        delete(rig, UNMAPPED)
        erase(rig)

        assert rig.rows(tables.trip, "id", "sensor_id", "state") == [(kept, SENSOR, "OPEN")]
        assert count(rig, tables.microtrip) == 1
        assert count(rig, tables.device_event) == 1
        assert count(rig, tables.scoring_job) == 0
        assert rig.rows(tables.trip_findings, "trip_no") == rig.rows(tables.trip, "no")
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
            touched.append(removal.erase_some_of_sensor(tx, SENSOR, limit=50))
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
