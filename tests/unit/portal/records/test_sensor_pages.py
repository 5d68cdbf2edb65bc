"""Pages of a sensor: how its last connection ended, and what goes with it, in the reader's language."""

import json
import re
from uuid import uuid4

import pytest
from sqlalchemy import insert
from tests.support import delegating, journeys, lines, rest
from tests.support.portal import HTMX, Browser, Page

from tripline.domain.ids import RowNo
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.services import device_check
from tripline.store.devices import connections
from tripline.store.devices.connections import Change
from tripline.store.tables import sensor_attribute

ENDED = {"state": "COMPLETE", "end_ms": rest.NOW_MS, "closed_ms": rest.NOW_MS}


def test_every_way_a_connection_ends_has_words():
    texts = catalogue.of_portal(Language.ENGLISH)
    beginning = "portal.sensors.lost."

    assert {key.removeprefix(beginning) for key in texts if key.startswith(beginning)} == set(device_check.ENDINGS)


@pytest.mark.parametrize(
    ("language", "reason", "told"),
    [
        ("en", "silent", "No data arrived for 1.5 times the keep-alive."),
        ("ko", "silent", "keep-alive 시간의 1.5배 동안 수신이 없었습니다."),
        ("ko", "of_another_version", "of_another_version"),
    ],
)
async def test_page_says_how_the_last_connection_ended(app, admin, language, reason, told):
    record = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20})
    sensor_id, at_ms = record["id"]["id"], app.now_ms
    ended = Change(sensor_id, False, at_ms, at_ms, RowNo(1), at_ms, reason)
    await app.store.write(lambda tx: connections.write(tx, [ended], {sensor_id: False}, node_id=None))
    answer = await Browser(app, admin).get(f"/fleet/sensors/{sensor_id}", **{"Accept-Language": language})

    assert told in Page(answer.text).text


@pytest.mark.parametrize(("language", "term"), [("en", "Battery warning 104"), ("ko", "배터리 경고 104")])
async def test_latest_values_of_known_events_have_their_words(app, admin, language, term):
    record = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20})
    sensor_id = record["id"]["id"]
    values = [
        {"sensor_id": sensor_id, "name": name, "updated_ms": app.now_ms, "payload": b"{}"} for name in ("104", "cm")
    ]
    await app.store.write(lambda tx: tx.run(insert(sensor_attribute), values))
    found = await Browser(app, admin).get(f"/fleet/sensors/{sensor_id}", **{"Accept-Language": language})

    page = Page(found.text)

    assert term in page.text
    assert "cm" in page.text


async def test_connection_is_renewed_alone_and_only_once_it_changed(app, admin):
    record = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20})
    sensor_id, at_ms = record["id"]["id"], app.now_ms
    browser, there = Browser(app, admin), f"/fleet/sensors/{sensor_id}"
    page = Page((await browser.get(there)).text)
    (live,) = [each for each in page.all("div") if each.get("id") == "connection"]
    asks = {**HTMX, "HX-Target": "connection"}
    was = json.loads(live["hx-vals"])["was"]
    same = await browser.get(f"{there}?was={was}", **asks)
    begun = Change(sensor_id, True, at_ms, at_ms, RowNo(1))
    await app.store.write(lambda tx: connections.write(tx, [begun], {sensor_id: True}, node_id=str(uuid4())))
    changed = await browser.get(f"{there}?was={was}", **asks)

    assert live["hx-trigger"].startswith("every 10s")
    assert (same.status_code, same.content) == (204, b"")
    part = Page(changed.text)
    assert [each["id"] for each in part.all("div") if "hx-get" in each] == ["connection"]
    assert [each["id"] for each in part.all("span") if "hx-swap-oob" in each] == ["sensor-state"]
    assert "Connected" in part.text
    assert "<h1" not in changed.text


