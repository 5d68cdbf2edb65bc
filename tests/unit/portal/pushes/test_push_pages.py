"""Pages of pushes: addresses without passwords, wanted messages in words, the secret, test messages, what waits."""

import re

import pytest
from sqlalchemy import delete, update
from tests.support import delegating, rest
from tests.support.portal import Browser, Page, live
from tests.unit.api.test_pushes import parked, unconfirmed, waiting
from tests.unit.services.push.test_trials import Server

from tripline import observe
from tripline.domain.access import Authority
from tripline.portal.lists import messages as push_list
from tripline.ports.webhooks import WebhookFailedError, WebhookReply
from tripline.services.push import resender
from tripline.store.tables import push_outbox

SECRET_ADDRESS = "https://who:what@n.example/noti?key=1"
HOSTS = {"notifyHost": SECRET_ADDRESS, "notifyMsgType": "0f, 2, 102, 600"}
KOREAN = {"Accept-Language": "ko"}


def postpone(tx, message_id, due_ms):
    tx.run(update(push_outbox).where(push_outbox.c.id == message_id).values(due_ms=due_ms))


@pytest.fixture
async def admin(app):
    """The administrator of a company with addresses."""
    return await app.staged(_admin)


async def _admin(app):
    return (await app.operator("ace", **HOSTS))[1]


@pytest.fixture
def browser(app, admin):
    return Browser(app, admin)


def value(page, name):
    return next(each["value"] for each in page.all("input") if each.get("name") == name)


def ticked(page, name):
    return [each["value"] for each in page.all("input") if each.get("name") == name and "checked" in each]


async def test_overview_shows_addresses_without_passwords_and_wanted_messages_in_words(browser):
    english, korean = [(await browser.get("/pushes", **{"Accept-Language": each})).text for each in ("en", "ko")]

    assert "https://n.example/noti" in english
    assert "what" not in Page(english).text.split("Addresses")[1].split("collision")[0]
    assert "key=1" not in english
    assert "Collision while driving" in english
    assert "State of a line changed 600" in Page(english).text
    assert "주행 중 충돌" in korean


async def test_administrator_changes_addresses_and_wanted_messages(app, admin, browser):
    form = Page((await browser.get("/pushes/addresses")).text)
    sent = {
        "digest": value(form, "digest"),
        "notifyHost": "http://n.example/other",
        "wanted": ["2", "101", "400", "x"],
        "rpcNotifyHost": "r.example",
        "rpcNotifyPort": "9090",
        "rpcNotifyBasePath": "",
    }
    done = await browser.post("/pushes/addresses", sent)
    record, told = await app.get(admin, f"/company/{admin.company_id}"), app.signals.told

    assert value(form, "notifyHost") == SECRET_ADDRESS
    assert ticked(form, "wanted") == ["2", "102", "600"]
    assert done.status_code == 303
    assert (record["notifyHost"], record["notifyMsgType"]) == ("http://n.example/other", "2, 101")
    assert (record["rpcNotifyHost"], record["rpcNotifyPort"]) == ("r.example", 9090)
    assert (observe.SIGNAL_COMPANY_CHANGED, record["id"]["id"]) in told


async def test_what_is_no_number_stays_as_long_as_nobody_wants_other_messages(app, admin, browser):
    form = Page((await browser.get("/pushes/addresses")).text)
    sent = {"digest": value(form, "digest"), "notifyHost": "http://n.example/", "wanted": ticked(form, "wanted")}
    await browser.post("/pushes/addresses", sent)

    assert (await app.get(admin, f"/company/{admin.company_id}"))["notifyMsgType"] == HOSTS["notifyMsgType"]


@pytest.mark.parametrize(("port", "told"), [("x", "Port"), ("99999", "Port")])
async def test_port_that_is_none_is_told_and_what_was_typed_stays(app, admin, browser, port, told):
    form = Page((await browser.get("/pushes/addresses")).text)
    sent = {"digest": value(form, "digest"), "notifyHost": "http://typed.example/", "rpcNotifyPort": port}
    answer = await browser.post("/pushes/addresses", sent)
    record = await app.get(admin, f"/company/{admin.company_id}")

    assert answer.status_code == 400
    assert told in answer.text
    assert "http://typed.example/" in answer.text
    assert record["notifyHost"] == SECRET_ADDRESS


