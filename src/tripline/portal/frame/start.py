"""The start of the portal: the redirect from `/` to a visitor's first page, and the page for an unreachable server."""

from typing import Final

import msgspec
from litestar.response import Response

from tripline.domain.access import Gate
from tripline.http import languages, static_files
from tripline.http.context import Call, context_of
from tripline.http.operations import Value
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import addresses, navigation, views
from tripline.portal.frame.page import page
from tripline.portal.frame.static import FOLDER, STATIC
from tripline.portal.frame.visitors import guest_in, visitor_of

MANIFEST: Final = "/manifest.webmanifest"
_LANGUAGE: Final = Value("language", str, "language of the description", "ko")
_COLOUR: Final = "#1d5bb5"
_ICONS: Final = (("icon-192.png", 192, "any"), ("icon-512.png", 512, "any"), ("icon-maskable.png", 512, "maskable"))
"""Names, sizes and purposes; drawn from `mark.svg`."""


@page("GET", "/", access=Gate.ANYONE)
async def begin(request: Call) -> Response[bytes]:
    """Redirect to the visitor's first page, or to the sign-in."""
    visitor = await context_of(request).store.read_short(lambda tx: guest_in(tx, request))
    return views.moved(request, addresses.SIGN_IN if visitor is None else navigation.first_of(request, visitor))


@page("GET", "/fleet", access=Gate.ACCOUNT)
async def fleet(request: Call) -> Response[bytes]:
    """Redirect to the visitor's first page."""
    return views.moved(request, navigation.first_of(request, await visitor_of(request)))


@page("GET", "/offline", access=Gate.ANYONE)
async def offline(request: Call) -> Response[bytes]:
    """The page that a browser stores and shows if the server is unreachable."""
    return views.show(request, "offline.html", title="portal.trouble.offline")


@page("GET", "/service-worker.js", access=Gate.ANYONE, answer_type="text/javascript")
async def read_service_worker(request: Call) -> Response[bytes]:
    """The script that stores the offline page in the browser; at the root, because it only serves addresses below its
    own.
    """
    version = f'const VERSION = "{STATIC.version}";\n'.encode()
    script = static_files.made(version + (FOLDER / "service-worker.js").read_bytes(), "text/javascript")
    return static_files.answer(request, script, policy=views.POLICY)


@page("GET", MANIFEST, access=Gate.ANYONE, query=(_LANGUAGE,), answer_type="application/manifest+json")
async def read_manifest(request: Call) -> Response[bytes]:
    """The web app manifest, with which a browser installs the portal (https://www.w3.org/TR/appmanifest/)."""
    asked = request.query_params.get(_LANGUAGE.name)
    language = Language(asked) if asked in frozenset(Language) else languages.asked_of(request)
    icons = [
        {"src": STATIC.address(name), "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}
        for name, size, purpose in _ICONS
    ]
    manifest = {
        "id": addresses.HOME,
        "name": "Tripline",
        "short_name": "Tripline",
        "description": catalogue.text("portal.frame.about", language),
        "lang": language.value,
        "start_url": addresses.HOME,
        "scope": addresses.HOME,
        "display": "standalone",
        "theme_color": _COLOUR,
        "background_color": _COLOUR,
        "icons": icons,
    }
    made = static_files.made(msgspec.json.encode(manifest), "application/manifest+json")
    return static_files.answer(request, made, policy=views.POLICY)
