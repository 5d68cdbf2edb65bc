"""Trips that are scored again on request: their selection, their jobs, their scores.

Not here: the jobs of trips that end or change (`store/trips/batch_rows.py`), their results (`scores.py`).
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import func, select

from tripline.domain.ids import CompanyId, TripId
from tripline.domain.rescorings import Touched
from tripline.domain.trips import State
from tripline.store.bulk import Bulk
from tripline.store.erasure import erasures
from tripline.store.scores import policies, touched
from tripline.store.tables import driving_score, scoring_job, trip, vehicle
from tripline.store.transactions import ReadTx, WriteTx

LAST_NO: Final = 2**63 - 1
"""No row number is greater."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The trips that are to be scored anew."""

    from_ms: int | None = None
    """Begun at this instant or later."""
    to_ms: int | None = None
    """Begun before this instant."""
    company_id: CompanyId | None = None
    """Of this company's sensors."""
    everything: bool = False
    """Include trips scored by the policy already in force; with a map, also those already judged by it."""
    touched: Touched | None = None
    """Only trips that this map touches, regardless of their policy."""


class Page(NamedTuple):
    """Some closed trips."""

    last: int | None
    """Row number of the last trip examined; None: there are no more."""
    looked_at: int
    """How many trips."""
    trip_nos: list[int]
    """The selected trips."""


class NamedTrip(NamedTuple):
    """Id and start of a trip."""

    id: TripId
    start_ms: int | None


def page(tx: ReadTx, choice: Choice, *, own_policy: int, after: int, before: int = LAST_NO, limit: int) -> Page:
    """Examine up to `limit` closed trips between two row numbers.

    `own_policy`: the number in force for companies without a choice. A trip without a score is always selected, since
    no policy is stored with it.
    """
    in_force = func.coalesce(policies.chosen(), own_policy)
    current = (driving_score.c.policy == in_force).label("current")
    statement = (
        select(
            trip.c.no, trip.c.start_ms, trip.c.company_id, *([current] if choice.touched is None else touched.COLUMNS)
        )
        .select_from(trip.outerjoin(driving_score, driving_score.c.trip_no == trip.c.no))
        .where(
            trip.c.no > after, trip.c.no < before, trip.c.state != State.OPEN.value, erasures.kept(trip.c.vehicle_id)
        )
        .order_by(trip.c.no)
        .limit(limit)
    )
    rows = tx.all(statement)
    # Chosen here, not in SQL: so a page ends after `limit` trips, however few of them are of the choice.
    chosen = [
        row
        for row in rows
        if choice.company_id in (None, row.company_id)
        and (choice.from_ms is None or (row.start_ms is not None and row.start_ms >= choice.from_ms))
        and (choice.to_ms is None or (row.start_ms is not None and row.start_ms < choice.to_ms))
    ]
    if choice.touched is not None:
        trip_nos = touched.among(tx, chosen, choice.touched, everything=choice.everything)
    else:
        trip_nos = [row.no for row in chosen if choice.everything or not row.current]
    return Page(rows[-1].no if rows else None, len(rows), trip_nos)


def newest(tx: ReadTx, company_id: CompanyId, *, vehicles: int, trips: int) -> list[int]:
    """The newest scored trips of a company, so many in all and as many of each of its first vehicles.

    Row numbers, the latest start first.
    """
    columns = vehicle.c
    of_company = select(columns.id).where(columns.company_id == company_id)
    found = tx.all(of_company.order_by(columns.created_ms, columns.id).limit(vehicles))
    each = -(-trips // max(len(found), 1))
    known: list[tuple[int, int]] = []
    for row in found:
        scored = select(trip.c.start_ms, trip.c.no).join(driving_score, driving_score.c.trip_no == trip.c.no)
        of_vehicle = scored.where(trip.c.vehicle_id == row.id, trip.c.not_scored.is_(None))
        newest_first = of_vehicle.order_by(trip.c.start_ms.desc(), trip.c.no.desc()).limit(each)
        known += [(each.start_ms or 0, each.no) for each in tx.all(newest_first)]
    return [no for _, no in sorted(known, reverse=True)[:trips]]


def named(tx: ReadTx, trip_nos: Collection[int]) -> dict[int, NamedTrip]:
    """Those among these trips that exist."""
    found = tx.all(select(trip.c.no, trip.c.id, trip.c.start_ms).where(trip.c.no.in_(trip_nos)))
    return {row.no: NamedTrip(TripId(row.id), row.start_ms) for row in found}


def ask(tx: WriteTx, trip_nos: Sequence[int], *, due_ms: int) -> None:
    """Create scoring jobs for the existing ones of these trips; waiting jobs are unchanged."""
    # Held until the commit, so that none is erased before its job is there; in one order, so that two never wait for
    # each other.
    there = select(trip.c.no).where(trip.c.no.in_(trip_nos)).order_by(trip.c.no).with_for_update(key_share=True)
    _JOBS.insert(tx, [value for row in tx.all(there) for value in (row.no, due_ms)])


def waiting(tx: ReadTx, trip_nos: Sequence[int]) -> dict[int, int]:
    """The trips among these that have a job, and how often it failed."""
    found = tx.all(
        select(scoring_job.c.trip_no, scoring_job.c.attempts).where(scoring_job.c.trip_no.in_(list(trip_nos)))
    )
    return {row.trip_no: row.attempts for row in found}


def values(tx: ReadTx, trip_nos: Sequence[int]) -> dict[int, float]:
    """The scores of those among these trips that have one."""
    columns = (driving_score.c.trip_no, driving_score.c.score)
    return {row.trip_no: row.score for row in tx.all(select(*columns).where(driving_score.c.trip_no.in_(trip_nos)))}


_JOBS: Final = Bulk(scoring_job, "trip_no", "due_ms", on_conflict="ON CONFLICT (trip_no) DO NOTHING")
