"""Vehicles chosen in the list: previewed, moved or refused one by one, within a bound, delegated, and the way back."""

import pytest
from tests.support import delegating, rest
from tests.support.portal import Browser, Page

from tripline.portal.lists.tables import ROWS

ACTIVATE, DEACTIVATE, DELEGATE = (f"/fleet/vehicles/{each}" for each in ("activate", "deactivate", "delegate"))
LIST = "/fleet/vehicles"
ENGLISH = {"Accept-Language": "en"}
STRAY = ("//evil.example/fleet/vehicles", "https://evil.example/fleet/vehicles", "/fleet/sensors")


async def confirmed(browser, address, vehicles, back=LIST):
    """The preview of what is asked for, and the answer to its form."""
    preview = await browser.post(address, {"vehicleId": vehicles, "next": back}, **ENGLISH)
    assert preview.status_code == 200, preview.text
    return preview.text, await browser.post(address, Page(preview.text).hidden(address), **ENGLISH)


async def states(app, login, vehicles):
    return [(await app.get(login, f"/vehicle/{each}"))["status"] for each in vehicles]


async def test_chosen_vehicles_are_activated_and_deactivated_after_a_preview_that_changes_nothing(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    browser = Browser(app, of.owner)
    listed = Page((await browser.get(LIST)).text)
    await browser.post(ACTIVATE, {"vehicleId": [*vehicles, vehicles[0]]})
    before = await states(app, of.owner, vehicles)
    preview, on = await confirmed(browser, ACTIVATE, [*vehicles, vehicles[0]])
    active = await states(app, of.owner, vehicles)
    told = (await browser.get(LIST)).text
    await confirmed(browser, DEACTIVATE, vehicles[:1])
    after = await states(app, of.owner, vehicles)

    offered = {each["formaction"] for each in listed.all("button") if "formaction" in each}
    assert offered == {ACTIVATE, DEACTIVATE, DELEGATE}
    assert before == ["DEACTIVATED", "DEACTIVATED"]
    assert "2 vehicles would be activated." in preview
    assert (on.status_code, on.headers["location"]) == (303, LIST)
    assert active == ["ACTIVATED", "ACTIVATED"]
    assert "2 vehicles are activated." in told
    assert after == ["DEACTIVATED", "ACTIVATED"]


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            (
                "1 vehicle would be deactivated",
                "No driver may take",
                "1 of them has a current driver",
                "1 vehicle is",
            ),
        ),
        ("ko", ("차량 1대의 사용을 중지합니다", "운전자가 새로 탈 수 없습니다", "이 중 1대는", "사용 중지된 차량 1대")),
    ],
)
async def test_preview_says_how_many_change_which_are_so_and_what_goes_on(app: rest.Rest, language, told):
    of, vehicles = await delegating.two_vehicles(app)
    driver = await delegating.driver(app, of.owner, "kim")
    await app.post(of.owner, f"/vehicle/{vehicles[0]}/activate")
    await app.store.write(delegating.drives_now(vehicles[0], driver))
    chosen = {"vehicleId": vehicles}
    text = (await Browser(app, of.owner).post(DEACTIVATE, chosen, **{"Accept-Language": language})).text

    assert [each for each in told if each not in text] == []
    assert text.index("12가1") < text.index("12가2")


@pytest.mark.parametrize(
    ("meanwhile", "told", "left"),
    [
        ("activate", "1 vehicle would be activated.", ["ACTIVATED", "DEACTIVATED"]),
        ("drive", "2 vehicles would be activated.", ["DEACTIVATED", "DEACTIVATED"]),
        ("delete", "1 vehicle stays as it is", ["DEACTIVATED"]),
    ],
)
async def test_preview_that_is_out_of_date_is_shown_again_with_what_changed(app: rest.Rest, meanwhile, told, left):
    of, vehicles = await delegating.two_vehicles(app)
    browser = Browser(app, of.owner)
    driver = await delegating.driver(app, of.owner, "kim")
    preview = await browser.post(ACTIVATE, {"vehicleId": vehicles}, **ENGLISH)
    if meanwhile == "activate":
        await app.post(of.owner, f"/vehicle/{vehicles[0]}/activate")
    elif meanwhile == "drive":
        await app.store.write(delegating.drives_now(vehicles[0], driver))
    else:
        await app.delete(of.owner, f"/vehicle/{vehicles[0]}")
        vehicles.pop(0)
    again = await browser.post(ACTIVATE, Page(preview.text).hidden(ACTIVATE), **ENGLISH)
    then = await states(app, of.owner, vehicles)
    done = await browser.post(ACTIVATE, Page(again.text).hidden(ACTIVATE), **ENGLISH)
    done, after = done.status_code, await states(app, of.owner, vehicles)

    assert (again.status_code, then) == (409, left)
    assert "Some of the vehicles changed in the meantime; nothing was done." in again.text
    assert told in again.text
    assert again.text.count("changed meanwhile</span>") == (meanwhile != "delete")
    assert (done, set(after)) == (303, {"ACTIVATED"})


