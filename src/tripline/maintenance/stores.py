"""The store of a command, and the numbering of rows that it adds."""

import contextlib
import secrets
from collections.abc import AsyncIterator

from tripline import numbering as numbers
from tripline.adapters import data_folder
from tripline.config import Config
from tripline.domain import ids
from tripline.services import doctor
from tripline.store.transactions import Store
from tripline.wiring import adapters


@contextlib.asynccontextmanager
async def numbering(store: Store) -> AsyncIterator[ids.TimeIds]:
    """An id maker that does not collide with running servers: with its own slot, or its own clock sequence."""
    maker = await numbers.ids_of(store, clock_sequence=1 + secrets.randbelow(0x3FFF))
    node = numbers.node_of(store, maker, roles=doctor.COMMAND)
    async with node.present():
        yield maker


@contextlib.asynccontextmanager
async def store_of(config: Config) -> AsyncIterator[Store]:
    """The store at the current schema; with or without a running server."""
    # A shared store needs no data folder on the machine of the command.
    store = adapters.store(config, config.data if config.store.url else data_folder.prepare(config.data))
    try:
        yield store
    finally:
        await store.close()
