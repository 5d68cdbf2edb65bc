"""Lists of the fleet as pages: what an address asks, what the page says and leads to."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import Dialect, insert
from tests.support import access_world
from tests.support import rest as support
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


def seen(tmp_path: Path, ask: Callable[[World, Browser], Awaitable[T]], name: str = "P") -> T:
    async def scenario(rest: Rest) -> T:
        world = await access_world.settled(rest)
        return await ask(world, Browser(rest, world.logins[name]))

    return support.run(tmp_path, scenario)


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
    return Browser(world.app, world.logins[WITH_ROWS.get(noun, "P")])


def test_list_is_a_page_in_each_language(tmp_path: Path) -> None:
    async def ask(world: World, _: Browser) -> dict[tuple[str, str], httpx.Response]:
        return {
            (noun, language): await looker(world, noun).get(path, **{"Accept-Language": language})
            for noun, path in LISTS.items()
            for language in ("en", "ko")
        }

    for asked, answer in seen(tmp_path, ask).items():
        assert answer.status_code == 200, asked
        assert Page(answer.text).all("table"), asked


def test_pages_follow_each_other_forward_and_back(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> list[Page]:
        await with_vehicles(world, 60)
        pages = [Page((await browser.get("/fleet/vehicles?sort=-number")).text)]
        for rel in ("next", "prev"):
            (there,) = [each["href"] for each in pages[-1].all("a") if each.get("rel") == rel]
            pages.append(Page((await browser.get(str(there))).text))
        return pages

    first, second, again = seen(tmp_path, ask)
    assert len(numbers(first)) == 50
    assert len(numbers(second)) == 12
    assert not set(numbers(first)) & set(numbers(second))
    assert numbers(again) == numbers(first)
    assert [each.get("rel") for each in again.all("a") if each.get("rel")] == ["next"]


@pytest.mark.parametrize(("language", "told"), [("en", "50 vehicles shown"), ("ko", "차량 50대 표시")])
def test_part_of_a_list_says_how_many_of_what_it_shows(tmp_path: Path, language: str, told: str) -> None:
    async def ask(world: World, browser: Browser) -> Page:
        await with_vehicles(world, 60)
        return Page((await browser.get("/fleet/vehicles", **{"Accept-Language": language})).text)

    assert told in seen(tmp_path, ask).text


def test_without_scripts_a_link_leads_to_the_count_and_back(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> tuple[Page, Page]:
        await with_vehicles(world, 60)
        listed = Page((await browser.get("/fleet/vehicles?q=n&sort=-number")).text)
        (there,) = [each for each in listed.hrefs if each.startswith("/fleet/vehicles/count")]
        return listed, Page((await browser.get(there)).text)

    listed, count = seen(tmp_path, ask)
    assert listed.all("noscript")
    assert "60 vehicles" in count.text
    # The query's values come in any order.
    assert {"/fleet/vehicles?q=n&sort=-number", "/fleet/vehicles?sort=-number&q=n"} & set(count.hrefs)


def test_without_scripts_a_link_leads_to_what_each_company_has_and_back(tmp_path: Path) -> None:
    async def ask(_: World, browser: Browser) -> tuple[Page, Page, httpx.Response]:
        listed = Page((await browser.get("/fleet/companies?sort=-name")).text)
        (there,) = [each for each in listed.hrefs if each.startswith("/fleet/companies/sizes")]
        return listed, Page((await browser.get(there)).text), await browser.get(there, **HTMX)

    listed, sizes, part = seen(tmp_path, ask, "operator")
    names = [each for each in sizes.all("th") if each.get("scope") == "row"]
    assert len(names) == len(listed.all("tr")) - 1
    assert len(sizes.all("td")) == 3 * len(names)
    assert "/fleet/companies?sort=-name" in sizes.hrefs
    assert part.text.count('hx-swap-oob="true"') == len(sizes.all("td"))
    assert "<table" not in part.text


def test_search_by_a_script_gets_the_list_alone(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> httpx.Response:
        await with_vehicles(world, 3)
        return await browser.get("/fleet/vehicles?q=n00", **HTMX, **{"HX-Target": "list"})

    answer = seen(tmp_path, ask)
    assert "<html" not in answer.text
    assert "<title" not in answer.text
    assert answer.text.count("<tr data-row") == 3


def test_filters_in_force_can_be_taken_away_one_by_one(tmp_path: Path) -> None:
    address = "/fleet/vehicles?q=V&status=ACTIVATED&sensor=with"
    page = Page(seen(tmp_path, lambda _, browser: browser.get(address)).text)
    left = {
        frozenset(parse_qs(urlsplit(each["href"] or "").query))
        for each in page.all("a")
        if each.get("class") == "chip-remove"
    }

    assert left == {frozenset({"q", "status"}), frozenset({"q", "sensor"})}


def test_nothing_found_says_so_and_leads_back_to_all(tmp_path: Path) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get("/fleet/vehicles?q=nothing&sort=-created")).text)

    assert "Nothing matches" in page.text
    assert "Search compares beginnings" in page.text
    assert "/fleet/vehicles?sort=-created" in page.hrefs


def test_filters_that_let_nothing_pass_say_nothing_of_a_search(tmp_path: Path) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get("/fleet/vehicles?driving=now")).text)

    assert "No row passes every filter." in page.text
    assert "search" not in page.text.partition("Nothing matches")[2].partition("Show all")[0].lower()


def test_transmission_and_fuel_are_told_in_words(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> httpx.Response:
        body = {"vehicleNo": "A1", "mileage": 1, "missionType": "AUTO", "fuelType": "GASOLINE"}
        await world.app.post(world.of("P"), "/vehicle", body)
        return await browser.get("/fleet/vehicles?q=A1&columns=number&columns=mission&columns=fuel")

    page = Page(seen(tmp_path, ask).text)

    assert "Automatic" in page.text
    assert "Petrol" in page.text
    assert "GASOLINE" not in page.text


def test_columns_of_the_address_are_shown_and_kept_for_the_next_time(tmp_path: Path) -> None:
    async def ask(_: World, browser: Browser) -> tuple[httpx.Response, httpx.Response]:
        chosen = await browser.get("/fleet/vehicles?columns=number&columns=mileage")
        return chosen, await browser.get("/fleet/vehicles")

    for answer in seen(tmp_path, ask):
        scoped = [each for each in Page(answer.text).all("th") if each.get("scope") == "col"]
        headings = [each for each in scoped if each.get("class") != "pick"]
        assert len(headings) == 2


HIDING = {"middle", "wide", "widest"}


def hidden(page: Page) -> set[str]:
    """The classes of headings and cells that hide columns of a narrow window."""
    cells = [*page.all("th"), *page.all("td")]
    return {name for each in cells for name in (each.get("class") or "").split()} & HIDING


def test_columns_that_somebody_chose_are_hidden_in_no_window(tmp_path: Path) -> None:
    async def ask(world: World, _: Browser) -> dict[str, list[Page]]:
        found = {}
        for noun, path in LISTS.items():
            browser, every = looker(world, noun), "&".join(f"columns={each.key}" for each in TABLES[noun].columns)
            found[noun] = [Page((await browser.get(address)).text) for address in (path, f"{path}?{every}", path)]
        return found

    for noun, pages in seen(tmp_path, ask).items():
        usual, chosen, kept = map(hidden, pages)
        assert usual <= HIDING, noun
        assert usual, noun
        assert (chosen, kept) == (set(), set()), noun


def test_what_an_address_cannot_ask_is_refused(tmp_path: Path) -> None:
    queries = ("sort=mileage", "status=NONE", "company=x", "driving=maybe")

    async def ask(_: World, browser: Browser) -> list[int]:
        return [(await browser.get(f"/fleet/vehicles?{query}")).status_code for query in queries]

    assert seen(tmp_path, ask) == [400] * 4


@pytest.mark.parametrize(
    ("who", "address", "is_offered"),
    [
        ("was delegated driver of P", "/fleet/vehicles", False),
        ("was delegated driver of P", "/fleet/vehicles?q=zz", True),
        ("P", "/fleet/vehicles", True),
    ],
)
def test_list_without_anything_offers_no_search_no_columns_and_no_file(
    tmp_path: Path, who: str, address: str, is_offered: bool
) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get(address), who).text)
    actions = [each.get("action") for each in page.all("form")]

    assert [each in actions for each in ("/fleet/vehicles", "/exports")] == [is_offered, is_offered]


def test_place_that_names_none_is_the_beginning(tmp_path: Path) -> None:
    answer = seen(tmp_path, lambda _, browser: browser.get("/fleet/vehicles?after=%00zz"))

    assert answer.status_code == 200
    assert answer.text.count("<tr data-row") == 2


def test_vehicles_of_a_company_out_of_reach_are_refused(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> tuple[int, int]:
        out, within = world.ids["other"], world.ids["P"]
        return (
            (await browser.get(f"/fleet/vehicles?company={out}")).status_code,
            (await browser.get(f"/fleet/vehicles?company={within}")).status_code,
        )

    assert seen(tmp_path, ask, "operator") == (403, 200)


def test_number_of_rows_is_told_afterwards(tmp_path: Path) -> None:
    async def ask(_: World, browser: Browser) -> list[httpx.Response]:
        return [await browser.get(f"{path}/count", **HTMX) for path in LISTS.values()]

    for answer in seen(tmp_path, ask):
        assert answer.status_code == 200
        assert answer.text.split()[0].isdigit()
        assert "<" not in answer.text


@pytest.mark.parametrize(("name", "shown"), [("P", True), ("delegated driver of P", False)])
def test_registering_is_offered_to_who_may(tmp_path: Path, name: str, shown: bool) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get("/fleet/vehicles"), name).text)

    assert ("/fleet/vehicles/new" in page.hrefs) is shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("operator", "Register partner"),
        ("granted", "Register your company"),
        ("platform administrator", "Register operator"),
    ],
)
def test_button_of_companies_says_what_its_form_registers(tmp_path: Path, name: str, text: str) -> None:
    async def ask(_: World, browser: Browser) -> tuple[str, str]:
        return (await browser.get("/fleet/companies")).text, (await browser.get("/fleet/companies/new")).text

    listed, form = seen(tmp_path, ask, name)
    assert f"<span>{text}</span></a>" in listed
    assert f"<h1>{text}</h1>" in form


@pytest.mark.parametrize(
    ("text", "found"),
    [("v", 0), ("on-V", 1), ("driver", 0), ("managing", 1), ("zz", 0), ("<script>", 0), ("%27", 0)],
)
def test_quick_search_finds_what_begins_so(tmp_path: Path, text: str, found: int) -> None:
    async def ask(_: World, browser: Browser) -> tuple[httpx.Response, httpx.Response]:
        target = {**HTMX, "HX-Target": "found"}
        return await browser.get("/search"), await browser.http.get("/search", params={"q": text}, headers=target)

    page, part = seen(tmp_path, ask)
    assert page.status_code == part.status_code == 200
    assert "<html" not in part.text
    assert "<script>" not in part.text
    assert len([each for each in Page(part.text).all("a") if "data-found" in each]) >= found


def test_quick_search_leads_on_to_lists_where_it_stops(tmp_path: Path) -> None:
    async def ask(world: World, _: Browser) -> list[list[str]]:
        app, operator = world.app, world.of("operator")
        for n in range(6):
            await app.partner(operator, f"hanbit{n}@x.example", name=f"Hanbit {n}")
            await app.person(world.of("P"), Authority.DRIVER, f"hanbit-of-p{n}")
        seen_by = ("operator", "P", "driver of P", "platform administrator")
        pages = [await Browser(app, world.of(each)).get("/search?q=hanb") for each in seen_by]
        return [[each["href"] or "" for each in Page(page.text).all("a") if "data-found" in each] for page in pages]

    def on(found: list[str]) -> set[str]:
        return {each for each in found if each.endswith("?q=hanb")}

    operator, partner, driver, platform = seen(tmp_path, ask)
    people, companies = {"/fleet/drivers?q=hanb", "/fleet/directors?q=hanb"}, {"/fleet/companies?q=hanb"}
    assert on(operator) == people | companies
    assert on(partner) == people
    assert driver == []
    assert on(platform) == companies | {"/admin/accounts?q=hanb"}
    assert len([each for each in operator if each.startswith("/fleet/companies/")]) == 6
    assert len([each for each in platform if each.startswith("/admin/accounts/")]) == 6


@pytest.mark.parametrize("name", ["granted", "carrier"])
def test_search_of_whoever_has_nothing_to_search_says_so(tmp_path: Path, name: str) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get("/search?q=10"), name).text)

    assert "There is nothing to search" in page.text
    assert "Nothing begins" not in page.text


@pytest.mark.parametrize(
    ("name", "offered"),
    [("P", True), ("driver of P", True), ("granted", False), ("carrier", False), ("platform administrator", True)],
)
def test_quick_search_is_offered_to_whoever_finds_something_with_it(tmp_path: Path, name: str, offered: bool) -> None:
    page = Page(seen(tmp_path, lambda _, browser: browser.get("/account"), name).text)

    assert any("data-quick" in each for each in page.all("form")) is offered


def test_companies_come_first_and_what_they_hold_afterwards(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> tuple[list[str], Page, Page, str]:
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
        return [*first, "--", *statements], page, sizes, narrow

    statements, page, sizes, narrow = seen(tmp_path, ask, "operator")

    first, then = "\n".join(statements).lower().split("\n--\n")
    assert "count(" not in first
    assert "count(" in then
    cells = [each["id"] for each in page.all("span") if (each.get("id") or "").startswith(("vehicles-", "people-"))]
    assert cells
    assert set(cells) <= {each["id"] for each in sizes.all("span") if each.get("hx-swap-oob") == "true"}
    assert any(each.startswith("/fleet/vehicles?company=") for each in sizes.hrefs)
    assert "/sizes" not in narrow


@pytest.mark.parametrize("language", ["en", "ko"])
def test_services_are_listed_with_their_operators(tmp_path: Path, language: str) -> None:
    async def ask(world: World, browser: Browser) -> tuple[str, str, str]:
        answer = await browser.get("/admin/services?sort=-created", **{"Accept-Language": language})
        counted = await browser.get("/admin/services/count", **HTMX)
        return world.ids["operator"], answer.text, counted.text

    operator, text, counted = seen(tmp_path, ask, "platform administrator")

    assert f"/fleet/companies/{operator}" in Page(text).hrefs
    enabled, disabled = {"en": ("Enabled", "Disabled"), "ko": ("사용 중", "사용 중지")}[language]
    assert Page(text).text.replace(disabled, "").count(enabled) == 3
    assert counted.split()[0].isdigit()


@pytest.mark.parametrize(("language", "words"), [("en", ("Carrier", "Disabled")), ("ko", ("통신사", "사용 중지"))])
def test_accounts_are_listed_with_role_company_and_state(tmp_path: Path, language: str, words: tuple[str, str]) -> None:
    async def ask(world: World, browser: Browser) -> tuple[str, str, str, str]:
        carrier = world.of("carrier").user_id
        await browser.post(f"/admin/accounts/{carrier}/disable")
        one = await browser.get("/admin/accounts?q=NET@&role=CARRIER&state=disabled", **{"Accept-Language": language})
        other = await browser.get("/admin/accounts?q=p@admins", **{"Accept-Language": language})
        counted = await browser.get("/admin/accounts/count?role=COMPANY_ADMIN", **HTMX)
        return carrier, one.text, other.text, counted.text

    carrier, one, other, counted = seen(tmp_path, ask, "platform administrator")

    assert f"/admin/accounts/{carrier}" in Page(one).hrefs
    assert all(word in Page(one).text for word in ("net@x.example", *words))
    assert (one.count("<tr data-row"), one.count("chip-remove"), other.count("<tr data-row")) == (1, 2, 1)
    assert ">P<" in other
    assert counted == "8 accounts"


def test_pages_of_accounts_follow_each_other_in_both_orders(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> list[list[str]]:
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
        return found

    numbers = [f"{n:012d}" for n in reversed(range(60))]
    assert seen(tmp_path, ask, "platform administrator") == [numbers[:50], numbers[50:], numbers[:50]]


@pytest.mark.parametrize("query", ["sort=name", "sort=-created", "role=ADMIN", "state=yes"])
def test_accounts_are_ordered_and_filtered_by_what_there_is(tmp_path: Path, query: str) -> None:
    address = f"/admin/accounts?{query}"
    assert seen(tmp_path, lambda _, browser: browser.get(address), "platform administrator").status_code == 400


def test_service_whose_administrators_are_barred_is_disabled(tmp_path: Path) -> None:
    async def ask(world: World, browser: Browser) -> tuple[int, int]:
        barred = world.logins["operator"].user_id
        before = (await browser.get("/admin/services?state=disabled")).text
        await browser.post(f"/admin/accounts/{barred}/disable")
        after = (await browser.get("/admin/services?state=disabled")).text
        return before.count("<tr data-row"), after.count("<tr data-row")

    assert seen(tmp_path, ask, "platform administrator") == (0, 1)
