"""The program: the only place that knows every part, wires them together, and reads the clock.

Starting order: what can fail at once comes first (settings, data folder, certificate, ports, database), then the parts,
then the doors open and one line says so. Stopping is the reverse: doors close, what was taken in is committed and
acknowledged, the scorer ends after its batch, the store closes.
"""

import asyncio
import contextlib
import gc
import os
import secrets
import signal
import socket
import time
import zoneinfo
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from tripline import config_files, observe
from tripline.adapters import (
    carrier_http,
    carrier_simulated,
    data_folder,
    doors,
    http_uvicorn,
    mail_folder,
    mail_smtp,
    signals_local,
    tls_local,
    webhook_addresses,
    webhook_http,
)
from tripline.api.app import create_app
from tripline.api.rim import Rim
from tripline.config import Config
from tripline.domain import ids
from tripline.domain.refusals import Refusal
from tripline.gateway.listener import Admit, DeviceListener
from tripline.gateway.roster import CREDENTIAL_ENDED
from tripline.ports import CarrierLines, Mailer, Outage, WebhookSender
from tripline.services import passwords, tokens
from tripline.services.accounts import limits
from tripline.services.accounts.postman import Postman
from tripline.services.accounts.sweeper import Sweeper
from tripline.services.carrier.batches import Batches
from tripline.services.carrier.unpausing import Unpauser
from tripline.services.erasing import Eraser
from tripline.services.fleet.import_desk import ImportDesk
from tripline.services.ingest.intake import IngestDoor
from tripline.services.presence import PresenceKeeper
from tripline.services.push.keeper import Keeper
from tripline.services.push.pusher import Pusher
from tripline.services.rpc.calls import Calls
from tripline.services.rpc.mounting import Mounter
from tripline.services.rpc.timeouts import Overdue
from tripline.services.scores.scorer import Scorer
from tripline.store import migrate, sensors, sqlite
from tripline.store import secrets as kept_secrets
from tripline.store.transactions import Store

LOOPBACK: Final = "127.0.0.1"

TROUBLES: Final = (
    data_folder.DataFolderError,
    doors.DoorError,
    tls_local.TlsError,
    migrate.DatabaseError,
    Outage,
    Refusal,
)
"""What can stand in the way of a command; each says so in one line."""
DRAIN_S: Final = 5.0
"""How long devices' frames under way may take to be committed and acknowledged after a stop was asked for."""
_log = observe.logger("app")


def now_ms() -> int:
    """The clock: epoch ms."""
    return time.time_ns() // 1_000_000


async def serve(config: Config, *, announce: Callable[[str], None]) -> None:
    """Run the server until SIGTERM or SIGINT; `announce` gets the ready line. Raises one of `TROUBLES`."""
    observe.configure_logging(level=config.log.level, as_json=config.log.format == "json")
    folder = data_folder.prepare(config.data)
    doors.allow(config.devices.max_connections)
    async with contextlib.AsyncExitStack() as opened:
        opened.callback(data_folder.Hold(folder).release)
        material = _material(config, folder)
        ways_in = _Doors(config, opened)
        migrate.upgrade(folder / data_folder.DATABASE)
        store = sqlite.SqliteStore(folder / data_folder.DATABASE, readers=config.store.readers)
        opened.push_async_callback(store.close)
        carrier = _carrier(config, store, opened)
        webhooks = _webhooks(config, opened)
        await _run(config, store, ways_in, material, carrier, webhooks, announce=announce)
    _log.info("serve.stopped")


