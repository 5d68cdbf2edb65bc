"""The process that serves a request: its health, its settings, its address."""

from collections.abc import Callable, Sequence

import msgspec

from tripline.http.context.base import Call
from tripline.ports.clocks import Clock
from tripline.services.readiness import Report
from tripline.services.settings import InForce


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about this process; a process without the role `api` has no other context."""

    ready: Callable[[], Report]
    """The readiness report of this process."""
    clock: Clock
    api_port: int | None = None
    """The port of health and metrics; None: every port."""
    public_url: str = ""
    """Address of this server for people; empty: as the request says."""
    behind_proxy: bool = False
    """True if a trusted proxy names the client in `X-Forwarded-For`."""
    settings: Callable[[], Sequence[InForce]] = tuple
    """The settings in force in this process, without secrets."""


def process_of(request: Call) -> Process:
    """Return facts about the process that serves this request."""
    process: Process = request.app.state["process"]
    return process
