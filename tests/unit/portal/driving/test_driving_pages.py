"""The driver's page, taking a vehicle and giving it back by the code in its cab, and the code."""

import re
from typing import Any

import httpx
import pytest
import segno
from sqlalchemy import update
from tests.support import delegating
from tests.support.portal import Browser, Page, form_of
from tests.support.rest import Login, Rest
from tests.unit.api import test_trip_drivers as trips

from tripline.ports.maps import PlaceName
from tripline.services import notifications
from tripline.store.tables import trip

KOREAN = {"Accept-Language": "ko"}
NUMBER = "12가3456"


class Yard:
    """An administrator with a vehicle that two drivers may drive, a third driver, and the managing director."""

    def __init__(self, app: Rest, admin: Login) -> None:
        self.app, self.admin = app, admin

    async def filled(self) -> "Yard":
        app, admin = self.app, self.admin
        self.vehicle = await delegating.new_vehicle(app, admin)
        self.path = f"/drive/{self.vehicle}"
        people = {name: await delegating.driver(app, admin, name) for name in ("kim", "lee", "choi")}
        people["boss"] = await delegating.director(app, admin, "boss")
        await app.call(admin, "POST", f"/vehicle/{self.vehicle}/director/{people['boss'].user_id}")
        for name in ("kim", "lee"):
            await delegating.give(app, admin, people[name], self.vehicle, drive=True)
        await self.activated()
        self.people, self.admins = people, {"admin": admin}
        return self

    async def activated(self, *, active: bool = True) -> None:
        state = "activate" if active else "deactivate"
        answer = await Browser(self.app, self.admin).post(f"/fleet/vehicles/{self.vehicle}/{state}")
        assert answer.status_code == 303

    def browser(self, name: str) -> Browser:
        return Browser(self.app, (self.people | self.admins)[name])

    async def driver(self, vehicle: str | None = None) -> str | None:
        """The name of the vehicle's current driver."""
        held = (await self.app.get(self.admin, f"/vehicle/{vehicle or self.vehicle}"))["currentDriverId"]
        return next((name for name, each in self.people.items() if held and held["id"] == each.user_id), None)

    async def page(self, name: str, address: str, **headers: str) -> Page:
        answer = await self.browser(name).get(address, **headers)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)


@pytest.fixture
async def yard(app: Rest) -> Any:
    _, admin = await app.operator("ace")
    return await Yard(app, admin).filled()


def heading(answer: httpx.Response) -> str:
    return re.search(r"<h1>(.*?)</h1>", answer.text).group(1)  # type: ignore[union-attr]


async def test_driver_takes_the_vehicle_of_the_code_and_gives_it_back(yard):
    kim = yard.browser("kim")
    asked = await yard.page("kim", yard.path)
    korean = await yard.page("kim", yard.path, **KOREAN)
    taken = await kim.send(yard.path)
    drives = await yard.driver()
    own = await yard.page("kim", "/drive")
    again = await kim.send(yard.path)
    back = await kim.send(f"{yard.path}/back", at="/drive")
    left, empty = await yard.driver(), await yard.page("kim", "/drive")

    assert f"Drive {NUMBER}?" in asked.text
    assert f"{NUMBER} 차량을 운전하시겠습니까?" in korean.text
    assert [taken.status_code, taken.headers["location"], drives] == [303, "/drive", "kim"]
    assert f"You drive {NUMBER} now" in own.text
    assert again.status_code == 303, "a second press of the button changes nothing"
    assert [back.status_code, back.headers["location"], left] == [303, "/drive", None]
    assert "You drive no vehicle now" in empty.text


