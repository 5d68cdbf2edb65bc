"""Watching a device beside a running server, for `tripline device check`.

The command adds a watch of the sensor (a row that expires), the pipeline records incoming messages, and the command
reads the records. It writes twice, and once every few minutes: each write of another process makes the pipeline reload
its tracks.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tripline import clock
from tripline.adapters import data_folder
from tripline.config import Config
from tripline.maintenance import stores
from tripline.services import device_check as reports
from tripline.services.device_check import MESSAGE, NOTE, SCOPE, Listener, ReportLine, Watched
from tripline.services.doctor import SILENT_MS
from tripline.store.database import inspection
from tripline.store.devices import watches
from tripline.store.transactions import Store, WriteTx

WATCH_MS: Final = 300_000
"""Duration of a watch without renewal."""
RENEW_MS: Final = 120_000
"""Remaining time that triggers a renewal of the watch."""
MOST_WATCHED: Final = 50
POLL_S: Final = 0.25
_NO_SERVER: Final = "no server runs on this data folder: start it with `tripline serve`; waiting"
_NO_GATEWAY: Final = "no server with a device listener uses this store: start one with `tripline serve`; waiting"
_GATEWAYS: Final = frozenset({"all", "gateway"})
_SERVED: Final = "the server runs"

_Served = Callable[[Store], Awaitable[str | None]]
"""The reason why no messages can arrive; None if they can."""


class Busy(Exception):  # noqa: N818  an answer to the caller
    """Too many devices are watched already; the text is shown as one line."""


class Order(msgspec.Struct, frozen=True):
    """The device to watch, and when to stop."""

    token: str
    for_s: float | None = None
    count: int | None = None
    """Number of messages after which to end."""


class Received(msgspec.Struct):
    """Counts of received messages."""

    messages: int = 0
    rejected: int = 0


async def listened(config: Config, order: Order, *, tell: Callable[[ReportLine], None]) -> Received:
    """Watch until the order is complete, or cancelled. Raises `NotFound` for an unknown token, and `Busy`."""
    served = _served_of(config)
    async with stores.store_of(config) as store:
        watched = await store.read(lambda tx: reports.find(tx, order.token, now_ms=clock.now_ms()))
        first = await store.read(lambda tx: reports.begin(tx, watched))
        listener = Listener(watched, first, max_items=config.devices.max_items)
        watch = _Watch(store, watched)
        await watch.prolong()
        try:
            return await _listen(store, served, order, listener, watch, tell)
        finally:
            await watch.end()


class _Watch:
    """The row that makes the pipeline record the device's messages."""

    def __init__(self, store: Store, watched: Watched) -> None:
        self._store = store
        self.watched = watched
        self._until_ms = 0

    async def prolong(self) -> None:
        """Renew the watch if it expires soon or was ended."""
        now_ms = clock.now_ms()
        running = await self._store.read(lambda tx: watches.watched(tx, SCOPE, now_ms=now_ms))
        until_ms = running.get(self.watched.sensor_id, 0)
        if until_ms - now_ms > RENEW_MS:
            return
        if until_ms == 0 and self._until_ms:
            await self._store.read(lambda tx: reports.still_there(tx, self.watched.sensor_id, now_ms=now_ms))
        if until_ms == 0 and len(running) >= MOST_WATCHED:
            raise Busy(f"{MOST_WATCHED} devices are listened to already; end one of the commands.")
        # The random milliseconds distinguish our watch from one that another command renews at the same moment.
        until_ms = self._until_ms = now_ms + WATCH_MS + secrets.randbelow(1000)

        def write(tx: WriteTx) -> None:
            watches.watch(tx, SCOPE, self.watched.sensor_id, until_ms=until_ms)

        await self._store.write(write)

    async def end(self) -> None:
        """End the watch, unless another command has renewed it."""
        until_ms = self._until_ms
        await self._store.write(lambda tx: watches.end(tx, SCOPE, self.watched.sensor_id, until_ms=until_ms))


def _served_of(config: Config) -> _Served:
    """The check for a server that receives device messages: on the data folder, or any on the shared store."""
    if config.store.url:

        async def has_listener(store: Store) -> str | None:
            nodes = await store.read(inspection.nodes)
            alive = (node for node in nodes if node.silent_ms < SILENT_MS)
            return None if any(_GATEWAYS & {*node.roles.split(",")} for node in alive) else _NO_GATEWAY

        return has_listener
    folder = data_folder.existing(config.data)

    async def is_held(store: Store) -> str | None:
        return None if data_folder.is_held(folder) else _NO_SERVER

    return is_held


async def _listen(
    store: Store, served: _Served, order: Order, listener: Listener, watch: _Watch, tell: Callable[[ReportLine], None]
) -> Received:
    heard = Received()
    begun_ms = clock.now_ms()
    for told in listener.beginning(begun_ms):
        tell(told)
    trouble: str | None = None
    while True:
        now_ms = clock.now_ms()
        before, trouble = trouble, await served(store)
        if trouble is not before:
            tell(ReportLine(now_ms, NOTE, trouble or _SERVED))
        look = await store.read(lambda tx: reports.look(tx, watch.watched, listener.look))
        for told in listener.told(look, now_ms):
            if told.kind == MESSAGE:
                if heard.messages == order.count:
                    return heard
                heard.messages += 1
                heard.rejected += told.is_rejected
            tell(told)
        if heard.messages == order.count or (order.for_s is not None and now_ms - begun_ms >= order.for_s * 1000):
            return heard
        await watch.prolong()
        await asyncio.sleep(POLL_S)
