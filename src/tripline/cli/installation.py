"""Commands on an installation's data folder: `config`, `migrate`, `doctor`."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tripline.cli import base
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.maintenance import installation as maintenance
    from tripline.services import doctor as doctors
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.installation")


def show_config() -> int:
    """Print the commented default settings file."""
    print(config_files.default_file(), end="")
    return base.OK


def migrate(
    *,
    place: base.Place | None = None,
    new: Annotated[
        bool, Parameter(negative=(), help="make an empty database where an installation has lost its own (SQLite)")
    ] = False,
) -> int:
    """Bring the database to this version's schema. `serve` does the same when it starts, but never on PostgreSQL."""
    base.line(f"schema {maintenance.migrated(base.settings(place, {}), new=new)}")
    return base.OK


def doctor(
    *,
    place: base.Place | None = None,
    repair: Annotated[
        bool, Parameter(negative=(), help="write again the rows of who may see which vehicle, where they are wrong")
    ] = False,
) -> int:
    """Check an installation and show unusable messages. Exits 1 when something is wrong."""
    report = uvloop.run(maintenance.examined(base.settings(place, {}), repair=repair))
    for finding in report.findings:
        base.line(f"{'ok   ' if finding.well else 'WRONG'} {finding.subject}: {finding.text}")
        for detail in finding.lines:
            base.line(base.printable(f"        {detail}"))
    _print_rejected(report)
    return base.OK if report.well else base.FAILED


def _print_rejected(report: "doctors.Report") -> None:
    if report.rejected is None:
        return
    base.line(f"rejected messages: {sum(report.rejected.values())}")
    for reason, count in report.rejected.items():
        base.line(f"  {count:>9} {reason}")
    if report.newest:
        base.line("newest rejected messages (UTC):")
    for message in report.newest:
        detail = f" ({message.detail})" if message.detail else ""
        who = f"sensor {message.sensor_id}" if message.sensor_id else "no sensor"
        text = f"{base.utc_text(message.received_ms)} {message.reason}{detail}, {who}, {message.source} {message.topic}"
        base.line(base.printable(f"  {text}"))
