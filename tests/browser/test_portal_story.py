"""The first days of an operator in a real browser, by hand or by keyboard alone, in Korean or English: each run draws
both. People type the server's address and no other: links, buttons and the search lead to every page.

Everything beside the browser is real too: mails in a folder, devices over MQTTS, a carrier, a server for pushes.
"""

import time

import httpx
import pytest
from tests.support import calling, fleet, mail, portal_browser, portal_hands, receivers, receiving, servers, waits
from tests.support.portal_hands import window

pytestmark = [
    pytest.mark.deep,
    pytest.mark.once("what pages show and their scripts do"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

PLATFORM, APPLICANT, CARRIER = "platform@tripline.example", "fleet@hanbit.example", "net@carrier.example"
ROWS = 1_000
MDN = "01012345678"
PATIENCE_S = 30


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A fresh installation, and who tells the story on it."""
    data = tmp_path_factory.mktemp("story") / "data"
    for command, email in (("create", PLATFORM), ("carrier", CARRIER)):
        made = servers.run_here(
            *("admin", command, "--data", str(data), "--email", email, "--password-stdin"), stdin=fleet.PASSWORD
        )
        assert made.returncode == 0, made.stderr
    with servers.serving(data) as server:
        yield server, *portal_hands.drawn()


def test_operator_from_the_application_to_the_deletion_of_a_vehicle(told, tmp_path):
    server, language, kind = told
    with portal_browser.browsing() as browser, window(browser, server.api, language, kind, tmp_path) as operator:
        apply(operator)
        with window(browser, server.api, language, kind, tmp_path) as platform:
            approve(platform)
        set_password(operator, server)
        partner_id = register_companies(operator)
        imported(operator, tmp_path, "vehicles", vehicles(), "77")
        imported(operator, tmp_path, "sensors", sensors(), "GPS")
        mount(operator, server)
        delegate_and_take_back(operator, partner_id)
        unpause(operator, server)
        resend(operator, server)
        delete(operator)


def apply(hand):
    hand.open()
    hand.follow(hand.say("portal.sign_in.apply"))
    hand.fill(serviceName="hanbit", companyName="한빛 운수", introduction="Two hundred vans.\nScores for drivers.")
    hand.fill(contactName="김민서", mobile="010-1234-5678", email=APPLICANT)
    hand.press("portal.apply.submit")
    hand.sees("portal.apply.waiting")


def approve(hand):
    hand.open()
    hand.sign_in(PLATFORM)
    hand.turn_to("/admin/applications")
    hand.follow("hanbit")
    hand.press("portal.applications.approve")
    assert hand.done() == hand.say("portal.applications.approved", email=APPLICANT)


def set_password(hand, server):
    letters = waits.seen(lambda: mail.in_folder(server.data / "mail"), within_s=PATIENCE_S)
    link = mail.link_in(letters[-1])  # followed in the program that shows mails
    hand.page.goto(link.replace(link.partition("/account/")[0], server.api))
    for place in range(2):
        hand.write(hand.page.locator("#content input[type=password]").nth(place), fleet.PASSWORD)
    hand.use(hand.page.locator("#content form button[type=submit]").first)
    hand.page.wait_for_url("**/sign-in*")
    hand.sign_in(APPLICANT)


def register_companies(hand):
    """The own company and a partner; the partner's id."""
    hand.fill(name="Hanbit", serviceType="hanbit", picName="Kim", picEmail=APPLICANT, picPasswd=fleet.PASSWORD)
    hand.press("portal.companies.new_own")
    hand.page.wait_for_selector("nav.rail a[href='/delegation']")
    hand.turn_to("/fleet/vehicles", "/fleet/companies")
    hand.follow(hand.say("portal.companies.new"))
    hand.fill(name="Partner", picName="Lee", picEmail="lee@partner.example", picPasswd=fleet.PASSWORD)
    hand.press("portal.companies.new")
    hand.page.wait_for_url("**/fleet/companies/*-*")
    return hand.page.url.rpartition("/")[2].partition("?")[0]


def vehicles():
    """A thousand, of which ten have no distance and one repeats a number."""
    rows = ["차량번호,제조사,연료,변속기,배기량,주행거리(km)"]
    for number in range(ROWS):
        plate = "12가1000" if number == 500 else f"12가{1000 + number}"
        rows.append(f"{plate},현대,DIESEL,AUTO,1995,{'x' if number % 100 == 7 else number + 1}")
    return rows


def sensors():
    """A thousand; ten without a type, and one that repeats a serial number."""
    rows = ["serialNo,credentialsId,type,activationRequired"]
    for number in range(ROWS):
        serial = "HB-0000" if number == 500 else f"HB-{number:04d}"
        kind = "" if number % 100 == 7 else "GPS"
        rows.append(f"{serial},token-of-hanbit-{number:04d},{kind},true")
    return rows


def imported(hand, folder, kind, rows, right):
    path = folder / f"{kind}.csv"
    path.write_bytes("\n".join(rows).encode("cp949"))
    hand.turn_to("/import")
    hand.tick(hand.page.locator(f"input[name=kind][value={kind}]"))
    hand.give(hand.page.locator("input[type=file]"), path)
    hand.press("portal.import.upload")
    portal_browser.arrive(hand.page, "table.rows")
    for _ in range(20):
        wrong = hand.page.locator("table.rows tr.bad [aria-invalid]")
        if not wrong.count():
            break
        row = wrong.first.evaluate("(field) => field.closest('tr').id")
        hand.write(wrong.first, right)
        hand.page.keyboard.press("Enter")
        hand.page.wait_for_selector(f"tr.kept[id={row}]")
    hand.press(f"portal.import.commit.{kind}", n=ROWS - 1)
    assert f"{ROWS - 1:,}".replace(",", "") in hand.done().replace(",", "")


def mount(hand, server):
    """Two devices are asked: one fails and says why, the other does it. The page tells it without a reload."""
    for serial, result, step in (
        ("0001", {"results": 4000, "additionalInfo": "ignition is off"}, "failed"),
        ("0002", {"results": 2000}, "done"),
    ):
        hand.find(f"HB-{serial}")
        hand.page.wait_for_url("**/fleet/sensors/*-*")
        hand.follow(hand.say("portal.sensors.mount"))
        with calling.box(server, f"token-of-hanbit-{serial}", calling.answering({"result": 2000})) as device:
            hand.fill(vehicleNo=f"12가1{serial[1:]}")
            hand.press("portal.mounting.activate")
            request_id, _ = device.request()
            hand.sees("portal.mounting.step.acknowledged")
            address = hand.page.url
            hand.page.evaluate("window.untouched = true")
            device.result(request_id, result)
            hand.sees(f"portal.mounting.step.{step}")
        assert (hand.page.url, hand.page.evaluate("window.untouched")) == (address, True)
        if step == "failed":
            assert "ignition is off" in hand.page.locator("main").inner_text()


def delegate_and_take_back(hand, partner_id):
    hand.turn_to("/delegation", "/delegation/candidates")
    hand.fill(toCompanyId=partner_id)
    hand.press("portal.delegation.candidate.register")
    hand.page.locator("table#candidates").wait_for()
    hand.turn_to("/delegation")
    hand.follow(hand.say("portal.delegation.choose.title"))
    hand.write(hand.page.locator("[data-search-here]"), "12가1002")
    hand.page.keyboard.press("Enter")
    hand.page.locator("input[name=vehicleId]").nth(1).wait_for(state="detached")
    hand.choose(hand.page.locator("select[name=toCompanyId]"), "Partner")
    hand.tick(hand.page.locator("input[name=vehicleId]").first)
    hand.press("portal.delegation.delegate.preview")
    hand.press("portal.delegation.delegate.do", n=1)
    hand.sees("portal.delegation.delegated", n=1)
    hand.turn_to("/delegation")
    hand.tick(hand.page.locator("input[name=delegation]").first)
    hand.press("portal.delegation.take_back.preview")
    hand.sees("portal.delegation.ends")
    hand.press("portal.delegation.take_back.do", n=1)
    hand.sees("portal.delegation.taken_back", n=1)


def carrier(server, *actions):
    """What the carrier did with the line."""
    login = httpx.post(f"{server.api}/api/auth/login", json={"username": CARRIER, "password": fleet.PASSWORD})
    done = httpx.post(
        f"{server.api}/api/carrier/v1/actions",
        json={"actions": [{"mdn": MDN, **action} for action in actions]},
        headers={"X-Authorization": f"Bearer {login.json()['token']}"},
    )
    assert {each["outcome"] for each in done.json()["outcomes"]} == {"DONE"}


def unpause(hand, server):
    hand.turn_to("/delegation", "/delegation/candidates")
    company_id = hand.page.locator("[data-copy]").first.get_attribute("data-copy")
    carrier(
        server,
        {"actionId": "1", "type": "OPENING", "imei": "356938035643809", "companyId": company_id},
        {"actionId": "2", "type": "SUSPENSION", "kind": "USE"},
    )
    hand.turn_to("/lines")
    hand.use(hand.page.locator("table#lines tbody th a").first)
    hand.press("portal.lines.unpause")
    assert hand.done() == hand.say("portal.lines.unpaused")


def resend(hand, server):
    """A server that has gone parks a message at once; back again, it gets it on demand."""
    answers = [receivers.Reply(receivers.status(410))]
    with receiving.receiving(receivers.Receiver(lambda _: answers[-1])) as customer:
        hand.turn_to("/company", "/pushes")
        hand.follow(hand.say("portal.pushes.change"))
        hand.fill(notifyHost=customer.url)
        hand.tick(hand.page.locator("input[name=wanted][value='600']"))
        hand.press("portal.pushes.save")
        hand.page.wait_for_url("**/pushes")
        carrier(server, {"actionId": "3", "type": "SUSPENSION", "kind": "USE"})
        customer.arrived(1)
        parked = hand.page.locator("table#messages [data-pick]")
        until = time.monotonic() + PATIENCE_S
        while not parked.count():
            assert time.monotonic() < until, "not parked"
            hand.use(hand.page.locator("a[href='/pushes/messages?state=parked']").first)
            hand.page.wait_for_timeout(200)
        answers.append(receivers.OK)
        hand.tick(parked.first)
        hand.press("portal.pushes.send_chosen")
        assert hand.done() == hand.say("portal.pushes.sent_again", n=1)
        customer.arrived(2)
    (message,) = customer.bodies
    assert (message["ty"], message["pld"]) == ("NWSTATUS", {"nwStatus": "02"})


def delete(hand):
    hand.find("12가1002")
    hand.page.wait_for_url("**/fleet/vehicles/*-*")
    hand.follow(hand.say("portal.vehicles.delete"))
    hand.page.wait_for_url("**/delete")
    confirm = hand.page.locator("[name=confirm]")
    assert hand.page.locator("ul.goes li").count()
    if confirm.count():
        hand.write(confirm, "12가1002")
    hand.press("portal.vehicles.delete_submit", name="12가1002")
    assert "12가1002" in hand.done()
