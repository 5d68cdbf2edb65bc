"""Lists of the fleet as pages: what an address asks, what the page says and leads to."""

from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import Dialect, insert
from tests.support import access_world
from tests.support.access_world import World
from tests.support.portal import HTMX, Browser, Page
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.portal.lists.nouns import TABLES
from tripline.store.tables import account
from tripline.store.transactions import Hot

T = TypeVar("T")
LISTS = {
    noun: table.path for noun, table in TABLES.items() if noun != "messages" and not table.path.startswith("/admin/")
}
"""Where each list is that an administrator of a company has, but that of messages, of which there are none."""
WITH_ROWS = {"received": "operator"}
"""Who sees rows of a list in which P has none."""


@pytest.fixture
async def world(app: Rest) -> World:
    return await access_world.settled(app)


@pytest.fixture
def browser(world: World) -> Browser:
    """The browser of an administrator of P."""
    return of(world, "P")


def of(world: World, name: str) -> Browser:
    """The browser of somebody in the world."""
    return Browser(world.app, world.logins[name])


async def with_vehicles(world: World, count: int) -> None:
    for n in range(count):
        await world.app.post(world.of("P"), "/vehicle", {"vehicleNo": f"N{n:03d}", "mileage": 1, "fuelType": "LPG"})


def numbers(page: Page) -> list[str]:
    """The rows' ids, in their order."""
    return [
        urlsplit(each).path.rpartition("/")[2]
        for each in page.hrefs
        if each.startswith("/fleet/vehicles/") and not each.startswith(("/fleet/vehicles/new", "/fleet/vehicles/count"))
    ]


def looker(world: World, noun: str) -> Browser:
    """The browser of who sees rows of the list."""
    return of(world, WITH_ROWS.get(noun, "P"))


async def test_list_is_a_page_in_each_language(world):
    found = {
        (noun, language): await looker(world, noun).get(path, **{"Accept-Language": language})
        for noun, path in LISTS.items()
        for language in ("en", "ko")
    }

    for asked, answer in found.items():
        assert answer.status_code == 200, asked
        assert Page(answer.text).all("table"), asked


async def test_pages_follow_each_other_forward_and_back(world, browser):
    await with_vehicles(world, 60)
    pages = [Page((await browser.get("/fleet/vehicles?sort=-number")).text)]
    for rel in ("next", "prev"):
        (there,) = [each["href"] for each in pages[-1].all("a") if each.get("rel") == rel]
        pages.append(Page((await browser.get(str(there))).text))
    first, second, again = pages

    assert len(numbers(first)) == 50
    assert len(numbers(second)) == 12
    assert not set(numbers(first)) & set(numbers(second))
    assert numbers(again) == numbers(first)
    assert [each.get("rel") for each in again.all("a") if each.get("rel")] == ["next"]


@pytest.mark.parametrize(("language", "told"), [("en", "50 vehicles shown"), ("ko", "차량 50대 표시")])
async def test_part_of_a_list_says_how_many_of_what_it_shows(world, browser, language, told):
    await with_vehicles(world, 60)

    assert told in Page((await browser.get("/fleet/vehicles", **{"Accept-Language": language})).text).text


async def test_without_scripts_a_link_leads_to_the_count_and_back(world, browser):
    await with_vehicles(world, 60)
    listed = Page((await browser.get("/fleet/vehicles?q=n&sort=-number")).text)
    (there,) = [each for each in listed.hrefs if each.startswith("/fleet/vehicles/count")]
    count = Page((await browser.get(there)).text)

    assert listed.all("noscript")
    assert "60 vehicles" in count.text
    # The query's values come in any order.
    assert {"/fleet/vehicles?q=n&sort=-number", "/fleet/vehicles?sort=-number&q=n"} & set(count.hrefs)


async def test_without_scripts_a_link_leads_to_what_each_company_has_and_back(world):
    browser = of(world, "operator")
    listed = Page((await browser.get("/fleet/companies?sort=-name")).text)
    (there,) = [each for each in listed.hrefs if each.startswith("/fleet/companies/sizes")]
    sizes, part = Page((await browser.get(there)).text), await browser.get(there, **HTMX)

    names = [each for each in sizes.all("th") if each.get("scope") == "row"]
    assert len(names) == len(listed.all("tr")) - 1
    assert len(sizes.all("td")) == 3 * len(names)
    assert "/fleet/companies?sort=-name" in sizes.hrefs
    assert part.text.count('hx-swap-oob="true"') == len(sizes.all("td"))
    assert "<table" not in part.text


