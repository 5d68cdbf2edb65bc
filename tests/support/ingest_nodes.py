"""Several pipelines on one PostgreSQL database, each as a process of its own would have it: store, numbers, memory."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.support import databases, stores
from tests.support.ingest_rig import BrokenStore, Rig, seed_rows
from tripline.domain.ids import TimeIds
from tripline.store.database.postgres import PostgresStore

NOWHERE = stores.Database(None)  # type: ignore[arg-type]


class Node(Rig):
    """One of them; what it does not do it does not know of the others."""

    def __init__(self, url: str, slot: int) -> None:
        self.url = url
        self.slot = slot
        super().__init__(NOWHERE)

    def start(self) -> None:
        """Connect, and know nothing."""
        self.ids = TimeIds(node=1, slot=self.slot)
        self.store = BrokenStore(PostgresStore(self.url, readers=1, writers=2))
        self.know_nothing()

    def meanwhile(self, does: Callable[[], Any], *, times: int = 1) -> None:
        """Let something happen between the reading and the placing of this node's next batches."""
        check = self.pipeline._check
        left = [times]

        async def interrupted(*args: Any) -> Any:
            checked = await check(*args)
            if left[0]:
                left[0] -= 1
                await asyncio.to_thread(does)
            return checked

        self.pipeline._check = interrupted  # type: ignore[method-assign]


@contextlib.contextmanager
def nodes(count: int = 2, *, url: str | None = None) -> Iterator[list[Node]]:
    """So many of them on a fresh database with what `ingest_rig` registers (or on the one at this address)."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(databases.fresh())
        found = [stack.enter_context(Node(url or database.url, slot)) for slot in range(count)]
        found[0].run(found[0].store.write(seed_rows))
        yield found
