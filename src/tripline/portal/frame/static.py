"""Styles, scripts, icons and fonts of the pages. Browsers cache them indefinitely: their address changes with them."""

import asyncio
import re
from functools import cache
from pathlib import Path
from typing import Final

from litestar.exceptions import NotFoundException
from litestar.response import Response

from tripline.domain.access import Gate
from tripline.http.context import Call
from tripline.http.operations import Value
from tripline.http.static_files import Tree
from tripline.portal.frame.page import page

FOLDER: Final = Path(__file__).parent.parent / "static"
STATIC: Final = Tree(FOLDER, "/static")
_IMPORT: Final = re.compile(r'^import (?:[^"]+ from )?"\./([^"]+)";$', re.MULTILINE)
_GROUND: Final = re.compile(r"--ground: light-dark\((#\w+), (#\w+)\);")
_VERSION: Final = Value("version", str, "version of all files", "6c9ba3d0c80111ef", required=True)
_FOLDER: Final = Value("folder", str, "folder of the file", "vendor", required=True)
_FILE: Final = Value("file", str, "name of the file", "page.css", required=True)


@page("GET", "/static/{version}/{file}", access=Gate.ANYONE, in_path=(_VERSION, _FILE), answer_type="*/*")
async def read(request: Call) -> Response[bytes]:
    """A file of the pages."""
    return await _answered(request, request.path_params["file"])


@page(
    "GET",
    "/static/{version}/{folder}/{file}",
    access=Gate.ANYONE,
    in_path=(_VERSION, _FOLDER, _FILE),
    answer_type="*/*",
)
async def read_of_folder(request: Call) -> Response[bytes]:
    """A file of the pages, in a folder."""
    return await _answered(request, f"{request.path_params['folder']}/{request.path_params['file']}")


async def _answered(request: Call, name: str) -> Response[bytes]:
    # On a thread: the first request reads every file, and compressing the largest takes 60 ms.
    answer = await asyncio.to_thread(STATIC.answer, request, name, version=request.path_params["version"])
    if answer is None:
        raise NotFoundException
    return answer


def grounds() -> dict[str, str]:
    """The ground of the pages by theme, as the style sheet has it."""
    found = _GROUND.search((FOLDER / "style.css").read_text(encoding="utf-8"))
    assert found is not None
    return {"light": found[1], "dark": found[2]}


@cache
def modules(script: str) -> tuple[str, ...]:
    """Addresses of the modules that a script imports, also through others, so that a page can load all at once."""
    found: dict[str, None] = {}
    waiting = [script]
    while waiting:
        imported = _IMPORT.findall((FOLDER / waiting.pop()).read_text(encoding="utf-8"))
        waiting += [name for name in imported if name not in found]
        found |= dict.fromkeys(imported)
    return tuple(STATIC.address(name) for name in found)
