"""The contexts of handlers: the parts of the program that each family of handlers may use.

Handlers are `async def f(request: Call) -> Answer` and begin with `context = context_of(request)`; the other functions
return the parts of a family.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

import msgspec
from litestar import Request

from tripline import config
from tripline.domain.access import Actor
from tripline.domain.ids import SensorId, TimeIds, UserId
from tripline.http.request_store import RequestStore
from tripline.ports.clocks import Clock
from tripline.ports.maps import BaseMap, MapKeeper, PlaceNames, RoadMatcher
from tripline.ports.signals import Signals
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.sessions import Prolonger
from tripline.services.accounts.tokens import Tokens
from tripline.services.barrier import Barrier
from tripline.services.imports.limits import ImportLimits
from tripline.services.lines.batches import Batches
from tripline.services.lines.pauses import Unpauser
from tripline.services.live.feed import Feed
from tripline.services.nodes import Node
from tripline.services.push.trials import Trials
from tripline.services.readiness import Report
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.scores.disputes import DisputeService
from tripline.services.scores.policy_service import PolicyService
from tripline.services.settings import InForce

Call: TypeAlias = Request[Any, Any, Any]
P = TypeVar("P")


def _part(name: str, _: type[P]) -> Callable[[Call], P]:
    """Return a function that returns this attribute of the application's state for a request."""

    def part_of(request: Call) -> P:
        part: P = request.app.state[name]
        return part

    return part_of


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that every handler may use."""

    store: RequestStore
    """The store for requests; each account reads and writes in its turn."""
    ids: TimeIds
    clock: Clock
    signals: Signals
    time_zone: ZoneInfo
    """Zone of text times (startDt, endDt, eventDt)."""


context_of: Final = _part("context", Context)


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about this process; a process without the role `api` has no other context."""

    ready: Callable[[], Report]
    clock: Clock
    api_port: int | None = None
    """The port of health and metrics; None: every port."""
    public_url: str = ""
    """Address of this server for people; empty: as the request says."""
    behind_proxy: bool = False
    """True if a trusted proxy names the client in `X-Forwarded-For`."""
    settings: Callable[[], Sequence[InForce]] = tuple
    """The settings in force in this process, without secrets."""


process_of: Final = _part("process", Process)


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that log accounts in and recognise them."""

    tokens: Tokens
    passwords: Passwords
    limits: Limits
    browsers: Prolonger = msgspec.field(default_factory=lambda: Prolonger(config.Sessions()))
    actors: dict[UserId, Actor] = msgspec.field(default_factory=dict)
    """Accounts as of their latest request; verified before use (`authentication.known_actor`)."""
    browsing: dict[str, UserId] = msgspec.field(default_factory=dict)
    """Accounts of recent browsers by the hash of their cookie; for limits, never for access."""


accounts_of: Final = _part("accounts", Accounts)


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for companies, vehicles and sensors."""

    node: Node
    """This process's entry among those that share the store."""
    heard_of: Callable[[SensorId], int | None]
    """Time of the latest packet of a device connected to this process; None: not connected here."""
    settling: Barrier
    """Waits until the other processes have acted on a change."""


fleet_of: Final = _part("fleet", Fleet)


class Rpc(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that call devices."""

    calls: Calls
    mounter: Mounter


rpc_of: Final = _part("rpc", Rpc)


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for carrier lines."""

    carrier_actions: Batches
    unpauser: Unpauser


lines_of: Final = _part("lines", Lines)


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for scores."""

    policies: PolicyService
    disputes: DisputeService
    roads: RoadMatcher | None = None
    """The matcher of roads; None: trips are judged without roads."""


scores_of: Final = _part("scores", Scores)


class Maps(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for maps."""

    keeper: MapKeeper
    base_map: BaseMap | None = None
    """The map that pages show; None: none."""
    places: PlaceNames | None = None
    """Names of places; None: none."""


maps_of: Final = _part("maps", Maps)

imports_of: Final = _part("imports", ImportLimits)

trials_of: Final = _part("trials", Trials)

feed_of: Final = _part("feed", Feed)


class Contexts(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes of the application's state that the functions of this folder read."""

    context: Context
    process: Process
    accounts: Accounts
    fleet: Fleet
    rpc: Rpc
    lines: Lines
    scores: Scores
    maps: Maps
    imports: ImportLimits
    trials: Trials
    feed: Feed
