"""The page behind a share link, for readers without an account: the vehicle or the trip on the base map.

The page itself is the same for every link. Its script sends the secret behind the `#` once, and gets a cookie that is
sent to the addresses below the page alone. Each answer checks the link anew.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar.response import Response

from tripline.basemap.colours import Theme
from tripline.domain.access import Gate
from tripline.domain.ids import RecordId, UserId
from tripline.domain.positions import Position
from tripline.domain.share_links import PATH, LinkGone, TooManyAttempts
from tripline.http import answers, cookies, languages, map_answers, parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.http.operations import JSON, Value
from tripline.language import catalogue
from tripline.later import Later
from tripline.portal.frame import base_map, forms, views
from tripline.portal.frame.page import page
from tripline.services import share_links as service
from tripline.services.accounts.throttle import seconds
from tripline.services.scores.reads import TooLong
from tripline.services.share_links import SharedTrip
from tripline.store.share_links import Opened
from tripline.store.transactions import ReadTx
from tripline.wire.rest.share_links import SharedPoint, SharedThing, SharedTrail, shared_position, shared_trip

if TYPE_CHECKING:
    from tripline.services import shared_trips
else:
    # It imports numpy, which is loaded on first use.
    shared_trips = Later("tripline.services.shared_trips")

_LINK: Final = Value("linkId", str, "id of the link", "5b0d9d10-c803-11ef-9d5c-6b1f6f2a4c11", required=True)
_ZOOM: Final = Value("z", int, "zoom", 14, required=True)
_COLUMN: Final = Value("x", int, "column from the west", 8624, required=True)
_ROW: Final = Value("y", str, "row from the north", "5743.mvt", required=True)
_VERSION: Final = Value("v", str, "version of the map", "6c9ba3d0c80111ef")
_THEME: Final = Value("theme", Theme, "`light` or `dark`; absent: light", "dark")
_COOKIE: Final = "tripline-share"
_HEADERS: Final = {**views.HEADERS, "referrer-policy": "no-referrer", "content-type": JSON}
_TEXTS: Final = "portal.shares.page."
_data: Final = partial(page, "GET", access=Gate.ANYONE, in_path=(_LINK,), answer_type=JSON, refuses=(LinkGone,))


@page("GET", f"{PATH}/{{linkId}}", access=Gate.ANYONE, in_path=(_LINK,))
async def show(request: Call) -> Response[bytes]:
    """The page of a shared vehicle or trip, without any of its data."""
    values = {name: f"{{{name}}}" for name in ("age", "degrees", "begin", "end")}
    language = languages.asked_of(request)
    keys = (key for key in catalogue.of_portal(language) if key.startswith(_TEXTS))
    texts = {key.removeprefix(_TEXTS): catalogue.text(key, language, **values) for key in keys}
    texts["gone"] = catalogue.sentence(LinkGone(), language)
    return views.show(
        request,
        "sharing/shared.html",
        title="portal.shares.page.title",
        headers={"referrer-policy": "no-referrer"},
        texts=msgspec.json.encode(texts).decode(),
        zone=context_of(request).time_zone.key,
        map_style=f"{_path(request)}/map/style.json",
        **base_map.values(request),
    )


@page(
    "POST",
    f"{PATH}/{{linkId}}/opening",
    access=Gate.ANYONE,
    in_path=(_LINK,),
    answer_type=JSON,
    refuses=(LinkGone, TooManyAttempts),
)
async def open_link(request: Call) -> Response[bytes]:
    """Exchange the secret of a link for a cookie; counts an opening."""
    form = await forms.read(request)
    link_id, secret, context = _link_id(request), form.text("secret"), context_of(request)
    logins, attempt, now_ms = accounts_of(request).limits.logins, _attempt(request), context.clock()
    if wait_ms := logins.begin(*attempt, now_ms=now_ms):
        raise TooManyAttempts(after_s=seconds(wait_ms))
    try:
        await context.store.write(lambda tx: service.open_link(tx, link_id=link_id, secret=secret, now_ms=now_ms))
    except LinkGone:
        logins.failed(*attempt, now_ms=now_ms)
        raise
    except BaseException:
        logins.withdrawn(*attempt)
        raise
    logins.succeeded(*attempt)
    secure = cookies.is_secure(request)
    attributes = f"Path={_path(request)}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
    return Response(b"{}", headers={**_HEADERS, "set-cookie": f"{_name(request)}={secret}; {attributes}"})


@_data(path=f"{PATH}/{{linkId}}/shows")
async def read_shows(request: Call) -> Response[bytes]:
    """The kind of thing that the link shows: a vehicle or a trip."""
    link = await context_of(request).store.read_short(lambda tx: _shared(tx, request))
    return _json(SharedThing(shows="vehicle" if link.trip_no is None else "trip"))


@_data(path=f"{PATH}/{{linkId}}/trip", refuses=(LinkGone, TooLong))
async def read_trip(request: Call) -> Response[bytes]:
    """The track and times of the shared trip, without its ends unless the link shows the whole."""

    def work(tx: ReadTx) -> tuple[Opened, SharedTrip]:
        link = _shared(tx, request)
        return link, service.trip(tx, link)

    link, found = await context_of(request).store.read(work)
    moments = await asyncio.to_thread(
        lambda: shared_trips.shown(found.packed, whole=found.whole, until_ms=found.until_ms)
    )
    return _json(shared_trip(moments, number=_number(link), whole=found.whole))


@_data(path=f"{PATH}/{{linkId}}/position")
async def read_position(request: Call) -> Response[bytes]:
    """The position of the shared vehicle."""

    def work(tx: ReadTx) -> tuple[Opened, Position | None]:
        link = _shared(tx, request)
        return link, service.position(tx, link)

    link, found = await context_of(request).store.read_short(work)
    return _json(shared_position(found, number=_number(link)))


@_data(path=f"{PATH}/{{linkId}}/trail")
async def read_trail(request: Call) -> Response[bytes]:
    """The way of the shared vehicle since the link was made; empty if the link does not show it."""
    now_ms = context_of(request).clock()
    found = await context_of(request).store.read(lambda tx: service.way(tx, _shared(tx, request), now_ms=now_ms))
    return _json(SharedTrail(points=[SharedPoint(lat=each.lat, lon=each.lon) for each in found]))


@_data(path=f"{PATH}/{{linkId}}/map/style.json", query=(_THEME,))
async def read_style(request: Call) -> Response[bytes]:
    """The base map as a MapLibre style."""
    await context_of(request).store.read_short(lambda tx: _shared(tx, request))
    return answers.Made(map_answers.style(request, tiles=f"{_path(request)}/map"))


@_data(
    path=f"{PATH}/{{linkId}}/map/{{z}}/{{x}}/{{y}}",
    in_path=(_LINK, _ZOOM, _COLUMN, _ROW),
    query=(_VERSION,),
    answer_type=map_answers.MVT,
)
async def read_tile(request: Call) -> Response[bytes]:
    """A vector tile of the base map."""
    await context_of(request).store.read_short(lambda tx: _shared(tx, request))
    return answers.Made(await map_answers.tile(request))


def _number(link: Opened) -> str | None:
    return link.vehicle_no if link.shows.number else None


def _shared(tx: ReadTx, request: Call) -> Opened:
    """The link of the request's cookie, while it works. Raises `LinkGone`, `TooManyRequests`.

    A wrong cookie counts as a wrong secret, but is answered alike however many there were: a page that is open when its
    link ends must not take that for a limit.
    """
    link_id, now_ms = _link_id(request), context_of(request).clock()
    limits, attempt = accounts_of(request).limits, _attempt(request)
    try:
        link = service.shared(tx, link_id=link_id, secret=request.cookies.get(_name(request), ""), now_ms=now_ms)
    except LinkGone:
        if request.cookies.get(_name(request)) and not limits.logins.begin(*attempt, now_ms=now_ms):
            limits.logins.failed(*attempt, now_ms=now_ms)
        raise
    limits.count_request(UserId(link_id), now_ms=now_ms)
    return link


def _attempt(request: Call) -> tuple[str, str]:
    """For the throttle: the link in place of an account, and the address."""
    return f"share {_link_id(request)}", peers.address_of(request)


def _link_id(request: Call) -> RecordId:
    return RecordId(parameters.path_id(request, "linkId"))


def _path(request: Call) -> str:
    return f"{PATH}/{_link_id(request)}"


def _name(request: Call) -> str:
    return f"__Secure-{_COOKIE}" if cookies.is_secure(request) else _COOKIE


def _json(answer: Any) -> Response[bytes]:
    return Response(msgspec.json.encode(answer), headers=_HEADERS)
