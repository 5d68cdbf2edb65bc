"""Works out anew from all scores the sums that a store should hold, and from these the rows of rankings."""

from typing import NamedTuple

from sqlalchemy import select

from tripline.domain.trends import NOTHING, Subject, Sums
from tripline.store.scores import sums
from tripline.store.tables import account, driving_score, score_rank, vehicle
from tripline.store.transactions import ReadTx, WriteTx


def recomputed(tx: ReadTx) -> dict[tuple[str, str, int, int, str], Sums]:
    """By subject, period, day, policy and kind, as `sums.kept` answers them."""
    every = [row[0] for row in tx.all(select(driving_score.c.trip_no))]
    found: dict[tuple[str, str, int, int, str], Sums] = {}
    for share in sums.shares(tx, every).values():
        for key in sums._keys(share):
            found[key] = found.get(key, NOTHING).plus(share.sums, 1)
    return found


class Rank(NamedTuple):
    """A row of a ranking, in the order of the table."""

    subject: str
    period: str
    day: int
    kind: str
    company_id: str
    trips: int
    distance_m: int
    added_m: int
    burden: int
    harsh: int
    known_m: int
    badness: float
    harsh_rate: float


def ranks(tx: ReadTx) -> list[Rank]:
    """The rows of all rankings."""
    return sorted(Rank(*row) for row in tx.all(select(score_rank)))


def expected_ranks(tx: ReadTx) -> list[Rank]:
    """The rows that the scores give."""
    owners = {row[0]: row[1] for row in tx.all(select(vehicle.c.id, vehicle.c.company_id))}
    owners |= {row[0]: row[1] for row in tx.all(select(account.c.id, account.c.company_id))}
    pooled: dict[tuple[str, str, int, str], Sums] = {}
    every = [row[0] for row in tx.all(select(driving_score.c.trip_no))]
    for share in sums.shares(tx, every).values():
        for subject, period, day, _, kind in sums._keys(share):
            if kind != Subject.COMPANY and not share.sums.vague_m:
                key = subject, period, day, kind
                pooled[key] = pooled.get(key, NOTHING).plus(share.sums)
    return sorted(
        Rank(*key, owners.get(key[0], ""), *(getattr(of, name) for name in Rank._fields[5:]))
        for key, of in pooled.items()
    )


def rank(tx: WriteTx) -> None:
    """Write the rows of rankings of sums that a test or bench wrote itself."""
    summed = ("trips", "distance_m", "added_m", "burden", "accel + de_accel", "known_m")
    metres = "SUM(distance_m) + CAST(SUM(added_m) AS DOUBLE PRECISION) / SUM(trips)"
    rates = (f"CAST(SUM({summed[3]}) AS DOUBLE PRECISION) / ({metres})",)
    rates += (f"CAST(SUM({summed[4]}) AS DOUBLE PRECISION) / SUM(distance_m)",)
    of_sums = ", ".join([*(f"SUM({each})" for each in summed), *rates])
    for kind, table in (("vehicle", "vehicle"), ("driver", "account")):
        tx.run_sql(
            f"INSERT INTO score_rank ({', '.join(Rank._fields)})"
            f" SELECT subject, period, day, '{kind}', (SELECT company_id FROM {table} WHERE id = subject), {of_sums}"
            f" FROM score_sum WHERE kind = '{kind}' GROUP BY subject, period, day",
            (),
        )
