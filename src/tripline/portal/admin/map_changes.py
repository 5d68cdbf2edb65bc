"""Pages that change maps: uploading a file, resuming or cancelling an import, removing an area."""

from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain import fields
from tripline.domain.access import Action
from tripline.domain.maps import (
    COUNTRY,
    BadMapFile,
    ImportCancelled,
    KnownMap,
    Maps,
    MapsBusy,
    NothingToContinue,
    fault_of_name,
)
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.http import uploads
from tripline.http.context import Call, maps_of
from tripline.http.operations import Value
from tripline.language import catalogue
from tripline.portal.admin import maps
from tripline.portal.admin.maps import AREA
from tripline.portal.frame import deletions, digests, forms, views
from tripline.portal.frame.forms import Form, Typed
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of

NEW: Final = f"{maps.PATH}/new"
_LABELS: Final = {"area": "portal.maps.area", "country": "portal.maps.country", "file": "portal.maps.file"}
_OF_FILE: Final = (BadMapFile, uploads.FileTooLarge, uploads.TooSlow)
_ONE: Final = f"{maps.PATH}/{{area}}"
_of_area: Final = partial(page, access=Action.MAP_MANAGE, in_path=(AREA,))
_NAMED: Final = Value("area", str, "area to begin with", "liechtenstein")


@page("GET", NEW, access=Action.MAP_MANAGE, query=(_NAMED,))
async def new(request: Call) -> Response[bytes]:
    """The form to upload a map file."""
    return await _form(request, Typed(area=request.query_params.get("area", "")))


@page("POST", NEW, access=Action.MAP_MANAGE, streamed=True, refuses=(*_OF_FILE, ImportCancelled, MapsBusy))
async def upload(request: Call) -> Response[bytes]:
    """Receive a map file and start its import once the whole file has arrived."""
    keeper = maps_of(request).keeper
    try:
        async with forms.arriving(request, most=keeper.most_bytes) as arriving:
            area, country = _checked(arriving.form, has_file=arriving.file is not None)
            assert arriving.file is not None
            async with keeper.arrival(area, country=country) as arrival:
                async for piece in arriving.file:
                    await arrival.write(piece)
                # The upload may have taken an hour: check the visitor again.
                await visitor_of(request)
                await arrival.finish()
    except Refusal as refusal:
        if isinstance(refusal, _OF_FILE):
            refusal.field = "file"
        sent = forms.sent(request)
        return await _form(request, Typed() if sent is None else sent.typed, error=forms.of_form(refusal))
    return views.moved(request, maps.PATH)


@_of_area("POST", f"{_ONE}/continue", refuses=(MapsBusy, NothingToContinue))
async def go_on(request: Call) -> Response[bytes]:
    """Resume an import that was interrupted or failed, after its last finished step."""
    await forms.read(request)
    await visitor_of(request)
    await maps_of(request).keeper.go_on(request.path_params["area"])
    return views.moved(request, maps.PATH)


@_of_area("POST", f"{_ONE}/cancel", refuses=(MapsBusy,))
async def cancel(request: Call) -> Response[bytes]:
    """Cancel an import, or discard an unfinished one. The former map of the area stays."""
    form = await forms.read(request)
    await visitor_of(request)
    keeper, area = maps_of(request).keeper, request.path_params["area"]
    found = await keeper.maps()
    running = maps.under_way(found, area)
    standing = found.under_way
    if standing is not None and standing.record.name == area and str(standing.record.begun_ms) != form.text("since"):
        return await maps.shown(request, error=deletions.GoesChanged("map_import"))
    try:
        await keeper.cancel(area)
    except NotFound:
        # The import has just finished.
        return maps.over(request, await keeper.maps(), area, since=form.text("since"))
    notice = "portal.maps.cancelled" if running else "portal.maps.discarded"
    return views.moved(request, maps.PATH, notice=notice, name=area)


