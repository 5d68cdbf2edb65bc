"""The beginning of the portal: the way from `/` to a visitor's first page; and the page for when no server answers."""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Gate
from tripline.http import static_files
from tripline.http.context.base import Call, context_of
from tripline.portal.frame import addresses, navigation, views
from tripline.portal.frame.page import page
from tripline.portal.frame.static import FOLDER, STATIC
from tripline.portal.frame.visitors import guest_in, visitor_of


@page("GET", "/", access=Gate.ANYONE)
async def begin(request: Call) -> Response[bytes]:
    """To the visitor's first page, or to the sign-in."""
    visitor = await context_of(request).store.read_short(lambda tx: guest_in(tx, request))
    return views.moved(request, addresses.SIGN_IN if visitor is None else navigation.first_of(request, visitor))


@page("GET", "/fleet", access=Gate.ACCOUNT)
async def fleet(request: Call) -> Response[bytes]:
    """To the visitor's first page."""
    return views.moved(request, navigation.first_of(request, await visitor_of(request)))


@page("GET", "/offline", access=Gate.ANYONE)
async def offline(request: Call) -> Response[bytes]:
    """The page that a browser keeps for when the server cannot be reached."""
    return views.show(request, None, "offline.html", title="portal.trouble.offline")


@page("GET", "/service-worker.js", access=Gate.ANYONE, answer_type="text/javascript")
async def read_service_worker(request: Call) -> Response[bytes]:
    """The script by which a browser keeps that page; at the root, for it serves only what is below its own address."""
    version = f'const VERSION = "{STATIC.version}";\n'.encode()
    script = static_files.made(version + (FOLDER / "service-worker.js").read_bytes(), "text/javascript")
    return static_files.answer(request, script, policy=views.POLICY)


handlers: Final[list[Any]] = [begin, fleet, offline, read_service_worker]
