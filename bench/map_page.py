"""Row 31: the live map in Chromium, which draws by software, with vehicles that drive through Liechtenstein.

Server and load generator have a core each; the browser shares both. The page is the one that is served; only its
`live-drawing.js` gets a few lines more on the way, which note when each position was drawn.

**Long tasks**: tasks over 50 ms of the page in each ten seconds, with 1,000, 3,000 and 10,000 vehicles that move every
second.

**Shown**: from the moment a message was due, before its PUBACK, until a frame shows it or a newer position of its
vehicle (spec/positions L10). How much of it passes before the PUBACK is measured beside it.

**Growth**: with 1,000 vehicles, after forced collections of garbage; a run of an hour is `--seconds 3600`.

Not here: what streams cost the server (`live_map.py`).
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import fleet, live_map, loadgen, peers
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Route, sync_playwright
from tests.support import portal_browser, portal_tour

from tripline.maintenance import maps

EXTRACT: Final = peers.ROOT / "evaluation" / "maps" / "liechtenstein.osm.pbf"
CHROMIUM: Final = shutil.which("chromium")
SMALL, MANY, ALL = 1_000, 3_000, 10_000
FLAGS: Final = (portal_browser.ALONE, "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""Drawing by software in a process of its own, as a browser without a graphics card does."""
TASKS_S: Final = 10.0
ROUNDS, QUICK_ROUNDS = 6, 2
SETTLE_S: Final = 12.0
"""Until positions of all vehicles were shown."""
GROWTH_S, QUICK_GROWTH_S = 180.0, 30.0
LOOKS: Final = 9
"""Times that memory is read, the first at once."""
SHOWN_S: Final = {MANY: 3.0, ALL: 6.0}
DRAWN: Final = "[data-map][data-state=drawn]"
_WIDE, _HIGH = 1440, 900
_NOTING: Final = """
{
  const [show, listen] = [Drawing.prototype.show, Drawing.prototype.listen];
  const benched = (globalThis.benched = { last: new Map(), waiting: [], lags: [], map: null });
  Drawing.prototype.listen = function (map) {
    listen.call(this, map);
    benched.map = map;
    map.on("render", () => {
      if (!benched.waiting.length || !map.isSourceLoaded("vehicles")) return;
      const now = Date.now();
      for (const [before, ts] of benched.waiting) {
        for (let at = before + 1000; at <= ts + 500; at += 1000) benched.lags.push(now - at);
      }
      benched.waiting = [];
    });
  };
  Drawing.prototype.show = function (found, isStale) {
    for (const { id, position } of found) {
      const before = benched.last.get(id);
      if (before === position.ts) continue;
      benched.last.set(id, position.ts);
      if (before) benched.waiting.push([before, position.ts]);
    }
    show.call(this, found, isStale);
  };
}
"""
_TASKS: Final = """
globalThis.longTasks = [];
new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((each) => each.duration)))
  .observe({ type: "longtask" });
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """The page, and a way to its figures."""

    page: Page
    devtools: CDPSession
    browser: Browser

    def tasks(self) -> list[float]:
        """Long tasks since the last call, ms."""
        return self.page.evaluate("globalThis.longTasks.splice(0)")  # type: ignore[no-any-return]

    def lags_ms(self) -> list[float]:
        """How late each message was shown since the last call."""
        return self.page.evaluate("globalThis.benched.lags.splice(0)")  # type: ignore[no-any-return]

    def memory(self) -> dict[str, float]:
        """The page's heap, elements and listeners after a collection; memory of the processes that draw it."""
        for _ in range(2):
            self.devtools.send("HeapProfiler.collectGarbage")
        told = {each["name"]: each["value"] for each in self.devtools.send("Performance.getMetrics")["metrics"]}
        session = self.browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        kinds = {"renderer": 0.0, "GPU": 0.0}
        for each in processes:
            if each["type"] in kinds:
                kinds[each["type"]] += _private_mib(each["id"])
        return {
            "heap, MiB": told["JSHeapUsedSize"] / 2**20,
            "elements": told["Nodes"],
            "listeners": told["JSEventListeners"],
            "page's process, MiB": kinds["renderer"],
            "drawing process, MiB": kinds["GPU"],
        }


def measure(quick: bool, seconds: float | None = None) -> list[Figure]:
    """Long tasks, times and growth. `seconds`: how long the page is watched for growth."""
    loadgen.build()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=disk()) as made:
        data = Path(made) / "data"
        fleet.make(data, ALL)
        admin, _ = live_map.sign_in_file(data, 0)
        maps.imported(data / "maps", EXTRACT, name="liechtenstein", country="", progress=lambda _count: None)
        with peers.tripline(data) as server, _browsing() as browser:
            for count in (SMALL, MANY, ALL):
                with (
                    _driving(server, data, count) as devices,
                    _window(browser, server.api, admin.text) as window,
                ):
                    shown = _opened(browser, window, server.api)
                    time.sleep(SETTLE_S)
                    figures += _smooth(shown, count, rounds)
                    if count == SMALL:
                        length = seconds or (QUICK_GROWTH_S if quick else GROWTH_S)
                        figures += _growth(shown, server, length)
                    figures += _acknowledged(count, devices.end())
    return figures


