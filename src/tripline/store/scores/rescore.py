"""Trips that are scored again on request: their selection, their jobs, their scores.

Trips that a map touches are found by the maps used to find their roads, otherwise by their location. No trip has a
place in its row: for trips judged without the map, the first microtrip gives the start; a trip that began too far away
to reach the area is skipped, and every sample of the rest is checked.

Not here: the jobs of trips that end or change (`store/trips/batch_rows.py`), their results (`scores.py`).
"""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import bindparam, func, select

from tripline.domain import samples
from tripline.domain.ids import CompanyId, TripId
from tripline.domain.maps import Bounds
from tripline.domain.positions import DEGREE_M
from tripline.domain.rescorings import Touched
from tripline.domain.trips import State
from tripline.store.bulk import Bulk
from tripline.store.erasure import erasures
from tripline.store.scores import policies
from tripline.store.tables import driving_score, microtrip, scoring_job, trip, vehicle
from tripline.store.transactions import AnyRow, Hot, ReadTx, WriteTx

COLUMNS: Final = (trip.c.quality, driving_score.c.distance_m)
"""Columns that `among` needs besides a trip's row number; the distance is null without a score."""
AWAY: Final = 2.0
"""How many times its distance a trip may have come away at most: gaps and repairs shorten a distance."""
AWAY_M: Final = 10_000.0
"""And so far beside that."""


class _Place(NamedTuple):
    lat: float
    lon: float


class _Quality(msgspec.Struct):
    """The maps in a trip's quality (`scoring/quality.py`)."""

    maps: tuple[str, ...] = ()


def among(tx: ReadTx, rows: Sequence[AnyRow], touched: Touched, *, everything: bool) -> list[int]:
    """Select the trips that the map touches, in their order. `everything`: include those already judged with it."""
    now = f"{touched.area}:{touched.map}"
    found: set[int] = set()
    without: dict[int, float] = {}
    for row in rows:
        if row.distance_m is None:
            continue
        # The maps that found the trip's roads.
        own = [each for each in _READ.decode(row.quality).maps if each.partition(":")[0] == touched.area]
        if own and (everything or own != [now]):
            found.add(row.no)
        elif not own:
            without[row.no] = row.distance_m
    if (bounds := touched.bounds) is not None:
        for no in _near(tx, without, bounds):
            if any(_within(place, bounds) for (packed,) in tx.hot(_SAMPLES, no) for place in _places(packed)):
                found.add(no)
    return [row.no for row in rows if row.no in found]


def _near(tx: ReadTx, distances: dict[int, float], bounds: Bounds) -> Iterator[int]:
    """The trips that began no farther from the area than they can have come; `distances`: of each, metres."""
    if not distances:
        return
    for row in tx.all(_BEGINNINGS, {"nos": list(distances)}):
        places = list(_places(row.samples or b""))
        around = _widened(bounds, AWAY * distances[row.no] + AWAY_M)
        if not places or any(_within(place, around) for place in places):
            yield row.no


def _places(packed: bytes) -> Iterator[_Place]:
    """Where the samples were taken that have a position; none of samples that are cut."""
    if len(packed) % samples.RECORD.size:
        return
    for _, lat, lon, *_ in samples.RECORD.iter_unpack(packed):
        if not (math.isnan(lat) or math.isnan(lon)):
            yield _Place(lat, lon)


def _within(place: _Place, bounds: Bounds) -> bool:
    return bounds.south <= place.lat <= bounds.north and bounds.west <= place.lon <= bounds.east


def _widened(bounds: Bounds, metres: float) -> Bounds:
    """Bounds with a margin of so many metres at least; beyond a pole or the date line they hold every longitude."""
    south, north = bounds.south - metres / DEGREE_M, bounds.north + metres / DEGREE_M
    farthest = max(abs(south), abs(north))
    margin = metres / DEGREE_M / math.cos(math.radians(farthest)) if farthest < 90.0 else 360.0
    west, east = bounds.west - margin, bounds.east + margin
    if west < -180.0 or east > 180.0:
        west, east = -180.0, 180.0
    return Bounds(west, south, east, north)


_READ: Final = msgspec.json.Decoder(_Quality)
_FIRST: Final = (
    select(microtrip.c.samples)
    .where(microtrip.c.trip_no == trip.c.no)
    .order_by(microtrip.c.no)
    .limit(1)
    .scalar_subquery()
)
_BEGINNINGS: Final = select(trip.c.no, _FIRST.label("samples")).where(trip.c.no.in_(bindparam("nos", expanding=True)))
_SAMPLES: Final = Hot(select(microtrip.c.samples).where(microtrip.c.trip_no == bindparam("of_trip")), "of_trip")

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
        select(trip.c.no, trip.c.start_ms, trip.c.company_id, *([current] if choice.touched is None else COLUMNS))
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
        trip_nos = among(tx, chosen, choice.touched, everything=choice.everything)
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
    # Locked until the commit, so that no trip is erased before its job exists; in one order, against deadlocks.
    _JOBS.insert(tx, [value for row in tx.all(_HELD, {"nos": trip_nos}) for value in (row.no, due_ms)])


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


_HELD: Final = (
    select(trip.c.no)
    .where(trip.c.no.in_(bindparam("nos", expanding=True)))
    .order_by(trip.c.no)
    .with_for_update(key_share=True)
)
_JOBS: Final = Bulk(scoring_job, "trip_no", "due_ms", on_conflict="ON CONFLICT (trip_no) DO NOTHING")
