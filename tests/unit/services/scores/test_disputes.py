"""Disputes from opening to the scores without what they annul: an event, a stretch over the limit, a whole trip."""

import datetime
import json

import pytest
from sqlalchemy import update
from tests.support.scoring_rows import COMPANY, DRIVER, NOW_MS, VEHICLE, add_microtrip, drive, sample

from tripline.domain.access import Actor, Authority
from tripline.domain.disputes import NEXT, AlreadyDisputed, Cause, NotOpen, OwnDispute, Reason, State, TooManyDisputes
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Forbidden, Refusal
from tripline.scoring.rules import EventType, Rules, Scoring
from tripline.services.scores import explanation, reads, rescore
from tripline.services.scores.disputes import DisputeService
from tripline.store import tables
from tripline.store.erasure import erasures, remains
from tripline.store.scores import disputes, policies
from tripline.store.scores.policies import Kind
from tripline.store.scores.rescore import Choice

SPEEDS = [*[30.0] * 5, 44, 58, *[58.0] * 4, 40, 22, *[22.0] * 4, 90, 90, 127, 128, 127, 90, 90, 127, 127]
"""An acceleration, a deceleration, two stretches over the limit; too few samples to doubt the stated distance."""
MANAGER = Actor(UserId("44444444-0000-11b2-8080-808080808080"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
DROVE = Actor(UserId(DRIVER), Authority.DRIVER, CompanyId(COMPANY))
OTHER = Actor(UserId("55555555-0000-11b2-8080-808080808080"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))


class Court:
    """A scored trip, and a desk where it can be contested."""

    def __init__(self, rig):
        self.rig = rig
        self.desk = DisputeService(store=rig.store, ids=rig.ids, clock=lambda: rig.now_ms)

    async def convene(self):
        self.trip_no = await self.rig.add_trip(drive(*SPEEDS), distance_m=10_000)
        await self.rig.drain()
        ((self.trip_id,),) = await self.rig.rows(tables.trip, "id")
        return self

    async def events(self):
        return await self.rig.rows(tables.gps_event, "id", "event_type", "event_ms")

    async def event_of(self, *types):
        return next(row[0] for row in await self.events() if row[1] in types)

    async def score(self):
        rows = await self.rig.rows(tables.driving_score, "score", "accel", "de_accel", "over_speed", "over_speed_s")
        return rows[0] if rows else None

    async def open(self, event_id=None, actor=DROVE):
        return await self.desk.open(
            actor=actor, trip_id=TripId(self.trip_id), reason=Reason.TRAFFIC, text="a child", event_id=event_id
        )

    async def decide(self, dispute, *, accept=True, actor=MANAGER, answer="seen"):
        self.rig.now_ms += 1_000
        decided = await self.rig.write(
            lambda tx: self.desk.decide(tx, actor=actor, dispute_id=dispute.id, accept=accept, answer=answer)
        )
        await self.rig.drain()
        return decided

    async def kept(self):
        return await self.rig.store.read(lambda tx: disputes.of_trip(tx, self.trip_no))

    async def told(self):
        untold = await self.rig.store.read(lambda tx: reads.to_explain(tx, actor=MANAGER, of=self.trip_id))
        return explanation.of_facts(untold, datetime.UTC)


@pytest.fixture
async def court(rig):
    return await Court(rig).convene()


async def test_accepted_event_counts_no_more_and_stays_visible(court):
    before = await court.score()
    event_id = await court.event_of(EventType.DECELERATION)
    opened = await court.open(event_id)
    decided = await court.decide(opened)
    (after,) = await court.kept()
    after, kept, told, events = await court.score(), after, await court.told(), await court.events()

    assert (before[1:4], after[1:4]) == ((1, 1, 5), (1, 0, 5))
    assert after[0] > before[0]
    assert (opened.state, opened.event.event_id, opened.event.kind) == (State.OPEN, event_id, "de_accel")
    assert opened.event.begin_ms <= opened.event.event_ms <= opened.event.end_ms
    assert (decided.state, decided.decided_by, decided.answer, decided.score_before) == (
        *(State.ACCEPTED, MANAGER.user_id, "seen"),
        before[0],
    )
    assert (kept.score_after, kept.rescored_ms) == (after[0], NOW_MS + 1_000)
    (gone,) = [each for each in told.manoeuvres if each.annulled]
    assert (gone.type, gone.annulled, gone.cost, gone.event_id) == (EventType.DECELERATION, opened.id, 0.0, None)
    costs = [each.cost for each in (*told.manoeuvres, *told.stretches)]
    assert sum(costs) == pytest.approx(100 - after[0], abs=1e-9)
    assert [row[1] for row in events] == [2, 5, 5, 5, 5, 5]
    assert told.unexplained == []


async def test_accepted_sample_over_the_limit_takes_its_whole_stretch_and_no_other(court):
    before = await court.score()
    opened = await court.open(await court.event_of(EventType.OVERSPEED))
    await court.decide(opened)
    after, told, dispute_id = await court.score(), await court.told(), opened.id

    assert (before[1:], after[1:]) == ((1, 1, 5, 4.0), (1, 1, 2, 1.0))
    assert [(each.annulled, each.seconds) for each in told.stretches] == [(dispute_id, 3.0), (None, 1.0)]
    assert told.stretches[0].cost == 0


async def test_accepted_trip_has_no_score_and_says_why(court):
    opened = await court.open()
    await court.decide(opened)
    (kept,) = await court.kept()
    reason = await court.rig.rows(tables.trip, "not_scored")
    totals = await court.rig.rows(tables.vehicle_score, "count")
    score, events, told = await court.score(), await court.events(), await court.told()

    assert (score, events, reason, totals) == (None, [], [("annulled",)], [])
    assert (kept.score_after, kept.rescored_ms) == (None, NOW_MS + 1_000)
    assert {each.annulled for each in (*told.manoeuvres, *told.stretches)} == {kept.id}
    assert told.score is None


@pytest.mark.parametrize("change", ["again", "late sample", "other policy"])
async def test_annulment_holds_however_the_trip_is_scored_anew(court, change):
    rig = court.rig
    await court.decide(await court.open(await court.event_of(EventType.DECELERATION)))
    if change == "late sample":
        late = sample(11.5, 31.0)  # in the middle of what was contested
        await rig.write(lambda tx: add_microtrip(tx, rig.ids, court.trip_no, late))
    if change == "other policy":
        await rig.write(lambda tx: policies.keep(tx, Rules(scoring=Scoring(harsh_weight=0.9)), now_ms=1))
        await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 4, from_ms=0, now_ms=1))
    await rescore.rescored(
        rig.store, rig.scorer, Choice(everything=True), clock=lambda: rig.now_ms, progress=lambda _: None
    )
    total = await rig.rows(tables.vehicle_score, "score")
    score, policy = await court.score(), await rig.rows(tables.driving_score, "policy")

    assert score[1:3] == (1, 0)
    assert total[0][0] == pytest.approx(score[0], abs=1e-9)
    assert policy == [(4 if change == "other policy" else 1,)]


