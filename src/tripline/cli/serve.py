"""`tripline serve`."""

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tripline.cli import base
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline import app as program
else:
    uvloop = Later("uvloop")
    program = Later("tripline.app")


def serve(
    *,
    place: base.Place | None = None,
    host: Annotated[str | None, Parameter(help="address every listener listens on (default 127.0.0.1)")] = None,
    api_port: Annotated[int | None, Parameter(help="REST; 0 picks one (default 8080)")] = None,
    analytics_port: Annotated[int | None, Parameter(help="REST, second port; 0 picks one (default 9901)")] = None,
    device_port: Annotated[int | None, Parameter(help="MQTTS; 0 picks one (default 9900)")] = None,
    device_plain_port: Annotated[int | None, Parameter(help="MQTT without TLS, loopback only (default off)")] = None,
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
    """Run the server until a signal stops it."""
    flags = {
        "host": host,
        "api_port": api_port,
        "analytics_port": analytics_port,
        "device_port": device_port,
        "device_plain_port": device_plain_port,
        "bus.url": bus,
        "https": https,
        "behind_proxy": behind_proxy,
        "roles": tuple(role) if role else None,
    }
    config = base.settings(place, flags)
    uvloop.run(program.serve(config, origins=base.origins(place, flags), announce=base.line))
    return base.OK
