"""Pages of the portal in a real browser: widths and heights of what they show, and what their scripts do."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from tests.support import fleet, portal_browser, portal_life, portal_world

from tripline.domain.lines import NwStatus
from tripline.language import catalogue
from tripline.portal.lists.nouns import TABLES

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows"), pytest.mark.slow]

WITHOUT_ROWS = {"/delegation/received"}
"""Lists of which a full fleet has nothing: no other company delegates to it."""
WIDTHS = (360, 1024, 1440)
MOST_CUT = "(all) => Math.max(...all.map((one) => one.scrollWidth - one.clientWidth))"
"""How much of the widest table is out of sight."""
LAST_SHOWN_ENDS = """(one) => {
    const shown = [...one.querySelectorAll("thead th")].filter((cell) => cell.offsetWidth);
    return getComputedStyle(shown.at(-1)).paddingInlineEnd;
}"""
"""How far from the edge of its table the text of the last column ends that is shown."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with portal_world.serving(tmp_path_factory.mktemp("portal") / "data") as filled:
        yield filled


@pytest.fixture(scope="module")
def browser(world):
    """Opened behind the world: the browser's loop runs in this thread, where commands want one of their own."""
    with portal_browser.browsing() as opened:
        yield opened


def test_states_of_people_keep_to_one_line_in_a_narrow_korean_list(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    lines, cut = {}, {}
    look = portal_browser.Look(language="ko", width=360)
    paths = ("/fleet/directors", "/fleet/drivers")
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        for path in paths:
            watched.page.goto(f"{world.origin}{path}")
            badges, tables = watched.page.locator(".table .badge"), watched.page.locator(".table-scroll")
            lines[path] = badges.evaluate_all("(all) => Math.max(...all.map((one) => one.offsetHeight)) < 30")
            cut[path] = tables.evaluate_all(MOST_CUT)

    assert lines == dict.fromkeys(paths, True)
    assert cut == dict.fromkeys(paths, 0)


def test_marks_and_long_filters_end_within_their_column_and_chip(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    ends = "(all) => all.map((one) => Math.round(one.getBoundingClientRect().right))"
    look = portal_browser.Look(language="ko", width=360)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/vehicles?q=10")
        page.locator("#vehicles tbody th a").click()
        page.locator("a[href$='/driver']").click()
        buttons = page.locator("#people .end .button").evaluate_all(ends)
        mark = page.locator("#people .badge.good").evaluate(
            """(one) => {
                const range = document.createRange();
                range.selectNodeContents(one);
                return range.getBoundingClientRect().right;
            }"""
        )
        page.goto(f"{world.origin}/fleet/directors")
        page.get_by_role("row", name=portal_world.NAMES[-1]).get_by_role("link", name="3").click()
        chip, remove = page.locator(".chip.on, .chip-remove").evaluate_all(ends)

    assert abs(mark - buttons[0]) < 2
    assert remove < chip <= 360 - 16


def test_values_beside_a_button_stand_on_its_line(browser, world):
    (guest,) = (each for each in world.guests if each.name == "director")
    look = portal_browser.Look(width=1440)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/vehicles?q=10")
        page.locator("#vehicles tbody th a").click()
        names = page.locator(".split > :first-child .section:first-child .facts dd > a:not(.button)")
        letters = names.evaluate_all(
            """(all) => all.map((one) => {
                const range = document.createRange();
                range.selectNodeContents(one.firstChild);
                return range.getBoundingClientRect().y;
            })"""
        )

    assert len(letters) == 2
    assert abs(letters[0] - letters[1]) < 1


def test_facts_of_a_device_stand_on_one_line_though_some_of_them_renew_themselves(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    look = portal_browser.Look(width=1440)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/sensors?q=3569")
        page.locator("#sensors tbody th a").first.click()
        facts = page.locator("[data-live] dd, [data-live] + dl dd")
        places = facts.evaluate_all("(all) => all.map((one) => `${one.offsetTop} ${getComputedStyle(one).lineHeight}`)")

    assert len(places) == 3
    assert len(set(places)) == 1


def test_fields_show_the_whole_height_of_korean_letters(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    look, cut = portal_browser.Look(language="ko"), {}
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        watched.page.goto(f"{world.origin}/fleet/companies/new")
        fields = watched.page.locator("#content .control > input")
        fields.first.fill(portal_world.LONG)
        for width in (360, 1440):
            portal_browser.resize(watched.page, width)
            cut[width] = fields.evaluate_all(
                "(all) => Math.max(...all.map((one) => one.scrollHeight - one.clientHeight))"
            )

    assert cut == {360: 0, 1440: 0}


def test_quick_search_shows_what_begins_so_while_somebody_types_and_leads_there_by_keyboard(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    look = portal_browser.rotated(1)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/drivers")
        page.keyboard.press("Control+k")
        page.keyboard.type("10가3456")
        found = page.locator("#quick-found")
        found.get_by_role("link").first.wait_for()
        troubles = watched.troubles()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Escape")
        expect(found).to_be_hidden()
        page.keyboard.type("x")
        page.keyboard.press("Backspace")
        found.get_by_role("link").first.wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/fleet/vehicles/*-*")
        heading = page.locator("h1").inner_text()
        page.keyboard.press("Control+k")
        page.keyboard.type("10가")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=10*")

    assert (look.name, troubles) == (look.name, [])
    assert heading == "10가3456"


def test_record_leads_back_to_its_list_as_it_was_shown(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    shown, led = [], []
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        page = watched.page
        for address, typed in (("?sort=-number&sensor=with", ""), ("?sensor=with", "10"), ("", "")):
            page.goto(f"{world.origin}/fleet/vehicles{address}")
            if typed:
                page.keyboard.press("/")
                page.keyboard.type(typed)
                page.wait_for_url(f"**q={typed}*")
            shown.append(page.url)
            page.locator("table#vehicles tbody th a").first.click()
            page.wait_for_url("**/fleet/vehicles/*-*")
            page.goto(f"{page.url}/history")
            page.locator("a.up").click()
            page.wait_for_url("**/fleet/vehicles/*-*")
            page.locator("a.up").click()
            page.locator("table#vehicles").wait_for()
            led.append(page.url)
        troubles = watched.complaints + watched.outside

    assert shown[1].count("sensor=with") == 1
    assert led == shown
    assert troubles == []


def test_deletion_and_cancel_lead_back_to_the_list_as_it_was_shown(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/vehicles/new")
        page.locator("#f-vehicleNo").fill("77가7777")
        page.locator("#f-mileage").fill("1")
        page.locator("#f-mileage").press("Enter")
        page.wait_for_url("**/fleet/vehicles/*-*")
        page.goto(f"{world.origin}/fleet/vehicles?q=77&sort=-number")
        shown = page.url
        page.locator("a[href='/fleet/vehicles/new']").first.click()
        page.wait_for_url("**/fleet/vehicles/new")
        page.locator("a[data-back]").click()
        page.locator("table#vehicles").wait_for()
        cancelled = page.url
        page.get_by_role("link", name="77가7777").click()
        page.wait_for_url("**/fleet/vehicles/*-*")
        page.goto(f"{page.url}/delete")
        page.locator("form.danger-zone button.danger").click()
        page.locator("#notices .notice").wait_for()
        deleted, notice = page.url, page.locator("#notices").inner_text()
        troubles = watched.complaints + watched.outside

    assert (cancelled, deleted) == (shown, shown)
    assert "77가7777" in notice
    assert troubles == []


def test_list_that_is_no_longer_shown_as_it_was_is_not_led_back_to(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/vehicles?sensor=with")
        record = page.locator("table#vehicles tbody th a").first.get_attribute("href")
        led = []
        for gone in ("", f"/fleet/vehicles?director={record.rpartition('/')[2]}"):
            if gone:
                page.goto(f"{world.origin}{gone}")
            page.goto(f"{world.origin}{record}")
            led.append(urlsplit(page.locator("a.up").get_attribute("href")).query)

    assert led == ["sensor=with", ""]


@pytest.mark.parametrize("turn", range(2))
def test_chosen_vehicles_are_deactivated_after_a_preview_and_undone_on_the_list_as_it_was_shown(browser, world, turn):
    (guest,) = (each for each in world.guests if each.name == "full")
    look = portal_browser.rotated(turn)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/vehicles?sort=-number&status=ACTIVATED")
        page.locator(".search:not(.quick) .query").fill("1")
        page.wait_for_url("**q=1*")
        shown, rows = page.url, page.locator("table#vehicles tbody th").all_inner_texts()
        for box in page.locator("table#vehicles [data-pick]").all()[:2]:
            box.check()
        page.locator("button[formaction='/fleet/vehicles/deactivate']").click()
        page.locator("table#changing").wait_for()
        named, troubles = page.locator("table#changing th a").all_inner_texts(), watched.troubles()
        page.locator("#content button.primary").click()
        page.locator("table#vehicles").wait_for()
        done, left = page.url, page.locator("table#vehicles tbody th").all_inner_texts()
        troubles += watched.troubles()
        page.locator("#notices form button").click()
        expect(page.locator("table#vehicles tbody th")).to_have_text(rows)
        undone = page.url

    assert (look.name, troubles) == (look.name, [])
    assert named == rows[:2] == sorted(rows, reverse=True)[:2]
    assert left == rows[2:]
    assert [parse_qs(urlsplit(each).query) for each in (done, undone)] == [parse_qs(urlsplit(shown).query)] * 2


def test_form_that_mounts_suggests_numbers_while_somebody_types(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    with portal_browser.watching(browser, world.origin, portal_browser.rotated(2), session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/sensors?mounted=free")
        page.locator("table#sensors tbody th a").first.click()
        page.locator("a[href$='/mount']").click()
        options = page.locator("#f-vehicleNo-list option")
        first = options.first.get_attribute("value")
        page.locator("[name=vehicleNo]").press_sequentially("1")
        page.locator("[name=vehicleNo]").press_sequentially("7")
        page.locator(f"#f-vehicleNo-list option[value='{first}']").wait_for(state="detached")
        begun = options.evaluate_all("(all) => all.map((one) => one.value)")
        troubles = watched.troubles()

    assert begun
    assert {each[:2] for each in begun} == {"17"}
    assert troubles == []


def test_tables_with_long_names_fit_the_window(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    paths = [
        *(f"/fleet/{kind}" for kind in ("vehicles", "sensors", "directors", "drivers", "companies")),
        *("/lines", "/delegation"),
        "/account",
    ]
    cut, ends, gutters = {}, {}, {}
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        for path in paths:
            watched.page.goto(f"{world.origin}{path}")
            tables = watched.page.locator(".table-scroll")
            for width in WIDTHS:
                portal_browser.resize(watched.page, width)
                cut[path, width] = tables.evaluate_all(MOST_CUT)
                ends[path, width] = tables.first.evaluate(LAST_SHOWN_ENDS)
                gutters[width] = watched.page.locator(".page").evaluate(
                    "(page) => getComputedStyle(page).paddingInlineEnd"
                )

    assert cut == {(path, width): 0 for path in paths for width in WIDTHS}
    assert ends == {(path, width): gutters[width] for path in paths for width in WIDTHS}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_longest_state_of_a_line_fits_a_narrow_window(browser, world, language):
    (guest,) = (each for each in world.guests if each.name == "full")
    longest = max((catalogue.text(f"portal.lists.filter.state.{each}", language) for each in NwStatus), key=len)
    look = portal_browser.Look(width=360, language=language)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        watched.page.goto(f"{world.origin}/lines")
        states = watched.page.locator("table#lines .badge")
        states.evaluate_all("(all, text) => all.forEach((one) => { one.textContent = text; })", longest)
        cut = watched.page.locator(".table-scroll").evaluate("(one) => one.scrollWidth - one.clientWidth")
        shown = states.count()

    assert shown
    assert cut == 0


def test_columns_that_somebody_chose_all_show_and_scroll_within_their_table(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    tables = [each for each in TABLES.values() if each.path not in WITHOUT_ROWS and not each.path.startswith("/admin/")]
    shown, too_wide, scrolls, widths = {}, {}, {}, (360, 1900)
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        for table in tables:
            chosen = "&".join(f"columns={each.key}" for each in table.columns)
            watched.page.goto(f"{world.origin}{table.path}?{chosen}")
            watched.page.goto(f"{world.origin}{table.path}")
            heads, region = (watched.page.locator(each) for each in ("thead th:not(.pick)", ".table-scroll"))
            for width in widths:
                portal_browser.resize(watched.page, width)
                at = table.noun, width
                shown[at] = heads.evaluate_all("(all) => all.filter((one) => one.offsetWidth).length")
                too_wide[at] = portal_browser.too_wide(watched.page)
                scrolls[at] = region.evaluate("(one) => one.scrollWidth > one.clientWidth")

    assert shown == {(each.noun, width): len(each.columns) for each in tables for width in widths}
    assert too_wide == {(each.noun, width): [] for each in tables for width in widths}
    assert scrolls == {(each.noun, width): width == 360 for each in tables for width in widths}


def test_tables_of_lists_reach_the_width_of_a_wide_window(browser, world):
    lists = {
        "full": (
            *({table.path for table in TABLES.values() if not table.path.startswith("/admin/")} - WITHOUT_ROWS),
            *("/delegation/new", "/import"),
        ),
        "platform": ("/admin/accounts", "/admin/services", "/admin/applications", "/admin/maps", "/admin/health"),
    }
    missing = {}
    for name, paths in lists.items():
        (guest,) = (each for each in world.guests if each.name == name)
        look = portal_browser.Look(width=2560)
        with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
            for path in paths:
                watched.page.goto(f"{world.origin}{path}")
                page = watched.page.locator(".page").evaluate("(one) => one.clientWidth")
                table = watched.page.locator(".table-scroll > .table").first.evaluate("(one) => one.offsetWidth")
                missing[path] = page - table

    assert missing == dict.fromkeys((path for paths in lists.values() for path in paths), 0)


def test_connection_of_a_device_renews_itself_but_in_no_hidden_page_nor_under_a_selection(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    answer = (
        '<div id="connection" data-live data-says="Connected">Heard right now</div>'
        '<span id="sensor-state" hx-swap-oob="true">Connected</span>'
    )
    asked = []

    def renewed(route):
        if route.request.headers.get("hx-target") != "connection":
            route.continue_()
            return
        asked.append(route.request.url)
        route.fulfill(status=503 if len(asked) == 1 else 200, content_type="text/html", body=answer)

    look = "document.dispatchEvent(new Event('visibilitychange'))"
    with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
        page = watched.page
        page.route("**/fleet/sensors/*", renewed)
        page.goto(f"{world.origin}/fleet/sensors")
        page.locator("#sensors tbody th a").first.click()
        page.wait_for_selector("#connection")
        page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
        page.evaluate(look)
        page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
        page.evaluate("getSelection().selectAllChildren(document.getElementById('connection'))")
        page.evaluate(look)
        held = len(asked)
        page.evaluate("getSelection().removeAllRanges()")
        with page.expect_response(lambda each: each.status == 503):
            page.evaluate(look)
        expect(page.locator("#connection")).not_to_contain_text("Heard right now")
        page.evaluate(look)
        expect(page.locator("#connection")).to_contain_text("Heard right now")
        expect(page.locator("#sensor-state")).to_have_text("Connected")
        expect(page.locator("#said")).to_have_text("Connected")

    assert held == 0
    assert len(asked) == 2


def test_part_that_asks_by_itself_says_so_and_leads_to_the_sign_in_once_its_session_has_ended(browser, world):
    look = "document.dispatchEvent(new Event('visibilitychange'))"
    with (
        portal_life.Visit(world.origin, "admin@seoul-taxi.example") as visit,
        portal_browser.watching(browser, world.origin, session=visit.session) as watched,
    ):
        page, asked = watched.page, []

        def note(request):
            asked.append(request)

        page.on("request", note)
        page.goto(f"{world.origin}/fleet/sensors")
        page.locator("#sensors tbody th a").first.click()
        page.wait_for_selector("#connection")
        with page.expect_response(lambda each: "was=" in each.url):
            page.evaluate(look)
        record = page.url
        visit.post("/sign-out", {})
        page.evaluate(look)
        page.wait_for_url("**/sign-in?*")
        expect(page.locator(".notice")).to_have_text("Your session has ended. Sign in again to go on.")
        refused = [each for each in asked if "was=" in each.url and each.response().status == 401]
        polls = {"was=" in each.url for each in asked if "x-poll" in each.headers}
        unmarked = [each.url for each in asked if "was=" in each.url and "x-poll" not in each.headers]
        page.locator("#f-email").fill("admin@seoul-taxi.example")
        page.locator("#f-password").fill(fleet.PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("#connection")
        back = page.url

    assert (polls, unmarked) == ({True}, [])
    assert (len(refused), back) == (1, record)


def test_without_scripts_a_link_leads_to_what_each_company_has(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    with portal_browser.watching(browser, world.origin, scripts=False, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/companies")
        page.get_by_role("link", name="How many each company has").click()
        numbers = page.locator("#sizes td").all_inner_texts()
        page.get_by_role("link", name="To the list").click()
        page.wait_for_url("**/fleet/companies")

    assert numbers
    assert all(each.replace(",", "").isdecimal() for each in numbers)


def test_name_of_forty_letters_is_whole_where_there_is_room(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    with portal_browser.watching(browser, world.origin, portal_browser.PLAIN, session=guest.session) as watched:
        watched.page.goto(f"{world.origin}/fleet/companies")
        names = watched.page.locator("#companies td .clip", has_text=portal_world.NAMES[-1])
        cut = names.first.evaluate("(one) => one.scrollHeight - one.clientHeight")

    assert cut == 0


@pytest.mark.parametrize("language", ["en", "ko"])
def test_sender_of_mails_takes_two_lines_of_a_narrow_window(browser, world, language):
    (guest,) = (each for each in world.guests if each.name == "platform")
    look = portal_browser.Look(language=language, width=360)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        watched.page.goto(f"{world.origin}/admin/settings?q=mail.sender")
        value = watched.page.locator("#settings td code")
        lines = value.evaluate("(one) => new Set([...one.getClientRects()].map((each) => each.top)).size")

    assert lines == 2


@pytest.mark.parametrize("language", ["en", "ko"])
def test_tables_of_the_platform_fit_the_window(browser, world, language):
    (guest,) = (each for each in world.guests if each.name == "platform")
    paths = ("/admin/settings", "/admin/accounts", "/admin/services", "/fleet/companies", "/account")
    cut, look = {}, portal_browser.Look(language=language)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        for path in paths:
            watched.page.goto(f"{world.origin}{path}")
            for width in WIDTHS:
                portal_browser.resize(watched.page, width)
                cut[path, width] = watched.page.locator(".table-scroll").evaluate_all(MOST_CUT)

    assert cut == {(path, width): 0 for path in paths for width in WIDTHS}


def test_more_of_a_narrow_window_is_marked_when_the_page_is_behind_it(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    looks = {}
    look = portal_browser.Look(width=360)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        for path, marked in (("/fleet/vehicles", ".rail a[aria-current]"), ("/company", ".rail .more summary")):
            watched.page.goto(f"{world.origin}{path}")
            one = watched.page.locator(marked).first
            looks[path] = one.evaluate("(one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]")

    assert looks["/company"] == looks["/fleet/vehicles"]


def test_tabs_actions_and_the_hint_of_the_search_fit_a_narrow_window(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    look = portal_browser.Look(width=360)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/delegation")
        tabs = page.locator(".tabs:not(.area)").evaluate("(one) => one.scrollWidth - one.clientWidth")
        expect(page.locator(".search-short")).to_be_visible()
        page.locator(".quick input").fill("10")
        expect(page.locator(".search-short")).to_be_hidden()
        page.goto(f"{world.origin}/fleet/companies")
        tops = page.locator("h1, .heading-actions").evaluate_all("(all) => all.map((one) => one.offsetTop)")

    assert tabs == 0
    assert max(tops) - min(tops) < 20
