"""The program: opens its resources, starts and stops the parts in order.

Starting order: steps that can fail at once come first (settings, data folder, certificate, ports, database), then the
parts, then the listeners open and one line reports it. Stopping is the reverse: listeners close, accepted messages are
committed and acknowledged, the workers stop, the store closes.

Not here: the list of parts (`wiring/server.py`), the choice of adapters by the settings (`wiring/adapters.py`).
"""

import asyncio
import contextlib
import gc
import os
import secrets
import signal
import ssl
from collections.abc import Callable, Coroutine, Mapping
from functools import cache, partial
from typing import Any, Final

from msgspec.structs import replace

from tripline import clock, numbering, observe
from tripline.adapters import data_folder, sockets
from tripline.adapters.http import listeners as http_listeners
from tripline.adapters.http.bounds import Bounds
from tripline.adapters.tls.renewal import ServedCertificates
from tripline.config import Config
from tripline.config import files as config_files
from tripline.config.files import Origin
from tripline.gateway.listener import DeviceListener
from tripline.gateway.tls import TlsListener, TlsShell
from tripline.gateway.turns import Turns
from tripline.ports.signals import Signals
from tripline.services import settings
from tripline.services.readiness import Readiness
from tripline.store.database import keys as kept_secrets
from tripline.store.transactions import Crew, Store
from tripline.wiring import adapters, ingest, server
from tripline.wiring.adapters import Listeners
from tripline.wiring.server import Server

HTTPS_HANDSHAKE_S: Final = 15.0
GOODBYE_S: Final = 0.5
"""An idle client reads our TLS goodbye only at its next request, so we do not wait for its answer."""
DRAIN_S: Final = 5.0
"""After a stop, how long devices' received frames may take to be committed and acknowledged."""
_log = observe.logger("app")


async def serve(config: Config, *, origins: Mapping[str, Origin], announce: Callable[[str], None]) -> None:
    """Run the server until SIGTERM or SIGINT; `origins`: the sources of settings that differ from the defaults;
    `announce` receives the ready line. Raises one of `wiring.adapters.troubles()`."""
    observe.configure_logging(level=config.log.level, as_json=config.log.format == "json")
    folder = data_folder.prepare(config.data)
    config, bounds = _within_files(config)
    async with contextlib.AsyncExitStack() as opened:
        hold = data_folder.Hold(folder)
        opened.callback(hold.release)
        ways_in = Listeners(config, opened)
        if config_files.does(config, "api"):
            hold.tell(ways_in.api_url)
        store = adapters.store(config, folder)
        opened.push_async_callback(store.close)
        # After the store: certificates without a database would look like the remains of an installation.
        certificates = adapters.certificates(config, folder, now_ms=clock.now_ms())
        others = adapters.others(config, store=store, clock=clock.now_ms, opened=opened)
        maker = await numbering.ids_of(store)
        node = numbering.node_of(store.of(Crew.VITALS), maker, roles=",".join(config.roles))
        await node.enter()
        opened.push_async_callback(node.leave)
        signals = adapters.signals(config)
        base = ingest.Base(store=store, ids=maker, signals=signals, clock=clock.now_ms)
        shown = certificates if ways_in.shows_certificate else None
        readiness = server.readiness_of(
            config,
            base,
            others,
            folder=folder,
            certificate_end_ms=lambda: shown.ends_ms if shown else None,
            authority_end_ms=lambda: shown.authority_ends_ms if shown else None,
        )
        made = server.wired(
            config,
            base,
            others,
            node=node,
            token_key=await _signing_key(store),
            api_port=ways_in.api_port,
            api_url=ways_in.api_url,
            readiness=readiness,
            settings=cache(partial(settings.in_force, config, origins)),
        )
        make_topics = partial(adapters.topics_made, config)
        await _run(made, ways_in, bounds, certificates, signals, readiness, make_topics=make_topics, announce=announce)
    _log.info("serve.stopped")


