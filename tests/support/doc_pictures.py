"""The pictures of the portal in `docs/pictures`, taken of a running server: `make pictures`.

Reduced to 256 colours they look the same and are a third of the size. Not here: pictures of every page, to be looked
at (`screenshots.py`).
"""

import asyncio
import json
import re
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support import answers, portal_browser, portal_world, reference, servers
from tests.support.device import CarefulDevice
from tests.support.portal_browser import Look
from tests.support.portal_world import Guest
from tripline.demo import SPEEDER
from tripline.demo.company import LOGIN_FILE

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
MAPPED = "[data-map][data-state=drawn]"
PHONE = (360, 760)
WEEK_MS = 604_800_000
EARLIER = ((0.2, 1.0), (0.5, 1.0), *((weeks, 1.35) for weeks in range(2, 9)))
"""Weeks before the demo's drive along roads, and how much slower the same way was driven then."""


def main() -> None:
    """Take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        portal_world.serving(Path(folder) / "data") as world,
        portal_browser.browsing() as browser,
    ):
        (guest,) = (each for each in world.guests if each.name == WHOSE)
        with portal_browser.watching(browser, world.origin, Look(), session=guest.session, sharp=True) as watched:
            page = watched.page
            for name, address in addresses(world.origin, guest, page).items():
                width, height = SIZES[name]
                page.set_viewport_size({"width": width, "height": height})
                page.goto(f"{world.origin}{address}")
                page.screenshot(path=FOLDER / f"{name}.png")
        with demo(Path(folder) / "demo") as printed:
            link = re.search(r"\S+/sign-in/link\?token=\S+", printed).group()
            of_demo(browser, Path(folder) / "demo", printed, link)


def of_demo(browser: portal_browser.Browser, data: Path, printed: str, link: str) -> None:
    """Take the pictures of a fleet that moves, of a trip, of a driver's page and of what needs attention."""
    origin = link.partition("/sign-in/")[0]
    with portal_browser.watching(browser, origin, Look(), sharp=True) as watched:
        page = watched.page
        page.set_viewport_size({"width": 1280, "height": 760})
        page.goto(link)
        page.locator("button.primary").click()
        driven = Driven(data, origin, vehicle_of(page, origin, SPEEDER), re.search(r"devices (\S+):(\d+)", printed))
        page.wait_for_timeout(MOVING_MS)
        page.goto(f"{origin}/map")
        page.locator(MAPPED).wait_for()
        page.locator(".live-list li button").first.click()
        page.locator("[data-map-do=all]").click()
        page.wait_for_timeout(6_000)
        page.screenshot(path=FOLDER / "map.png")
        page.goto(f"{origin}/trips/{driven.trip_id}")
        page.locator(MAPPED).wait_for()
        page.wait_for_timeout(3_000)
        page.screenshot(path=FOLDER / "trip.png")
        with portal_browser.watching(browser, origin, Look(width=PHONE[0]), sharp=True) as cab:
            cab.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
            cab.page.goto(f"{origin}{driven.sign_in_link()}")
            cab.page.locator("button.primary").click()
            cab.page.goto(f"{origin}/drive")
            cab.page.screenshot(path=FOLDER / "drive.png")
            cab.page.goto(f"{origin}/trips/{driven.trip_id}/contest")
            cab.page.locator("select[name=reason]").select_option("LIMIT")
            cab.page.locator("textarea[name=text]").fill("The sign said 100.")
            cab.page.locator("main form button.primary").click()
            cab.page.wait_for_url(f"**/trips/{driven.trip_id}")
        page.set_viewport_size({"width": 1280, "height": 480})
        page.goto(f"{origin}/scores")
        page.screenshot(path=FOLDER / "scores.png")


class Driven:
    """The demo's drive along roads, with its driver and with drives of the same way in the weeks before."""

    def __init__(self, data: Path, origin: str, vehicle: str, devices: re.Match[str]) -> None:
        self.data = data
        self.http = httpx.Client(base_url=origin, timeout=20, event_hooks={"response": [answers.hold_read]})
        token = self._sent("POST", "/api/auth/login", json.loads((data / LOGIN_FILE).read_text()))["token"]
        self.http.headers["X-Authorization"] = f"Bearer {token}"
        drivers = self._sent("GET", "/api/tre/v1/drivers?limit=100")["data"]
        self.email = f"{SPEEDER.lower()}@demo.example"
        (driver,) = (each["id"]["id"] for each in drivers if each["email"] == self.email)
        self.trip_id = self._sent("GET", f"/api/tre/v1/vehicle/{vehicle}/trips?limit=1")["data"][0]["id"]["id"]
        allowed = {"vehicleId": {"id": vehicle}}
        self._sent("POST", f"/api/tre/v1/driver/{driver}/relation/vehicle", allowed)
        self._sent("POST", f"/api/tre/v1/vehicle/{vehicle}/driver/{driver}")
        self._sent("PUT", f"/api/tre/v1_3/trip/{self.trip_id}/driver", {"driverId": driver})
        track = self._sent("GET", f"/api/tre/v1_3/trip/{self.trip_id}/track")["samples"]
        tls = ssl.create_default_context(cafile=str(data / "tls" / "ca.crt"))
        box = CarefulDevice((data / f"demo-token-{SPEEDER}").read_text(), devices[1], int(devices[2]), tls)
        bodies = [body for number, past in enumerate(EARLIER) for body in _again(track, number, *past)]
        with ThreadPoolExecutor(1) as threads:
            threads.submit(asyncio.run, box.play(bodies)).result()

    def sign_in_link(self) -> str:
        """Path of a link that signs the driver in."""
        printed = servers.run("admin", "sign-in-link", "--data", str(self.data), "--email", self.email)
        return re.search(r"/sign-in/link\?\S+", printed.stdout).group()

    def _sent(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def _again(track: dict[str, list[Any]], number: int, weeks: float, slower: float) -> Iterator[bytes]:
    """The same way, driven some weeks before."""
    begin_ms = track["ts"][0] - round(weeks * WEEK_MS)
    times = [begin_ms + round((at_ms - track["ts"][0]) * slower) for at_ms in track["ts"]]
    tid = 1_000 + number
    for at_ms, lat, lon, speed in zip(times, track["lat"], track["lon"], track["speed"], strict=True):
        sample = {"tid": tid, "clt": at_ms, "lat": lat, "lon": lon, "sp": speed / slower}
        yield json.dumps({"ty": 2, "ts": at_ms, "pld": sample}).encode()
    ended = {"tid": tid, "stt": times[0], "edt": times[-1]}
    yield json.dumps({"ty": 1, "ts": times[-1], "pld": ended}).encode()


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


def vehicle_of(page: portal_browser.Page, origin: str, number: str) -> str:
    """The id of the vehicle with this number."""
    page.goto(f"{origin}/fleet/vehicles")
    return re.search(r"[0-9a-f-]{36}", page.get_by_role("link", name=number).first.get_attribute("href")).group()


def addresses(origin: str, guest: Guest, page: portal_browser.Page) -> dict[str, str]:
    """Where each picture is taken."""
    vehicle = vehicle_of(page, origin, NUMBER)
    (bad,) = (stop.address for stop in guest.states if stop.pattern == "/import/bad-rows")
    return {
        "vehicles": "/fleet/vehicles",
        "vehicle": f"/fleet/vehicles/{vehicle}",
        "chain": f"/delegation/vehicles/{vehicle}",
        "import": bad,
    }


if __name__ == "__main__":
    main()