async def test_second_who_saves_is_told_what_the_first_one_saved_and_loses_nothing(app, admin, browser):
    form = Page((await browser.get("/pushes/addresses")).text)
    first = {"digest": value(form, "digest"), "notifyHost": "http://first.example/", "wanted": ["2"]}
    second = {**first, "notifyHost": "http://second.example/", "wanted": ["102"]}
    await browser.post("/pushes/addresses", first)
    refused = await browser.post("/pushes/addresses", second)
    between = (await app.get(admin, f"/company/{admin.company_id}"))["notifyHost"]
    again = {**second, "digest": value(Page(refused.text), "digest")}
    done = await browser.post("/pushes/addresses", again)
    after = (await app.get(admin, f"/company/{admin.company_id}"))["notifyHost"]

    assert (refused.status_code, between) == (409, "http://first.example/")
    assert "Another user saved this record in the meantime." in refused.text
    assert value(Page(refused.text), "notifyHost") == "http://second.example/"
    assert ticked(Page(refused.text), "wanted") == ["102"]
    assert (done.status_code, after) == (303, "http://second.example/")


async def test_field_that_only_the_first_one_changed_keeps_the_newer_value(browser):
    form = Page((await browser.get("/pushes/addresses")).text)
    first = {"digest": value(form, "digest"), "notifyHost": SECRET_ADDRESS, "wanted": ["2", "101"]}
    second = {**first, "rpcNotifyHost": "r.example", "wanted": ticked(form, "wanted")}
    await browser.post("/pushes/addresses", first)
    refused = Page((await browser.post("/pushes/addresses", second)).text)

    assert value(refused, "rpcNotifyHost") == "r.example"
    assert ticked(refused, "wanted") == ["2", "101"]
    assert "Trouble codes" in refused.text.split("Yours")[-1]


@pytest.mark.parametrize(
    ("answer", "told", "korean"),
    [
        (WebhookReply(200, 12, b"fine <b>"), "fine &lt;b&gt;", "서버가 테스트 알림을 받았습니다"),
        (
            WebhookReply(500, 12, b""),
            "The server did not take the test message",
            "테스트 알림을 받지 않았습니다",
        ),
        (
            WebhookFailedError("The host name could not be resolved."),
            "The host name could not be resolved.",
            "이름을 조회하지",
        ),
    ],
)
async def test_answer_to_a_test_message_is_shown(tmp_path, answer, told, korean):
    async with rest.opened(tmp_path, webhooks=Server(answer)) as app:
        _, admin = await app.operator("ace", **HOSTS)
        browser, sent = Browser(app, admin), {"channel": "notify"}
        in_english, in_korean = [
            await browser.post("/pushes/test", sent, **{"Accept-Language": each}) for each in ("en", "ko")
        ]

    assert (in_english.status_code, in_korean.status_code) == (200, 200)
    assert told in in_english.text
    assert korean in in_korean.text


async def test_test_message_without_an_address_is_refused_on_the_page(browser):
    answer = await browser.post("/pushes/test", {"channel": "rpc_notify"})

    assert answer.status_code == 400
    assert "The company has no address for these messages" in answer.text


async def test_secret_is_shown_on_demand_alone_and_changed(app, admin, browser):
    overview = (await browser.get("/pushes")).text
    shown = (await browser.post("/pushes/secret")).text
    secret = (await app.get(admin, f"/company/{admin.company_id}/push/secret"))["secret"]
    rotated = (await browser.send("/pushes/secret/rotate", at="/pushes")).text
    after = await app.get(admin, f"/company/{admin.company_id}/push/secret")

    assert "whsec_" not in overview
    assert secret in shown
    assert after["secret"] in rotated
    assert after["secret"] != secret
    assert after["formerUntil"] is not None


