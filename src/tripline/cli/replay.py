"""`tripline replay` and `tripline demo`: drives played as a device would send them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators
from rich.console import Console

from tripline.cli import base
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline import clock
    from tripline import demo as demos
    from tripline.simulator import client
    from tripline.simulator import replay as replays
else:
    uvloop = Later("uvloop")
    clock = Later("tripline.clock")
    demos = Later("tripline.demo")
    client = Later("tripline.simulator.client")
    replays = Later("tripline.simulator.replay")


def replay(
    *files: Annotated[Path, Parameter(validator=validators.Path(exists=True, dir_okay=False))],
    token: base.DeviceToken,
    speed: Annotated[
        float, Parameter(validator=validators.Number(gte=0), help="times real time; 0: as fast as acknowledged")
    ] = 60.0,
    aggregate: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=1000), help="samples in one message")
    ] = 1,
    as_now: Annotated[
        bool, Parameter(negative=(), help="move the drives in time so that the last one ends now")
    ] = False,
    host: base.DeviceHost = base.DEVICE_HOST,
    port: base.DevicePort = base.DEVICE_PORT,
    ca: base.DeviceCa = base.DEVICE_CA,
    window: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=1000), help="messages in flight at most")
    ] = 20,
    patience: base.Patience = base.PATIENCE_S,
) -> int:
    """Play drives (CSV with t_ms, lat, lon, speed_kmh) as one device over MQTTS, until everything is acknowledged."""
    if not files:
        raise config_files.WrongSettingError("A replay needs at least one CSV file.")
    plan = replays.Replay(
        files=files,
        gateway=client.Gateway(host, port, ca),
        token=token,
        speed=speed,
        window=window,
        patience_s=patience,
        aggregate=aggregate,
        ending_ms=clock.now_ms() if as_now else None,
    )
    try:
        uvloop.run(replays.play(plan, Console(highlight=False, soft_wrap=True)))
    except replays.TROUBLES as error:
        base.complain(error)
        return base.FAILED
    return base.OK


def demo(
    *,
    data: Annotated[Path | None, Parameter(help="empty data folder (default: one that is deleted at the end)")] = None,
    map_: Annotated[
        Path | None,
        Parameter(
            name="--map",
            validator=validators.Path(exists=True, dir_okay=False),
            help="OpenStreetMap extract, .osm.pbf: import it, and speed along its roads (default: no such drive)",
        ),
    ] = None,
    keep: Annotated[
        bool | None, Parameter(help="keep the server running at the end (default: when there is a terminal)")
    ] = None,
) -> int:
    """Start a server, register a company, play real drives over MQTTS on three vehicles, show and explain the scores.

    With --map a simulated vehicle drives beside them, over the limits of real roads.
    """
    console = Console(highlight=False)
    plan = demos.Plan(data=data, keep=sys.stdout.isatty() if keep is None else keep, map=map_)
    try:
        return base.OK if uvloop.run(demos.run(plan, console)) else base.FAILED
    except demos.TROUBLES as error:
        base.complain(error)
        return base.FAILED
