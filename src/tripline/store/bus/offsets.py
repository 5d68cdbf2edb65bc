"""The stored position in each partition of a topic, written in the transaction that stores the messages.

The bus delivers at least once: a process that dies between the store's commit and the bus's commit receives messages
again, and one that was away too long may write while another owns its partition. The position detects both: messages
before it are already stored. A log is a topic with its id, so a topic recreated under the same name starts over.

Not here: reading the bus (`adapters/`), storing messages (`services/ingest/`).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy import bindparam, select, update

from tripline.ports.outages import Outage
from tripline.store.bulk import Bulk
from tripline.store.tables import bus_position
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Move(NamedTuple):
    """Offsets of one partition that are stored together."""

    first: int
    behind: int
    """One more than the last."""


class MovedError(Outage):
    """Some of these messages are stored already, by another process or before this one started."""


_NEXT: Final = Hot(
    select(bus_position.c.partition, bus_position.c.next_offset).where(bus_position.c.log == bindparam("of_log")),
    "of_log",
)
_FIRST: Final = Bulk(bus_position, "log", "partition", "next_offset", on_conflict="ON CONFLICT DO NOTHING")
_ADVANCE: Final = Hot(
    update(bus_position)
    .where(
        bus_position.c.log == bindparam("of_log"),
        bus_position.c.partition == bindparam("of_partition"),
        bus_position.c.next_offset <= bindparam("first"),
    )
    .values(next_offset=bindparam("behind"))
    .returning(bus_position.c.partition),
    *("of_log", "of_partition", "first", "behind"),
)


def positions(tx: ReadTx, log: str) -> dict[int, int]:
    """Map each partition to its first unstored offset; partitions without stored messages are absent."""
    return dict(tx.hot(_NEXT, log))


def advance(tx: WriteTx, log: str, moves: Mapping[int, Move]) -> None:
    """Store these offsets of each partition. Raises `MovedError`.

    Call it first in the transaction: the rows are locked in one order, until its end.
    """
    for partition, move in sorted(moves.items()):
        if not tx.hot(_ADVANCE, log, partition, *move):
            _FIRST.insert(tx, [log, partition, 0])
            if not tx.hot(_ADVANCE, log, partition, *move):
                raise MovedError("Stored already.")