async def test_scores_without_what_is_annulled_equal_those_from_scratch(rig):
    """A second trip has the same samples but for the braking: what is left counts the same."""

    court = await Court(rig).convene()
    calm = [*SPEEDS[:11], 46, 34, *SPEEDS[13:]]
    await court.decide(await court.open(await court.event_of(EventType.DECELERATION)))
    await rig.add_trip(drive(*calm), distance_m=10_000)
    await rig.drain()
    annulled, calm = await rig.rows(tables.driving_score, "score", "accel", "de_accel", "over_speed", "over_speed_s")

    assert annulled == calm


async def test_rejected_and_withdrawn_disputes_change_nothing_and_say_so(court):
    before = await court.score(), await court.events()
    event_id = await court.event_of(EventType.DECELERATION)
    rejected = await court.decide(await court.open(event_id), accept=False, answer="no child on the video")
    again = await court.open(event_id)
    withdrawn = await court.rig.write(lambda tx: court.desk.withdraw(tx, actor=DROVE, dispute_id=again.id))
    after = (await court.score(), await court.events())

    assert before == after
    assert (rejected.state, rejected.answer) == (State.REJECTED, "no child on the video")
    assert (withdrawn.state, withdrawn.decided_by) == (State.WITHDRAWN, DROVE.user_id)


async def refused(awaited):
    try:
        await awaited
    except Refusal as refusal:
        return type(refusal), refusal.case
    return None


async def test_who_opened_or_drove_does_not_decide(court):
    own = await court.open(await court.event_of(EventType.DECELERATION), actor=MANAGER)
    await court.rig.write(lambda tx: tx.run(update(tables.trip).values(user_id=OTHER.user_id)))

    assert await refused(court.decide(own, actor=MANAGER)) == (OwnDispute, "opened")
    assert await refused(court.decide(own, actor=OTHER)) == (OwnDispute, "drove")
    assert await refused(court.rig.write(lambda tx: court.desk.withdraw(tx, actor=OTHER, dispute_id=own.id))) == (
        Forbidden,
        "not_opener",
    )
    assert [each.state for each in await court.kept()] == [State.OPEN]


@pytest.mark.parametrize("first", ["accept", "reject", "withdraw"])
async def test_what_was_decided_stays_decided(court, first):
    opened = await court.open(await court.event_of(EventType.DECELERATION))

    def withdraw(tx):
        return court.desk.withdraw(tx, actor=DROVE, dispute_id=opened.id)

    if first == "withdraw":
        await court.rig.write(withdraw)
    else:
        await court.decide(opened, accept=first == "accept")
    before = await court.kept()
    later = [
        await refused(court.decide(opened)),
        await refused(court.decide(opened, accept=False)),
        await refused(court.rig.write(withdraw)),
    ]

    assert (later, before == await court.kept()) == ([(NotOpen, "")] * 3, True)
    assert len(NEXT) == 1 + len(Cause)


