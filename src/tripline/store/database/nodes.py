"""Rows of nodes: the processes that use a shared database, by the slot of their row numbers (`domain/ids.py`).

A node renews its row every few seconds, by the clock of the database. After a node left, or was buried for its silence,
its row stays without roles until the slot is reused. That is not soon: the next node's row numbers must follow the last
ones of this node. Only on PostgreSQL.
"""

from collections.abc import Collection
from typing import Any, Final

import msgspec
from sqlalchemy import BigInteger, Select, Update, cast, delete, extract, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from tripline.domain.ids import SLOTS
from tripline.ports.outages import Outage
from tripline.store.tables import device_connection, device_send, node, push_claim
from tripline.store.transactions import ReadTx, WriteTx

QUARANTINE_MS: Final = 60_000
"""How long a slot stays free after its node was seen: clocks of machines differ, and numbers may run ahead."""
NO_ROLES: Final = ""
"""Of a node that is not there any more."""
GATEWAY_LOST: Final = "gateway_lost"
"""Why the sessions of a gateway ended that is not there any more."""
_LOCK: Final = 0x7472_6970
"""Held while a slot is taken: two nodes that start together do not take the same."""
NOW_MS: Final[ColumnElement[int]] = cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)
"""The clock of the database, which is one for all."""


class SlotsTaken(Outage):
    """Too many processes: every node number is in use."""


class Buried(Outage):
    """This node was taken for dead: write its state under its next id."""


class Silent(msgspec.Struct, frozen=True):
    """A node that was not seen for a while."""

    slot: int
    id: str
    name: str
    seen_ms: int


def enter(tx: WriteTx, node_id: str, *, name: str, roles: str) -> int:
    """Take a slot, one that was never used or is the longest unused; which. Raises `SlotsTaken`."""
    tx.all(select(func.pg_advisory_xact_lock(_LOCK)))
    rows = tx.all(
        select(
            node.c.slot, or_(node.c.roles != NO_ROLES, node.c.seen_ms >= NOW_MS - QUARANTINE_MS).label("in_use")
        ).order_by(node.c.seen_ms)
    )
    used = {row.slot: bool(row.in_use) for row in rows}
    never = next((slot for slot in range(SLOTS) if slot not in used), None)
    unused = next((slot for slot, in_use in used.items() if not in_use), None)
    slot = unused if never is None else never
    if slot is None:
        raise SlotsTaken(f"{SLOTS} processes use this database, or did a minute ago; wait, or end some.")
    tx.run(delete(node).where(node.c.slot == slot))
    values = {"slot": slot, "id": node_id, "name": name[:255], "roles": roles}
    tx.run(insert(node).values(**values, started_ms=NOW_MS, seen_ms=NOW_MS))
    return int(slot)


def beat(tx: WriteTx, slot: int, node_id: str) -> bool:
    """Renew the node's row; False if it was taken for dead meanwhile."""
    return tx.run(_mine(slot, node_id).values(seen_ms=NOW_MS)) == 1


def require(tx: WriteTx, node_id: str) -> None:
    """Raise `Buried` when the node was taken for dead; until the transaction ends it will not be."""
    there = select(node.c.slot).where(node.c.id == node_id, node.c.roles != NO_ROLES)
    # Shared with others' and with heartbeats; burying waits.
    if tx.one(there.with_for_update(read=True, key_share=True)) is None:
        raise Buried("Others took this process for dead.")


def leave(tx: WriteTx, slot: int, node_id: str) -> None:
    """Remove the node after it ended its sessions, and release its claims."""
    tx.run(_mine(slot, node_id).values(seen_ms=NOW_MS, roles=NO_ROLES))
    _release(tx, node_id)


def silent(tx: ReadTx, *, for_ms: int) -> list[Silent]:
    """Nodes that were not seen for so long."""
    return [Silent(*row) for row in tx.all(_silent(for_ms))]


def bury(tx: WriteTx, *, for_ms: int) -> list[Silent]:
    """End the sessions and claims of nodes silent for this long, except nodes that another process is burying.

    As far as we know, their sessions ended when the node last renewed its row.
    """
    dead = [Silent(*row) for row in tx.all(_silent(for_ms).with_for_update(skip_locked=True))]
    for each in dead:
        tx.run(update(node).where(node.c.slot == each.slot, node.c.id == each.id).values(roles=NO_ROLES))
        last_ms = func.greatest(device_connection.c.seen_ms, each.seen_ms)
        tx.run(
            update(device_connection)
            .where(device_connection.c.node_id == each.id, device_connection.c.connected.is_(True))
            .values(connected=False, changed_ms=last_ms, lost_ms=last_ms, reason=GATEWAY_LOST)
        )
        _release(tx, each.id)
    return dead


def gateways_since(tx: ReadTx, *, for_ms: int) -> int | None:
    """Since when there has been a gateway, epoch ms by the clock of the database; None: there is none now."""
    is_gateway = or_(node.c.roles.contains("gateway"), node.c.roles.contains("all"))
    since: int | None = tx.all(
        select(func.min(node.c.started_ms)).where(is_gateway, node.c.seen_ms >= NOW_MS - for_ms)
    )[0][0]
    return since


def of_roles(tx: ReadTx, roles: Collection[str], *, for_ms: int) -> frozenset[str]:
    """Ids of the nodes that have one of these roles and were seen in the last `for_ms`."""
    seen = tx.all(select(node.c.id, node.c.roles).where(node.c.seen_ms >= NOW_MS - for_ms))
    return frozenset(row.id for row in seen if not set(roles).isdisjoint(row.roles.split(",")))


def _silent(for_ms: int) -> Select[Any]:
    """Select the nodes that were not seen for so long."""
    columns = node.c.slot, node.c.id, node.c.name, node.c.seen_ms
    return select(*columns).where(node.c.roles != NO_ROLES, node.c.seen_ms < NOW_MS - for_ms).order_by(node.c.slot)


def _mine(slot: int, node_id: str) -> Update:
    """Update the node's row, unless it was taken for dead."""
    return update(node).where(node.c.slot == slot, node.c.id == node_id, node.c.roles != NO_ROLES)


def _release(tx: WriteTx, node_id: str) -> None:
    for table in (push_claim, device_send):
        tx.run(delete(table).where(table.c.node_id == node_id))
