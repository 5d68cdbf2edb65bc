"""Row 32: the page of a trip: of an hour, of twenty hours (72,000 samples), and the first one after a start.

The trips repeat a real drive to and fro, one sample a second, and are scored. **Server**: processor time of the page
and of its track together. **Weight**: all that a browser with an empty cache gets for them, without the map.
**Opened**: in Chromium, which draws by software, from the click to map and chart drawn, with an empty cache. The server
has a core, the browser shares both. No map is imported.

Not here: scoring (`scoring.py`).
"""

import asyncio
import gzip
import re
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from bench import live_map, map_page, peers, scoring
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from playwright.sync_api import Browser, sync_playwright
from sqlalchemy import insert
from tests.support import portal_tour, scoring_rows
from tests.support.scoring_rows import Rig

from tripline import observe
from tripline.domain.access import Authority
from tripline.domain.ids import TimeIds
from tripline.services.accounts.sessions import Cookie
from tripline.store import migrate, tables
from tripline.store.database.sqlite import SqliteStore

HOURS: Final = {"an hour": 1, "20 hours": 20}
ROUNDS, QUICK_ROUNDS = 20, 5
OPENINGS, QUICK_OPENINGS = 7, 2
STARTS, QUICK_STARTS = 3, 1
DRAWN_MS: Final = 30_000
ROW: Final = "32 page of a trip"
_ADMIN: Final = "44444444-0000-11b2-8080-808080808080"
_MAP: Final = r"maplibre|base-map|/map"
_CLICK: Final = """(path) => {
  const link = Object.assign(document.createElement("a"), { href: path });
  document.body.append(link);
  setTimeout(() => link.click());
  return Date.now();
}"""
_WATCH: Final = """
const seen = () => {
  const map = document.querySelector("[data-map]")?.dataset.state;
  if (map !== "drawn" || !document.querySelector(".uplot canvas")) return requestAnimationFrame(seen);
  requestAnimationFrame(() => (globalThis.drawnAt = Date.now()));
};
requestAnimationFrame(seen);
"""


def measure(quick: bool) -> list[Figure]:
    """Server time, weight, opening, and the first page of a process."""
    observe.configure_logging(level="warning", as_json=False)
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        data.mkdir(mode=0o700)
        migrate.upgrade(data / "tripline.db")
        cookie, trips = asyncio.run(_made(data))
        firsts = []
        for _ in range(QUICK_STARTS if quick else STARTS):
            with peers.tripline(data) as server:
                _get(server, "/fleet/vehicles", cookie)
                firsts.append(_took_ms(partial(_get, server, f"/trips/{trips['an hour']}", cookie)))
        with peers.tripline(data) as server, sync_playwright() as player:
            browser = player.chromium.launch(executable_path=map_page.CHROMIUM, args=list(map_page.FLAGS))
            figures = [_first(firsts)]
            for name, trip_id in trips.items():
                figures += _served(server, name, trip_id, cookie, quick)
                figures += _opened(browser, server, name, trip_id, cookie, quick)
            browser.close()
    return figures


async def _made(data: Path) -> tuple[Cookie, dict[str, str]]:
    """Scored trips, and the session of an administrator who may read them."""
    rig = Rig(data, store=SqliteStore(data / "tripline.db"))
    rig.ids = TimeIds(node=9)
    drive = scoring.recording(scoring.DRIVES / "drive_31.csv")
    now_ms = int(time.time() * 1000)
    account = {"company_id": scoring_rows.COMPANY, "authority": Authority.COMPANY_ADMIN.value, "name": "Bench"}
    account |= {"email": "bench@bench.example", "login": "bench@bench.example", "password_hash": ""}
    account |= {"password_updated_ms": now_ms, "created_ms": now_ms, "enabled": True}
    try:
        await rig.add_vehicle()
        await rig.write(lambda tx: tx.run(insert(tables.account).values(id=_ADMIN, **account)))
        cookie = await rig.write(lambda tx: live_map.session(tx.run, _ADMIN))
        for number, hours in enumerate(HOURS.values()):
            turn = np.arange(scoring.HOUR * hours) % (2 * len(drive) - 2)
            rows = drive[np.where(turn < len(drive), turn, 2 * len(drive) - 2 - turn)]
            await rig.add_trip(scoring.messages(rows, 3 * number))
        await rig.drain()
        ids = [row[0] for row in await rig.rows(tables.driving_score, "trip_id")]
    finally:
        await rig.store.close()
    if len(ids) != len(HOURS):
        raise RuntimeError(f"{len(ids)} trips have a score")
    return cookie, dict(zip(HOURS, ids, strict=True))