async def test_taking_tells_the_pipeline_of_both_vehicles_as_over_rest(app, yard, monkeypatch):
    sent: list[Any] = []
    monkeypatch.setattr(notifications, "send", lambda _, found: sent.append(list(found)))
    monkeypatch.setattr(notifications, "sensors_changed", lambda sensors: sensors)

    app = yard.app
    other = await delegating.new_vehicle(app, yard.admin, "34나5678")
    await delegating.give(app, yard.admin, yard.people["kim"], other, drive=True)
    await Browser(app, yard.admin).post(f"/fleet/vehicles/{other}/activate")
    kim = yard.browser("kim")
    await kim.send(f"/drive/{other}")
    asked = await yard.page("kim", yard.path)
    taken = await kim.send(yard.path)
    taken, held, drives = taken.status_code, await yard.driver(other), await yard.driver()

    assert "You drive 34나5678 now" in asked.text
    assert (taken, held, drives) == (303, None, "kim")
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("name", "status", "told", "korean"),
    [
        ("lee", 400, "Another person drives this vehicle now", "지금은 다른 사람이 이 차량을 운전하고"),
        ("choi", 403, "Ask the person who manages it for the right", "운전 권한을 요청하십시오"),
        ("admin", 403, "", ""),
    ],
)
async def test_who_may_not_take_it_reads_why_and_changes_nothing(yard, name, status, told, korean):
    await yard.browser("kim").send(yard.path)
    asked = yard.browser(name)
    shown, taken, back, in_korean, drives = (
        await asked.get(yard.path),
        await asked.post(yard.path),
        await asked.post(f"{yard.path}/back"),
        await asked.post(yard.path, **KOREAN),
        await yard.driver(),
    )

    assert shown.status_code == (200 if status == 400 else status)
    assert (taken.status_code, back.status_code) == (status, status)
    assert {told in shown.text, told in taken.text, korean in in_korean.text} == {True}
    assert drives == "kim"
    if name == "choi":
        assert NUMBER not in shown.text, "a vehicle out of reach keeps its number"


async def test_deactivated_vehicle_is_not_taken_but_given_back(yard):
    kim, lee = yard.browser("kim"), yard.browser("lee")
    await kim.send(yard.path)
    await yard.activated(active=False)
    back = await kim.send(f"{yard.path}/back", at=yard.path)
    back, shown, taken, drives = (
        back.status_code,
        await lee.get(yard.path),
        await lee.post(yard.path),
        await yard.driver(),
    )

    assert back == 303
    assert "not activated for drivers" in shown.text
    assert form_of_button(shown) is False
    assert (taken.status_code, "not activated for drivers" in taken.text, drives) == (400, True, None)


def form_of_button(answer: httpx.Response) -> bool:
    """True if the page has a button that takes the vehicle."""
    return any((each.get("action") or "").startswith("/drive/") for each in Page(answer.text).all("form"))


async def test_director_sees_who_drives_and_replaces_nobody_else(yard):
    kim, lee, boss = (yard.browser(name) for name in ("kim", "lee", "boss"))
    await kim.send(yard.path)
    shown = await yard.page("boss", yard.path)
    sent = form_of(shown, yard.path)
    await kim.send(f"{yard.path}/back", at=yard.path)
    await lee.send(yard.path)
    refused = await boss.post(yard.path, sent)
    between = await yard.driver()
    taken = await boss.send(yard.path)
    late = await lee.post(f"{yard.path}/back")
    taken, drives = taken.status_code, await yard.driver()

    assert "kim drives it now" in shown.text
    assert (refused.status_code, between) == (409, "lee")
    assert "lee drives it now" in refused.text
    assert (taken, drives) == (303, "boss")
    assert (late.status_code, "You no longer drive this vehicle" in late.text) == (400, True)


async def test_vehicle_taken_back_from_the_company_is_refused_to_its_drivers(app, yard):
    app, admin = yard.app, yard.admin
    _, partner = await app.partner(admin, "partner@x.example")
    await delegating.register(app, admin, partner)
    await delegating.delegate(app, admin, partner, yard.vehicle)
    park = await delegating.driver(app, partner, "park")
    await delegating.give(app, partner, park, yard.vehicle, drive=True)
    asked = Browser(app, park)
    taken = await asked.send(yard.path)
    await delegating.take_back(app, admin, partner, yard.vehicle)
    back = await asked.post(f"{yard.path}/back")
    await Browser(app, admin).confirm(f"/fleet/vehicles/{yard.vehicle}/delete", NUMBER)
    taken, home, gone = taken.status_code, await asked.get("/drive"), await asked.get(yard.path)

    assert (taken, home.status_code, "You drive no vehicle now" in home.text) == (303, 200, True)
    assert (back.status_code, heading(back)) == (403, "You may not drive this vehicle")
    assert (gone.status_code, heading(gone)) == (404, "This vehicle no longer exists")