def _smooth(shown: Shown, count: int, rounds: int) -> list[Figure]:
    """Long tasks in each ten seconds, and how late positions are shown."""
    row = _row(count)
    shown.tasks(), shown.lags_ms()
    tasks = []
    for _ in range(rounds):
        time.sleep(TASKS_S)
        tasks.append(shown.tasks())
    lags = sorted(shown.lags_ms())
    expected = count * rounds * TASKS_S
    if len(lags) < expected / 2:
        raise RuntimeError(f"{len(lags)} of {expected:.0f} positions were shown")
    p99_s = lags[int(len(lags) * 0.99)] / 1_000
    detail = {"longest task, ms": max((each for some in tasks for each in some), default=0), "positions": len(lags)}
    gate = 5 if count == SMALL else None
    name = "tasks over 50 ms in 10 s"
    counts = [float(len(some)) for some in tasks]
    return [
        of_rounds(row=row, name=name, rounds=counts, gate=gate, at_least=False, detail=detail),
        Figure(row=row, name="shown after it was due, p99, s", value=p99_s, gate=SHOWN_S.get(count), at_least=False),
        Figure(row=row, name="the same, p50, s", value=lags[len(lags) // 2] / 1_000),
        Figure(row=row, name="the same, longest, s", value=lags[-1] / 1_000),
    ]


def _acknowledged(count: int, run: dict[str, Any]) -> list[Figure]:
    """How late PUBACKs were over the whole load, and what no device got one for."""
    return [
        Figure(row=_row(count), name="PUBACK after it was due, p50, s", value=run["p50_us"] / 1e6, detail=run),
        Figure(row=_row(count), name="the same, p99, s", value=run["p99_us"] / 1e6),
        Figure(row=_row(count), name="not acknowledged or not sent", value=run["never_acked"] + run["not_sent"]),
    ]


def _row(count: int) -> str:
    return f"31 live map in a browser, {count:,} vehicles"


def _growth(shown: Shown, server: peers.Server, seconds: float) -> list[Figure]:
    """What grows in the second half of a run: the first half fills caches."""
    row = f"31 the same, open for {seconds / 60:.0f} minutes"
    looks = []
    for number in range(LOOKS):
        if number:
            time.sleep(seconds / (LOOKS - 1))
        shown.lags_ms()  # else it grows
        looks.append({**shown.memory(), "server, MiB": server.private_kib() / 1024})
    middle, last = looks[LOOKS // 2], looks[-1]
    gates = {"heap, MiB": 1.0, "elements": 50, "listeners": 0}
    return [
        Figure(
            row=row,
            name=f"growth in the second half: {name}",
            value=last[name] - middle[name],
            gate=gates.get(name),
            at_least=False,
            detail={"looks": [each[name] for each in looks]},
        )
        for name in last
    ]


@contextlib.contextmanager
def _driving(server: peers.Server, folder: Path, count: int) -> Iterator[loadgen.Fleet]:
    users = fleet.users(folder, first=0, count=count)
    load = {"users": users, "connections": count, "rate": count, "warmup": 1.0, "seconds": live_map.LATEST_S * 10}
    with loadgen.Fleet(server, "--drive", **load, server=server.pid) as devices:
        devices.all_connected()
        time.sleep(live_map.SETTLE_S)
        yield devices


@contextlib.contextmanager
def _browsing() -> Iterator[Browser]:
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def _window(browser: Browser, api: str, session: str) -> Iterator[BrowserContext]:
    window = browser.new_context(viewport={"width": _WIDE, "height": _HIGH}, locale="en-GB")
    window.add_cookies([{"name": portal_tour.COOKIE, "value": session, "url": api}])
    window.add_init_script(_TASKS)
    try:
        yield window
    finally:
        window.close()


def _opened(browser: Browser, window: BrowserContext, api: str) -> Shown:
    page = window.new_page()
    page.route("**/live-drawing.js", _noting)
    page.goto(f"{api}/map")
    page.wait_for_selector(f".live[data-stream=live] {DRAWN}", timeout=60_000)
    devtools = window.new_cdp_session(page)
    devtools.send("Performance.enable")
    return Shown(page, devtools, browser)


def _noting(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text() + _NOTING)


def _private_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(os.strerror(3))