def _first(firsts: list[float]) -> Figure:
    return of_rounds(row=ROW, name="first trip page of a process, ms", rounds=firsts, gate=300, at_least=False)


def _served(server: peers.Server, name: str, trip_id: str, cookie: Cookie, quick: bool) -> list[Figure]:
    spent, sizes = [], (0, 0)
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        before = server.cpu_s()
        sizes = _page(server, trip_id, cookie)
        spent.append((server.cpu_s() - before) * 1_000)
    gate = 300 if name == "an hour" else None
    detail = {"page, KB": sizes[0] / 1_000, "track, KB": sizes[1] / 1_000}
    label = f"{name}: page and track, ms of CPU"
    return [of_rounds(row=ROW, name=label, rounds=spent, gate=gate, at_least=False, detail=detail)]


def _opened(
    browser: Browser, server: peers.Server, name: str, trip_id: str, cookie: Cookie, quick: bool
) -> list[Figure]:
    count = QUICK_OPENINGS if quick else OPENINGS
    opened = [_open(browser, server, trip_id, cookie) for _ in range(1 + count)][1:]
    took_s, sent = [each[0] for each in opened], [each[1] for each in opened]
    drawn = of_rounds(row=ROW, name=f"{name}: click to drawn, s", rounds=took_s, gate=2, at_least=False)
    if name != "an hour":
        return [drawn]
    weights = [sum(each.values()) for each in sent]
    label = "an hour: all but the map, KB"
    return [drawn, of_rounds(row=ROW, name=label, rounds=weights, gate=100, at_least=False, detail=sent[-1])]


def _open(browser: Browser, server: peers.Server, trip_id: str, cookie: Cookie) -> tuple[float, dict[str, float]]:
    """Seconds from a click to the drawn page, and KB of each file that is no part of the map."""
    window = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    window.add_cookies([{"name": portal_tour.COOKIE, "value": cookie.text, "url": server.api}])
    window.add_init_script(_WATCH)
    page = window.new_page()
    page.goto(f"{server.api}/fleet/vehicles")
    devtools = window.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.clearBrowserCache")
    addresses: dict[str, str] = {}
    sizes: dict[str, float] = {}
    devtools.on("Network.responseReceived", lambda told: addresses.update({told["requestId"]: told["response"]["url"]}))
    devtools.on("Network.loadingFinished", lambda told: sizes.update({told["requestId"]: told["encodedDataLength"]}))
    began_ms = page.evaluate(_CLICK, f"/trips/{trip_id}")
    page.wait_for_url(f"**/trips/{trip_id}*")
    page.wait_for_function("() => globalThis.drawnAt", timeout=DRAWN_MS)
    took_s = (page.evaluate("globalThis.drawnAt") - began_ms) / 1_000
    window.close()
    paths = {each: url.removeprefix(server.api) for each, url in addresses.items()}
    sent = {path: sizes.get(each, 0) / 1_000 for each, path in paths.items() if not re.search(_MAP, path)}
    return took_s, sent


def _page(server: peers.Server, trip_id: str, cookie: Cookie) -> tuple[int, int]:
    """Bytes of the page and of its track."""
    page = _get(server, f"/trips/{trip_id}", cookie)
    track = _get(server, f"/api/tre/v1_3/trip/{trip_id}/track", cookie)
    if b"data-trip" not in page or b'"samples"' not in gzip.decompress(track):
        raise RuntimeError("not the page of a trip")
    return len(page), len(track)


def _get(server: peers.Server, path: str, cookie: Cookie) -> bytes:
    headers = {"Cookie": f"{portal_tour.COOKIE}={cookie.text}", "X-Poll": "1", "Accept-Encoding": "gzip"}
    with urllib.request.urlopen(urllib.request.Request(server.api + path, None, headers), timeout=60) as answer:
        return bytes(answer.read())


def _took_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000