async def test_code_leads_through_the_sign_in_back_to_its_page(yard):
    path, answer = yard.path, await Browser(yard.app).get(yard.path)

    assert answer.status_code == 303
    assert httpx.URL(answer.headers["location"]).params["next"] == path


def drawn(page: Page) -> list[list[int]]:
    """The dark modules of the drawing, by its strokes."""
    (box,) = (each["viewbox"] for each in page.all("svg") if each.get("class") == "cab-code")
    size = int((box or "").split()[2])
    rows = [[0] * size for _ in range(size)]
    (path,) = (each["d"] or "" for each in page.all("path") if each.get("stroke") == "#000")
    x, y = 0.0, 0.0
    for step, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):
        values = [float(each) for each in numbers.split()]
        if step == "h":
            rows[int(y)][int(x) : int(x + values[0])] = [1] * int(values[0])
            x += values[0]
        elif step == "M":
            x, y = values
        else:
            x, y = x + values[0], y + values[1]
    return rows


async def test_code_holds_the_public_address_of_the_vehicles_page(yard):
    address = f"/fleet/vehicles/{yard.vehicle}/code"
    without = await yard.page("admin", address)
    yard.app.change(public_url="https://fleet.example/")
    record = await yard.page("boss", f"/fleet/vehicles/{yard.vehicle}")
    shown = await yard.browser("boss").get(address)
    of_driver = (await yard.browser("kim").get(address)).status_code

    expected = segno.make_qr(f"https://fleet.example/drive/{yard.vehicle}", error="m")
    assert "accounts.public_url" in without.text
    assert "`" not in without.text
    assert [each for each in without.all("svg") if each.get("class") == "cab-code"] == []
    assert f"/fleet/vehicles/{yard.vehicle}/code" in record.hrefs
    assert f"/drive/{yard.vehicle}" in record.hrefs
    assert drawn(Page(shown.text)) == [list(row) for row in expected.matrix_iter(border=4)]
    assert NUMBER in shown.text
    assert " style=" not in shown.text
    assert of_driver == 403


class Names:
    """A map that names every place."""

    def named(self, points: Any, *, language: str) -> list[PlaceName]:
        return [PlaceName(road="Hauptstrasse", place="Vaduz") for _ in points]


async def test_driver_starts_at_the_own_trips_with_what_cost_most(app):
    own = await trips.cast(app)  # type: ignore[no-untyped-call]
    await app.store.write(lambda tx: tx.run(update(trip).values(start_ms=trip.c.created_ms)))
    app.change(places=Names())
    driver = Browser(app, own.driver)
    begun = (await driver.get("/")).headers["location"]
    page, korean = await driver.get("/drive"), await driver.get("/drive", **KOREAN)
    told = await own.explanation()
    (link,) = {each for each in Page(page.text).hrefs if f"{own.trip_id}/contest" in each}
    form = await driver.get(link)
    colleague = Page((await Browser(app, own.colleague).get("/drive")).text)
    sent = await driver.send(link.partition("?")[0], {"reason": "LIMIT", "text": "80."}, at=link)
    after = Page((await driver.get("/drive")).text)
    director = Browser(app, own.director)
    page, korean, of_director = Page(page.text), korean.text, await director.get("/drive")

    dearest = max(each["cost"] for each in told["harshEvents"])
    assert begun == "/drive"
    assert [each for each in page.hrefs if re.fullmatch(r"/trips/[0-9a-f-]{36}", each)] == [
        f"/trips/{own.trip_id}",
        f"/trips/{own.first_id}",
    ]
    assert "From Hauptstrasse, Vaduz to Hauptstrasse, Vaduz" in page.text
    assert f"This cost most: {dearest:.1f} points" in page.text
    assert "The speed limits of the roads driven are not known" in page.text
    assert "Vaduz Hauptstrasse에서 Vaduz Hauptstrasse까지" in korean
    assert f"가장 큰 감점: {dearest:.1f}점" in korean
    assert f"/scores/people/{own.driver.user_id}" in page.hrefs
    assert form.status_code == 200
    assert "No trips yet" in colleague.text
    assert (sent.status_code, "Disputed: waits for a decision" in after.text) == (303, True)
    assert of_director.status_code == 200