@pytest.mark.parametrize(
    ("language", "mounted", "trips", "told"),
    [
        ("en", True, [], ["It is taken off 12가1.", "2 latest values are erased."]),
        (
            "en",
            True,
            [ENDED, {}],
            [
                "It is taken off 12가1.",
                "Its open trip ends and is scored.",
                "2 latest values are erased.",
                "2 trips no longer name a sensor; those without a vehicle are erased.",
            ],
        ),
        (
            "ko",
            True,
            [{}],
            [
                "12가1 차량에서 장착이 해제됩니다.",
                "진행 중인 운행 1건이 종료되고 점수가 계산됩니다.",
                "최근 값 2개가 삭제됩니다.",
                "운행 1건에 센서가 표시되지 않고, 그중 차량이 없는 운행은 삭제됩니다.",
            ],
        ),
        ("en", False, [], ["2 latest values are erased."]),
        (
            "en",
            False,
            [{"vehicle_id": None}],
            ["2 latest values are erased.", "1 trip no longer names a sensor, or is erased if it has no vehicle."],
        ),
    ],
)
async def test_deletion_names_the_vehicle_the_open_trip_and_the_latest_values(
    app, admin, language, mounted, trips, told
):
    vehicle_id = await delegating.new_vehicle(app, admin, "12가1")
    record = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20})
    sensor_id = record["id"]["id"]
    if mounted:
        await app.post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")

    def keep(tx):
        on = {"company_id": admin.company_id, "sensor_id": sensor_id, "vehicle_id": vehicle_id}
        for at, trip in enumerate(trips):
            journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + at, **on | trip)
        for name in ("104", "cm"):
            row = {"sensor_id": sensor_id, "name": name, "updated_ms": rest.NOW_MS, "payload": b"{}"}
            tx.run(insert(sensor_attribute), row)

    await app.store.write(keep)
    browser, path = Browser(app, admin), f"/fleet/sensors/{sensor_id}/delete"
    asked = await browser.get(path, **{"Accept-Language": language})
    text, done = asked.text, [(await browser.confirm(path, word)).status_code for word in ("", "S")]

    assert re.findall(r"<li>(.*?)</li>", text.partition('<ul class="goes">')[2].partition("</ul>")[0]) == told
    # Trips alone make it a deletion whose word is to be typed.
    assert done == ([400, 303] if trips else [303, 404])


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "Its line is deleted, with its carrier reports."),
        ("ko", "회선 1개가 통신사가 보낸 회선 이력과 함께 삭제됩니다."),
    ],
)
async def test_deletion_of_a_sensor_with_a_line_says_that_the_line_goes(app, language, told):
    scene = await lines.scene(app)
    path = f"/fleet/sensors/{await scene.opened()}/delete"
    browser = Browser(app, scene.admin)
    asked = await browser.get(path, **{"Accept-Language": language})
    text, done = asked.text, [(await browser.confirm(path, word)).status_code for word in ("", lines.IMEI)]

    assert told in text
    assert done == [400, 303]


@pytest.mark.parametrize(
    ("language", "told", "kept"),
    [
        ("en", "None: the device cannot connect.", "Leave it empty to keep the token."),
        ("ko", "없음: 단말기가 접속할 수 없습니다.", "비워 두면 그대로 유지됩니다."),
    ],
)
async def test_sensor_without_a_token_says_so_and_offers_its_field_to_who_may_fill_it(app, language, told, kept):
    scene, spoken = await lines.scene(app), {"Accept-Language": language}
    sensor_id = await scene.opened()
    address = f"/fleet/sensors/{sensor_id}"
    director = await delegating.director(app, scene.admin, "Director")
    vehicle_id = await delegating.new_vehicle(app, scene.admin)
    await app.post(scene.admin, f"/vehicle/{vehicle_id}/director/{director.user_id}")
    await app.post(scene.admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
    found = [Page((await Browser(app, login).get(address, **spoken)).text) for login in (scene.admin, director)]
    forms = [(await Browser(app, scene.admin).get(f"{address}/edit", **spoken)).text]
    await app.call(scene.admin, "PUT", f"/sensor/{sensor_id}", {"credentialsId": "S" * 20})
    found.append(Page((await Browser(app, scene.admin).get(address, **spoken)).text))
    forms.append((await Browser(app, scene.admin).get(f"{address}/edit", **spoken)).text)
    field, pages = f"{address}/edit#f-credentialsId", found

    assert [(told in each.text, field in each.hrefs) for each in pages] == [(True, True), (True, False), (False, False)]
    assert [kept in each for each in forms] == [False, True]
