"""The id maker of an installation, for the server and for commands beside it."""

import os
import secrets
import socket

from tripline.domain import ids
from tripline.services.nodes import Node
from tripline.store.database import keys as kept_secrets
from tripline.store.transactions import Store


async def ids_of(store: Store, *, clock_sequence: int = 0) -> ids.TimeIds:
    """The id maker of this installation. On a shared store it numbers nothing before it is in a slot (`node_of`);
    otherwise a command beside the server takes a clock sequence of its own."""
    fresh = secrets.token_bytes(6)
    node = await store.write(lambda tx: kept_secrets.made_once(tx, "node", fresh))
    return ids.TimeIds(node=int.from_bytes(node), clock_sequence=0 if store.shared else clock_sequence)


def node_of(store: Store, maker: ids.TimeIds, *, roles: str) -> Node:
    """This process's entry in the shared store."""
    return Node(store=store, ids=maker, name=f"{socket.gethostname()}:{os.getpid()}", roles=roles)