async def test_search_by_a_script_gets_the_list_alone(world, browser):
    await with_vehicles(world, 3)
    answer = await browser.get("/fleet/vehicles?q=n00", **HTMX, **{"HX-Target": "list"})

    assert "<html" not in answer.text
    assert "<title" not in answer.text
    assert answer.text.count("<tr data-row") == 3


async def test_filters_in_force_can_be_taken_away_one_by_one(browser):
    address = "/fleet/vehicles?q=V&status=ACTIVATED&sensor=with"
    page = Page((await browser.get(address)).text)
    left = {
        frozenset(parse_qs(urlsplit(each["href"] or "").query))
        for each in page.all("a")
        if each.get("class") == "chip-remove"
    }

    assert left == {frozenset({"q", "status"}), frozenset({"q", "sensor"})}


async def test_nothing_found_says_so_and_leads_back_to_all(browser):
    page = Page((await browser.get("/fleet/vehicles?q=nothing&sort=-created")).text)

    assert "Nothing matches" in page.text
    assert "Search compares beginnings" in page.text
    assert "/fleet/vehicles?sort=-created" in page.hrefs


async def test_filters_that_let_nothing_pass_say_nothing_of_a_search(browser):
    page = Page((await browser.get("/fleet/vehicles?driving=now")).text)

    assert "No row passes every filter." in page.text
    assert "search" not in page.text.partition("Nothing matches")[2].partition("Show all")[0].lower()


async def test_transmission_and_fuel_are_told_in_words(world, browser):
    body = {"vehicleNo": "A1", "mileage": 1, "missionType": "AUTO", "fuelType": "GASOLINE"}
    await world.app.post(world.of("P"), "/vehicle", body)

    page = Page((await browser.get("/fleet/vehicles?q=A1&columns=number&columns=mission&columns=fuel")).text)

    assert "Automatic" in page.text
    assert "Petrol" in page.text
    assert "GASOLINE" not in page.text


async def test_columns_of_the_address_are_shown_and_kept_for_the_next_time(browser):
    chosen = await browser.get("/fleet/vehicles?columns=number&columns=mileage")

    for answer in (chosen, await browser.get("/fleet/vehicles")):
        scoped = [each for each in Page(answer.text).all("th") if each.get("scope") == "col"]
        headings = [each for each in scoped if each.get("class") != "pick"]
        assert len(headings) == 2


HIDING = {"middle", "wide", "widest"}


def hidden(page: Page) -> set[str]:
    """The classes of headings and cells that hide columns of a narrow window."""
    cells = [*page.all("th"), *page.all("td")]
    return {name for each in cells for name in (each.get("class") or "").split()} & HIDING


async def test_columns_that_somebody_chose_are_hidden_in_no_window(world):
    found = {}
    for noun, path in LISTS.items():
        browser, every = looker(world, noun), "&".join(f"columns={each.key}" for each in TABLES[noun].columns)
        found[noun] = [Page((await browser.get(address)).text) for address in (path, f"{path}?{every}", path)]

    for noun, pages in found.items():
        usual, chosen, kept = map(hidden, pages)
        assert usual <= HIDING, noun
        assert usual, noun
        assert (chosen, kept) == (set(), set()), noun


async def test_what_an_address_cannot_ask_is_refused(browser):
    queries = ("sort=mileage", "status=NONE", "company=x", "driving=maybe")

    assert [(await browser.get(f"/fleet/vehicles?{query}")).status_code for query in queries] == [400] * 4


@pytest.mark.parametrize(
    ("who", "address", "is_offered"),
    [
        ("was delegated driver of P", "/fleet/vehicles", False),
        ("was delegated driver of P", "/fleet/vehicles?q=zz", True),
        ("P", "/fleet/vehicles", True),
    ],
)
async def test_list_without_anything_offers_no_search_no_columns_and_no_file(world, who, address, is_offered):
    page = Page((await of(world, who).get(address)).text)
    actions = [each.get("action") for each in page.all("form")]

    assert [each in actions for each in ("/fleet/vehicles", "/exports")] == [is_offered, is_offered]


async def test_place_that_names_none_is_the_beginning(browser):
    answer = await browser.get("/fleet/vehicles?after=%00zz")

    assert answer.status_code == 200
    assert answer.text.count("<tr data-row") == 2


