"""How far each partition of a topic is stored, kept in the transaction that stores it.

The bus delivers at least once: a process that dies between the store's commit and the bus's gets messages again, and
one that was away too long may write while another has its partition. Both are told here: what lies before the position
is stored, and a batch that does not begin at the position is somebody else's by now.

Not here: reading the bus (`adapters/`), what is stored (`services/ingest/`).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sqlalchemy import bindparam, select, update

from tripline.store.bulk import Bulk
from tripline.store.tables import bus_position
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Part(NamedTuple):
    """A partition of a topic."""

    log: str
    """The topic, and its id: a topic made anew under the same name is another one."""
    part: int


class MovedError(Exception):
    """Another process has stored messages of these partitions since they were read."""


_NEXT: Final = Hot(
    select(bus_position.c.next_offset).where(
        bus_position.c.log == bindparam("log"), bus_position.c.part == bindparam("part")
    ),
    *("log", "part"),
)
_FIRST: Final = Bulk(bus_position, "log", "part", "next_offset", on_conflict="ON CONFLICT DO NOTHING")
_ADVANCE: Final = (
    update(bus_position)
    .where(
        bus_position.c.log == bindparam("of_log"),
        bus_position.c.part == bindparam("of_part"),
        bus_position.c.next_offset == bindparam("expected"),
    )
    .values(next_offset=bindparam("behind"))
)


def positions(tx: ReadTx, parts: Iterable[Part]) -> dict[Part, int]:
    """The first offset of each partition that is not stored yet; 0 of one that nothing was stored of."""
    found = {}
    for part in parts:
        rows = tx.hot(_NEXT, *part)
        found[part] = rows[0][0] if rows else 0
    return found


def advance(tx: WriteTx, moves: Mapping[Part, tuple[int, int]]) -> None:
    """Go on from where each partition was to behind what this transaction stores. Raises `MovedError`.

    First of all in the transaction: the rows stay locked until its end, in one order.
    """
    for part, (expected, behind) in sorted(moves.items()):
        if expected == 0:
            _FIRST.insert(tx, [*part, 0])
        values = {"of_log": part.log, "of_part": part.part, "expected": expected, "behind": behind}
        if tx.run(_ADVANCE, values) != 1:
            raise MovedError
