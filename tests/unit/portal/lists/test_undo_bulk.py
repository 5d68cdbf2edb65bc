"""Undoing what was done to many vehicles: exactly those come back that nobody touched since; the others say why not."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support import delegating
from tests.support import rest as support
from tests.support.portal import Browser, Page
from tests.support.rest import Login, Rest
from tests.unit.portal.frame.test_own_forms import browser, signed_in
from tests.unit.portal.records.test_undo import Form

from tripline.services.fleet import bulk_delegations as many
from tripline.store.fleet import history

ACTIVATE, DEACTIVATE, UNDO = (f"/fleet/vehicles/{each}" for each in ("activate", "deactivate", "undo"))
DELEGATE, TAKE_BACK, UNDO_DELEGATION = (f"/delegation/{each}" for each in ("delegate", "take-back", "undo"))
LIST = "/fleet/vehicles"
SECOND_MS = 1_000


class Desk:
    """The administrator of a company with three vehicles, at a browser; what follows a form is a second later."""

    def __init__(self, app: Rest, of: delegating.Companies, vehicles: list[str]) -> None:
        self.app, self.of, self.vehicles = app, of, vehicles
        self.browser: Browser
        self.csrf = ""

    async def sit(self, login: Login) -> None:
        cookie = await signed_in(self.app, login)
        self.browser, self.csrf = browser(self.app, cookie), cookie.csrf

    async def post(self, address: str, fields: dict[str, Any]) -> Any:
        answer = await self.browser.post(address, {**fields, "csrf": self.csrf}, **{"Accept-Language": "en"})
        self.app.now_ms += SECOND_MS
        return answer

    async def do(self, address: str, back: str = LIST, **fields: Any) -> tuple[str, str, Form]:
        """Confirm the preview; where that leads, what is told there, and the form in it."""
        preview = await self.post(address, {**fields, "next": back})
        return await self.led(await self.post(address, {**fields, **Page(preview.text).hidden(address)}))

    async def led(self, answer: Any) -> tuple[str, str, Form]:
        assert answer.status_code == 303, answer.text
        text = (await self.browser.get(answer.headers["location"], **{"Accept-Language": "en"})).text
        return answer.headers["location"], text, Form(text)

    async def undo(self, form: Form) -> Any:
        """The answer to the button."""
        assert form.action is not None
        return await self.post(form.action, form.values)

    async def elsewhere(self, place: int, event: str) -> None:
        """Activate or deactivate one of the vehicles in another window."""
        await self.app.post(self.of.owner, f"/vehicle/{self.vehicles[place]}/{event}")
        self.app.now_ms += SECOND_MS

    async def states(self) -> list[str]:
        found = [await self.app.get(self.of.owner, f"/vehicle/{each}") for each in self.vehicles]
        return ["on" if each["status"] == "ACTIVATED" else "off" for each in found]

    async def received(self) -> list[str]:
        page = await self.app.get(
            self.of.borrower, f"/company/{self.of.borrower.company_id}/vehicles/delegated", limit=9
        )
        return [each["vehicleNo"] for each in page["data"]]

    def pairs(self, *places: int) -> list[str]:
        return [f"{self.vehicles[place]}.{self.of.borrower.company_id}" for place in places]


@pytest.fixture
async def desk(app: Rest) -> Any:
    of = await delegating.companies(app)
    await delegating.register(app, of.owner, of.borrower)
    vehicles = [await delegating.new_vehicle(app, of.owner, f"12가{number}") for number in (1, 2, 3)]
    desk = Desk(app, of, vehicles)
    await desk.sit(of.owner)
    return desk


async def test_only_vehicles_that_were_activated_are_deactivated_again_and_the_list_is_as_it_was(desk):
    on, off = ["on", "on", "on"], ["off", "off", "on"]
    await desk.elsewhere(2, "activate")
    there, _, form = await desk.do(ACTIVATE, f"{LIST}?q=12&sort=-number", vehicleId=desk.vehicles)
    seen, led = [await desk.states()], [there]
    for _ in range(3):
        there, _, form = await desk.led(await desk.undo(form))
        seen.append(await desk.states())
        led.append(there)

    assert seen == [on, off, on, off]
    assert {each.partition("?")[0] for each in led} == {LIST}
    assert [parse_qs(urlsplit(each).query) for each in led] == [{"q": ["12"], "sort": ["-number"]}] * 4


async def test_vehicle_that_another_window_changed_since_stays_and_is_told_by_its_number(desk):
    _, _, form = await desk.do(ACTIVATE, f"{LIST}?q=12", vehicleId=desk.vehicles)
    for event in ("deactivate", "activate"):  # it looks as if nothing had happened
        await desk.elsewhere(1, event)
    await desk.elsewhere(2, "deactivate")
    answer = await desk.undo(form)
    assert answer.status_code == 200
    again = await desk.undo(form)
    told, states, again = answer.text, await desk.states(), again.text

    assert states == ["off", "on", "off"]
    assert "1 vehicle is deactivated." in told
    assert "2 vehicles stay as they are" in told
    assert told.count("It has changed since") == 2
    assert ["12가1" in told, "12가2" in told, "12가3" in told] == [False, True, True]
    assert f'href="{LIST}?q=12"' in told
    assert "3 vehicles stay as they are" in again


async def test_part_of_an_action_that_was_undone_can_be_done_again(desk):
    _, _, form = await desk.do(ACTIVATE, f"{LIST}?q=12", vehicleId=desk.vehicles)
    await desk.elsewhere(2, "deactivate")
    partly = Page((await desk.undo(form)).text).hidden(UNDO)
    there, *_ = await desk.led(await desk.post(UNDO, partly))

    assert (await desk.states(), there) == (["on", "on", "off"], f"{LIST}?q=12")


async def test_vehicle_that_is_out_of_reach_by_now_stays_and_its_number_is_not_told(desk):
    for each in desk.vehicles[:2]:
        await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, each)
    await desk.sit(desk.of.borrower)
    _, _, form = await desk.do(ACTIVATE, vehicleId=desk.vehicles[:2])
    await delegating.take_back(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[0])
    told, states = (await desk.undo(form)).text, await desk.states()

    assert states == ["on", "off", "off"]
    assert "This vehicle is outside your reach." in told
    assert "A vehicle you cannot see" in told
    assert "12가1" not in told


@pytest.mark.parametrize(("who", "status"), [("driver", 403), ("director", 404), ("other administrator", 404)])
async def test_somebody_else_undoes_nothing(desk, who, status):
    _, _, first = await desk.do(ACTIVATE, vehicleId=desk.vehicles)
    _, _, second = await desk.do(DELEGATE, vehicleId=desk.vehicles, toCompanyId=desk.of.borrower.company_id)
    other = desk.of.borrower
    if who != "other administrator":
        other = await getattr(delegating, who)(desk.app, desk.of.owner, who)
    await desk.sit(other)
    answers = [(await desk.undo(form)).status_code for form in (first, second)]
    states, received = await desk.states(), await desk.received()

    assert answers == [status, 404 if who == "other administrator" else 403]
    assert (states, received) == (["on", "on", "on"], ["12가1", "12가2", "12가3"])


@pytest.mark.parametrize("address", [ACTIVATE, DELEGATE])
async def test_what_cannot_be_told_from_what_the_same_person_did_at_the_same_instant_is_not_undone(desk, address):
    at_ms, chosen = desk.app.now_ms, {"vehicleId": desk.vehicles[:1], "toCompanyId": desk.of.borrower.company_id}
    preview = Page((await desk.post(address, chosen)).text)
    desk.app.now_ms = at_ms
    if address == ACTIVATE:
        await desk.app.post(desk.of.owner, f"/vehicle/{desk.vehicles[1]}/activate")
    else:
        await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[1])
    _, _, form = await desk.led(await desk.post(address, {**chosen, **preview.hidden(address)}))

    assert (await desk.undo(form)).status_code == 404
    assert (await desk.states(), await desk.received()) == (
        (["on", "on", "off"], []) if address == ACTIVATE else (["off", "off", "off"], ["12가1", "12가2"])
    )


NO_DEED: list[tuple[dict[str, str], int]] = [
    ({"event": ""}, 400),
    ({"event": "DELETED"}, 400),
    ({"at": ""}, 400),
    ({"at": "-1"}, 400),
    ({"at": "9" * 13}, 400),
    ({"at": "9" * 5_000}, 400),
    ({"at": "١"}, 400),
    ({"at": "0"}, 404),
    ({"at": str(support.NOW_MS - 1)}, 404),
]


@pytest.mark.parametrize("address", [UNDO, UNDO_DELEGATION])
async def test_form_that_names_no_deed_undoes_nothing(desk, address):
    form = {"event": "ACTIVATED" if address == UNDO else "DELEGATED", "at": "1", "of": "x"}
    found = [(changed, int((await desk.post(address, form | changed)).status_code)) for changed, _ in NO_DEED]

    assert found == NO_DEED


async def test_delegated_vehicles_are_taken_back_and_delegated_again(desk, monkeypatch):
    every, before = ["12가1", "12가2", "12가3"], ["12가2"]
    monkeypatch.setattr(many, "AT_ONCE", 2)
    company = desk.of.borrower.company_id
    await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[1])
    sensor = await delegating.new_sensor(desk.app, desk.of.owner, on=desk.vehicles[0])
    fields = {"vehicleId": [desk.vehicles[0], desk.vehicles[2]], "toCompanyId": company}
    there, _, form = await desk.do(DELEGATE, "", **fields)
    seen, led = [await desk.received()], [there]
    desk.app.signals.told.clear()
    for _ in range(3):
        there, _, form = await desk.led(await desk.undo(form))
        seen.append(await desk.received())
        led.append(there.replace(str(company), ""))
    led, told = led[1:], [detail for _, detail in desk.app.signals.told if sensor in detail]

    assert seen == [every, before, every, before]
    assert led == ["/delegation?company="] * 3
    assert len(told) == 2, "the devices of vehicles that were taken back belong to the company no longer"


async def test_more_vehicles_than_one_transaction_takes_are_undone_in_turn(desk, monkeypatch):
    monkeypatch.setattr(many, "AT_ONCE", 1)
    pairs = {"vehicleId": desk.vehicles, "toCompanyId": desk.of.borrower.company_id}
    _, _, form = await desk.do(DELEGATE, **pairs)
    driver = await delegating.driver(desk.app, desk.of.borrower, "kim")
    await delegating.give(desk.app, desk.of.borrower, driver, desk.vehicles[0], drive=True)
    await desk.app.store.write(delegating.drives_now(desk.vehicles[2], driver))
    told, received = (await desk.undo(form)).text, await desk.received()

    assert received == ["12가1", "12가3"]
    assert "1 vehicle is taken back." in told
    assert told.count("People of the other company now have rights on it or drive it") == 2
    assert ["12가1" in told, "12가2" in told, "12가3" in told] == [True, False, True]


async def test_delegation_that_was_ended_and_made_again_since_stays(desk):
    company = desk.of.borrower.company_id
    _, _, form = await desk.do(DELEGATE, vehicleId=desk.vehicles, toCompanyId=company)
    await delegating.take_back(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[0])
    await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[0])
    await delegating.take_back(desk.app, desk.of.owner, desk.of.borrower, desk.vehicles[2])
    told, received = (await desk.undo(form)).text, await desk.received()

    assert received == ["12가1"]
    assert told.count("It has changed since") == 2


@pytest.mark.parametrize("what", ["right", "driver"])
async def test_taking_back_that_ended_more_is_not_offered_to_be_undone_and_says_why(desk, what):
    for each in desk.vehicles:
        await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, each)
    driver = await delegating.driver(desk.app, desk.of.borrower, "kim")
    if what == "right":
        await delegating.give(desk.app, desk.of.borrower, driver, desk.vehicles[0], drive=True)
    else:
        await desk.app.store.write(delegating.drives_now(desk.vehicles[0], driver))
    _, told, form = await desk.do(TAKE_BACK, delegation=desk.pairs(0, 1))

    assert "2 vehicles are taken back. This cannot be undone: rights or drivers ended with it." in told
    assert form.action is None


async def test_delegation_to_a_company_that_is_no_candidate_any_more_does_not_come_back(desk):
    for each in desk.vehicles:
        await delegating.delegate(desk.app, desk.of.owner, desk.of.borrower, each)
    _, _, form = await desk.do(TAKE_BACK, delegation=desk.pairs(0, 1, 2))
    await desk.app.delete(desk.of.owner, f"{delegating.candidates(desk.of.owner)}/{desk.of.borrower.company_id}")
    told, received = (await desk.undo(form)).text, await desk.received()

    assert received == []
    assert told.count("The receiving company is not a delegation candidate") == 3
    assert "12가3" in told


async def test_entries_whose_numbers_run_ahead_of_their_time_are_found(desk):
    ahead = desk.app.now_ms + history.AHEAD_MS // 2
    desk.app.ids.take(1, now_ms=ahead)
    _, _, form = await desk.do(ACTIVATE, vehicleId=desk.vehicles)
    await desk.led(await desk.undo(form))

    assert await desk.states() == ["off", "off", "off"]