@_of_area("GET", f"{_ONE}/delete")
async def ask_to_remove(request: Call) -> Response[bytes]:
    """Ask before a map is removed, and list the data lost with it."""
    return await _removal(request)


@_of_area("POST", f"{_ONE}/delete", refuses=(MapsBusy,))
async def remove(request: Call) -> Response[bytes]:
    """Remove the map of an area, and discard an unfinished import of that area."""
    form = await forms.read(request)
    await visitor_of(request)
    keeper, area = maps_of(request).keeper, request.path_params["area"]
    found = await keeper.maps()
    known = _known(found, area)
    if maps.under_way(found):
        return await _removal(request, error=MapsBusy())
    try:
        deletions.require(form, word=_word(known), digest=_digest(found, known))
        await keeper.remove(area)
    except (*deletions.AGAIN, MapsBusy) as refusal:
        return await _removal(request, error=refusal)
    return views.moved(request, maps.PATH, notice="portal.maps.removed", name=area)


def _checked(form: Form, *, has_file: bool) -> tuple[str, str]:
    """Return the area's name and the country, both validated. Raises `BadParameter`."""
    area, country = form.text("area"), form.text("country").upper()
    check = fields.Checks()
    fault = fault_of_name(area) if area else BadParameter.missing("area")
    if fault is not None:
        check.refuse(fault)
    if COUNTRY.fullmatch(country) is None:
        check.refuse(BadParameter("country", field="country"))
    if not has_file:
        check.refuse(BadParameter.missing("file"))
    check.end()
    return area, country


async def _form(request: Call, typed: Typed, *, error: Refusal | None = None) -> Response[bytes]:
    visitor = await visitor_of(request)
    keeper = maps_of(request).keeper
    found = await keeper.maps()
    under_way = error is None and maps.under_way(found)
    return views.show(
        request,
        "admin/map_form.html",
        title="portal.maps.new",
        error=error,
        labels=_LABELS,
        typed=typed,
        areas=[each.name for each in found.known],
        most_mib=keeper.most_bytes >> 20,
        blocked=_busy(visitor) if under_way else None,
        imported=found.under_way,
        up=maps.PATH,
    )


async def _removal(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    visitor = await visitor_of(request)
    area, found = request.path_params["area"], await maps_of(request).keeper.maps()
    known = _known(found, area)
    roads = _roads(known)
    goes = [visitor.say("portal.maps.goes.roads", n=roads)] if roads else []
    goes.append(visitor.say("portal.maps.goes.base_map"))
    if _has_import(found, area):
        goes.append(visitor.say("portal.maps.goes.import"))
    return views.show(
        request,
        "deletion.html",
        title="portal.maps.remove",
        error=error,
        labels={"confirm": "portal.goes.confirm"},
        name=visitor.say("portal.maps.title"),
        text=visitor.say("portal.maps.remove_text", name=area),
        submit=visitor.say("portal.maps.remove_submit", name=area),
        goes=goes,
        word=_word(known),
        digest=_digest(found, known),
        blocked=_busy(visitor) if maps.under_way(found) or isinstance(error, MapsBusy) else None,
        up=maps.PATH,
    )


def _busy(visitor: Visitor) -> str:
    return catalogue.sentence(MapsBusy(), visitor.language)


def _known(found: Maps, area: str) -> KnownMap:
    known = next((each for each in found.known if each.name == area), None)
    if known is None:
        raise NotFound("map", name=area)
    return known


def _roads(known: KnownMap) -> int:
    return 0 if known.area is None else known.area.roads


def _has_import(found: Maps, area: str) -> bool:
    """True if the area has an unfinished import, which is removed with the map."""
    return found.under_way is not None and found.under_way.record.name == area


def _digest(found: Maps, known: KnownMap) -> str:
    goes = {"roads": str(_roads(known)), "import": str(_has_import(found, known.name))}
    return digests.of({**goes, "word": _word(known) or ""})


def _word(known: KnownMap) -> str | None:
    """The word to type before a map is removed; None if the map is unusable anyway."""
    return known.name if known.lost is None else None
