"""Stored findings: read, they explain as judging the trip again does; they follow the result, and go with the trip."""

import hashlib
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import update
from tests.support import stores
from tests.support.limits import Roads, along
from tests.support.scoring_rows import (
    COMPANY,
    DRIVER,
    NOW_MS,
    ZONE,
    add_microtrip,
    drive,
    played,
    sample,
    task_of,
)

from tripline.api import explanations
from tripline.domain.access import Actor, Authority
from tripline.domain.disputes import Reason
from tripline.domain.ids import CompanyId, TripId, UserId
from tripline.scoring.rules import Rules, read
from tripline.services.scores import arrays, findings, judgement, reads
from tripline.services.scores.disputes import DisputeService
from tripline.store import tables
from tripline.store.scores import policies
from tripline.store.scores import scores as rows
from tripline.store.scores.policies import SECOND, Kind
from tripline.wire.rest.base import Id

ASKING = Actor(UserId(DRIVER), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
MANAGER = Actor(UserId("44444444-0000-11b2-8080-808080808080"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))
HARSH = [0, 0, 0, 0, 12, 24, 30, 30, *[60.0] * 3, 140, 141, 150, 140, 60, 60, 125, 60, 60, 40, 20, 0, 0]
TRIPS = {
    "harsh": (drive(*HARSH), {"distance_m": 10_000}),
    "calm": (drive(*[50.0] * 30), {"distance_m": 10_000}),
    "to its end over the limit": (along([130.0] * 200), {}),
    "gap": (along([130.0] * 200, lambda second: second + (300 if second > 99 else 0)), {}),
    "clock set back": (along([130.0] * 200, lambda second: second - (7_200 if second > 99 else 0)), {}),
    "clock set back into the trip": (along([130.0] * 200, lambda second: second - (20 if second > 99 else 0)), {}),
    "events of the device": (
        [sample(second, 50, em=0x10 if second % 9 == 0 else 0) for second in range(40)],
        {"device_type": "OBD", "distance_m": 10_000},
    ),
    "without speeds": (
        [sample(second, float("nan"), lat=36 + (14 * second + 7 * second % 5) / 111_195) for second in range(300)],
        {},
    ),
    "too short": (drive(*HARSH), {"distance_m": 10}),
    "parking": (drive(*HARSH), {"parking": True, "distance_m": 10_000}),
    "without samples": ([], {}),
    "without positions": ([sample(second, 50, lat=float("nan")) for second in range(30)], {}),
}


async def trip_id_of(rig, no):
    return next(trip_id for trip_no, trip_id in await rig.rows(tables.trip, "no", "id") if trip_no == no)


async def facts_of(rig, no):
    of = await trip_id_of(rig, no)
    return await rig.store.read(lambda tx: reads.to_explain(tx, actor=ASKING, of=of))


async def outdate(rig):
    """Make every stored finding one of an earlier version of the program."""
    await rig.write(lambda tx: tx.run(update(tables.trip_findings).values(version=rows.VERSION - 1)))


async def both(rig, no, roads=None):
    """The answers for a trip: as stored, and judged again."""
    stored = await facts_of(rig, no)
    await outdate(rig)
    again = await facts_of(rig, no)
    await rig.write(lambda tx: tx.run(update(tables.trip_findings).values(version=rows.VERSION)))
    assert stored.rejudged is None
    assert again.rejudged is not None
    of = await trip_id_of(rig, no)
    return explanations.explained(of, stored, ZONE), explanations.explained(of, again, ZONE, roads)


@pytest.mark.parametrize("policy", [1, 2])
@pytest.mark.parametrize("roads", [None, Roads()])
def test_stored_findings_explain_every_trip_as_judging_it_again_does(tmp_path, policy, roads):
    async def play(rig):
        await rig.scorer.own_policy()
        await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, policy, from_ms=0, now_ms=0))
        nos = [await rig.add_trip(packed, **facts) for packed, facts in TRIPS.values()]
        await rig.drain()
        return [await both(rig, no, roads) for no in nos]

    answers = dict(zip(TRIPS, played(tmp_path, play, roads=roads), strict=True))

    for stored, again in answers.values():
        assert stored == again
        ids = [each.id for each in stored.harsh_events] + [one for each in stored.overspeed for one in each.ids]
        assert None not in ids or stored.score is None
        assert stored.unexplained == []
    assert answers["harsh"][0].explained_by == policy
    assert {name for name, (stored, _) in answers.items() if not stored.harsh_known} == {"without speeds"}
    vague = answers["without speeds"][0]
    assert vague.score is not None
    assert (vague.harsh_events, vague.braking, vague.corners) == ([], [], [])
    assert vague.quality.event_precision is None
    assert {name for name, (stored, _) in answers.items() if stored.score is None} >= {"too short", "parking"}


@given(st.lists(st.floats(0, 200), max_size=80), st.sampled_from([Rules(), Rules(style=read(SECOND).style)]))
@settings(max_examples=stores.examples(30))
def test_findings_are_read_as_they_were_written(speeds, rules):
    found = judged(along(speeds) if speeds else [], rules)

    assert findings.read(findings.written(found)) == found


def judged(packed, rules=None):
    task = task_of(packed)
    placed = Roads().located(arrays.loaded([judgement.track(task)]).drives)
    return judgement.found(placed, task, rules or Rules(), utc_offset_ms=0)


def test_version_is_increased_when_the_stored_form_or_what_judging_finds_changes():
    """When this fails on purpose: increase `VERSION`, and put the new digest here."""
    body = findings.written(judged(along([*HARSH, *[70.0] * 60, *HARSH])))

    digest = hashlib.sha256(zlib.decompress(body)).hexdigest()[:16]

    assert (rows.VERSION, digest) == (9, "cb4493f4046d6c6e")