class _Doors:
    """Every listening socket, bound; and what the ready line says of them."""

    def __init__(self, config: Config, opened: contextlib.AsyncExitStack) -> None:
        self._opened = opened
        self._host = config.host
        self._scheme = "https" if config_files.uses_https(config) else "http"
        self.devices = self._bind(config.host, config.device_port, "device")
        self.devices_plain = (
            None if config.device_plain_port is None else self._bind(LOOPBACK, config.device_plain_port, "plain device")
        )
        self._api = self._bind(config.host, config.api_port, "API")
        self._analytics = self._bind(config.host, config.analytics_port, "analytics")
        self.http = [self._api, self._analytics]
        self.api_port = doors.port_of(self._api)
        if not config_files.is_loopback(config.host) and config.host not in doors.EVERY_ADDRESS:
            # Health and metrics are asked on the API port's loopback side, which one specific address leaves out.
            self.http.append(self._bind(LOOPBACK, self.api_port, "health"))

    @property
    def api_url(self) -> str:
        """The API door's address, one that can be connected to."""
        return f"{self._scheme}://{self._address(self._api)}"

    def ready_line(self, ca: Path) -> str:
        """`ready api=URL analytics=URL devices=HOST:PORT ca=PATH`, with addresses one can connect to."""
        analytics, devices = self._address(self._analytics), self._address(self.devices)
        return f"ready api={self.api_url} analytics={self._scheme}://{analytics} devices={devices} ca={ca}"

    def _address(self, door: socket.socket) -> str:
        host = LOOPBACK if self._host in doors.EVERY_ADDRESS else self._host
        return doors.address_text(host, doors.port_of(door))

    def _bind(self, host: str, port: int, purpose: str) -> socket.socket:
        door = doors.bind(host, port, purpose=purpose)
        self._opened.callback(door.close)
        return door


async def _run(
    config: Config,
    store: Store,
    ways_in: _Doors,
    material: tls_local.Material,
    carrier: CarrierLines,
    webhooks: WebhookSender,
    *,
    announce: Callable[[str], None],
) -> None:
    """Wire the parts, open the doors, wait for the signal to stop, and stop in order."""
    tls = tls_local.context(material)
    stop = _stop_signal()
    hints = signals_local.LocalSignals()
    maker = await ids_of(store)
    hasher = passwords.Passwords(config.passwords)
    ready = asyncio.Event()
    intake = IngestDoor(
        store=store,
        settings=config.ingest,
        scoring_grace_s=config.scoring.grace_s,
        max_items=config.devices.max_items,
        ids=maker,
        signals=hints,
        clock=now_ms,
    )
    scorer = Scorer(store=store, scoring=config.scoring, harsh=config.harsh, ids=maker, signals=hints, clock=now_ms)
    eraser = Eraser(store=store, signals=hints, let_go=intake.let_go_of, stopwatch=time.perf_counter)
    presence = PresenceKeeper(
        store=store,
        ids=maker,
        signals=hints,
        clock=now_ms,
        absent_s=config.push.absent_s,
    )
    await presence.begin()
    listener = DeviceListener(
        config=config.devices, intake=intake, presence=presence, admit=_admission(store), ids=maker, clock=now_ms
    )
    calls = Calls(store=store, devices=listener.roster, settings=config.rpc, ids=maker, signals=hints, clock=now_ms)
    rim = Rim(
        store=store,
        ids=maker,
        clock=now_ms,
        signals=hints,
        tokens=tokens.Tokens(key=await _signing_key(store), settings=config.tokens),
        passwords=hasher,
        limits=limits.Limits(accounts=config.accounts, rest=config.rest),
        carrier_actions=Batches(store=store, signals=hints, ids=maker, clock=now_ms),
        unpauser=Unpauser(store=store, carrier=carrier, ids=maker, clock=now_ms, timeout_s=config.carrier.timeout_s),
        calls=calls,
        mounter=Mounter(store=store, calls=calls, ids=maker, signals=hints, clock=now_ms, settings=config.rpc),
        time_zone=zoneinfo.ZoneInfo(config.time_zone),
        ready=ready.is_set,
        heard_of=listener.roster.heard_of,
        imports=ImportDesk(config.rest),
        api_port=ways_in.api_port,
        behind_proxy=config.behind_proxy,
    )
    http = http_uvicorn.HttpDoors(
        create_app(rim), ways_in.http, tls=tls if config_files.uses_https(config) else None, clock=now_ms
    )
    hints.subscribe(
        observe.SIGNAL_CREDENTIAL_ENDED, lambda sensor: listener.roster.drop(ids.SensorId(sensor), CREDENTIAL_ENDED)
    )
    pusher = Pusher(store=store, sender=webhooks, settings=config.push, signals=hints, clock=now_ms)
    keeper = Keeper(store=store, settings=config.push, clock=now_ms)
    overdue = Overdue(store=store, settings=config.rpc, ids=maker, signals=hints, clock=now_ms)
    on_rows = [*_account_work(config, store, hints, ways_in.api_url), overdue.run]
    async with asyncio.TaskGroup() as tasks:
        taking_in = tasks.create_task(intake.run())
        scoring = tasks.create_task(scorer.run())
        erasing = tasks.create_task(eraser.run())
        watching = tasks.create_task(presence.run(listener.roster.heard))
        pushing = tasks.create_task(pusher.run())
        keeping = tasks.create_task(keeper.run())
        sweeping = [tasks.create_task(run()) for run in on_rows]
        serving = tasks.create_task(http.run())
        async with listener:
            await listener.start_on(ways_in.devices, tls)
            if ways_in.devices_plain is not None:
                await listener.start_on(ways_in.devices_plain, None)
            await http.opened()
            _collect_rarely()
            ready.set()
            announce(ways_in.ready_line(material.ca))
            _log.info("serve.ready")
            await stop.wait()
            _log.info("serve.stopping")
            ready.clear()
            calls.stop()
            http.stop()
            pusher.stop()
            await listener.drain(DRAIN_S)
        intake.stop()
        await taking_in
        await serving
        await asyncio.wait([pushing], timeout=DRAIN_S)
        pushing.cancel()
        keeping.cancel()
        scoring.cancel()
        for each in sweeping:
            each.cancel()
        erasing.cancel()
        watching.cancel()
        await presence.finish()
    hasher.close()


