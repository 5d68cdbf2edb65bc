"""The page of maps: the imported areas, the running or unfinished import, and the base map.

Not here: changing maps (`map_changes.py`), tiles and style (`api/base_map.py`), drawing (`static/maps.js`).
"""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.maps import ImportState, ImportStep, KnownMap, Maps
from tripline.domain.refusals import Refusal
from tripline.http import parameters
from tripline.http.context import Call, maps_of
from tripline.http.operations import Value
from tripline.language import kept
from tripline.portal.frame import base_map, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of

PATH: Final = "/admin/maps"
AREA: Final = Value("area", str, "name of the area", "liechtenstein")
_SINCE: Final = Value("since", str, "when the import began, epoch ms", "1735700000000")
_DIGITS: Final = 13
_STEPS: Final = tuple(ImportStep)


@page("GET", PATH, access=Action.MAP_MANAGE)
async def show(request: Call) -> Response[bytes]:
    """Every imported map, the running or unfinished import, and the base map as pages draw it."""
    return await shown(request)


async def shown(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    """All maps, with the refusal of a failed change."""
    visitor = await visitor_of(request)
    found = await maps_of(request).keeper.maps()
    return _shown(request, visitor, found, error=error, **base_map.values(request))


@page("GET", f"{PATH}/{{area}}/progress", access=Action.MAP_MANAGE, in_path=(AREA,), query=(_SINCE,))
async def progress(request: Call) -> Response[bytes]:
    """Progress of an import; back to all maps once it is over."""
    visitor = await visitor_of(request)
    found = await maps_of(request).keeper.maps()
    area = request.path_params["area"]
    if under_way(found, area):
        return _shown(request, visitor, found, fragment="progress", bounds=None, attribution="")
    return over(request, found, area, since=request.query_params.get("since", ""))


def over(request: Call, found: Maps, area: str, *, since: str) -> Response[bytes]:
    """Back to all maps, with a notice if the area was imported since `since` (epoch ms)."""
    since_ms = parameters.whole(since, most_digits=_DIGITS) or 0
    brought = (each.area for each in found.known if each.name == area and each.lost is None)
    if found.under_way is None and any(each is not None and each.imported_ms >= since_ms for each in brought):
        return views.moved(request, PATH, notice="portal.maps.imported", name=area)
    return views.moved(request, PATH)


def under_way(found: Maps, area: str | None = None) -> bool:
    """True while a file for this area, or for any area, is being uploaded or imported."""
    standing = found.under_way
    return standing is not None and standing.stage is ImportState.RUNNING and area in (None, standing.record.name)


def _shown(
    request: Call, visitor: Visitor, found: Maps, *, fragment: str = views.CONTENT, **values: Any
) -> Response[bytes]:
    standing = found.under_way
    at = len(_STEPS) if standing is None else _STEPS.index(standing.record.step)
    return views.show(
        request,
        "admin/maps.html",
        title="portal.maps.title",
        fragment=fragment,
        maps=found.known,
        lost={each.name: kept.said(each.lost, visitor.language) for each in found.known if each.lost is not None},
        standing=standing,
        running=under_way(found),
        reason=standing and standing.record.reason and kept.said(standing.record.reason, visitor.language),
        steps=[(step, "done" if no < at else "current" if no == at else "next") for no, step in enumerate(_STEPS)],
        newest=_newest(found.known),
        **values,
    )


def _newest(known: list[KnownMap]) -> str | None:
    """The most recently imported area with a readable map."""
    good = [each.area for each in known if each.area is not None and each.lost is None]
    return max(good, key=lambda area: area.imported_ms).name if good else None