def test_batch_of_trips_finds_in_each_what_it_finds_alone():
    tasks = [task_of(packed) for packed, _ in TRIPS.values()]
    policy = {None: policies.Policy(1, Rules())}

    together = judgement.judged(tasks, policy, zone=ZONE)

    assert [each.findings for each in together] == [
        judgement.judged([task], policy, zone=ZONE)[0].findings for task in tasks
    ]


async def test_accepted_dispute_is_in_the_stored_findings_once_the_trip_is_scored_anew(rig):
    no = await rig.add_trip(drive(*HARSH), distance_m=10_000)
    await rig.drain()
    desk = DisputeService(store=rig.store, ids=rig.ids, clock=lambda: rig.now_ms)
    of = TripId(await trip_id_of(rig, no))
    event_id = (await rig.rows(tables.gps_event, "id"))[-1][0]
    opened = await desk.open(actor=ASKING, trip_id=of, reason=Reason.LIMIT, text="t", event_id=event_id)
    before = await both(rig, no)
    await rig.write(lambda tx: desk.decide(tx, actor=MANAGER, dispute_id=opened.id, accept=True, answer="a"))
    between = explanations.explained(of, await facts_of(rig, no), ZONE)
    rig.now_ms += 1_000
    await rig.drain()
    after, dispute_id, event_id = await both(rig, no), opened.id, Id(event_id)

    assert before[0] == before[1]
    # Until it is scored anew, the score and its explanation are those of before.
    assert between == replace(before[0], disputes=between.disputes)
    assert after[0] == after[1]
    assert Id(dispute_id) in {each.annulled for each in (*after[0].harsh_events, *after[0].overspeed)}
    assert after[0].explained_score == after[0].score > before[0].score
    contested = [each for each in before[0].harsh_events if each.id == event_id]
    contested += [each for each in before[0].overspeed if event_id in each.ids]
    assert [each.without_it for each in contested] == [pytest.approx(after[0].score, abs=1e-9)]
    assert after[0].version != before[0].version


async def test_findings_stay_when_judging_finds_the_same_and_change_with_the_policy(rig):
    no = await rig.add_trip(drive(*HARSH), distance_m=10_000)
    await rig.drain()
    kept = [await rig.rows(tables.trip_findings, *tables.trip_findings.c.keys())]
    await rig.ask_again(no)
    rig.now_ms += 1_000
    await rig.drain()
    kept.append(await rig.rows(tables.trip_findings, *tables.trip_findings.c.keys()))
    await rig.write(lambda tx: policies.choose(tx, Kind.COMPANY, COMPANY, 2, from_ms=0, now_ms=0))
    await rig.ask_again(no)
    await rig.drain()
    first, same, other = *kept, await rig.rows(tables.trip_findings, "policy", "changed_ms")

    assert same == first
    assert (first[0][2], first[0][3]) == (1, NOW_MS)
    assert other == [(2, NOW_MS + 1_000)]


async def test_samples_that_arrive_change_the_version_before_the_trip_is_scored_anew(rig):
    no = await rig.add_trip(drive(*HARSH), distance_m=10_000)
    await rig.drain()
    of = await trip_id_of(rig, no)
    seen = []

    async def look():
        answer = explanations.explained(of, await facts_of(rig, no), ZONE)
        seen.append((answer.version, answer.quality.samples))
        assert await rig.store.read(lambda tx: reads.version(tx, actor=ASKING, of=of)) == answer.version

    await look()
    await look()
    await rig.write(lambda tx: add_microtrip(tx, rig.ids, no, b"".join(along([50.0] * 60, lambda each: each + 60))))
    await look()
    await rig.ask_again(no)
    rig.now_ms += 1_000
    await rig.drain()
    await look()
    first, again, more, anew = seen

    assert first == again
    assert len({first[0], more[0], anew[0]}) == 3
    assert first[1] == more[1] < anew[1]


async def test_trip_that_grew_too_long_to_be_explained_has_no_findings_any_more(rig, monkeypatch):
    no = await rig.add_trip(drive(*[50.0] * 40), distance_m=10_000)
    await rig.drain()
    before = await rig.rows(tables.trip_findings, "trip_no")
    monkeypatch.setattr(reads, "EXPLAINED", 39)
    await rig.ask_again(no)
    await rig.drain()
    nos, after = [no], await rig.rows(tables.trip_findings, "trip_no")

    assert [row[0] for row in before] == nos
    assert after == []


def test_findings_of_an_hour_are_small():
    speeds = [50 + 20 * np.sin(second / 40) + (40 if second % 600 < 3 else 0) for second in range(3_600)]

    found = judged(along([float(each) for each in speeds]))

    assert len(found.limits) > 300
    assert len(findings.written(found)) < 16_384


async def test_many_events_are_not_read_on_the_event_loop(rig, monkeypatch):
    no = await rig.add_trip(drive(*HARSH), distance_m=10_000)
    await rig.drain()
    of = await trip_id_of(rig, no)

    async def at_once():
        return [
            await rig.store.read(lambda tx, read=read: read(tx, actor=ASKING, of=of)) is not None
            for read in (reads.to_explain_at_once, reads.to_explain_stored)
        ]

    seen = [await at_once()]
    monkeypatch.setattr(reads, "_FEW_EVENTS", 2)
    seen.append(await at_once())
    monkeypatch.setattr(reads, "_MANY_EVENTS", 2)
    seen.append(await at_once())
    monkeypatch.undo()
    await outdate(rig)

    assert [*seen, await at_once()] == [[True, True], [False, True], [False, False], [False, False]]
