"""Links of records to lists of what is connected with them: of a company's things, of a person's vehicles."""

import re

import pytest
from tests.support import delegating, rest
from tests.support.portal import HTMX, Browser, Page

from tripline.domain.access import Authority

LISTS = ("vehicles", "sensors", "directors", "drivers")


def to_lists(page, company_id):
    """The lists of what is of this company that a page leads to."""
    return tuple(noun for noun in LISTS if f"/fleet/{noun}?company={company_id}" in page.hrefs)


@pytest.mark.parametrize(
    ("role", "found"),
    [
        (Authority.COMPANY_ADMIN, LISTS),
        (Authority.DIRECTOR, LISTS),
        (Authority.DRIVER, ("vehicles",)),
        (Authority.SYS_ADMIN, ()),
    ],
)
async def test_company_leads_to_what_it_holds_as_far_as_the_visitor_may_see_it(app: rest.Rest, admin, role, found):
    of = None if role is Authority.SYS_ADMIN else admin.company_id
    login = admin if role is Authority.COMPANY_ADMIN else await app.account("who@x.example", role, of)
    browser = Browser(app, login)
    page = Page((await browser.get(f"/fleet/companies/{admin.company_id}")).text)
    links = to_lists(page, admin.company_id)
    opened = [
        (await browser.get(f"/fleet/{noun}{end}?company={admin.company_id}")).status_code
        for noun in links
        for end in ("", "/count")
    ]

    assert (links, opened) == (found, [200] * 2 * len(found))


async def test_operator_is_told_how_much_a_partner_holds(app: rest.Rest, of):
    for number in ("1", "2"):
        await delegating.new_vehicle(app, of.below, number)
    await delegating.new_vehicle(app, of.owner, "3")
    await delegating.driver(app, of.below, "driver")
    browser, partner = Browser(app, of.operator), of.below.company_id
    page = Page((await browser.get(f"/fleet/companies/{partner}")).text)
    counts = [each["hx-get"] for each in page.all("span") if "/count?company=" in (each.get("hx-get") or "")]
    found = to_lists(page, partner), [(await browser.get(each, **HTMX)).text.strip() for each in counts]

    assert found == (LISTS, ["2 vehicles", "0 sensors", "0 directors", "1 driver"])


async def test_director_leads_to_the_list_of_the_vehicles_managed(app: rest.Rest, admin):
    director = await delegating.director(app, admin, "Director")
    path = f"/fleet/directors/{director.user_id}"
    browser = Browser(app, admin)
    before = Page((await browser.get(path)).text).hrefs
    vehicle = await delegating.new_vehicle(app, admin, "12")
    await delegating.new_vehicle(app, admin, "13")
    await app.post(admin, f"/vehicle/{vehicle}/director/{director.user_id}")
    after = Page((await browser.get(path)).text).hrefs
    link = f"/fleet/vehicles?director={director.user_id}"
    before, after, listed = link in before, link in after, Page((await browser.get(link)).text)

    rows = [each for each in listed.hrefs if re.fullmatch(r"/fleet/vehicles/[0-9a-f-]{36}", each)]
    assert (before, after) == (False, True)
    assert rows == [f"/fleet/vehicles/{vehicle}"]


async def test_person_leads_to_the_list_of_the_vehicles_with_a_right(app: rest.Rest, of):
    driver, other = [await delegating.driver(app, of.owner, name) for name in ("kim", "lee")]
    first, second = [await delegating.new_vehicle(app, of.owner, number) for number in ("12", "13")]
    await delegating.new_vehicle(app, of.owner, "14")
    page = f"/fleet/drivers/{driver.user_id}"
    before = Page((await Browser(app, of.owner).get(page)).text).hrefs
    for vehicle in (first, second):
        await delegating.give(app, of.owner, driver, vehicle, drive=True)
    await delegating.give(app, of.owner, other, first, drive=True)
    link = f"/fleet/vehicles?holder={driver.user_id}"
    listed = {}
    for name, login in {"owner": of.owner, "self": driver, "colleague": other, "borrower": of.borrower}.items():
        browser = Browser(app, login)
        led = link in Page((await browser.get(page)).text).hrefs
        answers = [await browser.get(each) for each in (link, link.replace("?", "/count?"))]
        rows = re.findall(r'<th scope="row"><a href="/fleet/vehicles/([0-9a-f-]{36})"', answers[0].text)
        listed[name] = led, [each.status_code for each in answers], rows
    before, both = link in before, [first, second]

    assert not before
    assert listed["owner"] == listed["self"] == (True, [200, 200], both)
    assert listed["colleague"] == listed["borrower"] == (False, [403, 403], [])


async def test_director_is_led_to_no_list_of_vehicles_out_of_reach(app: rest.Rest, admin):
    one, other = [await delegating.director(app, admin, name) for name in ("kim", "lee")]
    driver = await delegating.driver(app, admin, "park")
    for number, manager in (("12", other), ("13", one)):
        vehicle = await delegating.new_vehicle(app, admin, number)
        await app.post(admin, f"/vehicle/{vehicle}/director/{manager.user_id}")
        if manager is other:
            await delegating.give(app, admin, driver, vehicle, drive=True)
    browser, person = Browser(app, one), f"/fleet/drivers/{driver.user_id}"
    directors = Page((await browser.get("/fleet/directors")).text)
    before = Page((await browser.get(person)).text)
    await delegating.give(app, admin, driver, vehicle, drive=True)
    after = Page((await browser.get(person)).text)

    assert [f"/fleet/vehicles?director={each.user_id}" in directors.hrefs for each in (one, other)] == [True, False]
    assert [f"/fleet/vehicles?holder={driver.user_id}" in each.hrefs for each in (before, after)] == [False, True]
