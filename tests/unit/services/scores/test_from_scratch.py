"""Whatever happens to trips after they were scored, their rows are those of scoring all that is stored from scratch.

Each change goes the way that it goes in the program: messages through the pipeline, a dispute over its desk, a sensor
and a vehicle through the fleet's services, a policy through a rescoring.
"""

import pytest
from sqlalchemy import delete, insert, select, update
from tests.support import ingest_rig, kept_sums, scoring_rows
from tests.support.ingest_rig import COMPANY, DRIVER, MINUTE, NOW, OTHER_VEHICLE, SENSOR, VEHICLE, item, trip_message

from tripline.domain.access import Actor, Authority
from tripline.domain.disputes import Reason
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.rescorings import RescoringRequest, Stage
from tripline.domain.trips import State
from tripline.scoring.rules import EventType, Rules, Scoring
from tripline.services import notifications
from tripline.services.fleet import sensors, vehicles
from tripline.services.scores import rescorings
from tripline.services.scores.disputes import DisputeService
from tripline.services.scores.rescorer import Rescorer
from tripline.services.scores.scorer import Scorer
from tripline.store import tables
from tripline.store.erasure import remains
from tripline.store.scores import policies, sums
from tripline.store.scores.policies import Kind

SPEEDS = [*[30.0] * 5, 44, 58, *[58.0] * 4, 40, 22, *[22.0] * 4, 90, 127, 128, 127, 90, 90, 127]
"""An acceleration, a deceleration, two stretches over the limit; too few samples to doubt the stated distance."""
CALM = [50.0] * 20
BOSS = Actor(UserId(DRIVER[:-1] + "9"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
DROVE = Actor(UserId(DRIVER), Authority.DRIVER, CompanyId(COMPANY))
STRICT = Rules(scoring=Scoring(harsh_weight=0.9))
HOUR = 3_600_000
CHANGES = {
    tables.driving_score: {"created_ms"},
    tables.gps_event: {"no", "id", "created_ms"},
    tables.vehicle_score: {"created_ms"},
}
"""What a score is made of, and what only says when that was written."""


class Yard:
    """A pipeline and a scorer over one store, and drives that they took in and judged."""

    def __init__(self, rig):
        self.rig = rig
        self.parts = {"store": rig.store, "ids": rig.ids, "signals": rig.signals, "clock": lambda: rig.now_ms}
        self.scorer = Scorer(rules=Rules(), zone=scoring_rows.ZONE, **self.parts)
        self.drive(41, SPEEDS)
        self.drive(42, CALM)

    def drive(self, tid, speeds, *, kept_back=()):
        """A drive an hour after the other; samples that are kept back are not sent yet."""
        begin = NOW + (tid - 41) * HOUR
        sent = [self.sample(tid, second, kmh) for second, kmh in enumerate(speeds) if second not in kept_back]
        end = begin + len(speeds) * 1_000
        self.rig.send(*sent, trip_message(begin, end, tid=tid, dis=10_000), at=end)
        self.score()

    def sample(self, tid, second, kmh):
        at = NOW + (tid - 41) * HOUR + round(second * 1_000)
        return {"ty": 2, "ts": at, "pld": item(at, tid=tid, sp=kmh)}

    def score(self):
        while self.rig.run(self.scorer.score_due()):
            pass

    def write(self, work):
        return self.rig.run(self.rig.store.write(work))

    def told(self, given):
        """Give hints, as the contexts does after a commit; the pipeline forgets what it knew."""
        notifications.send(self.rig.signals, given)

    def kept(self):
        """Every row of a score, without the times and ids under which it was written."""
        found = []
        for table, times in CHANGES.items():
            columns = [column for column in table.c if column.name not in times]
            rows = self.rig.run(self.rig.store.read(lambda tx, columns=columns: tx.all(select(*columns))))
            found.append(sorted(map(repr, map(tuple, rows))))
        found.append(self.rig.rows(tables.trip, "no", "not_scored", "quality"))
        kept = self.rig.run(self.rig.store.read(sums.kept))
        assert kept == self.rig.run(self.rig.store.read(kept_sums.recomputed))
        found += [kept, self.rig.run(self.rig.store.read(kept_sums.ranks))]
        assert found[-1] == self.rig.run(self.rig.store.read(kept_sums.expected_ranks))
        return found

    def from_scratch(self):
        """The rows after all of them were forgotten and every closed trip was scored anew."""

        def forget(tx):
            for table in (*CHANGES, tables.score_sum, tables.score_rank):
                tx.run(delete(table))
            tx.run(update(tables.trip).values(not_scored=None, quality=None))
            ended = select(tables.trip.c.no, 0).where(tables.trip.c.state != State.OPEN)
            tx.run(insert(tables.scoring_job).from_select(["trip_no", "due_ms"], ended))

        self.write(forget)
        self.score()
        return self.kept()


def annul(yard):
    """An event that was contested counts no more."""
    desk = DisputeService(store=yard.rig.store, ids=yard.rig.ids, clock=lambda: yard.rig.now_ms)
    harsh = next(
        row
        for row in yard.rig.rows(tables.gps_event, "id", "event_type", "trip_id")
        if row[1] == EventType.DECELERATION
    )
    opened = yard.rig.run(
        desk.open(actor=DROVE, trip_id=TripId(harsh[2]), reason=Reason.TRAFFIC, text="a child", event_id=harsh[0])
    )
    yard.write(lambda tx: desk.decide(tx, actor=BOSS, dispute_id=opened.id, accept=True, answer=None))


def annul_trip(yard):
    """A trip that was contested as a whole has no score any more."""
    desk = DisputeService(store=yard.rig.store, ids=yard.rig.ids, clock=lambda: yard.rig.now_ms)
    trip_id = TripId(yard.rig.rows(tables.trip, "id")[0])
    opened = yard.rig.run(
        desk.open(actor=DROVE, trip_id=trip_id, reason=Reason.NOT_DRIVER, text="not I", event_id=None)
    )
    yard.write(lambda tx: desk.decide(tx, actor=BOSS, dispute_id=opened.id, accept=True, answer=None))


def late_sample(yard):
    """A stop that a device had kept back arrives a day after its trip was scored."""
    yard.rig.send(yard.sample(41, 11.5, 0), yard.sample(41, 12.5, 0), at=NOW + 24 * HOUR)


def late_message(yard):
    """The next drive begins before the message of the last one, which was too short without it, arrives."""
    begin, rows = NOW + 2 * HOUR, yard.rig.rows
    after = begin + MINUTE
    samples = [yard.sample(43, second, kmh) for second, kmh in enumerate(SPEEDS)]
    yard.rig.send(*samples, {"ty": 2, "ts": after, "pld": item(after, tid=44)}, at=after)
    yard.score()
    assert rows(tables.trip, "not_scored")[2] == "too_short"
    message = trip_message(begin, begin + len(SPEEDS) * 1_000, tid=43, dis=10_000)
    yard.rig.send(message, at=begin + 2 * MINUTE)
    yard.score()
    assert rows(tables.trip, "not_scored")[2] is None


def deleted_trip(yard):
    """All trips of a vehicle are deleted with it; another vehicle's stay."""
    remap(yard)
    yard.score()
    given = yard.write(
        lambda tx: vehicles.delete(
            tx, actor=BOSS, vehicle_id=VehicleId(VEHICLE), ids=yard.rig.ids, now_ms=yard.rig.now_ms
        )
    )
    yard.told(given)
    while yard.write(lambda tx: remains.erase_some_of_vehicle(tx, VehicleId(VEHICLE), limit=7)):
        pass


def remap(yard):
    """The sensor goes to another vehicle, drives there, and a sample of its last drive on the first one arrives."""
    now = {"ids": yard.rig.ids, "now_ms": yard.rig.now_ms}
    _, given = yard.write(lambda tx: sensors.unmount(tx, actor=BOSS, sensor_id=SENSOR, vehicle_id=None, **now))
    yard.told(given)
    yard.write(lambda tx: sensors.mount(tx, actor=BOSS, sensor_id=SENSOR, vehicle_id=VehicleId(OTHER_VEHICLE), **now))
    yard.told(notifications.sensors_changed([SENSOR]))
    yard.drive(43, SPEEDS)
    late_sample(yard)


def new_policy(yard):
    """Another policy is chosen for all trips, and they are scored anew."""

    def choose(tx):
        kept = policies.keep(tx, STRICT, now_ms=1)
        policies.choose(tx, Kind.COMPANY, COMPANY, kept.no, from_ms=0, now_ms=1)
        return rescorings.begin(
            tx,
            actor=BOSS,
            company_id=CompanyId(COMPANY),
            asked=RescoringRequest(),
            ids=yard.rig.ids,
            now_ms=yard.rig.now_ms + 24 * HOUR,
        )

    yard.rig.now_ms += 1
    begun = yard.write(choose)
    parts = {name: yard.parts[name] for name in ("store", "signals", "clock")}
    worker = Rescorer(scorer=yard.scorer, **parts)
    yard.rig.now_ms += 25 * HOUR
    while yard.rig.rows(tables.rescoring, "state") == [Stage.RUNNING]:
        yard.rig.run(worker.go_on())
        yard.score()
    assert yard.rig.rows(tables.rescoring, "id", "state") == [(begun.id, Stage.DONE)]


ALONE = (annul, annul_trip, late_sample, late_message, deleted_trip, remap, new_policy)


@pytest.fixture
def yard(tmp_path):
    with ingest_rig.Rig.fresh(tmp_path) as rig:
        yield Yard(rig)


@pytest.mark.parametrize(
    "change",
    [annul, annul_trip, late_sample, late_message, deleted_trip, remap, new_policy],
    ids=lambda each: each.__name__,
)
def test_rows_after_a_change_are_those_of_scoring_from_scratch(yard, change):
    before = yard.kept()

    change(yard)
    yard.score()
    after = yard.kept()

    assert yard.rig.rows(tables.scoring_job, "trip_no") == []
    assert after != before
    assert yard.from_scratch() == after


def test_changes_one_after_the_other_leave_the_rows_of_scoring_from_scratch(yard):
    for change in (late_sample, annul, new_policy, annul_trip):
        change(yard)
        yard.score()

    after = yard.kept()
    assert yard.from_scratch() == after
