"""`tripline simulate`: a simulated fleet, driven over MQTTS."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter, validators
from rich.console import Console

from tripline.cli import base
from tripline.config import files as config_files
from tripline.later import Later
from tripline.simulator import calls, mix
from tripline.simulator.habits import HABITS
from tripline.simulator.itinerary import Journeys
from tripline.simulator.payloads import TYPES
from tripline.simulator.styles import STYLES

if TYPE_CHECKING:
    import uvloop

    from tripline import clock
    from tripline.adapters.maps import files as map_files
    from tripline.adapters.maps import locks as map_locks
    from tripline.simulator import client, fleet, network
    from tripline.simulator.network import Network
else:
    uvloop = Later("uvloop")
    clock = Later("tripline.clock")
    map_files = Later("tripline.adapters.maps.files")
    map_locks = Later("tripline.adapters.maps.locks")
    client = Later("tripline.simulator.client")
    fleet = Later("tripline.simulator.fleet")
    network = Later("tripline.simulator.network")

_SHARE: Final = validators.Number(gte=0, lte=1)
_WIDE: Final = 132
"""Columns of a table outside of a terminal."""
_SEOUL: Final = "37.5665,126.978"
_FILES: Final = validators.Path(exists=True, dir_okay=False)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """The fleet."""

    vehicles: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=99_999), help="how many vehicles")] = 10
    prefix: Annotated[str, Parameter(help="how the names of its vehicles and sensors begin")] = "SIM"
    types: Annotated[str, Parameter(help="types of devices, with weights: GPS=3,OBD; or all")] = mix.ALL
    styles: Annotated[str, Parameter(help="styles of driving, with weights: calm=2,ordinary,aggressive")] = mix.ALL
    habits: Annotated[str, Parameter(help="bad habits of devices, with weights: none=5,twice; or all")] = mix.NONE
    rpc: Annotated[str, Parameter(help="manners of answering calls, in turn")] = "script,sdk,documented"
    msgpack: Annotated[float, Parameter(validator=_SHARE, help="share of devices that send MessagePack")] = 0.0
    activation: Annotated[float, Parameter(validator=_SHARE, help="share of new sensors that must be activated")] = 0.0
    tokens: Annotated[
        Path | None, Parameter(validator=_FILES, help="sensors that are there: lines of token or token,type")
    ] = None
    seed: Annotated[int, Parameter(help="the same number: the same drives")] = 1


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class What:
    """The drives."""

    trips: Annotated[int, Parameter(validator=validators.Number(gte=1), help="drives of each vehicle")] = 1
    duration: Annotated[float, Parameter(validator=validators.Number(gte=30), help="length of a drive, seconds")] = 600
    pause: Annotated[float, Parameter(validator=validators.Number(gte=30), help="between drives, seconds")] = 120
    period: Annotated[float, Parameter(validator=validators.Number(gte=1), help="between samples, seconds")] = 2
    aggregate: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=1000), help="samples in a message")] = 1
    events: Annotated[float, Parameter(validator=validators.Number(gte=0), help="events of a vehicle in an hour")] = 6
    reconnects: Annotated[int, Parameter(validator=validators.Number(gte=0), help="lost connections in a drive")] = 0
    route: Annotated[
        list[Path] | None,
        Parameter(
            validator=_FILES,
            help="recorded route, CSV or GPX; again for more (default: the roads of the maps imported into --data, or"
            " made-up roads where there are none)",
        ),
    ] = None
    around: Annotated[
        str | None,
        Parameter(help="latitude,longitude near which made-up roads lie, in place of those of maps (default: Seoul)"),
    ] = None
    data: Annotated[
        Path | None, Parameter(help="data folder whose maps have the roads to drive on (default ./tripline-data)")
    ] = None
    speed: Annotated[float, Parameter(help="times real time, 1 or more; 0: as fast as it is acknowledged")] = 1.0


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The platform and the account."""

    api: Annotated[str, Parameter(help="its REST interface")] = "http://127.0.0.1:8080"
    email: Annotated[str | None, Parameter(help="account of the company's administrator")] = None
    password_stdin: Annotated[
        bool,
        Parameter(negative=(), help=f"read the password from standard input (default: {config_files.LOGIN_PASSWORD})"),
    ] = False
    host: base.DeviceHost = base.DEVICE_HOST
    port: base.DevicePort = base.DEVICE_PORT
    ca: base.DeviceCa = base.DEVICE_CA
    patience: base.Patience = base.PATIENCE_S