async def test_messages_are_listed_by_state_and_sent_again(app, admin, browser):
    await waiting(app, admin.company_id, 2)
    given_up = await parked(app, admin.company_id, 3)
    await unconfirmed(app, admin.company_id, 1)
    pages = [
        Page((await browser.get(f"/pushes/messages?state={each}")).text)
        for each in ("waiting", "parked", "unconfirmed")
    ]
    chosen = await browser.post("/pushes/send", {"state": "parked", "messageId": given_up[:2]})
    counts = [await app.get(admin, f"/company/{admin.company_id}/push")]
    for state in ("parked", "unconfirmed", "waiting"):
        await browser.post("/pushes/send", {"state": state})
        counts.append(await app.get(admin, f"/company/{admin.company_id}/push"))

    assert [len(page.all("tbody")) for page in pages] == [1, 1, 1]
    boxes = [each["value"] for each in pages[1].all("input") if each.get("name") == "messageId"]
    assert sorted(boxes) == sorted(given_up)
    assert "HTTP status 404." in pages[1].text
    assert chosen.status_code == 303
    numbers = [(each["waiting"], each["parked"], each["unconfirmed"]) for each in counts]
    assert numbers == [(4, 1, 1), (5, 0, 1), (6, 0, 0), (6, 0, 0)]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 3),
        ("?to=notify", 3),
        ("?to=rpc_notify", 0),
        ("?q=zz", 0),
        ("?state=parked", 2),
        ("?state=parked&kind=DISPUTE", 0),
        ("?state=unconfirmed&sort=made", 1),
    ],
)
async def test_messages_are_filtered_and_counted_in_each_state(app, admin, browser, query, count):
    await waiting(app, admin.company_id, 3)
    await parked(app, admin.company_id, 2)
    await unconfirmed(app, admin.company_id, 1)
    counted = Page((await browser.get(f"/pushes/messages/count{query}")).text).text
    page = (await browser.get(f"/pushes/messages{query}", **KOREAN)).text

    assert page.count("<tr data-row") == count
    assert f"{count} message" in counted
    assert [f'state={state}"' in page for state in ("waiting", "unconfirmed", "parked")] == [True, True, True]


async def test_all_are_sent_again_only_from_a_list_of_all(app, admin, browser):
    await parked(app, admin.company_id, 2)
    queries = ("", "&to=notify", "&q=s", "&sort=made")
    pages = [(await browser.get(f"/pushes/messages?state=parked{each}")).text for each in queries]

    assert ["Send all 2 messages again" in page for page in pages] == [True, False, False, True]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (2, ["2", "Send all 2 messages again", "2", "알림 2건 모두 다시 보내기"]),
        (3, ["2+", "Send all messages again", "2+", "알림 모두 다시 보내기"]),
    ],
)
async def test_messages_are_counted_on_the_page_only_up_to_a_bound(app, admin, browser, monkeypatch, count, told):
    monkeypatch.setattr(push_list, "COUNTED", 2)

    await parked(app, admin.company_id, count)
    pages = [(await browser.get("/pushes/messages?state=parked", **each)).text for each in ({}, KOREAN)]
    sent = await browser.post("/pushes/send", {"state": "parked"})
    left = (await app.get(admin, f"/company/{admin.company_id}/push"))["parked"]

    shown = [re.findall(r'class="count">(.*?)<', page) for page in pages]
    assert shown == [["0", told[0], "0"], ["0", told[2], "0"]]
    assert [text in Page(page).text for text, page in zip(told[1::2], pages, strict=True)] == [True, True]
    assert (sent.status_code, left) == (303, 0)


@pytest.mark.parametrize("role", [Authority.DIRECTOR, Authority.DRIVER, Authority.SYS_ADMIN, Authority.CARRIER])
@pytest.mark.parametrize("path", ["/pushes/messages", "/pushes/messages/count"])
async def test_messages_are_closed_to_every_other_role(app, role, path):
    other = await app.account("kim@x.example", role)

    assert (await Browser(app, other).get(path)).status_code == 403


async def test_messages_renew_themselves_while_any_wait(app, admin, browser):
    none = Page((await browser.get("/pushes/messages")).text)
    await waiting(app, admin.company_id, 2)
    await parked(app, admin.company_id, 1)
    other = Page((await browser.get("/pushes/messages?state=parked")).text)
    part = live(Page((await browser.get("/pushes/messages")).text))
    same = await browser.renew(part)
    await app.store.write(lambda tx: tx.run(delete(push_outbox)))
    over = await browser.renew(part)

    assert (live(none), live(other)) == (None, None)
    assert same.status_code == 204
    assert over.status_code == 200
    assert "<h1" not in over.text
    assert live(Page(over.text)) is None


async def test_renewed_list_leads_on_as_the_page_does(app, admin, browser):
    await waiting(app, admin.company_id, 2)
    before = Page((await browser.get("/pushes/messages")).text)
    await waiting(app, admin.company_id, 60)
    renewed = Page((await browser.renew(live(before))).text)
    after = Page((await browser.get("/pushes/messages")).text)

    assert [each for each in renewed.hrefs if "was=" in each] == []
    assert set(renewed.hrefs) <= set(after.hrefs)
    assert [each["href"] for each in renewed.all("a") if each.get("rel") == "next"]
    assert live(renewed)["id"] == live(before)["id"]


