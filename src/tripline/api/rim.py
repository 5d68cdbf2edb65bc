"""What every handler works with: the parts of the program that REST needs, and the shapes of a request and an answer.

Handlers are `async def f(call: Call) -> Answer`, and begin with `rim = rim_of(request)`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from litestar import Request

from tripline import config
from tripline.domain.ids import SensorId, TimeIds
from tripline.ports import Clock, Signals
from tripline.services.accounts.limits import Limits
from tripline.services.carrier.batches import Batches
from tripline.services.carrier.unpausing import Unpauser
from tripline.services.fleet.import_desk import ImportDesk
from tripline.services.nodes import Node
from tripline.services.passwords import Passwords
from tripline.services.readiness import Report
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.settling import Settling
from tripline.services.tokens import Tokens
from tripline.store.transactions import Store

Call: TypeAlias = Request[Any, Any, Any]
"""One HTTP request."""


@dataclass(frozen=True, slots=True)
class Rim:
    """The parts that handlers call, wired by `parts.py`."""

    store: Store
    ids: TimeIds
    clock: Clock
    signals: Signals
    tokens: Tokens
    passwords: Passwords
    limits: Limits
    carrier_actions: Batches
    unpauser: Unpauser
    settling: Settling
    calls: Calls
    mounter: Mounter
    time_zone: ZoneInfo
    """Zone of text times (startDt, endDt, eventDt)."""
    ready: Callable[[], Report]
    """Whether this process can do its work."""
    node: Node
    """This process among those that share the store."""
    heard_of: Callable[[SensorId], int | None]
    """When something was last heard of the sensor's device, which is connected to this process now; None: it is not."""
    imports: ImportDesk = field(default_factory=lambda: ImportDesk(config.Rest()))
    """Whose turn it is to import a file."""
    api_port: int | None = None
    """The port where health and metrics answer; None: every port."""
    behind_proxy: bool = False
    """Whether a proxy of ours says in `X-Forwarded-For` for whom it asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What health and metrics need of a process that serves nothing else; as in `Rim`."""

    ready: Callable[[], Report]
    """Whether this process can do its work."""
    clock: Clock
    api_port: int | None
    """The port where they answer; None: every port."""


def vitals_of(request: Call) -> Vitals | Rim:
    """What is to be told of the process that serves this request."""
    vitals: Vitals | Rim = request.app.state["rim"]
    return vitals


def rim_of(request: Call) -> Rim:
    """The parts of the program that serves this request."""
    rim: Rim = request.app.state["rim"]
    return rim
