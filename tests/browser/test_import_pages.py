"""Importing a thousand vehicles, some of them bad, in a real browser: dropped, mended in place, registered."""

import contextlib

import pytest
from playwright.sync_api import expect
from tests.support import portal_browser, servers
from tests.support.fleet import Company
from tests.support.portal_browser import Look

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows and its scripts do"), pytest.mark.slow]

ROWS = 1_000
HEADER = "차량번호,제조사,연식,연료,주행거리(km),비고\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limit = {"TRIPLINE_REST_IMPORT_MIB": "1"}
    with servers.serving(tmp_path_factory.mktemp("server") / "data", variables=limit) as running:
        yield running


@pytest.fixture(scope="module")
def companies(server):
    """A company for each test, made before the browser: that has an event loop of its own in this thread."""
    with contextlib.ExitStack() as stack:
        yield iter(
            [stack.enter_context(Company(server.api, server.data, service_type=f"fleet-{n}")) for n in range(12)]
        )


@pytest.fixture(scope="module")
def browser(companies):
    with portal_browser.browsing() as opened:
        yield opened


@pytest.fixture
def company(companies):
    return next(companies)


def fleet(folder, *, bad=True):
    """A file in CP949: of a thousand vehicles ten have no distance, one an unknown fuel, and one repeats a number."""
    lines = [HEADER]
    for number in range(ROWS):
        km = "x" if bad and number % 100 == 7 else number + 1
        fuel = "WOOD" if bad and number == 9 else "DIESEL"
        plate = "12가1000" if bad and number == 500 else f"12가{1000 + number}"
        lines.append(f"{plate},현대,2018,{fuel},{km},영업부\n")
    path = folder / "차량.csv"
    path.write_bytes("".join(lines).encode("cp949"))
    return path


def two_mistakes(folder):
    """A file of two vehicles; the first has an unknown fuel and no distance."""
    path = folder / "둘.csv"
    path.write_bytes(f"{HEADER}12가1000,현대,2018,WOOD,x,영업부\n12가1001,현대,2018,DIESEL,1,영업부\n".encode("cp949"))
    return path


class Slow:
    """The answers to rows that are saved, each held back until it is let through."""

    def __init__(self, page):
        self._page = page
        self._held = []
        page.route("**/import/*/rows/*", self._hold)

    def _hold(self, route):
        self._held.append(route)

    def arrived(self):
        """Wait until a row that was sent is held back."""
        for _ in range(250):
            if self._held:
                return
            self._page.wait_for_timeout(20)
        raise AssertionError("no row was sent")

    def let_through(self):
        """Answer the row that was sent first."""
        self.arrived()
        with self._page.expect_response("**/import/*/rows/*"):
            self._held.pop(0).continue_()


def mending_slowly(page, server, folder):
    """The preview of a row with two mistakes, on a slow network: the network, and its two cells."""
    page.goto(f"{server.api}/import")
    page.set_input_files("input[type=file]", str(two_mistakes(folder)))
    page.locator("form[data-import] button[type=submit]").click()
    portal_browser.arrive(page, "table.rows")
    return Slow(page), *(page.locator(f"#row-2 input[name=cell-{at}]") for at in (3, 4))


def registered_fuel_and_distance(page, company):
    """What the first vehicle is registered with."""
    page.locator("#counts button.primary").click()
    portal_browser.arrive(page, ".notice.good")
    listed = company.get(f"/api/tre/v1/company/{company.record['id']['id']}/vehicles", limit=2)["data"]
    (found,) = (each for each in listed if each["vehicleNo"] == "12가1000")
    return found["fuelType"], found["mileage"]


def signed_in(watched, company):
    watched.page.set_extra_http_headers({"X-Authorization": company.http.headers["X-Authorization"]})
    return watched.page


def counts(page):
    return [each.inner_text() for each in page.locator("#counts .count").all()]


