"""Static files of the portal: every one is served, kept for good under its version, and packed; what a page weighs."""

import re
from pathlib import Path
from urllib.parse import urljoin

import httpx
from tests.support import delegating
from tests.support.portal import Browser
from tests.support.rest import Rest

from tripline.portal.frame.static import FOLDER, STATIC, modules
from tripline.portal.lists.tables import ROWS

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())


async def test_every_file_is_served_and_packed_where_that_helps(app: Rest) -> None:
    browser = Browser(app)
    packed = {name: await browser.get(STATIC.address(name)) for name in FILES}
    plain = {name: await browser.get(STATIC.address(name), **{"Accept-Encoding": "identity"}) for name in FILES}

    for name, (packed, plain) in {name: (packed[name], plain[name]) for name in FILES}.items():
        content = (FOLDER / name).read_bytes()
        assert plain.content == packed.content == content, name
        assert ("content-encoding" in packed.headers) == (not name.endswith((".png", ".woff2"))), name
        assert plain.headers["content-type"].count("charset") <= 1, name
        assert "immutable" in plain.headers["cache-control"], name


async def test_file_that_is_not_there_is_not_found(app: Rest) -> None:
    names = ("none.css", "none/none.css", "..%2fviews.py", "../views.py", "%2e%2e/views.py", "templates/frame.html")
    found = [(await Browser(app).get(f"/static/{STATIC.version}/{name}")).status_code for name in names]

    assert set(found) == {404}


async def test_first_page_with_everything_that_it_loads_weighs_less_than_100_kb(app: Rest) -> None:
    _, admin = await app.operator("hanbit")
    for number in range(ROWS):
        await delegating.new_vehicle(app, admin, f"{10 + number}가{3456 + number}")
    browser, waiting, weights = Browser(app, admin), ["/fleet/vehicles"], {}
    while waiting:
        path = waiting.pop()
        if path in weights:
            continue
        answer = await browser.get(path)
        weights[path] = answer.num_bytes_downloaded
        waiting += loaded_by(path, answer)

    assert {Path(path).suffix for path in weights} >= {"", ".css", ".js", ".svg"}
    assert weights["/fleet/vehicles"] > 10_000, "a page of rows"
    assert sum(weights.values()) < 100_000, weights


def test_pages_name_every_module_that_their_script_imports() -> None:
    """A regular expression finds them; a browser's parser decides, so the two must agree on every script of ours."""
    for script in ("trip.js", "vehicle-day.js", "live-map.js", "shared.js"):
        named = {urljoin(STATIC.address(script), f"./{each}") for each in imported(script)}
        assert set(modules(script)) == named, script
    assert STATIC.address("uplot/uplot.mjs") in modules("trip.js")


def imported(script: str) -> set[str]:
    """Modules that a script imports by statements of any form, directly or through others."""
    own = set(
        re.findall(r"""^(?:import|export)\b[^;(]*?["']\./([^"']+)["']""", (FOLDER / script).read_text(), re.MULTILINE)
    )
    return own.union(*(imported(each) for each in own))


def loaded_by(path: str, answer: httpx.Response) -> list[str]:
    """What a browser asks for next."""
    if "html" in answer.headers["content-type"]:
        named = re.findall(r'(?:src|href)="(/static/[^"#]+)', answer.text)
    elif path.endswith((".js", ".css")):
        named = re.findall(r"""(?:import|from|url\()\s*["']?(\.{1,2}/[^"')#]+)""", answer.text)
    else:
        named = []
    return [urljoin(path, each) for each in named]
