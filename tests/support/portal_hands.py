"""Hands that work in pages of the portal: with a pointer, or by keyboard alone.

Both find what they touch by the words of the catalogue, as a person does, so one story is told in any language.
"""

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support import fleet, portal_browser
from tests.support.portal_browser import Look
from tripline.domain.refusals import Refusal
from tripline.language import catalogue
from tripline.language.catalogue import Language

TABS_MAX = 300
"""Presses of Tab after which something counts as out of reach."""
TABS_BETWEEN = """(wanted) => {
    const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
    const isStop = (each) => each.tabIndex >= 0
        && each.checkVisibility({ visibilityProperty: true })
        && !each.matches(":disabled, [inert] *, [type=radio]:not(:checked)");
    const stops = [...all].filter((each) => each === wanted || isStop(each));
    return stops.indexOf(wanted) - stops.indexOf(document.activeElement);
}"""
"""How many presses of Tab lead from the focus to an element, in the order of the page; negative for one before it."""
UNSEEN = 3
"""Stops before an element from which on the focus is looked at; an order that is not the page's takes more looks."""
_SHOWN_MAX = 2_000


class Hand:
    """A pointer and a keyboard."""

    loses = False
    """True once what the page polls is gone: the browser then complains of status 404."""

    def __init__(self, page: Page, origin: str, language: str) -> None:
        self.page, self._origin, self._language = page, origin, Language(language)

    def say(self, key: str, **values: Any) -> str:
        """A text of the portal in the story's language."""
        return catalogue.text(key, self._language, **values)

    def sentence(self, refusal: Refusal) -> str:
        """What the portal says of a refusal in the story's language."""
        return catalogue.sentence(refusal, self._language)

    def open(self) -> None:
        """Open the portal as somebody who knows the server's address and no other."""
        self.page.goto(f"{self._origin}/")

    def sign_in(self, email: str) -> None:
        """Sign in on the page that asks for it."""
        self.fill(email=email, password=fleet.PASSWORD)
        self.press("portal.sign_in.submit")
        self.page.wait_for_selector("nav.rail")

    def turn_to(self, *hrefs: str) -> None:
        """Follow these links of the navigation, one after the other."""
        for href in hrefs:
            self.use(self.page.locator(f"nav a[href='{href}']:visible").first)
            self.page.wait_for_url(f"**{href}")

    def find(self, text: str) -> None:
        """Find a record by the beginning of its number, from wherever it is, and open it."""
        # A page that has just come hears what is typed once its scripts have run.
        self.page.wait_for_load_state()
        self.write(self.page.locator("[data-quick] input"), text)
        self.use(self.found(text))

    def found(self, text: str) -> Locator:
        """What a search shows while one types."""
        return self.page.locator("#quick-found").get_by_role("link", name=re.compile(f"^{re.escape(text)}")).first

    def fill(self, **fields: str) -> None:
        """Write into fields of the form, by their names."""
        for name, value in fields.items():
            self.write(self.page.locator(f"#content form [name='{name}']:visible").first, value)

    def write(self, field: Locator, value: str) -> None:
        """Replace what the field holds."""
        field.fill(value)

    def press(self, key: str, **values: Any) -> None:
        """Use the button with this text."""
        self.use(self.page.get_by_role("button", name=self.say(key, **values), exact=True).first)

    def follow(self, text: str) -> None:
        """Follow the link of the page whose text begins so."""
        self.use(self.page.locator("main").get_by_role("link", name=re.compile(f"^{re.escape(text)}")).first)

    def use(self, control: Locator) -> None:
        """Use a button or a link."""
        control.click()

    def give(self, field: Locator, path: Path) -> None:
        """Choose a file in the window that the field opens."""
        with self.page.expect_file_chooser() as chooser:
            self.browse(field)
        chooser.value.set_files(path)

    def browse(self, field: Locator) -> None:
        """Use the button of the field of a file."""
        field.locator("xpath=..").get_by_text(self.say("portal.ui.choose_file"), exact=True).click()

    def tick(self, box: Locator) -> None:
        """Tick a box, or choose a radio button."""
        box.check()

    def choose(self, field: Locator, text: str) -> None:
        """Choose an option by its text."""
        field.select_option(label=text)

    def sees(self, key: str, **values: Any) -> None:
        """Wait until the page says so."""
        self.page.get_by_text(self.say(key, **values)).first.wait_for()

    def done(self) -> str:
        """Wait for the notice that something was done; what it says."""
        return str(self.page.locator(".notice.good").first.inner_text())

    @contextlib.contextmanager
    def told(self, folder: Path) -> Iterator[None]:
        """When a step fails, say what the page showed then."""
        try:
            yield
        except Exception as error:
            picture = folder / "failed.png"
            self.page.screenshot(path=picture, full_page=True)
            shown = self.page.locator("body").inner_text()[:_SHOWN_MAX]
            error.add_note(f"{self.page.url} showed (picture: {picture}):\n{shown}")
            raise


@contextmanager
def window(browser: Browser, origin: str, language: str, kind: type[Hand], folder: Path) -> Iterator[Hand]:
    """A window of one person, with the hand that works in it; fails if a page complained or asked another host."""
    with portal_browser.watching(browser, origin, Look(language=language)) as watched:
        hand = kind(watched.page, origin, language)
        with hand.told(folder):
            yield hand
        troubles = [each for each in watched.complaints if "404" not in each or not hand.loses] + watched.outside
        assert not troubles, troubles


class Keyboard(Hand):
    """Only keys: Tab to what is wanted, then what a keyboard offers there; Ctrl-K to find a record."""

    def reach(self, wanted: Locator) -> None:
        """Press Tab until the element has the focus."""
        wanted.wait_for()
        unseen = wanted.evaluate(TABS_BETWEEN) - UNSEEN
        for pressed in range(TABS_MAX):
            if pressed >= unseen and wanted.evaluate("(element) => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"out of reach of Tab: {wanted}")

    def find(self, text: str) -> None:
        self.page.wait_for_load_state()
        self.page.keyboard.press("Control+k")
        expect(self.page.locator("[data-quick] input")).to_be_focused()
        self.page.keyboard.type(text)
        self.found(text).wait_for()
        for _ in range(TABS_MAX):
            if self.found(text).evaluate("(element) => element === document.activeElement"):
                break
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")

    def write(self, field: Locator, value: str) -> None:
        self.reach(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(value)

    def use(self, control: Locator) -> None:
        self.reach(control)
        self.page.keyboard.press("Enter")

    def browse(self, field: Locator) -> None:
        self.use(field)

    def tick(self, box: Locator) -> None:
        if box.get_attribute("type") == "radio":
            self.reach(box.locator("xpath=ancestor::fieldset").locator("input:checked"))
            for _ in range(TABS_MAX):
                if box.is_checked():
                    return
                self.page.keyboard.press("ArrowDown")
            raise AssertionError(f"out of reach of arrows: {box}")
        self.reach(box)
        self.page.keyboard.press("Space")

    def choose(self, field: Locator, text: str) -> None:
        self.reach(field)
        self.page.keyboard.type(text)


def drawn() -> tuple[str, type[Hand]]:
    """A language and a hand for a story in this run; output of a failed test has the seed that repeats them."""
    print(f"TRIPLINE_TESTS_SEED={portal_browser.SEED}")
    return ("ko", "en")[portal_browser.SEED % 2], (Hand, Keyboard)[portal_browser.SEED // 2 % 2]
