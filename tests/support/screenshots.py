"""Pictures of every page of the portal in each theme, language and width: of a company with nothing, one row and many,
and of forms that are refused.

    make screenshots                   all of them, into build/screenshots
    make screenshots ONLY="full ko"    those whose names hold these words

A name is `<page>.<who>.<look>.png`. Trouble with a page (axe, console, network, width) is printed beside its name. Not
here: how pages are found (`portal_tour.py`), what the companies hold (`portal_world.py`).
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, TimeoutError

from tests.support import portal_browser, portal_tour, portal_world, reference
from tests.support.portal_browser import LOOKS, Look
from tests.support.portal_tour import Stop
from tests.support.portal_world import Guest

FOLDER = reference.ROOT / "build" / "screenshots"
REFUSED = "refused"
REFUSED_OF = ("full", "nobody", "partner", "platform")
"""Whose forms are sent."""
REFUSED_WITHIN_MS = 3000
"""How long an answer to a form may take; a file is sent by a script, which the browser does not wait for."""
NOWHERE = Stop("/nowhere", "/nowhere")
"""A path that is no page."""
APART = ".selection, .one-button, .danger-zone, [data-quick], [action='/account/preferences']"
FORM = f"#content form[method=post]:not({APART})"
"""The form of a page that is about one; that of language and theme would be taken, and change all other pictures."""


def main(words: Sequence[str]) -> int:
    """Take the pictures whose names hold all words; how many pages had trouble."""
    if not words:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    troubled = 0
    found = set()
    with (
        tempfile.TemporaryDirectory() as folder,
        portal_world.serving(Path(folder) / "data") as world,
        portal_browser.browsing() as browser,
    ):
        for guest in world.guests:
            stops = portal_tour.walk(guest.origin, guest.session, guest.starts)
            found |= {stop.pattern for stop in stops}
            stops += [*guest.states, NOWHERE]
            for take, who in ((taken, guest.name), (refused, f"{guest.name}-{REFUSED}")):
                for look in LOOKS:
                    wanted = [stop for stop in stops if is_wanted(name_of(stop, who, look), words)]
                    if wanted:
                        troubled += take(browser, guest, look, wanted)
    for pattern in sorted(set(portal_tour.patterns()) - found):
        print(f"{pattern}: no link leads to this page")
    print(f"{len(list(FOLDER.iterdir()))} pictures in {FOLDER}, {troubled} pages with trouble")
    return troubled


def is_wanted(name: str, words: Sequence[str]) -> bool:
    """Whether the name holds every word."""
    return all(word in re.split(r"[.-]", name) for word in words)


def name_of(stop: Stop, who: str, look: Look) -> str:
    """The picture's name without its ending."""
    page = re.sub(r"[{}]", "", stop.pattern).strip("/").replace("/", "-") or "start"
    return f"{page}.{who}.{look.name}"


def taken(browser: Browser, guest: Guest, look: Look, stops: Sequence[Stop]) -> int:
    """Take the pages' pictures; how many had trouble."""
    troubled = 0
    with portal_browser.watching(browser, guest.origin, look, session=guest.session, sharp=True) as watched:
        for stop in stops:
            watched.page.goto(f"{guest.origin}{stop.address}")
            if stop is NOWHERE:
                watched.complaints.clear()  # the browser complains of the status
            troubled += told(watched, name_of(stop, guest.name, look))
    return troubled


def refused(browser: Browser, guest: Guest, look: Look, stops: Sequence[Stop]) -> int:
    """Take pictures of the pages' forms when what they require is missing; how many had trouble."""
    troubled = 0
    if guest.name not in REFUSED_OF:
        return troubled
    with portal_browser.watching(browser, guest.origin, look, session=guest.session, sharp=True) as watched:
        for stop in stops:
            watched.page.goto(f"{guest.origin}{stop.address}")
            if refuse(watched.page):
                watched.complaints.clear()  # the browser complains of the refusal's status
                troubled += told(watched, name_of(stop, f"{guest.name}-{REFUSED}", look))
    return troubled


def told(watched: portal_browser.Watched, name: str) -> bool:
    """Take the picture and print what is wrong with the page; whether something is."""
    if watched.page.locator("[data-map]").count():
        watched.page.wait_for_selector("[data-map]:not([data-state=drawing])")
    watched.page.locator(".htmx-request, .htmx-settling").first.wait_for(state="detached")
    watched.page.screenshot(path=FOLDER / f"{name}.png", full_page=True)
    found = watched.troubles()
    watched.complaints.clear()
    for each in found:
        print(f"{name}: {each}")
    return found != []


def refuse(page: Page) -> bool:
    """Send the page's form without what it requires; whether the page has such a form and shows it again."""
    form = page.locator(f"{FORM}:visible:has([required])").first
    if form.count() == 0:
        return False
    form.evaluate(
        """(form) => {
            for (const each of form.querySelectorAll("[required]")) each.value = "";
            form.noValidate = true;
        }"""
    )
    form.locator("button[type=submit], button:not([type])").first.click()
    try:
        page.locator("[data-refused], .field-error").first.wait_for(timeout=REFUSED_WITHIN_MS)
    except TimeoutError:
        return False
    page.wait_for_load_state()
    return True


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
