"""The REST application inside the test's process, on a database and a clock that stands still."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast
from zoneinfo import ZoneInfo

import httpx
from litestar import Litestar
from litestar.types import ASGIApp
from msgspec import structs

from tests.support import answers, stores
from tripline import config
from tripline.adapters.carrier.simulated import SimulatedCarrier
from tripline.adapters.maps.service import MapService
from tripline.api import families
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, UserId
from tripline.http import middleware
from tripline.http.application import routed_app
from tripline.http.context import Accounts, Context, Contexts, Fleet, Lines, Maps, Process, Rpc, Scores
from tripline.http.request_store import RequestStore
from tripline.ports.carriers import CarrierLines
from tripline.ports.devices import Delivery, Devices
from tripline.ports.maps import BaseMap
from tripline.ports.webhooks import Answered, Listening, Webhook, WebhookFailedError, WebhookReply, WebhookSender
from tripline.scoring.rules import Rules
from tripline.services.accounts import login as accounts_login
from tripline.services.accounts import registry
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.sessions import Client
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
from tripline.store.accounts import accounts
from tripline.store.transactions import Store

T = TypeVar("T")

NOW_MS = 1_760_000_000_000
"""The instant of every request, unless a test moves the clock."""
CHEAP = config.Passwords(memory_kib=8, passes=1)
"""Less than a settings file may say, so that a hash takes 0.04 ms instead of 8."""

ORIGIN = "http://127.0.0.1"
NO_MAPS = Path("no-maps")
"""A folder that is never made: what a test imports goes to one of its own."""

NOBODY = Client(agent=None, address=None)
"""A client that does not say what it is."""


class Client(httpx.AsyncClient):
    """A client that follows nothing and logs in nowhere, which is a third of what a request here takes httpx."""

    async def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
        """The answer, read."""
        assert not self.follow_redirects
        assert self.auth is None
        answer = await self._transport.handle_async_request(request)
        answer.request = request
        await answer.aread()
        if "set-cookie" in answer.headers:
            self.cookies.extract_cookies(answer)
        for hook in self.event_hooks["response"]:
            await hook(answer)
        return answer


class RecordingSignals:
    """Implements `ports.signals.Signals`: keeps what was told, and tells it to who listens."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self._listeners: list[tuple[str, Callable[[str], None]]] = []

    def notify(self, subject: str, detail: str = "") -> None:
        """Keep the hint."""
        self.told.append((subject, detail))
        for heard, listener in self._listeners:
            if heard == subject:
                listener(detail)

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        """Call the listener with each hint of the subject."""
        self._listeners.append((subject, listener))


class NoDevices:
    """Implements `ports.devices.Devices`: nobody is connected."""

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        """It did not get there."""
        return Delivery.NOT_CONNECTED


class NoServers:
    """Implements `ports.webhooks.WebhookSender`: no customer's server can be reached."""

    async def post(self, webhook: Webhook, listening: Listening | None = None) -> Answered | None:
        """It did not get there."""
        raise WebhookFailedError("The connection failed: Connection refused.")

    async def ask(self, webhook: Webhook) -> WebhookReply:
        """It did not get there."""
        raise WebhookFailedError("The connection failed: Connection refused.")


@dataclass(frozen=True)
class Login:
    """An account and its access token."""

    user_id: UserId
    authority: Authority
    company_id: CompanyId | None
    token: str

    @property
    def actor(self) -> Actor:
        """The account as services see it."""
        return Actor(self.user_id, self.authority, self.company_id)


@dataclass(frozen=True)
class _Stage:
    made: object
    content: stores.Content
    last_no: RowNo


_STAGES: dict[tuple[Callable[..., Any], bool], _Stage] = {}
"""By what made it, and whether on PostgreSQL."""


