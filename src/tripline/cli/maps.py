"""`tripline map`: road maps with speed limits for trips."""

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from tripline.cli import base, progress
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.adapters.maps import locks as map_locks
    from tripline.adapters.maps import osm_file as osm_file
    from tripline.adapters.maps import process as map_process
    from tripline.domain import maps as known
    from tripline.maintenance import maps as maintenance
    from tripline.maintenance import rescore as rescoring
else:
    uvloop = Later("uvloop")
    rescoring = Later("tripline.maintenance.rescore")
    osm_file = Later("tripline.adapters.maps.osm_file")
    map_locks = Later("tripline.adapters.maps.locks")
    map_process = Later("tripline.adapters.maps.process")
    known = Later("tripline.domain.maps")
    maintenance = Later("tripline.maintenance.maps")

_TOLD_EVERY: Final = 10_000

maps = App(
    name="map",
    help="Maps that tell the roads of trips and their limits.",
    help_epilogue="Example: tripline map import liechtenstein.osm.pbf --data /srv/tripline",
)


@maps.command(name="import", help_epilogue="Example: tripline map import liechtenstein.osm.pbf --data /srv/tripline")
def import_map(
    file: Annotated[Path, Parameter(help="OpenStreetMap extract, .osm.pbf")],
    *,
    name: Annotated[
        str | None,
        Parameter(help="what to call the area; one of this name is replaced (default: as the file is called)"),
    ] = None,
    country: Annotated[
        str,
        Parameter(
            help="two-letter code of the country of roads for which the file does not tell it, because it has the"
            " country's boundary in part or not at all (default: unknown, so that only limits that are tagged count)"
        ),
    ] = "",
    held: Annotated[int | None, Parameter(show=False)] = None,
    place: base.Place | None = None,
) -> int:
    """Import an area, beside running servers or without one. An interrupted import continues where it stopped."""
    if held is not None:
        map_process.humble()
    called = name or file.name.partition(".")[0].lower()
    if called.lower() == known.SERVER:
        raise config_files.WrongSettingError(
            f"{base.printable(called)} is not a name for a map: scores use it for the Valhalla server. Choose another"
            " one (--name)."
        )
    if known.NAME.fullmatch(called) is None:
        raise config_files.WrongSettingError(
            f"{base.printable(called)} is no name for a map: small letters, digits, - and _, 63 at most (--name)."
        )
    if known.COUNTRY.fullmatch(country) is None:
        raise config_files.WrongSettingError("--country must be two capital letters, such as KR.")
    config = base.settings(place, {})
    try:
        with progress.counting("roads and tiles", every=_TOLD_EVERY) as tell:
            area = maintenance.imported(
                config.maps,
                file,
                name=called,
                country=country,
                progress=tell,
                cancelled=partial(_end_cancelled, called),
                held=held,
            )
    except (osm_file.MapFileError, map_locks.NoAreaError) as error:
        base.complain(base.printable(str(error)))
        return base.FAILED
    base.line(f"imported {area.name}: {area.roads} roads, map {area.map}")
    if held is not None:
        return base.OK  # no user reads the offer, and only the server knows its store
    with progress.counting("trips", every=_TOLD_EVERY) as tell:
        offer = uvloop.run(rescoring.offered(config, area.name, progress=tell))
    if offer is not None:
        base.line(f"scored trips that it may touch: {'' if offer.whole else 'at least '}{offer.trips}")
    if offer is None or offer.trips or not offer.whole:
        base.line(f"stored scores stay until you run: {_command(area.name, place)}")
    return base.OK


def _end_cancelled(area: str) -> None:
    progress.leave()
    base.complain(f"The import of {area} was cancelled.")
    os._exit(base.FAILED)  # the main thread computes; the canceller deletes the remains


def _command(area: str, place: base.Place | None) -> str:
    """The command that rescores the trips of a map. Without the store's address, which may hold a password."""
    where = place or base.Place()
    named = {"--config": where.config, "--data": where.data}
    words = [word for flag, value in named.items() if value is not None for word in (flag, str(value))]
    return base.printable(shlex.join(["tripline", "rescore", "--map", area, *words]))


@maps.command(name="list", help_epilogue="Example: tripline map list --data /srv/tripline")
def list_maps(*, place: base.Place | None = None) -> int:
    """Show the imported areas. Exits 1 when one of them cannot be read."""
    config = base.settings(place, {})
    areas, lost = maintenance.listed(config.maps), maintenance.lost(config.maps)
    standing = maintenance.under_way(config.maps)
    for area in areas:
        west, south, east, north = area.bounds
        base.line(
            base.printable(
                f"{area.name}: {area.roads} roads, map {area.map}, from {area.source}, imported"
                f" {base.day_text(config, area.imported_ms)}, {south:.2f} to {north:.2f} N, {west:.2f} to {east:.2f} E"
            )
        )
    base.line(f"{len(areas)} maps")
    for each in lost:
        base.complain(base.printable(str(each)))
    if standing is not None:
        base.line(base.printable(_said(standing)))
    return base.FAILED if lost else base.OK


@maps.command(help_epilogue="Example: tripline map remove liechtenstein --data /srv/tripline")
def remove(
    name: Annotated[str, Parameter(help="the area's, as `tripline map list` shows it")],
    *,
    place: base.Place | None = None,
) -> int:
    """Remove an area, beside running servers or without one."""
    try:
        maintenance.removed(base.settings(place, {}).maps, name)
    except map_locks.NoAreaError as error:
        base.complain(base.printable(str(error)))
        return base.FAILED
    base.line(f"removed {name}")
    return base.OK


def _said(standing: "known.Standing") -> str:
    """Describe an unfinished import."""
    told = standing.record
    match standing.stage:
        case known.ImportState.FAILED:
            return f"import of {told.name} failed: {told.reason}"
        case known.ImportState.INTERRUPTED:
            country = f" --country {told.country}" if told.country else ""
            again = f"; to go on: tripline map import {told.file} --name {told.name}{country}"
            return f"import of {told.name} was interrupted{again if standing.can_continue else ''}"
        case known.ImportState.RUNNING:
            return f"import of {told.name} is under way: {told.step.value.lower()}, {told.done:,} so far"