def simulate(*, who: Who | None = None, what: What | None = None, where: Where | None = None) -> int:
    """Register a fleet of simulated vehicles and drive them over MQTTS; show the numbers sent, acknowledged and stored.

    Exits 1 when something acknowledged is not stored. Interrupted, the drives end where they are and the table follows.
    """
    try:
        simulation = _simulation(who or Who(), what or What(), where or Where())
        console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
        return base.OK if uvloop.run(fleet.run(simulation, console, clock.now_ms)) else base.FAILED
    except mix.MixError as error:
        raise config_files.WrongSettingError(str(error)) from None
    except (*fleet.TROUBLES, map_locks.NoAreaError) as error:
        base.complain(error)
        return base.FAILED


def _simulation(who: Who, what: What, where: Where) -> "fleet.Simulation":
    if 0 < what.speed < 1 or what.speed < 0:
        raise config_files.WrongSettingError("--speed must be 0, or 1 or more: time does not run slower than here.")
    tokens = fleet.tokens(who.tokens) if who.tokens else []
    if any(device not in TYPES for _, device in tokens):
        raise config_files.WrongSettingError(f"A type in {who.tokens} is none of {', '.join(TYPES)}.")
    if where.email is None and not tokens:
        raise config_files.WrongSettingError("A fleet is registered by --email, or taken from --tokens.")
    return fleet.Simulation(
        gateway=client.Gateway(where.host, where.port, where.ca),
        company=fleet.Company(api=where.api, email=where.email, password=_password(where)) if where.email else None,
        wanted=fleet.Wanted(
            vehicles=who.vehicles,
            prefix=who.prefix,
            types=mix.mix(who.types, TYPES, "The type"),
            styles=mix.mix(who.styles, tuple(STYLES), "The style"),
            habits=mix.mix(who.habits, (*HABITS, mix.NONE), "The habit"),
            manners=tuple(mix.mix(who.rpc, tuple(calls.MANNERS), "The manner")),
            packed_share=who.msgpack,
            activation_share=who.activation,
            tokens=tokens,
            seed=who.seed,
        ),
        journeys=_journeys(what),
        speed=what.speed,
        patience_s=where.patience,
    )


def _journeys(what: What) -> Journeys:
    lat, _, lon = (what.around or _SEOUL).partition(",")
    try:
        around = float(lat), float(lon)
    except ValueError:
        raise config_files.WrongSettingError("--around needs latitude,longitude such as 37.5665,126.978.") from None
    if not (abs(around[0]) <= 80 and abs(around[1]) <= 179):
        raise config_files.WrongSettingError("--around must lie between 80 degrees south and north, off the date line.")
    return Journeys(
        trips=what.trips,
        duration_s=what.duration,
        pause_s=what.pause,
        period_s=what.period,
        aggregate=what.aggregate,
        events_per_hour=what.events,
        reconnects=what.reconnects,
        around=around,
        routes=fleet.routes(what.route or ()),
        maps=() if what.route or what.around else _maps(what.data),
    )


def _maps(data: Path | None) -> "list[Network]":
    """The roads of the imported maps, whose names are printed. Raises `NoAreaError`."""
    folder = base.settings(base.Place(data=data), {}).maps
    areas = map_files.areas(folder) if folder.is_dir() else []
    if areas:
        names = ", ".join(area.name for area in areas)
        base.line(base.printable(f"driving along the roads of {names} (© OpenStreetMap contributors)"))
    return [network.Network(*map_files.load(folder, area)) for area in areas]


def _password(where: Where) -> str:
    if where.password_stdin:
        password = sys.stdin.readline().rstrip("\r\n") if sys.stdin else ""
    else:
        password = os.environ.get(config_files.LOGIN_PASSWORD, "")
    if not password:
        raise config_files.WrongSettingError(
            f"The password of --email is read with --password-stdin, or from {config_files.LOGIN_PASSWORD}."
        )
    return password