async def test_vehicles_of_a_company_out_of_reach_are_refused(world):
    browser = of(world, "operator")
    out, within = world.ids["other"], world.ids["P"]

    assert (await browser.get(f"/fleet/vehicles?company={out}")).status_code == 403
    assert (await browser.get(f"/fleet/vehicles?company={within}")).status_code == 200


async def test_number_of_rows_is_told_afterwards(browser):
    found = [await browser.get(f"{path}/count", **HTMX) for path in LISTS.values()]

    for answer in found:
        assert answer.status_code == 200
        assert answer.text.split()[0].isdigit()
        assert "<" not in answer.text


@pytest.mark.parametrize(("name", "shown"), [("P", True), ("delegated driver of P", False)])
async def test_registering_is_offered_to_who_may(world, name, shown):
    browser = of(world, name)
    page = Page((await browser.get("/fleet/vehicles")).text)

    assert ("/fleet/vehicles/new" in page.hrefs) is shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("operator", "Register partner"),
        ("granted", "Register your company"),
        ("platform administrator", "Register operator"),
    ],
)
async def test_button_of_companies_says_what_its_form_registers(world, name, text):
    browser = of(world, name)
    listed = (await browser.get("/fleet/companies")).text
    form = (await browser.get("/fleet/companies/new")).text

    assert f"<span>{text}</span></a>" in listed
    assert f"<h1>{text}</h1>" in form


@pytest.mark.parametrize(
    ("text", "found"),
    [("v", 0), ("on-V", 1), ("driver", 0), ("managing", 1), ("zz", 0), ("<script>", 0), ("%27", 0)],
)
async def test_quick_search_finds_what_begins_so(browser, text, found):
    target = {**HTMX, "HX-Target": "found"}
    page = await browser.get("/search")
    part = await browser.http.get("/search", params={"q": text}, headers=target)

    assert page.status_code == part.status_code == 200
    assert "<html" not in part.text
    assert "<script>" not in part.text
    assert len([each for each in Page(part.text).all("a") if "data-found" in each]) >= found


async def test_quick_search_leads_on_to_lists_where_it_stops(world):
    app, operator = world.app, world.of("operator")
    for n in range(6):
        await app.partner(operator, f"hanbit{n}@x.example", name=f"Hanbit {n}")
        await app.person(world.of("P"), Authority.DRIVER, f"hanbit-of-p{n}")
    seen_by = ("operator", "P", "driver of P", "platform administrator")
    pages = [await Browser(app, world.of(each)).get("/search?q=hanb") for each in seen_by]
    operator, partner, driver, platform = [
        [each["href"] or "" for each in Page(page.text).all("a") if "data-found" in each] for page in pages
    ]

    def on(found: list[str]) -> set[str]:
        return {each for each in found if each.endswith("?q=hanb")}

    people, companies = {"/fleet/drivers?q=hanb", "/fleet/directors?q=hanb"}, {"/fleet/companies?q=hanb"}
    assert on(operator) == people | companies
    assert on(partner) == people
    assert driver == []
    assert on(platform) == companies | {"/admin/accounts?q=hanb"}
    assert len([each for each in operator if each.startswith("/fleet/companies/")]) == 6
    assert len([each for each in platform if each.startswith("/admin/accounts/")]) == 6


@pytest.mark.parametrize("name", ["granted", "carrier"])
async def test_search_of_whoever_has_nothing_to_search_says_so(world, name):
    browser = of(world, name)
    page = Page((await browser.get("/search?q=10")).text)

    assert "There is nothing to search" in page.text
    assert "Nothing begins" not in page.text


@pytest.mark.parametrize(
    ("name", "offered"),
    [("P", True), ("driver of P", True), ("granted", False), ("carrier", False), ("platform administrator", True)],
)
async def test_quick_search_is_offered_to_whoever_finds_something_with_it(world, name, offered):
    browser = of(world, name)
    page = Page((await browser.get("/account")).text)

    assert any("data-quick" in each for each in page.all("form")) is offered


