"""A shared database, for operators: its processes, its size, and the partitions of its tables.

Only PostgreSQL. Requirements on a server: `requirements.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import text

from tripline.store.database import partitions, requirements
from tripline.store.database.partitions import Partition
from tripline.store.database.requirements import Server
from tripline.store.transactions import ReadTx

_CLOCK: Final = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS int8)"
_NODES: Final = text(
    f"SELECT name, roles, {_CLOCK} - seen_ms AS silent_ms, {_CLOCK} - started_ms AS age_ms FROM node"
    " WHERE roles <> '' ORDER BY roles, name"
)
_CONNECTIONS: Final = text(
    "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
    " current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
)
_CHECKSUMS: Final = text("SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()")
ASIDE_COUNTED: Final = 1_000_000


class Node(msgspec.Struct, frozen=True):
    """A process that uses the database, and how long it has said nothing."""

    name: str
    roles: str
    silent_ms: int
    age_ms: int


class Shared(msgspec.Struct, frozen=True):
    """What was found."""

    server: Server
    clock_ms: int
    """The clock of the database."""
    ahead_ms: int
    """How far the clock of this machine is ahead of it."""
    nodes: Sequence[Node]
    connections: int
    connections_allowed: int
    checksum_failures: int
    """Blocks that the server read and that were not as it had written them, since its statistics were reset; 0 also
    where it keeps no checksums."""
    partitions_wanted: Sequence[Partition]
    partitions_missing: Sequence[Partition]
    aside: int
    """Rows in the partitions for everything else, counted up to `ASIDE_COUNTED` for each table."""


def look(tx: ReadTx, *, clock: Callable[[], int]) -> Shared:
    """Read the whole report. `clock` is that of this machine, epoch ms."""
    before_ms = clock()
    now_ms = clock_ms(tx)
    ahead_ms = (before_ms + clock()) // 2 - now_ms
    wanted = partitions.wanted(now_ms)
    connections: Any = tx.all(_CONNECTIONS)[0]
    return Shared(
        server=requirements.look(tx.connection),
        clock_ms=now_ms,
        ahead_ms=ahead_ms,
        nodes=nodes(tx),
        connections=connections[0],
        connections_allowed=connections[1],
        checksum_failures=tx.all(_CHECKSUMS)[0][0] or 0,
        partitions_wanted=wanted,
        partitions_missing=partitions.missing(tx, wanted),
        aside=partitions.aside(tx, limit=ASIDE_COUNTED),
    )


def clock_ms(tx: ReadTx) -> int:
    """The clock of the database, epoch ms."""
    return int(tx.all(text(f"SELECT {_CLOCK}"))[0][0])


def nodes(tx: ReadTx) -> list[Node]:
    """The processes that have not left."""
    rows: Sequence[Any] = tx.all(_NODES)
    return [Node(*row) for row in rows]
