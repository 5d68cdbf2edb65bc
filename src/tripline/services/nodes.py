"""The processes that share a store: slots of row numbers, heartbeats, and the burial of silent processes.

A process that was silent for too long (stopped, cut off) is buried: it continues as a new node, in another slot, and
listeners of `renewed` announce their state again. On SQLite a node is just an id.
"""

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Final

from tripline.domain.ids import TimeIds
from tripline.observe import logger
from tripline.ports.outages import Outage
from tripline.store.database import nodes
from tripline.store.transactions import Store

BEAT_S: Final = 2.0
DEAD_MS: Final = 10_000
"""Five heartbeats were missed."""
PATIENCE_S: Final = 12.0
"""How long the store must be reachable before a process is buried: after an outage all get time to send a heartbeat."""
LEAVE_S: Final = 3.0
log = logger("nodes")


class Node:
    """This process. `id` changes after it was buried."""

    def __init__(self, *, store: Store, ids: TimeIds, name: str, roles: str) -> None:
        self._store = store
        self._ids = ids
        self._name = name
        self._roles = roles
        self._slot = 0
        self.id = _new_id()
        self._renewed: list[Callable[[], None]] = []
        self._beating = asyncio.Lock()

    @property
    def shared(self) -> bool:
        return self._store.shared

    def renewed(self, listener: Callable[[], None]) -> None:
        """Call the listener when this process continues as another node."""
        self._renewed.append(listener)

    async def enter(self) -> None:
        """Take a slot; no row may be numbered before. Raises `Outage`."""
        if self._store.shared:
            node_id = self.id
            self._slot = await self._store.write(
                lambda tx: nodes.enter(tx, node_id, name=self._name, roles=self._roles), locked=True
            )
            self._ids.reslot(self._slot)
            log.info("node.entered", slot=self._slot, node=node_id, roles=self._roles)

    async def run(self) -> None:
        while self._store.shared:
            await asyncio.sleep(BEAT_S)
            try:
                async with asyncio.timeout(DEAD_MS / 1000):
                    await self.beat()
            except (Outage, TimeoutError) as outage:
                log.warning("node.away", reason=str(outage) or "The store does not answer.")
            except Exception:
                log.exception("node.failed")

    async def beat(self) -> None:
        """Send a heartbeat; continue as a new node if this one was buried. Raises `Outage`."""
        async with self._beating:
            slot, node_id = self._slot, self.id
            if await self._store.write(lambda tx: nodes.beat(tx, slot, node_id), locked=True):
                return
            log.warning("node.lost", slot=slot, node=node_id)
            # Calls and sessions of the buried id are ended, so its id must not be used any more.
            self.id = _new_id()
            await self.enter()
        for listener in self._renewed:
            listener()

    @contextlib.asynccontextmanager
    async def present(self) -> AsyncIterator[None]:
        await self.enter()
        trouble: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(self.run())
            try:
                yield
            except Exception as error:  # noqa: BLE001  raised below, as itself and not as a group
                trouble = error
            finally:
                beating.cancel()
        await self.leave()
        if trouble is not None:
            raise trouble

    async def leave(self) -> None:
        """Announce that this process is leaving, unless the store is down."""
        if not self._store.shared:
            return
        slot, node_id = self._slot, self.id
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._store.write(lambda tx: nodes.leave(tx, slot, node_id), locked=True)
        except (Outage, TimeoutError) as outage:
            log.warning("node.away", reason=str(outage) or "The store does not answer.")


class Undertaker:
    """Ends the sessions and calls of lost nodes."""

    def __init__(self, *, store: Store) -> None:
        self._store = store
        self._since_s: float | None = None

    async def run(self) -> None:
        while self._store.shared:
            try:
                await self.look(asyncio.get_running_loop().time())
            except Outage as outage:
                # No process could send heartbeats while the store was down: start waiting again.
                self._since_s = None
                log.warning("node.away", reason=str(outage))
            except Exception:
                self._since_s = None
                log.exception("node.failed")
            await asyncio.sleep(BEAT_S)

    async def look(self, now_s: float) -> int:
        """Bury dead nodes, once the store has been reachable for a while; return their number. Raises `Outage`."""
        found = await self._store.read_short(lambda tx: nodes.silent(tx, for_ms=DEAD_MS))
        if self._since_s is None:
            self._since_s = now_s
        if not found or now_s - self._since_s < PATIENCE_S:
            return 0
        dead = await self._store.write(lambda tx: nodes.bury(tx, for_ms=DEAD_MS), locked=True)
        for each in dead:
            log.warning("node.buried", slot=each.slot, node=each.id, name=each.name)
        return len(dead)


def _new_id() -> str:
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))
