"""The commands: what each one takes, prints and exits with.

Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use (unknown flag, setting or value).

Not here: what they do (`app.py`, `chores.py`, `demo/`, `simulator/`).
"""

import datetime
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import uvloop
from cyclopts import App, Parameter, validators
from cyclopts.exceptions import CycloptsError
from rich.console import Console

from tripline import app as program
from tripline import chores, config_files
from tripline import demo as demos
from tripline.config import Config
from tripline.services import doctor as doctors
from tripline.services.fleet import import_kinds, imports
from tripline.simulator import link
from tripline.simulator import replay as replays

OK: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2

commands = App(
    name="tripline",
    help="Self-hosted connected-fleet platform: devices over MQTTS, trips, safety scores, REST.",
    version=lambda: metadata.version("tripline"),
    help_format="plaintext",
    help_epilogue="Example: tripline serve --data /srv/tripline",
)
admin = App(
    name="admin",
    help="Make the accounts that no other account can make.",
    help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt",
)
commands.command(admin)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Place:
    """Which installation a command works on."""

    config: Annotated[Path | None, Parameter(help="TOML file of settings; `tripline config` prints one")] = None
    data: Annotated[Path | None, Parameter(help="data folder (default ./tripline-data)")] = None


@commands.command(help_epilogue="Example: tripline serve --data /srv/tripline --host 0.0.0.0")
def serve(
    *,
    place: Place | None = None,
    host: Annotated[str | None, Parameter(help="address every door listens on (default 127.0.0.1)")] = None,
    api_port: Annotated[int | None, Parameter(help="REST; 0 picks one (default 8080)")] = None,
    analytics_port: Annotated[int | None, Parameter(help="REST, second door; 0 picks one (default 9901)")] = None,
    device_port: Annotated[int | None, Parameter(help="MQTTS; 0 picks one (default 9900)")] = None,
    device_plain_port: Annotated[int | None, Parameter(help="MQTT without TLS, loopback only (default off)")] = None,
    store: Annotated[str | None, Parameter(help="store address (default: SQLite in the data folder)")] = None,
    bus: Annotated[str | None, Parameter(help="customers' message bus (default: none)")] = None,
    https: Annotated[
        bool | None, Parameter(negative="--http", help="HTTPS or plain HTTP (default: plain only on loopback)")
    ] = None,
    behind_proxy: Annotated[
        bool | None, Parameter(negative=(), help="a proxy in front does HTTPS; allows --http on any host")
    ] = None,
    role: Annotated[
        list[Literal["all", "api", "gateway", "worker"]] | None,
        Parameter(negative=(), help="part of the work this process does (default all)"),
    ] = None,
) -> int:
    """Run the server until it is told to stop."""
    if role and set(role) != {"all"}:
        raise config_files.WrongSettingError("This version runs every role in one process; --role accepts only `all`.")
    config = _settings(
        place,
        {
            "host": host,
            "api_port": api_port,
            "analytics_port": analytics_port,
            "device_port": device_port,
            "device_plain_port": device_plain_port,
            "store.url": store,
            "bus.url": bus,
            "https": https,
            "behind_proxy": behind_proxy,
        },
    )
    uvloop.run(program.serve(config, announce=_line))
    return OK


@commands.command(
    help_epilogue="Example: TRIPLINE_DEVICE_TOKEN=... tripline replay drive_01.csv drive_04.csv --speed 60"
)
def replay(
    *files: Annotated[Path, Parameter(validator=validators.Path(exists=True, dir_okay=False))],
    token: Annotated[
        str,
        Parameter(
            env_var=config_files.DEVICE_TOKEN,
            help="the sensor's credentials id; others can read flags: use the variable",
        ),
    ],
    speed: Annotated[
        float, Parameter(validator=validators.Number(gte=0), help="times real time; 0: as fast as acknowledged")
    ] = 60.0,
    aggregate: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=1000), help="samples in one message")
    ] = 1,
    as_now: Annotated[
        bool, Parameter(negative=(), help="move the drives in time so that the last one ends now")
    ] = False,
    host: Annotated[str, Parameter(help="where devices connect")] = "localhost",
    port: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=65535), help="MQTTS port")] = 9900,
    ca: Annotated[Path, Parameter(help="certificate authority to trust")] = Path("tripline-data/tls/ca.crt"),
    window: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=1000), help="messages in flight at most")
    ] = 20,
    patience: Annotated[
        float, Parameter(validator=validators.Number(gte=0), help="seconds without a connection before giving up")
    ] = 60.0,
) -> int:
    """Play drives (CSV with t_ms, lat, lon, speed_kmh) as one device over MQTTS, until all of it is acknowledged."""
    if not files:
        raise config_files.WrongSettingError("A replay needs at least one CSV file.")
    plan = replays.Replay(
        files=files,
        door=link.Door(host, port, ca),
        token=token,
        manner=link.Manner(speed=speed, window=window, patience_s=patience),
        aggregate=aggregate,
        ending_ms=program.now_ms() if as_now else None,
    )
    try:
        uvloop.run(replays.play(plan, Console(highlight=False, soft_wrap=True)))
    except replays.TROUBLES as error:
        print(f"tripline: {error}", file=sys.stderr)
        return FAILED
    return OK


