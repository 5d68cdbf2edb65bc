"""Page weight: what a browser with an empty cache gets for the first page without a map."""

import gzip
import re
from pathlib import Path
from urllib.parse import urljoin

import httpx
from tests.support import delegating
from tests.support import rest as support
from tests.support.portal import Browser
from tests.support.rest import Rest

from tripline.portal.tables import ROWS

MOST_BYTES = 100 * 1024


async def sent(browser: Browser, path: str) -> tuple[int, httpx.Response]:
    """The answer, and the bytes of its body as they are sent."""
    request = browser.http.build_request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = await browser.http.send(request, stream=True)
    raw = b"".join([piece async for piece in answer.aiter_raw()])
    assert answer.status_code == 200, path
    packed = answer.headers.get("content-encoding") == "gzip"
    text = (gzip.decompress(raw) if packed else raw).decode("latin-1")
    return len(raw), httpx.Response(200, text=text)


async def weights(browser: Browser, path: str) -> dict[str, int]:
    """The bytes of the page and of everything that it loads, by address."""
    found: dict[str, int] = {}
    waiting = [path]
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        found[address], answer = await sent(browser, address)
        if address == path:
            named = re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text)
        elif address.endswith((".js", ".css")):
            named = re.findall(r"""(?:import|from|url\()\s*["']?(\.{1,2}/[^"')]+)""", answer.text)
        else:
            named = []
        waiting += [urljoin(address, each).partition("#")[0] for each in named]
    return found


def test_first_page_without_map_weighs_less_than_100_kib(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> dict[str, int]:
        of = await delegating.companies(rest)
        await delegating.register(rest, of.owner, of.borrower)
        for number in range(ROWS + 1):
            await delegating.new_vehicle(rest, of.owner, f"12가{number:04d}")
        return await weights(Browser(rest, of.owner), "/fleet/vehicles")

    found = support.run(tmp_path, scenario)

    ends = {Path(address).suffix for address in found}
    assert {"", ".css", ".js", ".svg"} <= ends
    assert sum(found.values()) < MOST_BYTES, found
