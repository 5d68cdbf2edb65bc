"""`tripline import`: bulk registration from CSV files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter, validators

from tripline.cli import base, progress
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.language import catalogue
    from tripline.maintenance import imports as maintenance
    from tripline.services.imports import kinds as import_kinds
    from tripline.services.imports import registration
    from tripline.wire import csv_files
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.imports")
    catalogue = Later("tripline.language.catalogue")
    import_kinds = Later("tripline.services.imports.kinds")
    registration = Later("tripline.services.imports.registration")
    csv_files = Later("tripline.wire.csv_files")

_TOLD_EVERY: Final = 10_000


def import_csv(
    what: Annotated[Literal["vehicles", "sensors"], Parameter(help="what the rows register")],
    file: Annotated[Path, Parameter(validator=validators.Path(exists=True, dir_okay=False), help="CSV file")],
    *,
    email: Annotated[str, Parameter(help="account of the company that gets them, as which they are registered")],
    dry_run: Annotated[bool, Parameter(negative=(), help="check every row, register none")] = False,
    skip_bad_rows: Annotated[
        bool, Parameter(negative=(), help="register the good rows (default: all rows, or none when any is bad)")
    ] = False,
    encoding: Annotated[
        Literal["utf-8", "cp949", "windows-1250", "windows-1252"] | None,
        Parameter(help="encoding of the file (default: UTF-8 if the whole file is, else CP949)"),
    ] = None,
    place: base.Place | None = None,
) -> int:
    """Register vehicles or sensors from a CSV file, beside a running server or without one. Exits 1 on a bad row."""
    config = base.settings(place, {})
    order = registration.Order(
        dry_run=dry_run,
        skip_bad_rows=skip_bad_rows,
        encoding=None if encoding is None else csv_files.Encoding(encoding),
        most_rows=config.rest.import_rows,
    )
    kind = import_kinds.KINDS[what]
    with progress.counting("rows", every=_TOLD_EVERY) as tell:
        work = maintenance.imported(
            config, file, kind=kind, email=email, order=order, progress=lambda doing, rows: tell(rows, doing)
        )
        report = uvloop.run(work)
    for bad in report.errors:
        base.line(base.printable(f"row {bad.number}: {catalogue.sentence(bad.refusal)}"))
    if report.bad > len(report.errors):
        base.line(f"and {report.bad - len(report.errors)} more bad rows")
    if report.unknown_columns:
        base.line(base.printable(f"columns that were ignored: {', '.join(report.unknown_columns)}"))
    base.line(f"encoding {report.encoding}")
    base.line(f"rows {report.rows}, bad {report.bad}, created {report.created}{' (dry run)' if dry_run else ''}")
    return base.FAILED if report.bad else base.OK