def _carrier(config: Config, store: Store, opened: contextlib.AsyncExitStack) -> CarrierLines:
    """The carrier that is asked to lift pauses."""
    if not config.carrier.url:
        return carrier_simulated.SimulatedCarrier(store=store, clock=now_ms)
    carrier = carrier_http.HttpCarrier(config.carrier)
    opened.push_async_callback(carrier.close)
    return carrier


def _webhooks(config: Config, opened: contextlib.AsyncExitStack) -> WebhookSender:
    """What sends to customers' servers: to those in private networks only when that was allowed."""
    guard = webhook_addresses.AddressGuard(allow_private=config_files.pushes_into_private_networks(config))
    tls = tls_local.client_context(config.push.ca)
    webhooks = webhook_http.HttpWebhooks(timeout_s=config.push.timeout_s, guard=guard, tls=tls)
    opened.push_async_callback(webhooks.close)
    return webhooks


def _account_work(
    config: Config, store: Store, hints: signals_local.LocalSignals, api_url: str
) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """What goes on in the background for accounts: mails are sent, what has expired is swept up."""
    mailer: Mailer = (
        mail_smtp.SmtpMailer(config.mail, clock=now_ms)
        if config.mail.host
        else mail_folder.MailFolder(
            Path(config.mail.folder or config.data / "mail"), sender=config.mail.sender, clock=now_ms
        )
    )
    postman = Postman(
        store=store,
        mailer=mailer,
        link_hours=config.accounts.link_hours,
        public_url=config.accounts.public_url or api_url,
        signals=hints,
        clock=now_ms,
    )
    return [postman.run, Sweeper(store=store, clock=now_ms).run]


def _collect_rarely() -> None:
    """Let the garbage collector look only for cycles that connections and requests leave behind.

    What the program is made of stays for ever. A batch holds thousands of tuples for some milliseconds, none of them in
    a cycle: with the usual threshold of 700 they would be walked over and over.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


def _admission(store: Store) -> Admit:
    """Who may connect as a device: whoever knows a sensor's credential."""

    async def admit(user_name: str) -> ids.SensorId | None:
        return await store.read_short(lambda tx: sensors.holder_of(tx, user_name))

    return admit


def _stop_signal() -> asyncio.Event:
    """Set by SIGTERM or SIGINT. A second SIGINT ends the process at once: the store survives that."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    return stop


def _material(config: Config, folder: Path) -> tls_local.Material:
    if config.tls.cert:
        return tls_local.supplied(Path(config.tls.cert), Path(config.tls.key))
    return tls_local.made(folder / "tls", host=config.host, now_ms=now_ms())


async def _signing_key(store: Store) -> bytes:
    fresh = secrets.token_bytes(64)
    return await store.write(lambda tx: kept_secrets.made_once(tx, "token-key", fresh))


async def ids_of(store: Store, *, clock_sequence: int = 0) -> ids.TimeIds:
    """The id maker of this installation. A command beside the server takes a clock sequence of its own."""
    fresh = secrets.token_bytes(6)
    node = await store.write(lambda tx: kept_secrets.made_once(tx, "node", fresh))
    return ids.TimeIds(node=int.from_bytes(node), clock_sequence=clock_sequence)
