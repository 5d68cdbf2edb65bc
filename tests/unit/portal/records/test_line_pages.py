"""Pages of carrier lines: who sees which, their history, and lifting a pause."""

from uuid import uuid4

import pytest
from tests.support import delegating, lines, rest
from tests.support.portal import Browser, Page, live

from tripline.domain.access import Authority
from tripline.domain.lines import Claim
from tripline.portal.lists import exports
from tripline.ports.carriers import CarrierRefusedError
from tripline.ports.outages import Outage
from tripline.services.exports import Exporter
from tripline.store.lines import lines as rows


class Carrier:
    """Implements `ports.carriers.CarrierLines`: fails as told."""

    def __init__(self, failure):
        self.failure = failure

    async def unpause(self, mdn, *, request_id):
        """It does not happen."""
        raise self.failure


async def paused(app):
    """A line whose use is suspended; the scene and its sensor."""
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    await scene.act("SUSPENSION", kind="USE")
    return scene, sensor_id


async def test_line_is_listed_shown_with_its_history_and_its_pause_lifted(app: rest.Rest):
    scene, sensor_id = await paused(app)
    browser = Browser(app, scene.admin)
    listed = [Page((await browser.get(f"/lines{query}")).text) for query in ("", "?state=02", "?state=01")]
    before = (await browser.get(f"/lines/{sensor_id}")).text
    done = await browser.send(f"/lines/{sensor_id}/unpause", at=f"/lines/{sensor_id}")
    after = (await browser.get(f"/lines/{sensor_id}", **{"Accept-Language": "ko"})).text

    assert [f"/lines/{sensor_id}" in page.hrefs for page in listed] == [True, True, False]
    assert "Use of the line is paused." in before
    assert f"/lines/{sensor_id}/unpause" in before
    assert done.status_code == 303
    assert "요청에 따른 정지 해제" in after
    assert f"/lines/{sensor_id}/unpause" not in after


async def test_line_that_the_carrier_is_asked_about_renews_itself_until_that_is_known(app: rest.Rest):
    scene, sensor_id = await paused(app)
    browser, there = Browser(app, scene.admin), f"/lines/{sensor_id}"
    quiet = Page((await browser.get(there)).text)
    claim = Claim(uuid4().hex, app.now_ms + 60_000)
    await app.store.write(lambda tx: rows.claim(tx, sensor_id, claim))
    part = live(Page((await browser.get(there)).text))
    same = await browser.renew(part)
    await app.store.write(lambda tx: rows.claim(tx, sensor_id, None))
    over = await browser.renew(part)

    assert live(quiet) is None
    assert same.status_code == 204
    assert "<h1" not in over.text
    assert live(Page(over.text)) is None
    moved = [each["id"] for _, each in Page(over.text).elements if "hx-swap-oob" in each]
    assert moved == ["line-state", "line-actions"]


@pytest.mark.parametrize(
    ("failure", "status", "told"),
    [
        (CarrierRefusedError("<i>unpaid</i>"), 400, "&lt;i&gt;unpaid&lt;/i&gt;"),
        (Outage("away"), 503, "it is unknown whether the pause was lifted"),
    ],
)
async def test_pause_that_is_not_lifted_is_told_on_the_page(tmp_path, failure, status, told):
    async with rest.opened(tmp_path, carrier=Carrier(failure)) as app:
        scene, sensor_id = await paused(app)
        path = f"/lines/{sensor_id}"
        answer = await Browser(app, scene.admin).send(f"{path}/unpause", at=path)
        state = (await scene.sensor(sensor_id))["nwStatus"]

    assert (answer.status_code, state) == (status, "02")
    assert told in answer.text


async def test_line_without_a_pause_is_refused_in_words(app: rest.Rest):
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    answer = await Browser(app, scene.admin).post(f"/lines/{sensor_id}/unpause", {"mdn": lines.MDN})

    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


async def test_partners_line_is_seen_by_its_operator_who_lifts_no_pause(app: rest.Rest):
    scene, sensor_id = await paused(app)
    _, partner = await app.partner(scene.admin, "p@p.example")
    opening = {"mdn": "01099999999", "imei": "356938035643890", "companyId": partner.company_id}
    theirs = (await scene.act("OPENING", **opening))["sensor"]
    await scene.act("SUSPENSION", kind="USE", mdn="01099999999")
    director = await delegating.director(app, scene.admin, "idle")
    found = []
    for login, sensor in ((scene.admin, theirs), (partner, sensor_id), (director, sensor_id)):
        browser = Browser(app, login)
        page = await browser.get(f"/lines/{sensor}")
        lifted = await browser.post(f"/lines/{sensor}/unpause")
        found.append((page.status_code, "/unpause" in page.text, lifted.status_code))

    assert found == [(200, False, 403), (403, False, 403), (403, False, 403)]


@pytest.mark.parametrize(
    ("query", "status", "listed"),
    [
        ("?q=356938", 200, True),
        ("?q=010-1234", 200, True),
        ("?q=5678", 200, False),
        ("?state=02&q=010", 200, True),
        ("?state=99", 200, False),
        ("?state=00", 200, False),
        ("?after=0&at=0", 200, True),
        ("?sort=-created&columns=serial&columns=iccid&columns=imsi&columns=created", 200, True),
        ("?state=07", 400, False),
        ("?sort=mdn", 400, False),
    ],
)
async def test_list_is_searched_by_both_numbers_and_filtered_by_state(app: rest.Rest, query, status, listed):
    scene, sensor_id = await paused(app)
    answer = await Browser(app, scene.admin).get(f"/lines{query}")
    answered, page = answer.status_code, Page(answer.text)

    assert answered == status
    assert (f"/lines/{sensor_id}" in page.hrefs) is listed


@pytest.mark.parametrize(
    ("language", "rows"),
    [
        ("en", "Serial number,Telephone number,State,Plan,ICCID\r\n356938035643809,01012345678,Paused,PLAN,8982\r\n"),
        ("ko", "일련번호,전화번호,상태,요금제,ICCID\r\n356938035643809,01012345678,일시 정지,PLAN,8982\r\n"),
    ],
)
async def test_file_of_the_list_has_the_lines_in_the_chosen_state(app: rest.Rest, language, rows):
    scene, _ = await paused(app)
    await scene.opened(mdn="01099999999", imei="356938035643890")
    browser = Browser(app, scene.admin)
    asked = {"list": "lines", "form": "csv", "query": "state=02", "columns": "mdn.state.plan.iccid"}
    begun = await browser.post("/exports", asked, **{"Accept-Language": language})
    context = app.contexts.context
    books = exports.books(context.time_zone)
    await Exporter(
        store=context.store,
        signals=context.signals,
        clock=context.clock,
        maker_id="one",
        books=books,
    ).make_next()

    assert (await browser.get(f"{begun.headers['location']}/file")).content.decode("utf-8-sig") == rows


async def test_account_without_a_company_is_led_to_registering_one(app: rest.Rest):
    page = Page((await Browser(app, await app.account("new@x.example", Authority.COMPANY_ADMIN)).get("/lines")).text)

    assert "/fleet/companies/new" in page.hrefs
    assert not page.all("table")


@pytest.mark.parametrize(("query", "searched"), [("", False), ("?q=35", True), ("?state=02", True)])
async def test_list_without_a_line_offers_no_search_unless_somebody_searches(app: rest.Rest, admin, query, searched):
    page = Page((await Browser(app, admin).get(f"/lines{query}")).text)

    assert ("data-search-here" in {name for each in page.all("input") for name in each}) == searched
