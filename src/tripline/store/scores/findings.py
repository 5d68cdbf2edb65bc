"""Rows of the findings of trips.

The scorer works for everyone, so nothing here takes a scope. Not here: their content (`services/scores/findings.py`),
reading them with the score (`reads.py`).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy import bindparam, delete

from tripline.store.bulk import Bulk
from tripline.store.tables import trip_findings
from tripline.store.transactions import WriteTx

VERSION: Final = 8
"""Of the content. Increase it when a field changes, or when judging finds something else in the same samples: trips
with an earlier version are judged again whenever they are explained."""


class Found(NamedTuple):
    """The findings of one trip."""

    trip_no: int
    policy: int
    body: bytes
    """Empty: none are stored."""


def keep(tx: WriteTx, found: Iterable[Found], *, now_ms: int) -> None:
    """Store the findings of these trips; equal ones stay as they are."""
    values: list[int | bytes] = []
    for each in found:
        if each.body:
            values += (each.trip_no, VERSION, each.policy, now_ms, each.body)
        else:
            tx.run(FORGET, {"of_trip": each.trip_no})
    _FINDINGS.insert(tx, values)


FORGET: Final = delete(trip_findings).where(trip_findings.c.trip_no == bindparam("of_trip"))
"""Delete the findings of a trip."""
_FINDINGS: Final = Bulk(
    trip_findings,
    *("trip_no", "version", "policy", "changed_ms", "body"),
    on_conflict="ON CONFLICT (trip_no) DO UPDATE SET version = excluded.version, policy = excluded.policy,"
    " changed_ms = excluded.changed_ms, body = excluded.body WHERE trip_findings.version <> excluded.version"
    " OR trip_findings.policy <> excluded.policy OR trip_findings.body <> excluded.body",
)