class Rest:
    """The application, its parts, and requests to it."""

    def __init__(
        self,
        database: stores.Database,
        *,
        node: int = 0x42,
        slot: int | None = None,
        routes: int = 0,
        carrier: CarrierLines | None = None,
        carrier_timeout_s: float = 10.0,
        devices: Devices | None = None,
        rpc: config.Rpc | None = None,
        webhooks: WebhookSender | None = None,
        base_map: BaseMap | None = None,
        maps: Path = NO_MAPS,
        most_map_bytes: int = 2**20,
    ) -> None:
        self.now_ms = NOW_MS
        self._database = database
        self.store = database.open()
        self.ids = TimeIds(node=node, slot=slot)
        self.signals = RecordingSignals()
        self.connected: set[SensorId] = set()
        """Sensors whose devices are connected, as far as the application knows."""
        self.devices = devices or NoDevices()
        self.tokens = Tokens(key=b"k" * 64, settings=config.Tokens())
        self.passwords = Passwords(CHEAP)
        self._rpc = rpc or config.Rpc()
        alone = Node(store=self.store, ids=self.ids, name="here:1", roles="api")
        settling = Barrier(store=self.store, node=alone, signals=self.signals)
        clock = lambda: self.now_ms  # noqa: E731
        self.contexts = Contexts(
            context=Context(
                store=RequestStore(self.store),
                ids=self.ids,
                clock=clock,
                signals=self.signals,
                time_zone=ZoneInfo("Asia/Seoul"),
            ),
            process=Process(ready=lambda: Report("ready", ()), clock=clock),
            accounts=Accounts(
                tokens=self.tokens,
                passwords=self.passwords,
                limits=Limits(accounts=config.Accounts(), rest=config.Rest()),
            ),
            fleet=Fleet(
                node=alone,
                heard_of=lambda sensor_id: self.now_ms if sensor_id in self.connected else None,
                settling=settling,
            ),
            rpc=Rpc(**self._callers(self.store)),
            lines=Lines(
                carrier_actions=Batches(
                    store=self.store, settling=settling, signals=self.signals, ids=self.ids, clock=clock
                ),
                unpauser=Unpauser(
                    store=self.store,
                    carrier=carrier or SimulatedCarrier(store=self.store, clock=clock),
                    ids=self.ids,
                    clock=clock,
                    timeout_s=carrier_timeout_s,
                ),
            ),
            scores=Scores(
                policies=PolicyService(store=self.store, rules=Rules(), ids=self.ids, clock=clock),
                disputes=DisputeService(store=self.store, ids=self.ids, clock=clock),
            ),
            maps=Maps(keeper=MapService(maps, most_bytes=most_map_bytes, clock=clock), base_map=base_map),
            imports=ImportLimits(config.Rest()),
            trials=Trials(store=self.store, sender=webhooks or NoServers(), ids=self.ids, clock=clock),
            feed=Feed(store=self.store, clock=clock, signals=self.signals),
        )
        self._routes = routes
        app = application(self.contexts, routes)
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        hooks: Any = {"response": [answers.hold_async]}
        self.http = Client(transport=transport, base_url=ORIGIN, event_hooks=hooks)

    def change(self, **parts: Any) -> None:
        """Put other parts in place of those of the application."""
        self.contexts = changed(self.contexts, **parts)
        application(self.contexts, self._routes)

    def over(self, store: Store) -> Contexts:
        """The parts, with another store in place of theirs."""
        return changed(self.contexts, store=store, **self._callers(store))

    def _callers(self, store: Store) -> dict[str, Any]:
        """The parts that call devices."""
        parts: dict[str, Any] = {"store": store, "ids": self.ids, "signals": self.signals}
        parts |= {"clock": lambda: self.now_ms, "settings": self._rpc}
        calls = Calls(devices=self.devices, **parts)
        return {"calls": calls, "mounter": Mounter(calls=calls, **parts)}

    async def close(self) -> None:
        """Close every part."""
        await self.http.aclose()
        await self.store.close()
        self.passwords.close()

    async def staged(self, build: Callable[["Rest"], Awaitable[T]]) -> T:
        """What `build` makes in an application to which nothing was done yet: made once a process, copied from then on.

        Only what is in the database is there again, so `build` keeps nothing in parts of the application.
        """
        key = build, stores.on_postgresql()
        stage = _STAGES.get(key)
        if stage is None:
            made = await build(self)
            _STAGES[key] = _Stage(made, self._database.content(), self.ids.take(1, now_ms=self.now_ms))
            return made
        self._database.fill(stage.content)
        self.ids.skip_to(stage.last_no)
        return cast("T", stage.made)

    async def account(self, email: str, authority: Authority, company_id: CompanyId | None = None) -> Login:
        """A new account, logged in; nobody knows its password."""
        user_id = await self.store.write(
            lambda tx: registry.create(
                tx,
                company_id=company_id,
                authority=authority,
                name=email.split("@")[0],
                email=email,
                phone=None,
                password_hash="$argon2id$",
                ids=self.ids,
                now_ms=self.now_ms,
            )
        )
        return await self.login(user_id, email, authority, company_id)

    async def login(self, user_id: UserId, email: str, authority: Authority, company_id: CompanyId | None) -> Login:
        """A new session of an account that is there, and its access token."""
        opened = partial(accounts_login.opened, user_id=user_id, tokens=self.tokens, client=NOBODY, now_ms=self.now_ms)
        session_id = (await self.store.write(opened)).session_id
        token = self.tokens.access(
            user_id=user_id, email=email, authority=authority, session_id=session_id, now_ms=self.now_ms
        )
        return Login(user_id, authority, company_id, token)

    async def call(self, login: Login | None, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        """One request; `path` is relative to /api/tre/v1 unless it begins with /api or /map; bytes go as they are."""
        headers = {} if login is None else {"X-Authorization": f"Bearer {login.token}"}
        address = path if path.startswith(("/api", "/map/")) else f"/api/tre/v1{path}"
        sent = {"content": body} if isinstance(body, bytes) else {"json": body}
        if query:
            address += f"{'&' if '?' in address else '?'}{httpx.QueryParams(query)}"
        return await self.http.request(method, f"{ORIGIN}{address}", headers=headers, **sent)

    async def post(self, login: Login | None, path: str, body: Any = None) -> dict[str, Any]:
        """The record of a POST that must succeed."""
        return _success(await self.call(login, "POST", path, body))

    async def get(self, login: Login | None, path: str, **query: Any) -> dict[str, Any]:
        """The record of a GET that must succeed."""
        return _success(await self.call(login, "GET", path, **query))

    async def delete(self, login: Login | None, path: str) -> dict[str, Any]:
        """The answer of a DELETE that must succeed."""
        return _success(await self.call(login, "DELETE", path))

    async def refused(self, login: Login | None, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """HTTP status, errorCode and message of a request that must be refused."""
        answer = await self.call(login, method, path, body, **query)
        error = answer.json()
        assert error.keys() == {"status", "message", "errorCode", "timestamp"}
        assert error["status"] == answer.status_code
        return answer.status_code, error["errorCode"], error["message"]

    async def operator(self, service_type: str, **fields: Any) -> tuple[dict[str, Any], Login]:
        """A new operator company and its administrator, registered by a granted account."""
        email = f"admin@{service_type}.example"
        granted = await self.account(email, Authority.COMPANY_ADMIN)
        record = await self.post(granted, "/company", company_body(service_type, email, **fields))
        return record, await self.login(granted.user_id, email, Authority.COMPANY_ADMIN, CompanyId(record["id"]["id"]))

    async def partner(self, registrar: Login, email: str, **fields: Any) -> tuple[dict[str, Any], Login]:
        """A new partner company and its administrator, registered by a company's administrator."""
        record = await self.post(registrar, "/company", company_body(None, email, **fields))
        company_id = CompanyId(record["id"]["id"])
        return record, await self._administrator(email, company_id)

    async def _administrator(self, email: str, company_id: CompanyId) -> Login:
        found = await self.store.read(lambda tx: accounts.credentials(tx, email))
        assert found is not None
        return await self.login(found.user_id, email, Authority.COMPANY_ADMIN, company_id)

    async def person(self, admin: Login, role: Authority, name: str) -> Login:
        """A new director or driver of the administrator's company, logged in."""
        email = f"{name}@people.example"
        body = {"name": name, "email": email, "phone": "010", "password": "pass phrase"}
        record = await self.post(admin, f"/{role.lower()}", body)
        return await self.login(UserId(record["id"]["id"]), email, role, admin.company_id)


def changed(contexts: Contexts, **parts: Any) -> Contexts:
    """The contexts with other parts, each in the place of the one of its name."""
    families = {name: part for name, part in parts.items() if name in Contexts.__struct_fields__}
    known = set(families)
    for name, family in structs.asdict(contexts).items():
        inside = {each: parts[each] for each in getattr(family, "__struct_fields__", ()) if each in parts}
        known |= set(inside)
        if inside:
            families[name] = structs.replace(family, **inside)
    assert known == set(parts)
    return structs.replace(contexts, **families)


def state(contexts: Contexts) -> dict[str, Any]:
    """The state of an application with these contexts."""
    return {**structs.asdict(contexts), **families.STATE}


def application(contexts: Contexts, number: int = 0) -> ASGIApp:
    """The application over these parts, until the next one with this number is asked for: its routes are the same for
    all. Applications that are used beside each other have different numbers."""
    routes = _routes(number)
    routes.state.update(structs.asdict(contexts))
    return middleware.surrounded(routes)


@cache
def _routes(number: int) -> Litestar:
    """Made once for all tests of a process, for it takes longer than most of them; the parts are changed under it."""
    return routed_app(families.FAMILIES, families.STATE)


def company_body(service_type: str | None, email: str, **fields: Any) -> dict[str, Any]:
    """The required fields of a company's registration, and whatever else is given."""
    body = {"name": "Company", "picName": "Kim", "picEmail": email, "picPasswd": "pass phrase", **fields}
    return body if service_type is None else {"serviceType": service_type, **body}


async def administrator(app: Rest) -> Login:
    """The administrator of `ace`, an operator in an application to which nothing was done yet."""
    return await app.staged(_administrator)


async def _administrator(app: Rest) -> Login:
    return (await app.operator("ace"))[1]


@contextlib.asynccontextmanager
async def opened(folder: Path, **parts: Any) -> AsyncIterator[Rest]:
    """A fresh application; `parts` are given to `Rest`."""
    made = Rest(stores.fresh(folder), **parts)
    try:
        yield made
    finally:
        await made.close()


@contextlib.asynccontextmanager
async def two(folder: Path, **parts: Any) -> AsyncIterator[list[Rest]]:
    """Two servers over one database; `parts` are given to both."""
    database = stores.fresh(folder)
    slots = {1: 1, 2: 2} if stores.on_postgresql() else {}
    servers = [Rest(database, node=node, slot=slots.get(node), routes=node, **parts) for node in (1, 2)]
    try:
        yield servers
    finally:
        for server in servers:
            await server.close()


def run(folder: Path, scenario: Callable[[Rest], Awaitable[T]], **parts: Any) -> T:
    """Play the scenario against a fresh application; `parts` are given to `Rest`."""

    async def play() -> T:
        async with opened(folder, **parts) as made:
            return await scenario(made)

    return asyncio.run(play())


def _success(answer: httpx.Response) -> dict[str, Any]:
    record: dict[str, Any] = answer.json()
    assert answer.status_code == 200, record
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert "errorCode" not in record
    return record