@commands.command(help_epilogue="Example: tripline demo --keep")
def demo(
    *,
    data: Annotated[Path | None, Parameter(help="empty data folder (default: one that is deleted at the end)")] = None,
    keep: Annotated[
        bool | None, Parameter(help="keep the server running at the end (default: when there is a terminal)")
    ] = None,
) -> int:
    """Start a server, register a company, play real drives over MQTTS on three vehicles, and show the scores."""
    console = Console(highlight=False)
    plan = demos.Plan(data=data, keep=sys.stdout.isatty() if keep is None else keep)
    try:
        return OK if uvloop.run(demos.run(plan, console)) else FAILED
    except demos.TROUBLES as error:
        print(f"tripline: {error}", file=sys.stderr)
        return FAILED


@commands.command(name="config", help_epilogue="Example: tripline config > tripline.toml")
def show_config() -> int:
    """Print the commented default settings file."""
    print(config_files.default_file(), end="")
    return OK


@commands.command(help_epilogue="Example: tripline migrate --data /srv/tripline")
def migrate(*, place: Place | None = None) -> int:
    """Bring the database to this version's schema; `serve` does the same when it starts."""
    _line(f"schema {chores.migrated(_settings(place, {}))}")
    return OK


@commands.command(help_epilogue="Example: tripline doctor --data /srv/tripline")
def doctor(*, place: Place | None = None) -> int:
    """Say whether an installation is well, and which messages could not be used. Exits 1 when something is wrong."""
    report = uvloop.run(chores.examined(_settings(place, {})))
    for finding in report.findings:
        _line(f"{'ok   ' if finding.well else 'WRONG'} {finding.subject}: {finding.text}")
    _print_rejected(report)
    return OK if report.well else FAILED


@admin.command(help_epilogue="Example: tripline admin create --email root@example.com --password-stdin < password.txt")
def create(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: Place | None = None,
) -> int:
    """Make a platform administrator, who registers operator companies."""
    password = _password(password_stdin)
    user = uvloop.run(chores.administrator_made(_settings(place, {}), email=email, password=password))
    _line(f"platform administrator {email} created, id {user}")
    return OK


@admin.command(help_epilogue="Example: tripline admin grant --email ops@example.com --password-stdin < password.txt")
def grant(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: Place | None = None,
) -> int:
    """Make a granted service account, which registers its own operator company."""
    password = _password(password_stdin)
    user = uvloop.run(chores.grant_made(_settings(place, {}), email=email, password=password))
    _line(f"service account {email} granted, id {user}")
    return OK


