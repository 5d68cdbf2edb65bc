"""Pages of platform administrators: applications to review, accounts of every kind."""

import re
from functools import partial
from urllib.parse import urlencode

import msgspec
import pytest
from sqlalchemy import insert, select
from tests.support import outbox, reference, stores
from tests.support import rest as support
from tests.support.outbox import Waiting
from tests.support.portal import HTMX, Browser, Page
from tests.support.rest import Login, Rest, changed

from tripline.config import Config
from tripline.config.files import Origin
from tripline.domain import ids
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, RowNo, SensorId, UserId
from tripline.domain.pushes import Channel
from tripline.domain.refusals import Forbidden
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.language.phrases import phrase
from tripline.ports.maps import LostMap, RoadServer
from tripline.services import doctor, readiness, settings
from tripline.services.doctor import Finding
from tripline.services.ingest import drain
from tripline.store.accounts import mail_outbox as mail_outboxes
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.tables import account, mail_outbox, rejected_message, service_application
from tripline.store.transactions import WriteTx
from tripline.wire.bus import reasons

FORM = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "Night taxis")


async def root(rest: Rest) -> Login:
    return await rest.account("root@x.example", Authority.SYS_ADMIN)


async def applied(rest: Rest, email: str = "kim@x.example", **more: str) -> str:
    assert (await Browser(rest).post("/apply", {**FORM, "email": email, **more})).status_code == 303
    statement = select(service_application.c.id).where(service_application.c.email == email)
    (row,) = await rest.store.read(lambda tx: tx.all(statement))
    return str(row.id)


async def states(rest: Rest) -> list[tuple[str, str | None]]:
    statement = select(service_application.c.state, service_application.c.reason)
    return [(row.state, row.reason) for row in await rest.store.read(lambda tx: tx.all(statement))]


async def mails(rest: Rest) -> list[str]:
    return [row.kind for row in await rest.store.read(lambda tx: tx.all(select(mail_outbox.c.kind)))]


async def test_application_is_approved_once(app):
    approved = (True, [303, 400], False, [("APPROVED", None)], ["application.approved"])
    browser = Browser(app, await root(app))
    wanted = await applied(app)
    waiting = "Night taxis" in (await browser.get("/admin/applications")).text
    answers = [await browser.post(f"/admin/applications/{wanted}/approve") for _ in range(2)]
    left = "Night taxis" in Page((await browser.get("/admin/applications")).text).text

    assert (waiting, [each.status_code for each in answers], left, await states(app), await mails(app)) == approved


@pytest.mark.parametrize("reason", ["", " \r\n", "x" * 4_097])
async def test_rejection_needs_a_reason_and_keeps_what_was_typed(app, reason):
    rejected = (400, True, False, 303, True, [("REJECTED", "No\nvehicles.")], ["application.rejected"])
    browser = Browser(app, await root(app))
    wanted = await applied(app)
    refused = await browser.post(f"/admin/applications/{wanted}/reject", {"reason": reason})
    kept = reason.strip() in Page(refused.text).text
    early = "Decided" in refused.text
    done = await browser.post(f"/admin/applications/{wanted}/reject", {"reason": "No\r\nvehicles."})
    told = Page((await browser.get(f"/admin/applications/{wanted}")).text).text
    late = "Decided" in told and "vehicles." in told
    found = refused.status_code, kept, early, done.status_code, late, await states(app), await mails(app)

    assert found == rejected


async def test_account_is_disabled_and_enabled_and_never_the_own(app):
    admin = await root(app)
    browser = Browser(app, admin)
    kim = await app.account("kim@x.example", Authority.DRIVER)

    async def status() -> int:
        return (await app.call(kim, "GET", "/api/auth/user")).status_code

    seen = [await status()]
    for word in ("disable", "enable"):
        assert (await browser.post(f"/admin/accounts/{kim.user_id}/{word}")).status_code == 303
        seen.append(await status())
    own = await browser.post(f"/admin/accounts/{admin.user_id}/disable")
    page = Page((await browser.get(f"/admin/accounts/{admin.user_id}")).text)
    rows = await app.store.read(lambda tx: tx.all(select(account.c.enabled)))
    buttons = [each for each in page.all("form") if "disable" in (each.get("action") or "")]

    assert (seen, own.status_code, buttons, {row.enabled for row in rows}) == ([200, 401, 401], 400, [], {True})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"root", "kim", "lee"}),
        ("q=KI", {"kim"}),
        ("role=DRIVER", {"kim", "lee"}),
        ("role=DRIVER&q=l", {"lee"}),
        ("state=disabled", set()),
        ("state=enabled&role=SYS_ADMIN", {"root"}),
    ],
)
async def test_accounts_are_found_by_beginning_role_and_state(app, query, found):
    browser = Browser(app, await root(app))
    for name in ("kim", "lee"):
        await app.account(f"{name}@x.example", Authority.DRIVER)
    text = Page((await browser.get(f"/admin/accounts?{query}")).text)
    links = [each for each in text.hrefs if each.startswith("/admin/accounts/")]
    rows = await app.store.read(lambda tx: tx.all(select(account.c.id, account.c.email)))
    names = {f"/admin/accounts/{row.id}": row.email.partition("@")[0] for row in rows}

    assert {names[each] for each in links} == found