@pytest.mark.parametrize("turn", range(2))
def test_thousand_vehicles_are_uploaded_mended_in_place_and_registered(browser, server, company, tmp_path, turn):
    look = portal_browser.rotated(turn)
    with portal_browser.watching(browser, server.api, look) as watched:
        page = signed_in(watched, company)
        troubles = []
        page.goto(f"{server.api}/import")
        troubles += watched.troubles()
        page.set_input_files("input[type=file]", str(fleet(tmp_path)))
        page.keyboard.press("Tab")
        page.locator("form[data-import] button[type=submit]").press("Enter")
        portal_browser.arrive(page, "table.rows")
        first = counts(page)
        troubles += watched.troubles()
        while (wrong := page.locator("table.rows tr.bad [aria-invalid]")).count():
            held = wrong.first
            row = held.evaluate("(field) => field.closest('tr').id")
            held.fill("DIESEL" if held.input_value() == "WOOD" else "77")
            held.press("Enter")
            page.wait_for_selector(f"tr.kept[id={row}]")
        mended = counts(page)
        troubles += watched.troubles()
        page.goto(f"{page.url.partition('?')[0]}?rows=duplicate")
        duplicate = page.locator("table.rows [aria-invalid]")
        told = page.locator("table.rows .field-error").inner_text()
        troubles += watched.troubles()
        duplicate.fill("99하9999")
        duplicate.press("Enter")
        page.wait_for_selector("tr.kept")
        page.locator("#counts button.primary").click()
        portal_browser.arrive(page, ".notice.good")
        troubles += watched.troubles()

    assert (look.name, troubles) == (look.name, [])
    assert (first, mended) == (["988", "11", "1", "0"], ["999", "0", "1", "0"])
    assert "2" in told
    vehicles = company.get("/api/tre/v1/vehicles/count")
    assert vehicles == {"count": ROWS}


def test_text_typed_while_a_row_is_saved_stays_with_focus_and_caret(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api) as watched:
        page = signed_in(watched, company)
        slow, fuel, distance = mending_slowly(page, server, tmp_path)
        fuel.fill("DIESEL")
        page.keyboard.press("Tab")
        page.keyboard.type("79")
        page.keyboard.press("ArrowLeft")
        slow.let_through()
        expect(fuel).to_have_count(0)
        page.keyboard.type("8")
        between = distance.input_value()
        page.keyboard.press("Enter")
        slow.let_through()
        expect(page.locator("tr.kept[id=row-2]")).to_have_count(1)
        registered = registered_fuel_and_distance(page, company)

    assert (between, registered) == ("789", ("DIESEL", 789))


def test_second_cell_that_is_left_while_its_row_is_saved_is_saved_after_it(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api) as watched:
        page = signed_in(watched, company)
        slow, fuel, distance = mending_slowly(page, server, tmp_path)
        fuel.fill("DIESEL")
        page.keyboard.press("Tab")
        page.keyboard.type("789")
        page.keyboard.press("Tab")
        slow.let_through()
        slow.let_through()
        expect(page.locator("tr.kept[id=row-2]")).to_have_count(1)
        expect(distance).to_have_count(0)
        registered = registered_fuel_and_distance(page, company)

    assert registered == ("DIESEL", 789)


def test_cell_typed_into_again_before_its_answer_keeps_what_was_typed(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api) as watched:
        page = signed_in(watched, company)
        slow, fuel, distance = mending_slowly(page, server, tmp_path)
        distance.fill("78")
        distance.press("Enter")
        slow.arrived()
        page.keyboard.press("End")
        page.keyboard.type("9")
        slow.let_through()
        expect(fuel).to_have_count(1)
        expect(page.locator("#counts .count")).to_have_text(["1", "1", "0", "0"])
        between = distance.input_value()
        page.keyboard.press("Enter")
        slow.let_through()
        expect(distance).to_have_count(0)
        expect(fuel).to_be_focused()
        fuel.fill("DIESEL")
        fuel.press("Enter")
        slow.let_through()
        expect(page.locator("tr.kept[id=row-2]")).to_have_count(1)
        registered = registered_fuel_and_distance(page, company)

    assert (between, registered) == ("789", ("DIESEL", 789))


def test_second_window_on_a_row_is_told_what_the_first_one_saved(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api) as watched, portal_browser.watching(browser, server.api) as other:
        page, second = signed_in(watched, company), signed_in(other, company)
        slow, fuel, _ = mending_slowly(page, server, tmp_path)
        second.goto(page.url)
        fuel.fill("DIESEL")
        fuel.press("Enter")
        slow.let_through()
        expect(fuel).to_have_count(0)
        typed = second.locator("#row-2 input[name=cell-3]")
        typed.fill("LPG")
        typed.press("Enter")
        told = second.locator("[data-refused] tbody tr")
        expect(told).to_have_count(1)
        cells = told.locator("th, td").all_inner_texts()
        texts = [second.locator(f"[name=cell-{at}]").input_value() for at in (3, 4)]

    assert (cells[1:], texts) == (["DIESEL", "LPG"], ["LPG", "x"])