@commands.command(
    name="import",
    help_epilogue="Example: tripline import vehicles fleet.csv --email admin@example.com --dry-run",
)
def import_csv(
    what: Annotated[Literal["vehicles", "sensors"], Parameter(help="what the rows register")],
    file: Annotated[Path, Parameter(validator=validators.Path(exists=True, dir_okay=False), help="CSV file")],
    *,
    email: Annotated[str, Parameter(help="account of the company that gets them, as which they are registered")],
    dry_run: Annotated[bool, Parameter(negative=(), help="check every row, register none")] = False,
    skip_bad_rows: Annotated[
        bool, Parameter(negative=(), help="register the good rows (default: all rows, or none when any is bad)")
    ] = False,
    place: Place | None = None,
) -> int:
    """Register vehicles or sensors from a CSV file, beside a running server or without one. Exits 1 on a bad row."""
    config = _settings(place, {})
    order = imports.Order(dry_run=dry_run, skip_bad_rows=skip_bad_rows, most_rows=config.rest.import_rows)
    kind = import_kinds.KINDS[what]
    with _counting(Console(highlight=False)) as progress:
        work = chores.imported(config, file, kind=kind, email=email, order=order, progress=progress)
        report = uvloop.run(work)
    for bad in report.errors:
        _line(_printable(f"row {bad.number}: {bad.message}"))
    if report.bad > len(report.errors):
        _line(f"and {report.bad - len(report.errors)} more bad rows")
    if report.unknown_columns:
        _line(_printable(f"columns that were ignored: {', '.join(report.unknown_columns)}"))
    _line(f"rows {report.rows}, bad {report.bad}, created {report.created}{' (dry run)' if dry_run else ''}")
    return FAILED if report.bad else OK


@admin.command(help_epilogue="Example: tripline admin carrier --email net@carrier.example --password-stdin < pass.txt")
def carrier(
    *,
    email: Annotated[str, Parameter(help="login of the account")],
    password_stdin: Annotated[bool, Parameter(negative=(), help="read the password from standard input")],
    place: Place | None = None,
) -> int:
    """Make a carrier's account, which says what became of its lines."""
    password = _password(password_stdin)
    user = uvloop.run(chores.carrier_made(_settings(place, {}), email=email, password=password))
    _line(f"carrier account {email} created, id {user}")
    return OK


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    # Whatever a command writes (accounts, mails, keys, where people drove) is its owner's alone, in any folder.
    os.umask(0o077)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        code = commands(
            None if arguments is None else list(arguments),
            error_console=errors,
            exit_on_error=False,
            print_error=True,
            result_action="return_value",
        )
    except (CycloptsError, config_files.WrongSettingError) as error:
        if not isinstance(error, CycloptsError):
            print(f"tripline: {error}", file=sys.stderr)
        return WRONG_USE
    except program.TROUBLES as error:
        print(f"tripline: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader of our output has enough; what Python would still flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return FAILED
    return code if isinstance(code, int) else OK


@contextmanager
def _counting(console: Console) -> Iterator[imports.Progress]:
    """Shows how many rows are done: in place on a terminal, elsewhere a line for each 10,000."""
    if console.is_terminal:
        with console.status("") as status:
            yield lambda doing, rows: status.update(f"{doing} {rows:,} rows")
        return
    shown = dict.fromkeys(("checked", "kept"), 0)

    def told(doing: str, rows: int) -> None:
        if rows // 10_000 > shown[doing]:
            shown[doing] = rows // 10_000
            _line(f"{doing} {rows} rows")

    yield told


def _settings(place: Place | None, flags: dict[str, Any]) -> Config:
    where = place or Place()
    return config_files.load(file=where.config, variables=os.environ, flags={"data": where.data, **flags})


def _password(from_stdin: bool) -> str:
    if not from_stdin:
        raise config_files.WrongSettingError("A password is read from standard input only: add --password-stdin.")
    password = sys.stdin.readline().rstrip("\r\n") if sys.stdin else ""  # None: started with a closed input
    if not password:
        raise config_files.WrongSettingError("Standard input held no password.")
    return password


def _print_rejected(report: doctors.Report) -> None:
    _line(f"rejected messages kept: {sum(report.rejected.values())}")
    for reason, count in report.rejected.items():
        _line(f"  {count:>9} {reason}")
    if report.newest:
        _line("newest rejected messages (UTC):")
    for message in report.newest:
        detail = f" ({message.detail})" if message.detail else ""
        who = f"sensor {message.sensor_id}" if message.sensor_id else "no sensor"
        text = f"{_utc_text(message.received_ms)} {message.reason}{detail}, {who}, {message.source} {message.topic}"
        _line(_printable(f"  {text}"))


def _printable(text: str) -> str:
    """The text without what would steer the terminal: it came from a device or a file."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _line(text: str) -> None:
    print(text, flush=True)


def _utc_text(at_ms: int) -> str:
    """The instant for people, UTC to the second."""
    return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M:%S}"
