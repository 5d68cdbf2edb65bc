"""Works out anew from all scores the sums that a store should hold."""

from sqlalchemy import select

from tripline.domain.trends import NOTHING, Sums
from tripline.store.scores import sums
from tripline.store.tables import driving_score
from tripline.store.transactions import ReadTx


def recomputed(tx: ReadTx) -> dict[tuple[str, str, int, int, str], Sums]:
    """By subject, period, day, policy and kind, as `sums.kept` answers them."""
    every = [row[0] for row in tx.all(select(driving_score.c.trip_no))]
    found: dict[tuple[str, str, int, int, str], Sums] = {}
    for share in sums.shares(tx, every).values():
        for key in sums._keys(share):
            found[key] = found.get(key, NOTHING).plus(share.sums, 1)
    return found
