"""Vehicles chosen in the list: moved or refused one by one, within a bound, and led to their delegation."""

import pytest
from tests.support import delegating, rest
from tests.support.portal import Browser, Page

from tripline.portal.tables import ROWS

ACTIVATE, DEACTIVATE, DELEGATE = (f"/fleet/vehicles/{each}" for each in ("activate", "deactivate", "delegate"))


def play(tmp_path, scenario):
    async def with_companies(app):
        of = await delegating.companies(app)
        await delegating.register(app, of.owner, of.borrower)
        vehicles = [await delegating.new_vehicle(app, of.owner, number) for number in ("12가1", "12가2")]
        return await scenario(app, of, vehicles)

    return rest.run(tmp_path, with_companies)


async def states(app, login, vehicles):
    return [(await app.get(login, f"/vehicle/{each}"))["status"] for each in vehicles]


def test_chosen_vehicles_are_activated_and_deactivated_again(tmp_path):
    async def scenario(app, of, vehicles):
        browser = Browser(app, of.owner)
        listed = Page((await browser.get("/fleet/vehicles")).text)
        on = await browser.post(ACTIVATE, {"vehicleId": [*vehicles, vehicles[0]]})
        active = await states(app, of.owner, vehicles)
        told = (await browser.get("/fleet/vehicles")).text
        await browser.post(DEACTIVATE, {"vehicleId": vehicles[:1]})
        return listed, on, active, told, await states(app, of.owner, vehicles)

    listed, on, active, told, after = play(tmp_path, scenario)

    offered = {each["formaction"] for each in listed.all("button") if "formaction" in each}
    assert offered == {ACTIVATE, DEACTIVATE, DELEGATE}
    assert (on.status_code, on.headers["location"]) == (303, "/fleet/vehicles")
    assert active == ["ACTIVATED", "ACTIVATED"]
    assert "2 vehicles are activated." in told
    assert after == ["DEACTIVATED", "ACTIVATED"]


def test_number_of_chosen_vehicles_stands_where_the_language_puts_it(tmp_path):
    async def scenario(app, of, _vehicles):
        browser = Browser(app, of.owner)
        return [
            (await browser.get("/fleet/vehicles", **{"Accept-Language": language})).text for language in ("en", "ko")
        ]

    english, korean = play(tmp_path, scenario)

    assert "data-picked></span> selected</span>" in english
    assert "data-picked></span>개 선택</span>" in korean


@pytest.mark.parametrize(
    ("language", "told"), [("en", "no other driver may take the vehicle."), ("ko", "다른 운전자는 탈 수 없습니다.")]
)
def test_what_deactivating_does_is_told_beside_the_buttons_of_who_may(tmp_path, language, told):
    async def scenario(app, of, vehicles):
        driver = await delegating.driver(app, of.owner, "driver")
        await delegating.give(app, of.owner, driver, vehicles[0], drive=True)
        return [
            (await Browser(app, each).get("/fleet/vehicles", **{"Accept-Language": language})).text
            for each in (of.owner, driver)
        ]

    assert [told in each for each in play(tmp_path, scenario)] == [True, False]


def test_vehicle_that_was_so_before_does_not_count_as_moved(tmp_path):
    async def scenario(app, of, vehicles):
        browser = Browser(app, of.owner)
        told = []
        for address, chosen in ((ACTIVATE, vehicles[:1]), (ACTIVATE, vehicles), (ACTIVATE, vehicles)):
            await browser.post(address, {"vehicleId": chosen})
            told.append((await browser.get("/fleet/vehicles")).text)
        both = {"vehicleId": [vehicles[0], delegating.UNKNOWN]}
        return told, (await browser.post(ACTIVATE, both, **{"Accept-Language": "en"})).text

    told, beside_unknown = play(tmp_path, scenario)

    assert ["1 vehicle is activated." in each for each in told] == [True, True, False]
    assert "Nothing changed: all 2 vehicles were activated already." in told[2]
    assert "activated." not in beside_unknown
    assert "1 vehicle stays as it is" in beside_unknown


def test_foreign_vehicle_stays_as_it_is_and_the_page_says_why(tmp_path):
    async def scenario(app, of, vehicles):
        foreign = await delegating.new_vehicle(app, of.other, "99하9")
        answer = await Browser(app, of.owner).post(
            ACTIVATE, {"vehicleId": [vehicles[0], foreign, delegating.UNKNOWN]}, **{"Accept-Language": "en"}
        )
        return answer.text, foreign, await states(app, of.owner, vehicles), await states(app, of.other, [foreign])

    text, foreign, own, others = play(tmp_path, scenario)

    assert "1 vehicle is activated." in text
    assert "2 vehicles stay as they are" in text
    assert foreign in text
    assert delegating.UNKNOWN in text
    assert "99하9" not in text
    assert (own, others) == (["ACTIVATED", "DEACTIVATED"], ["DEACTIVATED"])


def test_chosen_vehicles_go_on_to_the_preview_of_their_delegation(tmp_path):
    async def scenario(app, of, vehicles):
        browser = Browser(app, of.owner)
        page = Page((await browser.post(DELEGATE, {"vehicleId": vehicles})).text)
        kept = [each["value"] for each in page.all("input") if each.get("name") == "vehicleId"]
        fields = {"toCompanyId": of.borrower.company_id, "vehicleId": kept}
        return page, await browser.post("/delegation/delegate", fields)

    page, preview = play(tmp_path, scenario)

    assert "2 vehicles are chosen." in page.text
    assert "Borrower" in page.text
    assert "2 vehicles would be delegated to Borrower." in preview.text


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 200), (ROWS, 200), (ROWS + 1, 400)])
def test_as_many_as_a_page_shows_are_taken_at_once(tmp_path, count, status):
    async def scenario(app, of, vehicles):
        unknown = [f"{number:08d}{delegating.UNKNOWN[8:]}" for number in range(count)]
        return await Browser(app, of.owner).post(ACTIVATE, {"vehicleId": unknown})

    assert play(tmp_path, scenario).status_code == status


def test_driver_may_neither_activate_nor_delegate(tmp_path):
    async def scenario(app, of, vehicles):
        driver = await delegating.driver(app, of.owner, "driver")
        return [
            (await Browser(app, driver).post(each, {"vehicleId": vehicles})).status_code
            for each in (ACTIVATE, DELEGATE)
        ]

    assert play(tmp_path, scenario) == [403, 403]
