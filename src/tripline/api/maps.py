"""Maps with roads and speed limits: listing, importing and removing them (spec/rest 10.6)."""

from typing import Final

from litestar.types import ASGIApp

from tripline.domain.access import Action
from tripline.domain.maps import COUNTRY, NAME, BadMapFile, ImportCancelled, MapsBusy, NothingToContinue, fault_of_name
from tripline.domain.refusals import BadParameter, NotFound
from tripline.http import answers, languages, parameters, permission, uploads
from tripline.http.context import Call, maps_of
from tripline.http.operations import Value, operation
from tripline.language import kept
from tripline.wire.rest import maps as rest_maps

PBF: Final = "application/vnd.openstreetmap.data+pbf"
AREA: Final = (Value("area", str, "name of the area: small letters, digits, - and _", "liechtenstein", required=True),)


@operation("GET", "/api/tre/v1_3/maps", access=Action.MAP_MANAGE, answer=rest_maps.Maps)
async def list_maps(request: Call) -> ASGIApp:
    """Every imported map with its faults, and the import that is running or has not succeeded."""
    await permission.permitted(request)
    language = languages.asked_of(request)
    found = await maps_of(request).keeper.maps()

    def say(text: str) -> str:
        return kept.said(text, language)

    return answers.ok(rest_maps.every(found, say=say), language=language)


@operation(
    "POST",
    "/api/tre/v1_3/map/{area}",
    access=Action.MAP_MANAGE,
    request=bytes,
    request_types=(PBF, uploads.FORM),
    streamed=True,
    answer=rest_maps.MapImport,
    in_path=AREA,
    query=(Value("country", str, "two-letter code of the country of roads for which the file does not tell it", "LI"),),
    refuses=(BadMapFile, ImportCancelled, MapsBusy, uploads.BadForm, uploads.FileTooLarge, uploads.TooSlow),
)
async def import_map(request: Call) -> ASGIApp:
    """Import an OpenStreetMap extract (`.osm.pbf`) as the map of an area; it replaces the previous one.

    The answer comes when the file is uploaded; the import then takes seconds to minutes, and the list of maps shows its
    progress. The previous map is used until the new one is complete. One file at a time is uploaded or imported.
    """
    await permission.permitted(request)
    area = request.path_params["area"]
    fault = fault_of_name(area)
    if fault is not None:
        raise fault
    country = parameters.query_text(request.query_params, "country") or ""
    if COUNTRY.fullmatch(country) is None:
        raise BadParameter("country", field="country")
    async with maps_of(request).keeper.arrival(area, country=country) as arrival:
        await uploads.stream(request, most=maps_of(request).keeper.most_bytes, write=arrival.write)
        # It may have taken an hour.
        await permission.permitted(request)
        begun = await arrival.finish()
    return answers.ok(rest_maps.map_import(begun))


@operation(
    "POST",
    "/api/tre/v1_3/map/{area}/continuation",
    access=Action.MAP_MANAGE,
    answer=rest_maps.MapImport,
    in_path=AREA,
    refuses=(MapsBusy, NothingToContinue),
)
async def continue_import(request: Call) -> ASGIApp:
    """Go on with the import of an area that was interrupted, behind the last step that was finished."""
    await permission.permitted(request)
    return answers.ok(rest_maps.map_import(await maps_of(request).keeper.go_on(request.path_params["area"])))


@operation(
    "POST",
    "/api/tre/v1_3/map/{area}/cancellation",
    access=Action.MAP_MANAGE,
    answer=None,
    in_path=AREA,
    refuses=(MapsBusy,),
)
async def cancel_import(request: Call) -> ASGIApp:
    """Cancel the import of an area, or forget one that ended before it was done. The former map stays.

    The answer comes when nothing of the import is left. One that is just being put in place is done before that: 404.
    """
    await permission.permitted(request)
    await maps_of(request).keeper.cancel(request.path_params["area"])
    return answers.ok({})


@operation(
    "DELETE", "/api/tre/v1_3/map/{area}", access=Action.MAP_MANAGE, answer=None, in_path=AREA, refuses=(MapsBusy,)
)
async def remove_map(request: Call) -> ASGIApp:
    """Remove the map of an area, and an import of it that ended before it was done."""
    await permission.permitted(request)
    area = request.path_params["area"]
    if NAME.fullmatch(area) is None:
        raise NotFound("map", name=area)
    await maps_of(request).keeper.remove(area)
    return answers.ok({})
