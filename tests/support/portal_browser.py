"""Chromium driven from here, cut off from all but this machine: pages of the portal in any theme, language and width.

What is wrong with a page is a list of sentences (`troubles`): what axe finds, what its scripts and its policy complain
of, requests to other servers, content that is wider than the window. Needs a browser
(`browser.py`) and axe-core (`install-system`).
"""

import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support import browser as browsers
from tests.support import portal_tour, required

AXE = Path(__file__).with_name("portal") / "node_modules" / "axe-core" / "axe.min.js"
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
FLAGS = (ALONE, "--no-sandbox", "--disable-gpu", "--js-flags=--no-opt --no-maglev")
"""No page of a test is open for long enough to gain from scripts that are compiled well."""
HEIGHT = 900
PATIENCE_MS = 30_000
"""How long a test waits for an element."""
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


class Look(msgspec.Struct, frozen=True):
    """How a page is looked at."""

    theme: str = "light"
    language: str = "en"
    width: int = 1440

    @property
    def name(self) -> str:
        return f"{self.theme}-{self.language}-{self.width}"


PLAIN = Look()
COARSE = "Object.defineProperty(window, 'devicePixelRatio', { get: () => 0.25 })"
"""Has maps and charts draw few pixels: drawing them by software takes most of the time of a page with a map."""
NOTE_DRAWINGS = """for (const name of ["drawArrays", "drawElements"]) {
    const draw = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...given) {
        window.drawnAt = performance.now();
        return draw.apply(this, given);
    };
}"""
"""Notes when a map was drawn last."""
LOOKS = tuple(
    Look(theme, language, width)
    for width, theme, language in itertools.product((360, 1024, 1440), ("light", "dark"), ("en", "ko"))
)
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
"""Which look a page gets in this run; each run draws its own."""


def rotated(turn: int) -> Look:
    """The look of this run for the page with this number; neighbours differ in theme, language and width."""
    return LOOKS[(SEED + 5 * turn) % len(LOOKS)]


class Watched(msgspec.Struct):
    """A page with what it asked for and complained of since it was opened."""

    page: Page
    origin: str
    complaints: list[str]
    outside: list[str]

    def troubles(self) -> list[str]:
        """What is wrong with the page, once it is loaded; each sentence says where."""
        self.page.wait_for_load_state()
        return [*self.complaints, *self.outside, *too_wide(self.page), *axe(self.page)]


@contextmanager
def browsing(*flags: str, program: str | None = browsers.PROGRAM) -> Iterator[Browser]:
    """A browser for a file's tests, started with these flags too."""
    browsers.need("pages of the portal in a browser", program)
    required.need(AXE.is_file(), "pages of the portal in a browser", "axe-core is not installed")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watching(
    browser: Browser,
    origin: str,
    look: Look = PLAIN,
    *,
    scripts: bool = True,
    session: str | None = None,
    sharp: bool = False,
) -> Iterator[Watched]:
    """A page in a window of its own, with the cookie of this session; nothing is open in it yet.

    `sharp`: its maps and charts are to be looked at.
    """
    with _window(browser, look, scripts=scripts) as window:
        if not sharp:
            window.add_init_script(COARSE)
        if session is not None:
            window.add_cookies([{"name": portal_tour.COOKIE, "value": session, "url": origin}])
        page = window.new_page()
        watched = Watched(page, origin, [], [])
        page.on("console", lambda said: _is_complaint(said.type, said.text) and watched.complaints.append(said.text))
        page.on("pageerror", lambda error: watched.complaints.append(f"script: {error}"))
        page.on(
            "request", lambda asked: _is_outside(asked.url, origin) and watched.outside.append(f"asked {asked.url}")
        )
        yield watched


@contextmanager
def _window(browser: Browser, look: Look, *, scripts: bool) -> Iterator[BrowserContext]:
    window = browser.new_context(
        viewport={"width": look.width, "height": HEIGHT},
        locale={"ko": "ko-KR"}.get(look.language, "en-GB"),
        color_scheme="dark" if look.theme == "dark" else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    window.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    try:
        yield window
    finally:
        window.close()


def arrive(page: Page, shown: str) -> None:
    """Wait for the page that shows this element, whole: its scripts run, and all of its rows are there."""
    page.wait_for_selector(shown)
    page.wait_for_load_state()


def resize(page: Page, width: int) -> None:
    """Give the page's window another width, which is cheaper than another page."""
    page.set_viewport_size({"width": width, "height": HEIGHT})


def rest(page: Page, *, seconds: float) -> None:
    """Wait until no map of the page was drawn for so long; its drawings are noted."""
    until = time.monotonic() + PATIENCE_MS / 1_000
    while page.evaluate("performance.now() - window.drawnAt") < seconds * 1_000:
        assert time.monotonic() < until, "the map is drawn again and again"
        page.wait_for_timeout(200)


def _is_complaint(kind: str, text: str) -> bool:
    # Drawing by software is slow, which the browser tells.
    return kind in ("error", "warning") and "GPU stall due to ReadPixels" not in text


def _is_outside(address: str, origin: str) -> bool:
    return not address.startswith((f"{origin}/", "data:", "blob:"))


def axe(page: Page) -> list[str]:
    """What axe finds on the page, seen from its top: wherever one scrolls to, the bar covers some link in part.

    An open menu covers parts of the page, too: then axe sees the menu alone.
    """
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(
        """(tags) => axe.run(
            document.querySelector("[data-menu][open]") ?? document,
            { runOnly: tags, resultTypes: ["violations"], selectors: false },
        ).then((result) => JSON.stringify(result.violations))""",
        TAGS,
    )
    return [
        f"axe: {each['id']}: {each['help']}: {node['html'][:200]} ({node.get('failureSummary', '')[:300]})"
        for each in json.loads(found)
        for node in each["nodes"]
    ]


def too_wide(page: Page) -> list[str]:
    """Elements that reach beyond the window, where the page as a whole would scroll sideways."""
    beyond = page.evaluate(
        """() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width) return [];
            const reaches = (each) => {
                const style = getComputedStyle(each);
                const box = each.getBoundingClientRect();
                const inside = style.overflowX === "visible" && style.display !== "inline" ? each.scrollWidth : 0;
                return style.position !== "fixed" && Math.max(box.right, box.left + inside) > width + 1;
            };
            return [...document.querySelectorAll("body *")].filter(reaches).reverse()
                .map((each) => each.outerHTML.slice(0, 120)).slice(0, 5);
        }"""
    )
    return [f"wider than the window: {each}" for each in beyond]