async def test_companies_come_first_and_what_they_hold_afterwards(world):
    browser = of(world, "operator")
    statements: list[str] = []
    compiled = Hot.compiled

    def noted(statement: Hot, dialect: Dialect) -> tuple[str, tuple[int, ...], tuple[object, ...]]:
        statements.append(compiled(statement, dialect)[0])
        return compiled(statement, dialect)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hot, "compiled", noted)
        page = Page((await browser.get("/fleet/companies?sort=-name")).text)
        first, statements[:] = list(statements), []
        (there,) = [each["hx-get"] for each in page.all("div") if "/sizes" in (each.get("hx-get") or "")]
        sizes = Page((await browser.get(str(there), **HTMX)).text)
    narrow = (await browser.get("/fleet/companies?columns=name")).text
    statements = [*first, "--", *statements]

    first, then = "\n".join(statements).lower().split("\n--\n")
    assert "count(" not in first
    assert "count(" in then
    cells = [each["id"] for each in page.all("span") if (each.get("id") or "").startswith(("vehicles-", "people-"))]
    assert cells
    assert set(cells) <= {each["id"] for each in sizes.all("span") if each.get("hx-swap-oob") == "true"}
    assert any(each.startswith("/fleet/vehicles?company=") for each in sizes.hrefs)
    assert "/sizes" not in narrow


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_services_are_listed_with_their_operators(world, language):
    browser = of(world, "platform administrator")
    answer = await browser.get("/admin/services?sort=-created", **{"Accept-Language": language})
    counted = await browser.get("/admin/services/count", **HTMX)
    operator, text, counted = world.ids["operator"], answer.text, counted.text

    assert f"/fleet/companies/{operator}" in Page(text).hrefs
    enabled, disabled = {"en": ("Enabled", "Disabled"), "ko": ("사용 중", "사용 중지")}[language]
    assert Page(text).text.replace(disabled, "").count(enabled) == 3
    assert counted.split()[0].isdigit()


@pytest.mark.parametrize(("language", "words"), [("en", ("Carrier", "Disabled")), ("ko", ("통신사", "사용 중지"))])
async def test_accounts_are_listed_with_role_company_and_state(world, language, words):
    browser = of(world, "platform administrator")
    carrier = world.of("carrier").user_id
    await browser.post(f"/admin/accounts/{carrier}/disable")
    one = await browser.get("/admin/accounts?q=NET@&role=CARRIER&state=disabled", **{"Accept-Language": language})
    other = await browser.get("/admin/accounts?q=p@admins", **{"Accept-Language": language})
    counted = await browser.get("/admin/accounts/count?role=COMPANY_ADMIN", **HTMX)
    one, other, counted = one.text, other.text, counted.text

    assert f"/admin/accounts/{carrier}" in Page(one).hrefs
    assert all(word in Page(one).text for word in ("net@x.example", *words))
    assert (one.count("<tr data-row"), one.count("chip-remove"), other.count("<tr data-row")) == (1, 2, 1)
    assert ">P<" in other
    assert counted == "8 accounts"


async def test_pages_of_accounts_follow_each_other_in_both_orders(world):
    browser = of(world, "platform administrator")
    people = [
        {"id": f"00000000-0000-1000-8000-{n:012d}", "email": f"m{n:03d}@x.example", "login": f"m{n:03d}@x.example"}
        | {"created_ms": n, "authority": "CARRIER", "name": "", "enabled": True}
        | {"password_hash": "", "password_updated_ms": 1}
        for n in range(60)
    ]
    await world.app.store.write(lambda tx: tx.run(insert(account), people))
    found = []
    there = "/admin/accounts?q=m0&sort=-email&columns=email"
    for rel in ("next", "prev", None):
        page = Page((await browser.get(there)).text)
        found.append([each[-12:] for each in page.hrefs if each.startswith("/admin/accounts/0000")])
        there = next((str(each["href"]) for each in page.all("a") if rel and each.get("rel") == rel), "")

    numbers = [f"{n:012d}" for n in reversed(range(60))]

    assert found == [numbers[:50], numbers[50:], numbers[:50]]


@pytest.mark.parametrize("query", ["sort=name", "sort=-created", "role=ADMIN", "state=yes"])
async def test_accounts_are_ordered_and_filtered_by_what_there_is(world, query):
    assert (await of(world, "platform administrator").get(f"/admin/accounts?{query}")).status_code == 400


async def test_service_whose_administrators_are_barred_is_disabled(world):
    browser = of(world, "platform administrator")
    barred = world.logins["operator"].user_id
    before = (await browser.get("/admin/services?state=disabled")).text
    await browser.post(f"/admin/accounts/{barred}/disable")
    after = (await browser.get("/admin/services?state=disabled")).text

    assert (before.count("<tr data-row"), after.count("<tr data-row")) == (0, 1)
