"""The parts of the portal's pages in a real browser: axe, console, network and width on every page of the gallery, and
what the scripts do, by keyboard and pointer. Each run draws a theme, a language and a width for every page.
"""

import pytest
from playwright.sync_api import expect
from tests.support import portal_browser, portal_gallery
from tests.support.portal_browser import PLAIN, Look

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows"), pytest.mark.slow]

STATES = [(name, more) for name in portal_gallery.NAMES for more in ("", "&refused")]


@pytest.fixture(scope="module")
def browser():
    with portal_browser.browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def gallery():
    with portal_gallery.serving() as address:
        yield address


@pytest.fixture
def page(browser, gallery):
    with portal_browser.watching(browser, gallery) as watched:
        yield watched.page


def address(gallery: str, name: str, look: Look = PLAIN, more: str = "") -> str:
    return f"{gallery}/{name}?theme={look.theme}&language={look.language}{more}"


@pytest.mark.parametrize(("name", "more"), STATES)
def test_parts_have_no_trouble(browser, gallery, name, more):
    look = portal_browser.rotated(STATES.index((name, more)))
    with portal_browser.watching(browser, gallery, look) as watched:
        watched.page.goto(address(gallery, name, look, more))

        assert (look.name, watched.troubles()) == (look.name, [])


def test_open_menus_and_dialogs_have_no_trouble(browser, gallery):
    look = portal_browser.rotated(len(STATES))
    with portal_browser.watching(browser, gallery, look) as watched:
        watched.page.goto(address(gallery, "record", look))
        opened = []
        for summary in watched.page.locator("[data-menu]:visible > summary").all():
            summary.click()
            opened += watched.troubles()
            watched.page.keyboard.press("Escape")
        watched.page.locator("[commandfor=delegate]").first.evaluate("(button) => button.click()")

        assert (look.name, opened, watched.troubles()) == (look.name, [], [])


def test_page_without_scripts_shows_all_and_sends_forms(browser, gallery):
    with portal_browser.watching(browser, gallery, scripts=False) as watched:
        page = watched.page
        page.goto(address(gallery, "form"))
        page.get_by_label("Registration number").fill("12가3456")
        page.get_by_role("textbox", name="Password").fill("a long password")
        page.get_by_role("button", name="Register vehicle").click()

        expect(page.get_by_role("heading", name="Vehicles")).to_be_visible()


def test_dialog_opens_traps_and_gives_the_focus_back(page, gallery):
    page.goto(address(gallery, "record"))
    opener = page.get_by_role("button", name="Delegate", exact=True)
    opener.focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("dialog", name="Delegate vehicle 12가3456")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Delegate"


def test_menu_closes_with_escape_and_with_a_click_elsewhere(page, gallery):
    page.goto(address(gallery, "record"))
    menu = page.locator("summary[aria-label=More]:visible")
    menu.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "History"
    page.keyboard.press("Escape")
    expect(page.locator("details[open]")).to_have_count(0)

    menu.click()
    page.get_by_role("heading", level=1).click()

    expect(page.locator("details[open]")).to_have_count(0)


def test_rows_are_walked_opened_and_selected_by_keys(page, gallery):
    page.goto(address(gallery, "list"))
    for key in ("j", "j", "j", "k", "x"):
        page.keyboard.press(key)

    expect(page.locator("tr.at th")).to_have_text("11가3457")
    expect(page.locator("[data-picked]")).to_have_text("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/record")


def test_selection_counts_takes_ranges_and_is_cleared(page, gallery):
    page.goto(address(gallery, "list"))
    boxes = page.locator("[data-pick]")
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(page.locator("[data-picked]")).to_have_text("4")
    expect(page.get_by_role("button", name="Delete")).to_be_visible()

    page.get_by_label("Select all rows of this page").check()
    expect(page.locator("[data-picked]")).to_have_text("20")
    page.get_by_role("button", name="Clear").click()

    expect(page.locator(".bulk")).to_be_hidden()


@pytest.mark.parametrize(
    ("name", "key", "field"),
    [("list", "/", "#list"), ("record", "/", "#quick-found"), ("list", "Control+k", "#quick-found")],
)
def test_keys_go_to_a_search(page, gallery, name, key, field):
    page.goto(address(gallery, name))

    page.keyboard.press(key)

    target = page.evaluate("document.activeElement.closest('form').getAttribute('hx-target')")
    assert target == field
    assert page.evaluate("document.activeElement.value") == ""


def test_keys_are_letters_in_a_field(page, gallery):
    page.goto(address(gallery, "list"))

    page.get_by_role("searchbox", name="Number, model, serial number").press_sequentially("j/x")

    expect(page.get_by_role("searchbox", name="Number, model, serial number")).to_have_value("j/x")
    expect(page.locator("tr.at")).to_have_count(0)


def test_typed_values_come_back_after_a_lost_page_but_no_password(page, gallery):
    page.goto(address(gallery, "form"))
    page.get_by_label("Registration number").fill("34나5678")
    page.get_by_role("textbox", name="Password").fill("a long password")
    page.get_by_label("Large").check()
    page.goto(address(gallery, "guest"))
    page.goto(address(gallery, "form"))

    expect(page.get_by_label("Registration number")).to_have_value("34나5678")
    expect(page.get_by_label("Large")).to_be_checked()
    expect(page.get_by_role("textbox", name="Password")).to_have_value("")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Registration number")).to_have_value("")