async def three_applied(rest: Rest) -> Browser:
    """Of three applications one is approved; the others wait."""
    for number in range(3):
        rest.now_ms += 1_000
        wanted = await applied(rest, f"kim{number}@x.example", serviceName=f"{'nN'[number % 2]}ight {number}")
    browser = Browser(rest, await root(rest))
    await browser.post(f"/admin/applications/{wanted}/approve")
    return browser


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["Night 1", "night 0"]),
        ("?state=APPROVED", ["night 2"]),
        ("?state=REJECTED", []),
        ("?state=any", ["night 2", "Night 1", "night 0"]),
        ("?state=any&sort=name", ["Night 1", "night 0", "night 2"]),
        ("?q=NIGHT%201", ["Night 1"]),
        ("?q=day&state=any", []),
    ],
)
async def test_applications_are_listed_by_state_those_that_wait_first(app, query, found):
    browser = await three_applied(app)
    count = await browser.get(f"/admin/applications/count{query}")
    page, count = (await browser.get(f"/admin/applications{query}")).text, Page(count.text).text

    assert re.findall(r'<th scope="row"><a href="/admin/applications/[^"]+">([^<]+)</a>', page) == found
    assert f"{len(found)} application" in count
    # A tab leads on whether anything is in it or not.
    assert 'state=REJECTED"' in page


@pytest.mark.parametrize("query", ["sort=company", "state=NONE"])
async def test_applications_are_ordered_and_filtered_by_what_there_is(app, query):
    assert (await Browser(app, await root(app)).get(f"/admin/applications?{query}")).status_code == 400


@pytest.mark.parametrize("path", ["/admin/applications", "/admin/applications/count", "/admin/accounts"])
@pytest.mark.parametrize("role", [Authority.COMPANY_ADMIN, Authority.DIRECTOR, Authority.DRIVER, Authority.CARRIER])
async def test_page_of_the_platform_is_closed_to_every_other_role(app, path, role):
    assert (await Browser(app, await app.account("kim@x.example", role)).get(path)).status_code == 403


SETTINGS = {"mail.password": "hush", "store.url": "postgresql://kim:hush@db.example/fleet"}


def unbroken(text: str) -> str:
    """The page without the places where long names may break."""
    return text.replace("<wbr>", "")


async def shows_settings(rest: Rest) -> Browser:
    config = msgspec.convert({"mail": {"password": "hush"}, "store": {"url": SETTINGS["store.url"]}}, Config)
    origins = {"mail.password": Origin.FILE, "store.url": Origin.VARIABLE}
    rest.contexts = changed(rest.contexts, settings=partial(settings.in_force, config, origins))
    return Browser(rest, await root(rest))


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            (
                "Set, not shown",
                "Settings file",
                "Environment",
                "Least severity written (one of debug, info, warning, error).",
            ),
        ),
        ("ko", ("표시 안 함", "설정 파일", "환경 변수", "기록하는 최소 심각도")),
    ],
)
async def test_settings_in_force_are_shown_without_their_secrets(app, language, told):
    browser = await shows_settings(app)
    text = unbroken((await browser.get("/admin/settings", **{"Accept-Language": language})).text)

    assert "hush" not in text
    assert "postgresql://…@db.example/fleet" in text
    assert [each for each in told if each not in text] == []


async def test_settings_are_found_by_their_meaning_in_the_language_of_the_page(app):
    browser = await shows_settings(app)
    found = (await browser.get(f"/admin/settings?{urlencode({'q': '심각도'})}", **{"Accept-Language": "ko"})).text

    assert re.findall("<code>([a-z._]+)</code>", unbroken(found)) == ["log.level"]