async def _run(
    made: Server,
    ways_in: Listeners,
    bounds: Bounds,
    certificates: ServedCertificates,
    signals: Signals,
    readiness: Readiness,
    *,
    make_topics: Callable[[], Coroutine[Any, Any, None]],
    announce: Callable[[str], None],
) -> None:
    """Start the parts, open the listeners, wait for the signal to stop, and stop in order."""
    tls = certificates.context
    renew: ingest.Worker = partial(certificates.run, clock.now_ms)
    stop = _stop_signal()
    http = http_listeners.HttpListeners(
        made.http,
        ways_in.http,
        tls=partial(_inside_tls, tls) if ways_in.uses_https else None,
        clock=clock.now_ms,
        bounds=bounds,
        is_known=made.contexts.accounts.limits.knows if made.contexts else lambda address: False,
    )
    if made.presence is not None:
        await made.presence.begin()
    async with asyncio.TaskGroup() as tasks:
        carrying = tasks.create_task(signals.run())
        serving = tasks.create_task(http.serve())
        taking_in = None if made.ingress is None else tasks.create_task(made.ingress.intake.run())
        pushing = None if made.pusher is None else tasks.create_task(made.pusher.run())
        working = [tasks.create_task(run()) for run in (*made.workers, make_topics, renew)]
        async with contextlib.AsyncExitStack() as opened:
            if made.ingress is not None:
                await _open(await opened.enter_async_context(made.ingress.listener), ways_in, tls)
            await http.opened.wait()
            await readiness.looked()
            _keep_for_good()
            readiness.opened()
            announce(ways_in.ready_line(certificates.material.ca))
            _log.info("serve.ready")
            await stop.wait()
            _log.info("serve.stopping")
            readiness.stopping()
            made.stop()
            http.stop()
            if made.ingress is not None:
                # Allow some time to acknowledge received messages.
                await made.ingress.listener.drain(DRAIN_S)
        if made.ingress is not None and taking_in is not None:
            made.ingress.intake.stop()
            await taking_in
        await serving
        if pushing is not None:
            await asyncio.wait([pushing], timeout=DRAIN_S)
            pushing.cancel()
        for each in working:
            each.cancel()
        await made.positions.finish()
        if made.presence is not None:
            await made.presence.finish()
        carrying.cancel()
    if made.contexts is not None:
        made.contexts.accounts.passwords.close()


def _within_files(config: Config) -> tuple[Config, Bounds]:
    """The settings with as many connections of devices as the system permits, and the bounds of the HTTP listeners."""
    takes_devices = config_files.does(config, "gateway")
    wanted = sockets.Shares(
        devices=config.devices.max_connections if takes_devices else 0,
        http_listener=config.rest.connections,
        http_listeners=3 if config_files.does(config, "api") else 1,
    )
    shares = sockets.allow(wanted)
    if shares != wanted:
        _log.warning("serve.few_files", devices=shares.devices, http_listener=shares.http_listener)
    bounds = Bounds(
        connections=shares.http_listener,
        address_connections=config.rest.address_connections,
        behind_proxy=config.behind_proxy,
    )
    if takes_devices:
        config = replace(config, devices=replace(config.devices, max_connections=shares.devices))
    return config, bounds


def _inside_tls(context: ssl.SSLContext, make: http_listeners.Make) -> http_listeners.Make:
    """The factory of the protocols of HTTPS sockets, given the one of the protocols inside TLS."""
    turns = Turns(asyncio.get_running_loop())
    listener = TlsListener(context, make, turns, handshake_s=HTTPS_HANDSHAKE_S, shutdown_s=GOODBYE_S, of_devices=False)
    return partial(TlsShell, listener)


async def _open(listener: DeviceListener, ways_in: Listeners, tls: ssl.SSLContext) -> None:
    """Let devices in."""
    if ways_in.devices is not None:
        await listener.start_on(ways_in.devices, tls)
    if ways_in.devices_plain is not None:
        await listener.start_on(ways_in.devices_plain, None)


def _keep_for_good() -> None:
    """Exclude the program's own objects from garbage collection: they stay for ever, with a few thousand that are
    garbage by now and would take 0.1 s to find. Connections and requests leave cycles, which are still collected."""
    gc.freeze()
    # A batch of messages holds thousands of tuples for some milliseconds, none of them in a cycle. With the usual 700
    # they would be walked over and over.
    gc.set_threshold(50_000, 10, 10)


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


async def _signing_key(store: Store) -> bytes:
    fresh = secrets.token_bytes(64)
    return await store.write(lambda tx: kept_secrets.made_once(tx, "token-key", fresh))