async def test_form_that_confirms_without_a_preview_changes_nothing(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    answer = await Browser(app, of.owner).post(ACTIVATE, {"vehicleId": vehicles, "confirmed": "1"})

    assert (answer.status_code, await states(app, of.owner, vehicles)) == (409, ["DEACTIVATED", "DEACTIVATED"])


async def test_number_of_chosen_vehicles_stands_where_the_language_puts_it(app: rest.Rest):
    of, _vehicles = await delegating.two_vehicles(app)
    browser = Browser(app, of.owner)
    english, korean = [(await browser.get(LIST, **{"Accept-Language": language})).text for language in ("en", "ko")]

    assert "data-picked></span> selected</span>" in english
    assert "data-picked></span>개 선택</span>" in korean


async def test_vehicle_that_was_so_before_does_not_count_as_moved(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    browser = Browser(app, of.owner)
    told = []
    for chosen in (vehicles[:1], vehicles):
        await confirmed(browser, ACTIVATE, chosen)
        told.append((await browser.get(LIST)).text)
    nothing = await browser.post(ACTIVATE, {"vehicleId": vehicles}, **ENGLISH)

    assert ["1 vehicle is activated." in each for each in told] == [True, True]
    assert "2 vehicles are already activated" in nothing.text
    assert "would be activated" not in nothing.text
    assert Page(nothing.text).hidden(ACTIVATE) == {}


async def test_foreign_vehicle_stays_as_it_is_and_nobody_learns_its_number_or_reads_an_id(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    foreign = await delegating.new_vehicle(app, of.other, "99하9")
    delegated = await delegating.new_vehicle(app, of.borrower, "77허7")  # a partner's, which the operator sees
    chosen = [vehicles[0], delegated, foreign, delegating.UNKNOWN]
    browser = Browser(app, of.operator)
    mine = await delegating.new_vehicle(app, of.operator, "11거1")
    director = await delegating.director(app, of.operator, "han")
    driven = await delegating.new_vehicle(app, of.operator, "33너3")
    await delegating.give(app, of.operator, director, driven, drive=True)
    await app.post(of.operator, f"/vehicle/{mine}/director/{director.user_id}")
    own, _ = await confirmed(browser, ACTIVATE, [mine, *chosen])
    limited, _ = await confirmed(Browser(app, director), DEACTIVATE, [mine, driven, foreign])
    others = await states(app, of.other, [foreign])

    assert "2 vehicles stay as they are" in own
    assert own.count("A vehicle you cannot see") == 2
    assert [each in own for each in chosen] == [True, True, False, False]
    assert [each in own for each in ("12가1", "77허7", "99하9")] == [True, True, False]
    assert f'<a href="/fleet/vehicles/{driven}">33너3</a></th>\n<td>This vehicle is outside your reach.' in limited
    assert limited.count("A vehicle you cannot see") == 1
    assert others == ["DEACTIVATED"]


async def test_chosen_vehicles_go_on_to_the_preview_of_their_delegation(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    browser = Browser(app, of.owner)
    page = Page((await browser.post(DELEGATE, {"vehicleId": vehicles})).text)
    kept = [each["value"] for each in page.all("input") if each.get("name") == "vehicleId"]
    fields = {"toCompanyId": of.borrower.company_id, "vehicleId": kept}
    preview = await browser.post("/delegation/delegate", fields)

    assert "2 vehicles are chosen." in page.text
    assert "Borrower" in page.text
    assert "2 vehicles would be delegated to Borrower." in preview.text


@pytest.mark.parametrize(("address", "then"), [(ACTIVATE, ACTIVATE), (DELEGATE, "/delegation/delegate")])
async def test_visitor_comes_back_to_the_list_as_it_was_shown(app: rest.Rest, address, then):
    of, vehicles = await delegating.two_vehicles(app)
    browser, asked = Browser(app, of.owner), f"{LIST}?q=12%EA%B0%80&status=DEACTIVATED&sort=-number&columns=year"
    (back,) = Page((await browser.get(asked)).text).hidden(DELEGATE)["next"]
    company = {"toCompanyId": of.borrower.company_id}
    pages = [Page((await browser.post(address, {"vehicleId": vehicles, "next": back})).text)]
    if address != then:
        pages.append(Page((await browser.post(then, {**pages[0].hidden(then), **company})).text))
    done = await browser.post(then, {**pages[-1].hidden(then), **company})
    kept = [(back in each.hrefs, each.hidden(then)["next"]) for each in pages]

    assert (back[:16], sorted(back[16:].split("&"))) == (f"{LIST}?", sorted(asked[16:].split("&")))
    assert kept == [(True, [back])] * len(kept)
    assert (done.status_code, done.headers["location"]) == (303, back)


@pytest.mark.parametrize("address", STRAY)
async def test_visitor_is_sent_to_no_other_address(app: rest.Rest, address):
    of, vehicles = await delegating.two_vehicles(app)
    browser, there = Browser(app, of.owner), "/delegation/delegate"
    fields = {"vehicleId": vehicles, "toCompanyId": of.borrower.company_id, "next": address}
    shown = [
        Page((await browser.post(asked, fields)).text).hidden(then)
        for asked, then in ((ACTIVATE, ACTIVATE), (DELEGATE, there), (there, there))
    ]
    done = [
        (await browser.post(asked, {**hidden, **fields, "confirmed": "1"})).headers["location"]
        for asked, hidden in ((ACTIVATE, shown[0]), (there, shown[2]))
    ]

    assert [each.get("next") for each in shown] == [[LIST], [LIST], None]
    assert done == [LIST, f"/delegation?company={of.borrower.company_id}"]


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 200), (ROWS, 200), (ROWS + 1, 400)])
async def test_as_many_as_a_page_shows_are_taken_at_once(app: rest.Rest, count, status):
    of, _vehicles = await delegating.two_vehicles(app)
    unknown = [f"{number:08d}{delegating.UNKNOWN[8:]}" for number in range(count)]

    assert (await Browser(app, of.owner).post(ACTIVATE, {"vehicleId": unknown})).status_code == status


async def test_driver_may_neither_activate_nor_delegate(app: rest.Rest):
    of, vehicles = await delegating.two_vehicles(app)
    driver = await delegating.driver(app, of.owner, "driver")
    found = [
        (await Browser(app, driver).post(each, {"vehicleId": vehicles})).status_code for each in (ACTIVATE, DELEGATE)
    ]

    assert found == [403, 403]