async def test_same_event_or_trip_is_contested_once(court):
    over = [row[0] for row in await court.events() if row[1] == EventType.OVERSPEED]
    await court.open(over[0])
    answers = [await refused(court.open(over[1])), await refused(court.open(over[3]))]
    await court.open()

    assert [
        *answers,
        await refused(court.open()),
        await refused(court.open("77777777-0000-11b2-8080-808080808080")),
    ] == [
        (AlreadyDisputed, "event"),
        None,
        (AlreadyDisputed, "trip"),
        (BadParameter, "event_unknown"),
    ]


@pytest.mark.parametrize(("known", "refusal"), [(98, None), (99, None), (100, (TooManyDisputes, ""))])
async def test_trip_has_so_many_disputes_at_most(court, known, refusal):
    for turn in range(known):
        made = court.rig.ids.next(now_ms=NOW_MS)
        row = {"company_id": COMPANY, "trip_no": court.trip_no, "opened_by": DROVE.user_id, "event": None}
        row |= {"reason": Reason.OTHER, "text": str(turn), "state": State.REJECTED, "dispute_id": made}
        await court.rig.write(lambda tx, row=row: disputes.keep(tx, **row))

    assert await refused(court.open()) == refusal


async def test_trip_that_is_not_scored_is_not_contested(rig):
    court = await Court(rig).convene()
    await rig.write(lambda tx: tx.run(update(tables.trip).values(distance_m=10)))
    await rig.ask_again(court.trip_no)
    await rig.drain()

    assert await refused(court.open()) == (reads.NoScoreYet, "not_scored")


async def test_event_of_a_trip_too_long_to_explain_is_contested_by_its_instant(rig, monkeypatch):
    monkeypatch.setattr(reads, "EXPLAINED", 10)
    court = await Court(rig).convene()

    opened = await court.open(await court.event_of(EventType.DECELERATION))
    await court.decide(opened)
    event, score = opened.event, await court.score()

    assert event.begin_ms == event.event_ms == event.end_ms
    assert score[1:3] == (1, 0)


@pytest.mark.parametrize("wanted", [True, False])
async def test_each_move_is_pushed_to_a_company_that_wants_it(court, wanted):
    rig = court.rig
    asked = {"notify_host": "http://n.example/", "notify_msg_type": '"700"' if wanted else '"600"'}
    await rig.write(lambda tx: tx.run(update(tables.company).values(asked)))
    event = next(row for row in await court.events() if row[1] == EventType.DECELERATION)
    of_event = await court.open(event[0])
    await court.decide(of_event)
    of_trip = await court.open()
    rig.now_ms += 1_000
    withdrawn = await rig.write(lambda tx: court.desk.withdraw(tx, actor=DROVE, dispute_id=of_trip.id))
    bodies = [json.loads(row[0]) for row in await rig.rows(tables.push_outbox, "body")]
    trip_id = court.trip_id

    envelope = {"masterCompanyId": COMPANY, "companyId": COMPANY, "sensorId": COMPANY, "vehicleId": VEHICLE}
    accepted = {"disputeId": of_event.id, "tripId": trip_id, "reason": "TRAFFIC", "eventTy": 3, "eventTs": event[2]}
    whole = {"disputeId": of_trip.id, "tripId": trip_id, "reason": "TRAFFIC", "eventTy": None, "eventTs": None}
    moves = [
        (of_event.created_ms, {**accepted, "state": "OPEN"}),
        (NOW_MS + 1_000, {**accepted, "state": "ACCEPTED"}),
        (of_trip.created_ms, {**whole, "state": "OPEN"}),
        (withdrawn.decided_ms, {**whole, "state": "WITHDRAWN"}),
    ]
    expected = [{**envelope, "ts": at_ms, "ty": "DISPUTE", "pld": pld} for at_ms, pld in moves]
    assert bodies == (expected if wanted else [])


async def test_disputes_go_with_what_they_are_about(court):
    opened = await court.open()
    while await court.rig.write(lambda tx: remains.erase_some_of_person(tx, UserId(DRIVER), limit=10)):
        pass
    (nameless,) = await court.kept()
    await court.rig.write(lambda tx: erasures.begin(tx, VehicleId(VEHICLE), now_ms=NOW_MS))
    while await court.rig.write(lambda tx: remains.erase_some_of_vehicle(tx, VehicleId(VEHICLE), limit=100)):
        pass

    assert opened.opened_by == DRIVER
    assert nameless.opened_by is None
    assert await court.rig.rows(tables.dispute, "id") == []