def test_import_goes_by_plain_forms_without_scripts(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api, scripts=False) as watched:
        page = signed_in(watched, company)
        page.goto(f"{server.api}/import")
        page.set_input_files("input[type=file]", str(fleet(tmp_path)))
        page.locator("form[data-import] button[type=submit]").click()
        field = page.locator("table.rows [aria-invalid]").first
        field.fill("77")
        field.press("Enter")
        expect(page.locator("#counts .count")).to_have_text(["989", "10", "1", "0"])
        search = page.locator("#content input[name=q][type=search]")
        search.fill("wood")
        search.press("Enter")
        expect(page.locator("table.rows tbody tr")).to_have_count(1)
        page.locator("table.rows [aria-invalid]").fill("LPG")
        page.locator("table.rows [aria-invalid]").press("Enter")
        expect(page.locator("#content input[name=q][type=search]")).to_have_value("wood")
        expect(page.locator("#counts .count")).to_have_text(["990", "9", "1", "0"])
        page.locator("#counts button.primary").click()
        portal_browser.arrive(page, ".notice.good")
        shown = page.locator(".notice.good").inner_text()

    assert "990" in shown


def test_cell_that_is_left_for_the_search_is_saved(browser, server, company, tmp_path):
    with portal_browser.watching(browser, server.api) as watched:
        page = signed_in(watched, company)
        page.goto(f"{server.api}/import")
        page.set_input_files("input[type=file]", str(two_mistakes(tmp_path)))
        page.locator("form[data-import] button[type=submit]").click()
        portal_browser.arrive(page, "table.rows")
        page.locator("#row-2 input[name=cell-3]").fill("LPG")
        search = page.locator("#content input[name=q][type=search]")
        search.fill("12가1000")
        search.press("Enter")
        page.wait_for_url("**q=12*")
        expect(page.locator("#row-2 [aria-invalid]")).to_have_count(1)
        expect(page.locator("#row-2")).to_contain_text("LPG")

    assert watched.complaints == []


def test_search_waits_for_a_cell_that_is_being_saved(browser, server, company, tmp_path):
    held = []
    with portal_browser.watching(browser, server.api) as watched:
        page = signed_in(watched, company)
        page.goto(f"{server.api}/import")
        page.set_input_files("input[type=file]", str(two_mistakes(tmp_path)))
        page.locator("form[data-import] button[type=submit]").click()
        portal_browser.arrive(page, "table.rows")
        page.route("**/rows/2", lambda route: held.append(route))  # noqa: PLW0108  Playwright asks it for its parameters
        page.locator("#row-2 input[name=cell-3]").fill("LPG")
        search = page.locator("#content input[name=q][type=search]")
        search.fill("12가1000")
        search.press("Enter")
        page.wait_for_timeout(1_000)
        before = page.url
        (save,) = held
        save.continue_()
        page.wait_for_url("**q=12*")
        expect(page.locator("#row-2 [aria-invalid]")).to_have_count(1)
        expect(page.locator("#row-2")).to_contain_text("LPG")

    assert "q=" not in before
    assert watched.complaints == []


def test_file_that_is_refused_is_told_on_the_page_and_another_one_can_be_sent(browser, server, company, tmp_path):
    book = tmp_path / "book.csv"
    book.write_bytes(b"PK\x03\x04 workbook")
    with portal_browser.watching(browser, server.api, Look(width=360)) as watched:
        page = signed_in(watched, company)
        page.goto(f"{server.api}/import")
        page.set_input_files("input[type=file]", str(book))
        page.locator("form[data-import] button[type=submit]").click()
        portal_browser.arrive(page, "[data-refused]")
        told = page.locator("[data-refused]").inner_text()
        troubles = [each for each in watched.troubles() if "400" not in each]
        page.set_input_files("input[type=file]", str(fleet(tmp_path, bad=False)))
        page.locator("form[data-import] button[type=submit]").click()
        portal_browser.arrive(page, "table.rows")
        after = counts(page)

    assert "a workbook or a ZIP archive" in told
    assert (troubles, after) == ([], [f"{ROWS:,}", "0", "0", "0"])


@pytest.mark.parametrize("scripts", [True, False])
def test_file_that_is_too_large_is_refused_with_its_limit(browser, server, company, tmp_path, scripts):
    large = tmp_path / "large.csv"
    large.write_bytes(b"x" * 5 * 2**20)
    with portal_browser.watching(browser, server.api, scripts=scripts) as watched:
        page = signed_in(watched, company)
        page.goto(f"{server.api}/import")
        page.set_input_files("input[type=file]", str(large))
        page.locator("form[data-import] button[type=submit]").click()
        expect(page.locator("[data-refused]")).to_contain_text("at most 1 MiB")
        expect(page.locator("input[type=file]")).to_have_count(1)