@pytest.mark.parametrize(
    ("search", "found"),
    [("MAIL.PASS", ["mail.password"]), ("db.example", ["store.url"]), ("least severity", ["log.level"]), ("zz", [])],
)
async def test_settings_are_found_by_name_value_and_meaning(app, search, found):
    browser = await shows_settings(app)
    path = f"/admin/settings?{urlencode({'q': search})}"
    whole, part = (await browser.get(path)).text, (await browser.get(path, **HTMX, **{"HX-Target": "list"})).text

    for text in (whole, part):
        assert re.findall("<code>([a-z._]+)</code>", unbroken(text)) == found
    assert "<h1>" not in part


FAILING = readiness.Report(
    "failing",
    (
        Finding("listeners", True, (phrase("ready.listeners.open"),)),
        Finding(
            "disk",
            False,
            (phrase("ready.disk.short", free="12", place="/d", reserve="512"),),
            phrase("ready.disk.mend"),
        ),
        Finding("certificate", True, (phrase("ready.certificate.well", end="soon"),)),
    ),
    support.NOW_MS + 3 * 86_400_000,
    lost_maps=[LostMap("town", "no such folder")],
    road_server=RoadServer("Valhalla answered with HTTP status 503."),
)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            (
                "12 MiB are free in /d, less than store.reserve_mib (512)",
                "Free space before it is full.",
                "Expires in 3 days.",
                "No mail is waiting, 1 parked; last error: 550 no such user.",
                "Fix the cause and restart; the mails are then sent again",
                "The map of “town” cannot be read (no such folder)",
                "tripline map import FILE --name town",
                "tripline map remove town",
                "Without a map, the speed limits of its area are unknown",
                "Valhalla answered with HTTP status 503. Trips on imported maps wait up to ten minutes;",
                "Start the Valhalla server that map.valhalla_url names, or correct that setting and restart.",
                "Road server",
                "Password links and decisions on applications are sent by mail.",
                "Needs fixing",
            ),
        ),
        (
            "ko",
            (
                "/d의 남은 공간이 12MiB로 store.reserve_mib(512)보다 적습니다.",
                "가득 차기 전에 공간을 확보하십시오.",
                "3일 뒤에 만료됩니다.",
                "대기 중인 메일이 없습니다. 보류된 메일은 1통입니다. 마지막 오류: 550 no such user.",
                "원인을 해결하고 다시 시작하면 한 번 더 보냅니다.",
                "지도(town)를 읽을 수 없습니다. 사유: no such folder.",
                "tripline map remove town",
                "Valhalla의 응답은 HTTP 503입니다. 가져온 지도가 있는 지역의 운행은 최대 10분을 기다리고,",
                "map.valhalla_url의 Valhalla 서버를 시작하거나, 설정을 고치고 다시 시작하십시오.",
                "도로 매칭 서버",
                "비밀번호 설정 링크와 서비스 신청 결과를 메일로 보냅니다.",
                "조치 필요",
            ),
        ),
    ],
)
async def test_health_says_what_was_found_what_it_means_and_what_to_do(app, language, told):
    def park(tx: WriteTx) -> None:
        mail_outboxes.add(tx, ids=app.ids, kind="password.reset", recipient="kim@x.example", now_ms=app.now_ms)
        (mail,) = mail_outboxes.due(tx, now_ms=app.now_ms, limit=9)
        mail_outboxes.postpone(tx, mail, error="550 no such user", due_ms=mail_outboxes.NEVER_MS)

    app.contexts = changed(app.contexts, ready=lambda: FAILING)
    browser = Browser(app, await root(app))
    await app.store.write(park)
    text = Page((await browser.get("/admin/health", **{"Accept-Language": language})).text).text

    assert [each for each in told if each not in text] == []


@pytest.mark.once("how many things there are depends on the store")
@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            (
                "4 things need fixing. 1 thing needs a look.",
                "Messages for Company: accepts messages but has not answered for",
            ),
        ),
        ("ko", ("조치가 필요한", "확인할 항목도", "Company 업체로 보내는 알림")),
    ],
)
async def test_health_names_receivers_by_what_they_get_and_counts_what_needs_a_look_beside_what_is_wrong(
    app, language, told
):
    operator, _ = await app.operator("ace")
    key = (CompanyId(operator["id"]["id"]), Channel.NOTIFY)
    app.contexts = changed(app.contexts, ready=lambda: FAILING)

    def never_answers(tx: WriteTx) -> None:
        no = RowNo(ids.first_no(app.now_ms - 600_000))
        outbox.add(tx, [Waiting(no, "id", key[0], SensorId("s"), 2, b"{}", 0)])
        taken = [push_queue.Result(no, 2, app.now_ms, "nothing")]
        push_queue.settle(tx, delivered=[], postponed=[], parked=[], unconfirmed=taken)
        receiver_state.silent(tx, key, since_ms=app.now_ms - 300_000, readdressed_ms=0)

    await app.store.write(never_answers)
    browser = Browser(app, await root(app))
    company_id, text = key[0], Page((await browser.get("/admin/health", **{"Accept-Language": language})).text).text

    assert [each for each in told if each not in text] == []
    assert company_id not in text


