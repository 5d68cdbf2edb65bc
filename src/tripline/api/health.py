"""Health and metrics, for the machine's own operator: on the API port, to loopback peers without a proxy's headers.
Others get 404. A proxy on this machine must send a header with its client's address, or block these paths.
The host of the request must be this machine or our public name: a page whose own name was turned to 127.0.0.1 (DNS
rebinding) gets 404.

`/health/live`: the process answers. `/health/ready`: it can do its work (`services/readiness.py`). `/metrics`:
Prometheus text.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from litestar.exceptions import NotFoundException
from litestar.response import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tripline.domain.access import Gate
from tripline.http.context import Call, process_of
from tripline.http.operations import operation
from tripline.wire.rest.base import Health, HealthCheck, Readiness

_FORWARDED: Final = re.compile(r"forwarded|via|x-forwarded-.*|x-real-ip|(x|true)-client-ip|cf-connecting-ip")
"""Headers that mark a request as forwarded by a proxy."""


def _only_from_here(request: Call) -> None:
    peer = request.scope.get("client")
    listener = request.scope.get("server")
    api_port = process_of(request).api_port
    if api_port is not None and not (listener and listener[1] == api_port):
        raise NotFoundException
    if any(_FORWARDED.fullmatch(name) for name in request.headers) or not (peer and _is_loopback(peer[0])):
        raise NotFoundException
    known = urlsplit(process_of(request).public_url).hostname
    if not all(_is_ours(host, known) for host in request.headers.getall("host", [])):
        raise NotFoundException


def _is_ours(host: str, known: str | None) -> bool:
    """The `Host` header names this machine, or `known`, the public host."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name in ("localhost", known) or name.endswith(".localhost") or _is_loopback(name)


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


@operation("GET", "/health/live", access=Gate.MACHINE, answer=Health)
async def live(request: Call) -> Response[Health]:
    """200 while the event loop turns."""
    _only_from_here(request)
    return Response(Health("live"))


@operation("GET", "/health/ready", access=Gate.MACHINE, answer=Readiness)
async def ready(request: Call) -> Response[Readiness]:
    """200 when this process can do its work, else 503; the body says of each thing that it needs how that is."""
    _only_from_here(request)
    report = process_of(request).ready()
    checks = [HealthCheck(check.subject, check.well, check.text) for check in report.checks]
    return Response(Readiness(report.status, checks), status_code=200 if report.ready else 503)


@operation("GET", "/metrics", access=Gate.MACHINE, answer=bytes, answer_type="text/plain")
async def metrics(request: Call) -> Response[bytes]:
    """Every metric of `metrics.py`."""
    _only_from_here(request)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