@pytest.mark.parametrize("make", [parked, unconfirmed])
@pytest.mark.parametrize(("count", "left"), [(3, 0), (4, 0), (5, 1)])
async def test_one_request_sends_a_bounded_number_of_messages_again_and_leaves_the_rest_to_a_worker(
    app, admin, browser, monkeypatch, make, count, left
):
    monkeypatch.setattr(resender, "STEP", 2)
    monkeypatch.setattr(resender, "AT_ONCE", 4)
    state = make.__name__

    await make(app, admin.company_id, count)
    sent = await browser.post("/pushes/send", {"state": state})
    cookie = "; ".join(f"{name}={value}" for name, value in sent.cookies.items())
    page = Page((await browser.get(sent.headers["location"], Cookie=cookie)).text).text
    counts = [(await app.get(admin, f"/company/{admin.company_id}/push"))[state]]
    worker = resender.Resender(store=app.store, signals=app.signals, clock=lambda: app.now_ms, ids=app.ids)
    while await worker.go_on():
        pass
    counts = [*counts, (await app.get(admin, f"/company/{admin.company_id}/push"))[state]]

    assert f"{count} messages are queued again." in page
    assert counts == [left, 0]


async def test_message_behind_another_of_its_sensor_names_no_time_of_its_own(app, admin, browser):
    ids = await waiting(app, admin.company_id, 4)
    await app.store.write(lambda tx: postpone(tx, ids[0], app.now_ms + 52 * 60_000))
    english, korean = [(await browser.get("/pushes/messages", **language)).text for language in ({}, KOREAN)]

    # Of three sensors, so the fourth waits behind the first.
    assert re.findall(r"in 52 min<|After the one before it|When its turn comes", english) == [
        "in 52 min<",
        "When its turn comes",
        "When its turn comes",
        "After the one before it",
    ]
    assert "52분 후" in korean
    assert "앞의 알림을 보낸 뒤" in korean


@pytest.mark.parametrize("state", ["waiting", "unconfirmed", "parked"])
async def test_empty_list_of_messages_says_what_would_stand_there_and_speaks_of_no_message(browser, state):
    text = Page((await browser.get(f"/pushes/messages?state={state}")).text).text

    assert "A message " in text
    assert "They " not in text


@pytest.mark.parametrize(
    ("language", "named", "why"),
    [
        ({}, "Score disputed, or dispute decided", "HTTP status 404."),
        (KOREAN, "점수에 대한 이의 제기와 처리 결과", "서버의 응답은 HTTP 404입니다."),
    ],
    ids=["en", "ko"],
)
async def test_disputes_are_wanted_and_listed_in_the_readers_language(app, admin, browser, language, named, why):
    form = Page((await browser.get("/pushes/addresses", **language)).text)
    sent = {"digest": value(form, "digest"), "notifyHost": "http://n.example/", "wanted": ["700"]}
    saved = await browser.post("/pushes/addresses", sent)
    await parked(app, admin.company_id, 1, selector=700)
    pages = [await browser.get(each, **language) for each in ("/pushes", "/pushes/messages?state=parked")]
    record = await app.get(admin, f"/company/{admin.company_id}")
    (overview, messages) = [Page(each.text) for each in pages]

    assert named in form.text
    assert (saved.status_code, record["notifyMsgType"]) == (303, "700")
    assert named in overview.text
    assert why in overview.text
    assert named in messages.text
    assert why in messages.text


@pytest.mark.parametrize("who", ["partner", "director", "driver"])
async def test_pushes_are_a_companys_own_affair(app, admin, who):
    await parked(app, admin.company_id, 1)
    if who == "partner":
        _, login = await app.partner(admin, "p@p.example")
    else:
        login = await getattr(delegating, who)(app, admin, who)
    browser = Browser(app, login)
    overview = await browser.get("/pushes")
    sent = await browser.post("/pushes/send", {"state": "parked"})
    left = (await app.get(admin, f"/company/{admin.company_id}/push"))["parked"]

    assert left == 1
    if who == "partner":
        assert overview.status_code == 200
        assert "n.example" not in overview.text
    else:
        assert (overview.status_code, sent.status_code) == (403, 403)
