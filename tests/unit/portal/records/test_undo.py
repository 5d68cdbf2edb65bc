"""Undoing a change from the notice that tells of it: what comes back, where nothing is offered, and forged buttons."""

import base64
import json
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from tests.support import delegating
from tests.support.portal import Browser
from tests.support.rest import Login, Rest
from tests.support.vehicles import delegate as give_to
from tests.unit.portal.frame.test_own_forms import browser, signed_in

from tripline.domain.access import Authority
from tripline.portal.frame import notices


class Form(HTMLParser):
    """The form within the notices of a page, if there is one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.action: str | None = None
        self.values: dict[str, str] = {}
        self.feed(text.partition('id="notices"')[2].partition("<h1")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "form":
            self.action = named["action"]
        elif tag == "input":
            self.values[named["name"] or ""] = named["value"] or ""


class Desk:
    """An administrator of a company with a vehicle and a sensor, at a browser."""

    def __init__(self, app: Rest, of: delegating.Companies, vehicle: str, sensor: str) -> None:
        self.app, self.of, self.vehicle, self.sensor = app, of, vehicle, sensor
        self.browser: Browser
        self.csrf = ""

    async def sit(self, login: Login) -> None:
        cookie = await signed_in(self.app, login)
        self.browser, self.csrf = browser(self.app, cookie), cookie.csrf

    async def change(self, address: str, **fields: str) -> Form:
        """Change something on its page; the form in the notice that tells of it."""
        return await self._told(await self.browser.send(address, {"csrf": self.csrf, **fields}))

    async def undo(self, form: Form) -> Form:
        """Press the button; the form in the notice that tells of that."""
        assert form.action is not None
        return await self._told(await self.browser.post(form.action, {**form.values, "csrf": self.csrf}))

    async def _told(self, answer: httpx.Response) -> Form:
        assert answer.status_code == 303, answer.text
        return Form((await self.browser.get(answer.headers["location"])).text)

    async def read(self, path: str) -> dict[str, Any]:
        return await self.app.get(self.of.owner, path)


@pytest.fixture
async def desk(app: Rest) -> Any:
    of = await delegating.companies(app)
    vehicle = await delegating.new_vehicle(app, of.owner, "12가3456")
    desk = Desk(app, of, vehicle, await delegating.new_sensor(app, of.owner, "T"))
    await desk.sit(of.owner)
    return desk


async def test_sensor_that_was_taken_off_is_mounted_again_and_taken_off_again(desk: Any) -> None:
    path, where = f"/fleet/sensors/{desk.sensor}", []
    form = await desk.change(f"{path}/mount", vehicleNo="12가3456")
    for _ in range(3):
        where.append((await desk.read(f"/sensor/{desk.sensor}"))["vehicleNo"])
        form = await desk.undo(form)

    assert where == ["12가3456", None, "12가3456"]


async def test_device_that_must_activate_itself_is_not_asked_to_by_undoing(desk: Any) -> None:
    path = f"/fleet/sensors/{desk.sensor}"
    await desk.change(f"{path}/mount", vehicleNo="12가3456")
    await desk.app.call(desk.of.owner, "PUT", f"/sensor/{desk.sensor}", {"activationRequired": True})

    assert (await desk.change(f"{path}/unmount", vehicleId=desk.vehicle)).action is None


@pytest.mark.parametrize(("what", "field"), [("director", "directorId"), ("driver", "currentDriverId")])
async def test_person_that_was_taken_off_a_vehicle_is_set_again(desk: Any, what: str, field: str) -> None:
    person = await delegating.director(desk.app, desk.of.owner, "Director")
    form, seen = await desk.change(f"/fleet/vehicles/{desk.vehicle}/{what}", userId=person.user_id), []
    for _ in range(3):
        seen.append((await desk.read(f"/vehicle/{desk.vehicle}"))[field]["id"])
        form = await desk.undo(form)
    (first, without, again) = seen

    assert without != person.user_id
    assert (first, again) == (person.user_id, person.user_id)


@pytest.mark.parametrize(("what", "field"), [("director", "directorId"), ("driver", "currentDriverId")])
async def test_one_before_is_put_back_unless_somebody_else_was_chosen_since(desk: Any, what: str, field: str) -> None:
    people = [await delegating.director(desk.app, desk.of.owner, name) for name in "abc"]
    first, second, third = (each.user_id for each in people)
    path, seen = f"/fleet/vehicles/{desk.vehicle}/{what}", []
    await desk.change(path, userId=first)
    form = await desk.change(path, userId=second, shownId=first)
    for _ in range(2):
        seen.append((await desk.read(f"/vehicle/{desk.vehicle}"))[field]["id"])
        form = await desk.undo(form)
    await desk.change(path, userId=third, shownId=second)
    late = await desk.browser.post(form.action or "", {**form.values, "csrf": desk.csrf})
    seen.append((await desk.read(f"/vehicle/{desk.vehicle}"))[field]["id"])
    late, (first, second, third) = late.status_code, people

    assert seen == [second.user_id, first.user_id, third.user_id]
    assert late == 409


async def test_driver_of_another_vehicle_is_not_put_back_there_and_the_notice_says_so(desk: Any) -> None:
    driver = await delegating.driver(desk.app, desk.of.owner, "driver")
    other = await delegating.new_vehicle(desk.app, desk.of.owner, "34나5678")
    await desk.change(f"/fleet/vehicles/{other}/driver", userId=driver.user_id)
    fields = {"csrf": desk.csrf, "userId": driver.user_id, "drivesId": other}
    answer = await desk.browser.post(f"/fleet/vehicles/{desk.vehicle}/driver", fields)
    text = (await desk.browser.get(answer.headers["location"])).text
    await desk.undo(Form(text))
    form, left = Form(text), (await desk.read(f"/vehicle/{other}"))["currentDriverId"]["id"]

    assert "Undo does not put the driver back on 34나5678." in text
    assert form.action is not None
    assert left == "13814000-1dd2-11b2-8080-808080808080"


async def test_driver_whom_only_another_company_can_set_is_not_offered_to_be_put_back(desk: Any) -> None:
    await give_to(desk.app, desk.vehicle, desk.of.owner, desk.of.borrower)
    theirs = await delegating.driver(desk.app, desk.of.borrower, "theirs")
    ours = await delegating.driver(desk.app, desk.of.owner, "ours")
    path = f"/fleet/vehicles/{desk.vehicle}/driver"
    await Browser(desk.app, desk.of.borrower).post(path, {"userId": theirs.user_id})
    fields = {"csrf": desk.csrf, "userId": ours.user_id, "shownId": theirs.user_id}
    answer = await desk.browser.post(path, fields)
    text = (await desk.browser.get(answer.headers["location"])).text
    form = Form(text)

    assert "You cannot put the previous driver back." in text
    assert form.action is None


async def test_right_is_given_taken_back_and_given_again(desk: Any) -> None:
    person = await delegating.driver(desk.app, desk.of.owner, "kim")
    path, held = f"/delegation/vehicles/{desk.vehicle}/rights", []
    form = await desk.change(path, userId=person.user_id, right="DRIVER")
    for _ in range(3):
        rights = await desk.app.get(desk.of.owner, f"{delegating.rights(person, drive=True)}s", limit=5)
        held.append(len(rights["data"]))
        form = await desk.undo(form)

    assert held == [1, 0, 1]


async def test_right_that_ended_a_drive_comes_back_without_it_and_the_notice_says_so(desk: Any) -> None:
    person = await delegating.driver(desk.app, desk.of.owner, "kim")
    await delegating.give(desk.app, desk.of.owner, person, desk.vehicle, drive=True)
    await desk.change(f"/fleet/vehicles/{desk.vehicle}/driver", userId=person.user_id)
    path = f"/delegation/vehicles/{desk.vehicle}/rights/end"
    asks = f"{path}?userId={person.user_id}&right=DRIVER"
    answer = await desk.browser.send(path, {"csrf": desk.csrf}, at=asks)
    text = (await desk.browser.get(answer.headers["location"])).text
    await desk.undo(Form(text))
    rights = await desk.app.get(desk.of.owner, f"{delegating.rights(person, drive=True)}s", limit=5)
    drives = (await desk.read(f"/vehicle/{desk.vehicle}"))["currentDriverId"]["id"]
    has_right, drives = len(rights["data"]) == 1, drives == person.user_id

    assert "Undo gives the right back; the driver has to be chosen again." in text
    assert (has_right, drives) == (True, False)


async def test_right_that_only_another_company_can_give_is_not_offered_back(desk: Any) -> None:
    await give_to(desk.app, desk.vehicle, desk.of.owner, desk.of.borrower)
    theirs = await delegating.driver(desk.app, desk.of.borrower, "theirs")
    await delegating.give(desk.app, desk.of.borrower, theirs, desk.vehicle, drive=True)
    path = f"/delegation/vehicles/{desk.vehicle}/rights/end"
    asks = f"{path}?userId={theirs.user_id}&right=DRIVER"
    answer = await desk.browser.send(path, {"csrf": desk.csrf}, at=asks)
    text = (await desk.browser.get(answer.headers["location"])).text
    form = Form(text)

    assert "can give it again" in text
    assert form.action is None


async def test_vehicle_is_deactivated_and_activated_again(desk: Any) -> None:
    form, seen = await desk.change(f"/fleet/vehicles/{desk.vehicle}/activate"), []
    for _ in range(3):
        seen.append((await desk.read(f"/vehicle/{desk.vehicle}"))["status"])
        form = await desk.undo(form)

    assert seen == ["ACTIVATED", "DEACTIVATED", "ACTIVATED"]


async def test_company_that_was_removed_from_the_candidates_is_one_again(desk: Any) -> None:
    other = desk.of.borrower.company_id or ""
    await desk.change("/delegation/candidates", toCompanyId=other)
    form = await desk.change("/delegation/candidates/remove", toCompanyId=other)
    path = f"/company/{desk.of.owner.company_id}/relation/companies"
    without = (await desk.app.get(desk.of.owner, path, limit=5))["data"]
    await desk.undo(form)

    assert (len(without), len((await desk.app.get(desk.of.owner, path, limit=5))["data"])) == (0, 1)


async def test_account_is_disabled_and_enabled_again(desk: Any) -> None:
    await desk.sit(await desk.app.account("root@x.example", Authority.SYS_ADMIN))
    form = await desk.change(f"/admin/accounts/{desk.of.owner.user_id}/disable")
    barred = await desk.app.call(desk.of.owner, "GET", f"/vehicle/{desk.vehicle}")
    await desk.undo(form)
    enabled = await desk.app.login(desk.of.owner.user_id, "owner", Authority.COMPANY_ADMIN, desk.of.owner.company_id)

    assert barred.status_code == 401
    assert (await desk.app.call(enabled, "GET", f"/vehicle/{desk.vehicle}")).status_code == 200


@pytest.mark.parametrize("signature", ["", "0" * 64])
async def test_button_that_another_site_put_into_the_cookie_is_not_shown(desk: Any, signature: str) -> None:
    undo = {"action": "/delegation/candidates", "values": {"toCompanyId": "x"}}
    forged = json.dumps(["portal.mounting.unmounted", "good", {}, undo, signature]).encode()

    desk.browser.http.cookies.set(notices.COOKIE, base64.urlsafe_b64encode(forged).decode())
    text = (await desk.browser.get("/fleet/vehicles")).text
    form = Form(text)

    assert 'class="notice good"' in text
    assert form.action is None


async def test_button_of_another_session_is_not_shown(desk: Any) -> None:
    form = await desk.change(f"/fleet/vehicles/{desk.vehicle}/activate")
    await desk.browser.post(f"/fleet/vehicles/{desk.vehicle}/deactivate", {"csrf": desk.csrf})
    kept = desk.browser.http.cookies[notices.COOKIE]
    await desk.sit(desk.of.owner)
    desk.browser.http.cookies.set(notices.COOKIE, kept)

    assert form.action is not None
    assert Form((await desk.browser.get("/fleet/vehicles")).text).action is None
