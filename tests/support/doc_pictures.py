"""The pictures of the portal in `docs/pictures`, taken of a running server: `make pictures`.

Reduced to 256 colours they look the same and are a third of the size. Not here: pictures of every page, to be looked
at (`screenshots.py`).
"""

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import portal_browser, portal_world, reference, servers
from tests.support.portal_browser import Look
from tests.support.portal_world import Guest

FOLDER = reference.ROOT / "docs" / "pictures"
WHOSE = "full"
"""The company that they show."""
NUMBER = "11가3457"
"""The vehicle that they show: delegated, driven, with a sensor."""
SIZES = {"vehicles": (1280, 760), "vehicle": (1280, 760), "chain": (1280, 760), "import": (1400, 600)}
"""Width and height of each picture."""
MAP = reference.ROOT / "evaluation" / "maps" / "liechtenstein.osm.pbf"
MOVING_MS = 40_000
"""How long the demo's fleet drives before the pictures of it."""


def main() -> None:
    """Take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        portal_world.serving(Path(folder) / "data") as world,
        portal_browser.browsing() as browser,
    ):
        (guest,) = (each for each in world.guests if each.name == WHOSE)
        with portal_browser.watching(browser, world.origin, Look(), session=guest.session) as watched:
            page = watched.page
            for name, address in addresses(world.origin, guest, page).items():
                width, height = SIZES[name]
                page.set_viewport_size({"width": width, "height": height})
                page.goto(f"{world.origin}{address}")
                page.screenshot(path=FOLDER / f"{name}.png")
        with demo(Path(folder) / "demo") as printed:
            link, trip = (
                re.search(pattern, printed) for pattern in (r"\S+/sign-in/link\?token=\S+", r"trip/([0-9a-f-]+)")
            )
            origin = link.group().partition("/sign-in/")[0]
            with portal_browser.watching(browser, origin, Look()) as watched:
                page = watched.page
                page.set_viewport_size({"width": 1280, "height": 760})
                page.goto(link.group())
                page.locator("button.primary").click()
                page.wait_for_timeout(MOVING_MS)
                for name, address in (("map", "/map"), ("trip", f"/trips/{trip.group(1)}")):
                    page.goto(f"{origin}{address}")
                    page.locator("[data-map][data-state=drawn]").wait_for()
                    page.wait_for_timeout(3_000)
                    page.screenshot(path=FOLDER / f"{name}.png")


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """A kept demo, whose fleet moves; what it printed."""
    command = servers.command("demo", "--keep", "--map", str(MAP), "--data", str(folder))
    with subprocess.Popen(command, env=servers.environment(), stdout=subprocess.PIPE, text=True) as process:
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C" in line:
                break
        try:
            yield printed
        finally:
            process.send_signal(signal.SIGTERM)


def addresses(origin: str, guest: Guest, page: portal_browser.Page) -> dict[str, str]:
    """Where each picture is taken."""
    page.goto(f"{origin}/fleet/vehicles")
    vehicle = re.search(r"[0-9a-f-]{36}", page.get_by_role("link", name=NUMBER).first.get_attribute("href")).group()
    (bad,) = (stop.address for stop in guest.states if stop.pattern == "/import/bad-rows")
    return {
        "vehicles": "/fleet/vehicles",
        "vehicle": f"/fleet/vehicles/{vehicle}",
        "chain": f"/delegation/vehicles/{vehicle}",
        "import": bad,
    }


if __name__ == "__main__":
    main()