def test_typed_values_are_forgotten_once_saved(page, gallery):
    page.goto(address(gallery, "form"))
    page.get_by_label("Registration number").fill("34나5678")
    page.get_by_role("textbox", name="Password").fill("a long password")
    page.get_by_role("button", name="Register vehicle").click()
    page.wait_for_url("**/list")
    page.goto(address(gallery, "form"))

    expect(page.get_by_label("Registration number")).to_have_value("")
    assert page.evaluate("Object.keys(sessionStorage).filter((name) => name.startsWith('typed'))") == []


def test_lost_network_is_told_and_keeps_a_form_from_being_sent(page, gallery):
    page.goto(address(gallery, "form"))
    page.get_by_label("Registration number").fill("34나5678")
    page.get_by_role("textbox", name="Password").fill("a long password")
    page.context.set_offline(True)
    page.get_by_role("button", name="Register vehicle").click()

    expect(page.locator("#offline")).to_be_visible()
    assert page.url.startswith(f"{gallery}/form")
    page.context.set_offline(False)
    page.wait_for_selector("#offline", state="hidden")
    page.get_by_role("button", name="Register vehicle").click()
    page.wait_for_url("**/list")


def test_copy_takes_the_text_and_says_so(page, gallery):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address(gallery, "record"))

    page.get_by_role("button", name="Copy: Id").click()

    page.locator("#said", has_text="Copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == "0195f3a0-7a3c-7c1e-9f7a-2b6f3a1c9d11"


def test_secret_is_shown_when_asked(page, gallery):
    page.goto(address(gallery, "record"))
    token = page.get_by_text("Aa1bcDE23fgH45ijKL67")
    expect(token).to_be_hidden()

    page.get_by_role("button", name="Show: Token").click()

    expect(token).to_be_visible()


def test_dense_rows_are_remembered(page, gallery):
    page.goto(address(gallery, "list"))
    before = page.locator("tbody tr").first.bounding_box()["height"]
    page.get_by_role("button", name="Dense rows").click()
    page.reload()

    assert (before, page.locator("tbody tr").first.bounding_box()["height"]) == (36, 28)


def test_error_summary_has_the_focus_and_leads_to_the_field(page, gallery):
    page.goto(address(gallery, "form", more="&refused"))
    assert page.evaluate("document.activeElement.hasAttribute('data-refused')")

    page.get_by_role("link", name="The number is 12 characters long at most.").click()

    assert page.evaluate("document.activeElement.id") == "f-number"


def test_form_is_sent_once_and_says_so_at_once(page, gallery):
    page.goto(address(gallery, "guest"))
    page.get_by_label("E-mail address").fill("mina.kim@example.com")
    page.get_by_role("textbox", name="Password").fill("a long password")
    page.evaluate(
        """() => addEventListener("submit", (event) => {
            window.sent = (window.sent ?? 0) + !event.defaultPrevented;
            event.preventDefault();
        })"""
    )
    button = page.get_by_role("button", name="Sign in")
    button.click()
    button.click()

    assert (page.evaluate("window.sent"), button.get_attribute("aria-busy")) == (1, "true")


def test_file_is_dropped_onto_its_field(page, gallery):
    page.goto(address(gallery, "form"))
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["number"], "vehicles.csv"));
            const dropped = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
            document.querySelector("[data-drop]").dispatchEvent(dropped);
        }"""
    )

    assert page.evaluate("document.querySelector('[type=file]').files[0].name") == "vehicles.csv"


@pytest.mark.parametrize(
    ("language", "button", "nothing"),
    [("en", "Choose file", "No file chosen"), ("ko", "파일 선택", "선택한 파일 없음")],
)
def test_field_of_a_file_speaks_the_language_of_the_page_and_names_the_file(page, gallery, language, button, nothing):
    page.goto(address(gallery, "form", Look(language=language)))
    area = page.locator("[data-drop]")
    shown = [area.locator("label").inner_text(), area.locator("[data-file-name]").inner_text()]
    native = area.locator("input").bounding_box()["width"]
    area.locator("input").focus()
    outline = area.locator("label").evaluate("(one) => getComputedStyle(one).outlineStyle")
    with page.expect_file_chooser() as chooser:
        area.locator("label").click()
    chooser.value.set_files({"name": "vehicles.csv", "mimeType": "text/csv", "buffer": b"number"})

    assert (shown, native, outline) == ([button, nothing], 1, "solid")
    expect(area.locator("[data-file-name]")).to_have_text("vehicles.csv")


def test_field_of_a_file_without_scripts_is_the_one_of_the_browser(browser, gallery):
    with portal_browser.watching(browser, gallery, scripts=False) as watched:
        watched.page.goto(address(gallery, "form"))
        area = watched.page.locator("[data-drop]")

        assert area.locator("input").bounding_box()["width"] > 100
        expect(area.locator("label")).to_be_hidden()


def test_browser_sees_what_is_wrong(browser, gallery):
    with portal_browser.watching(browser, gallery, Look(width=360)) as watched:
        watched.page.goto(address(gallery, "guest"))
        with watched.page.expect_event("console", lambda said: "outside.example" in said.text):
            watched.page.evaluate(
                """() => {
                    document.querySelector("main").setAttribute("style", "color: red");
                    const bad = `<input><pre>${"x".repeat(200)}</pre><img src="http://outside.example/x.png">`;
                    document.querySelector("main").insertAdjacentHTML("beforeend", bad);
                }"""
            )
        found = " ".join(watched.troubles())

    assert "axe: label" in found
    assert "wider than the window" in found
    assert "outside.example" in found
    assert "Content Security Policy" in found
