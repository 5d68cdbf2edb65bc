"""The surroundings of a handler: the parts of the program that it calls, and the shapes of request and answer.

Handlers are `async def f(call: Call) -> Answer`, and begin with `rim = rim_of(request)`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
from litestar import Request

from tripline import config
from tripline.domain.access import Actor
from tripline.domain.ids import SensorId, TimeIds, UserId
from tripline.http.request_store import RequestStore
from tripline.ports.clocks import Clock
from tripline.ports.maps import BaseMap, MapKeeper, RoadMatcher
from tripline.ports.signals import Signals
from tripline.services.accounts.browser_sessions import Prolonger
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.tokens import Tokens
from tripline.services.barrier import Barrier
from tripline.services.imports.limits import ImportLimits
from tripline.services.lines.batches import Batches
from tripline.services.lines.pauses import Unpauser
from tripline.services.nodes import Node
from tripline.services.push.trials import Trials
from tripline.services.readiness import Report
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.scores.disputes import DisputeDesk
from tripline.services.scores.policy_desk import PolicyDesk
from tripline.services.scores.standings import Standings
from tripline.services.settings import InForce

Call: TypeAlias = Request[Any, Any, Any]
"""One HTTP request."""


class Rim(msgspec.Struct, frozen=True):
    """The parts that handlers call, wired by `wiring/server.py`."""

    store: RequestStore
    """The store for requests: each account reads and writes in its turn."""
    ids: TimeIds
    clock: Clock
    signals: Signals
    tokens: Tokens
    passwords: Passwords
    limits: Limits
    carrier_actions: Batches
    unpauser: Unpauser
    settling: Barrier
    calls: Calls
    mounter: Mounter
    time_zone: ZoneInfo
    """Zone of text times (startDt, endDt, eventDt)."""
    ready: Callable[[], Report]
    """Whether this process can do its work."""
    policies: PolicyDesk
    """Tries and chooses scoring policies."""
    disputes: DisputeDesk
    """Opens and decides disputes of scores."""
    node: Node
    """This process among those that share the store."""
    heard_of: Callable[[SensorId], int | None]
    """When something was last heard of the sensor's device, which is connected to this process now; None: it is not."""
    trials: Trials
    """Sends messages that somebody wants to see arrive."""
    maps: MapKeeper
    """Keeps maps."""
    roads: RoadMatcher | None = None
    """The matcher of roads; None: trips are judged without roads."""
    base_map: BaseMap | None = None
    """The map that pages show; None: none."""
    imports: ImportLimits = msgspec.field(default_factory=lambda: ImportLimits(config.Rest()))
    """Whose turn it is to import a file."""
    actors: dict[UserId, Actor] = msgspec.field(default_factory=dict)
    """Accounts as of their latest request; verified before use (`authentication.known_actor`)."""
    browsing: dict[str, UserId] = msgspec.field(default_factory=dict)
    """Accounts of the browsers that asked lately, by the hash in their cookie; for counting, not for letting in."""
    standings: Standings = msgspec.field(default_factory=Standings)
    """Rankings, as they were read up to a minute ago."""
    browsers: Prolonger = msgspec.field(default_factory=lambda: Prolonger(config.Sessions()))
    """Sessions of browsers that are used."""
    public_url: str = ""
    """Address of this server as people see it; empty: as the request says."""
    api_port: int | None = None
    """The port where health and metrics answer; None: every port."""
    settings: Callable[[], Sequence[InForce]] = tuple
    """The settings in force in this process, without secrets."""
    behind_proxy: bool = False
    """Whether a proxy of ours says in `X-Forwarded-For` for whom it asks."""


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """What health and metrics need of a process that serves nothing else; as in `Rim`."""

    ready: Callable[[], Report]
    """Whether this process can do its work."""
    clock: Clock
    api_port: int | None
    """The port where they answer; None: every port."""
    public_url: str
    """Address of this server as people see it; empty: unknown."""


def vitals_of(request: Call) -> Vitals | Rim:
    """Facts about the process that serves this request."""
    vitals: Vitals | Rim = request.app.state["rim"]
    return vitals


def rim_of(request: Call) -> Rim:
    """The parts of the program that serves this request."""
    rim: Rim = request.app.state["rim"]
    return rim