async def test_health_of_a_sound_installation_has_nothing_to_mend(app):
    text = Page((await Browser(app, await root(app)).get("/admin/health")).text).text

    assert "No job is waiting" in text
    # The clock of these tests is not that of a database server.
    assert ("Everything works." in text, "Needs fixing" in text) == (
        (False, True) if stores.on_postgresql() else (True, False)
    )


async def test_health_names_what_is_to_be_mended_first_and_then_what_is_to_be_looked_at(app):
    person = Actor(UserId("x"), Authority.SYS_ADMIN, None)
    late = Waiting(RowNo(ids.first_no(app.now_ms - 600_000)), "id", CompanyId("c"), SensorId("s"), 2, b"{}", 0)
    await app.store.write(lambda tx: outbox.add(tx, [late]))
    report = await app.store.read(lambda tx: doctor.examined(tx, actor=person, ready=FAILING, clock=lambda: app.now_ms))
    found = [(each.subject, each.well) for each in report.findings]

    assert found[:4] == [("disk", False), ("maps", False), ("roads", False), ("certificate", False)]
    assert next(subject for subject, well in found if well) == "push"
    assert [well for _, well in found] == sorted(well for _, well in found)


async def test_health_with_something_to_look_at_does_not_say_that_everything_works(app):
    late = Waiting(RowNo(ids.first_no(app.now_ms - 600_000)), "id", CompanyId("c"), SensorId("s"), 2, b"{}", 0)
    await app.store.write(lambda tx: outbox.add(tx, [late]))
    text = Page((await Browser(app, await root(app)).get("/admin/health")).text).text

    assert "Everything works." not in text
    # The clock of these tests is not that of a database server.
    if not stores.on_postgresql():
        assert "Nothing needs fixing. 1 thing needs a look." in text


@pytest.mark.parametrize(("days", "told"), [(30, True), (5_000, False)])
async def test_health_says_when_our_own_authority_ends(app, days, told):
    ends_ms = app.now_ms + days * 86_400_000
    app.contexts = changed(app.contexts, ready=lambda: readiness.Report("ready", (), authority_end_ms=ends_ms))
    text = Page((await Browser(app, await root(app)).get("/admin/health")).text).text

    assert ("Own certificate authority" in text, f"xpires in {days} days" in text) == (told, told)


@pytest.mark.parametrize("authority", [each for each in Authority if each is not Authority.SYS_ADMIN])
async def test_health_is_told_to_platform_administrators_alone(app, authority):
    actor = Actor(UserId("x"), authority, None)
    with pytest.raises(Forbidden):
        await app.store.read(lambda tx: doctor.examined(tx, actor=actor, ready=FAILING, clock=lambda: 0))


@pytest.mark.parametrize(
    ("language", "meaning"), [("en", "The message is not valid JSON."), ("ko", "올바른 JSON이 아닙니다.")]
)
async def test_health_says_what_a_rejected_message_lacks_and_keeps_a_reason_of_an_older_version(app, language, meaning):
    def reject(tx: WriteTx) -> None:
        for number, reason in enumerate(("not_json", "former_reason")):
            row = {"no": ids.first_no(app.now_ms) + number, "source": "s", "topic": "t", "reason": reason}
            tx.run(insert(rejected_message).values(detail="", body=b"", messages=1, size=1, **row), {})

    await app.store.write(reject)
    browser = Browser(app, await root(app))
    text = Page((await browser.get("/admin/health", **{"Accept-Language": language})).text).text

    assert [each for each in ("not_json", meaning, "former_reason") if each not in text] == []


@pytest.mark.parametrize("language", Language)
def test_every_reason_of_a_rejected_message_has_a_meaning(language):
    told = {
        key.rpartition(".")[2] for key in catalogue.of_portal(language) if key.startswith("portal.health.rejection.")
    }

    assert told == {*reference.REASONS, *reasons.REASONS, drain.NOT_A_FRAME}
