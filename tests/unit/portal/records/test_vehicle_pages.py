"""The page of a vehicle: what its latest trip came to, and what deactivating it does."""

import re

import pytest
from tests.support import delegating, journeys, rest, scores
from tests.support.portal import Browser, Page
from tests.unit.api.test_positions import move, on

from tripline.domain.ids import RowNo
from tripline.domain.scores import WhyNot
from tripline.language.catalogue import Language
from tripline.scoring import quality
from tripline.scoring.quality import Limits, Quality
from tripline.store.devices import connections
from tripline.store.devices.connections import Change

OPEN = {"state": "OPEN", "end_ms": None}
ENDED = {"state": "COMPLETE", "end_ms": rest.NOW_MS + 60_000, "distance_m": 1_234.0}
JUDGED = {"score": 87.4567, "distance_m": 4_321.0}
KNOWN = quality.written(Quality(samples=9, period_ms=1_000, limits=Limits(tagged=0.5, implied=0.25, default=0.25)))


def shown(tmp_path, trip, score=None, language="en"):
    """What the page of a vehicle says of this latest trip after its end."""

    async def scenario(app):
        _, admin = await app.operator("ace")
        vehicle_id = await delegating.new_vehicle(app, admin)

        def keep(tx):
            on = {"company_id": admin.company_id, "vehicle_id": vehicle_id, **trip}
            no, trip_id = journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS, **on)
            if score is not None:
                named = {"trip_no": no, "trip_id": trip_id, "created_ms": rest.NOW_MS}
                scores.add_score(tx, 0, vehicle_id, **named, **score)

        await app.store.write(keep)
        return await Browser(app, admin).get(f"/fleet/vehicles/{vehicle_id}", **{"Accept-Language": language})

    answer = rest.run(tmp_path, scenario)
    assert answer.status_code == 200
    text = re.sub(r"\s+", " ", Page(answer.text).text)
    (told,) = re.findall(r"(?:Ended|종료)(?:.*? KST|Under way)(.*?) (?:Vehicle|차량 정보)", text)
    return told.strip()


@pytest.mark.parametrize(
    ("trip", "score", "language", "told"),
    [
        (ENDED, JUDGED, "en", "Distance4.3 kmScore87.5 speed limits known for 0% of the distance"),
        (ENDED | {"quality": KNOWN}, JUDGED, "ko", "거리4.3km점수87.5 제한 속도를 아는 구간 75%"),
        (
            ENDED | {"not_scored": "too_short"},
            None,
            "en",
            "Distance1.2 km as the device reports itScoreNo score: it is shorter than the minimum distance for"
            " scoring.",
        ),
        (
            ENDED | {"not_scored": "too_short"},
            None,
            "ko",
            "거리1.2km 단말기가 보낸 값점수점수 없음: 점수를 매기는 최소 거리보다 짧은 운행",
        ),
        (
            ENDED | {"not_scored": "of_another_version"},
            None,
            "en",
            "Distance1.2 km as the device reports itScoreNo score: it cannot be scored.",
        ),
        (ENDED, None, "en", "Distance1.2 km as the device reports itScoreWaiting to be scored"),
        (ENDED | {"distance_m": 0.0}, None, "ko", "점수점수 계산을 기다리는 중"),
    ],
)
def test_latest_trip_tells_its_distance_and_its_score_or_why_there_is_none(tmp_path, trip, score, language, told):
    assert shown(tmp_path, trip, score, language) == told


@pytest.mark.parametrize("score", [None, JUDGED])
def test_trip_under_way_tells_of_no_score_and_no_distance(tmp_path, score):
    assert shown(tmp_path, OPEN, score) == ""


async def test_every_reason_is_told_in_words_without_names_of_settings(app, admin):
    address = f"/fleet/vehicles/{await delegating.new_vehicle(app, admin)}"
    on = {"company_id": admin.company_id, "vehicle_id": address.rpartition("/")[2], **ENDED}
    told = {}
    for at, why in enumerate(WhyNot, start=rest.NOW_MS):
        row = {"not_scored": why.value, **on}
        await app.store.write(lambda tx, at=at, row=row: journeys.keep_trip(tx, app.ids, created_ms=at, **row))
        for language in Language:
            answer = await Browser(app, admin).get(address, **{"Accept-Language": language})
            told[why, language] = Page(answer.text).text

    reasons = {asked: re.findall(r"(?:No score|점수 없음): (.+)", text) for asked, text in told.items()}
    assert [len(each) for each in reasons.values()] == [1] * len(WhyNot) * len(Language)
    assert len({each[0] for each in reasons.values()}) == len(reasons)
    assert [each for each in reasons.values() if re.search(r"[`_]", each[0])] == []


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "The current driver may continue; no other driver may take it until it is activated again."),
        ("ko", "다시 사용을 시작할 때까지 다른 운전자는 탈 수 없습니다."),
    ],
)
async def test_what_deactivating_does_is_told_beside_its_button_alone(app, admin, language, told):
    vehicle_id = await delegating.new_vehicle(app, admin)
    browser, address = Browser(app, admin), f"/fleet/vehicles/{vehicle_id}"
    before = (await browser.get(address, **{"Accept-Language": language})).text
    await app.post(admin, f"/vehicle/{vehicle_id}/activate")
    pages = before, (await browser.get(address, **{"Accept-Language": language})).text

    assert [(told in each, '/deactivate"' in each) for each in pages] == [(False, False), (True, True)]


@pytest.mark.parametrize(
    ("language", "none", "position", "states"),
    [
        (
            "en",
            "No position has been received yet.",
            "Position received",
            ["Connected", "Not connected", "Never heard"],
        ),
        ("ko", "아직 수신한 위치가 없습니다.", "위치 수신", ["접속 중", "접속 안 됨", "수신 기록 없음"]),
    ],
)
async def test_last_position_and_the_connection_of_each_sensor_are_told(app, admin, language, none, position, states):
    vehicle_id = await delegating.new_vehicle(app, admin)
    browser, there = Browser(app, admin), f"/fleet/vehicles/{vehicle_id}"
    before = await browser.get(there, **{"Accept-Language": language})
    sensor_ids = [await on(app, admin, vehicle_id, number) for number in ("S1", "S2", "S3")]
    at_ms = app.now_ms
    begun = Change(sensor_ids[0], True, at_ms, at_ms, RowNo(1))
    ended = Change(sensor_ids[1], False, at_ms, at_ms, RowNo(1), at_ms, "silent")
    told = dict.fromkeys(sensor_ids[:2], True)
    await app.store.write(lambda tx: connections.write(tx, [begun, ended], told, node_id=None))
    await move(app, vehicle_id, sensor_ids[0])

    before, after = (
        Page(each.text).text for each in (before, await browser.get(there, **{"Accept-Language": language}))
    )

    assert none in before
    assert position not in before
    assert none not in after
    assert position in after
    rows = re.sub(r"\s+", " ", after)
    assert re.search(r"S1\s?" + states[0] + r".*S2\s?" + states[1] + r".*S3\s?" + states[2], rows)
