"""Sums of scored trips by day, week and month, of vehicles, drivers and companies (`domain/trends.py`).

Scores change between `held` and `move`, in one transaction: the row's previous share is subtracted, its new share
added. A row's own columns give its share, so the order of changes and later changes of its trip do not matter.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import BigInteger, Select, and_, bindparam, cast, delete, func, or_, select, update

from tripline.domain import trends
from tripline.domain.trends import NOTHING, Period, Subject, Sums
from tripline.scoring import quality
from tripline.scoring.score import lacking
from tripline.store.bulk import Bulk
from tripline.store.scores import rankings, standings
from tripline.store.tables import account, driving_score, score_sum, vehicle
from tripline.store.transactions import ReadTx, WriteTx


class Share(NamedTuple):
    """A score's contribution and the sums it belongs to."""

    vehicle_id: str
    user_id: str | None
    company_id: str
    day: int
    policy: int
    owners: dict[str, str]
    """Companies of the vehicle and the driver; without a deleted one."""
    sums: Sums


class Place(NamedTuple):
    """Columns of a score that come from its trip."""

    company_id: str
    day: int
    driving_ms: int
    """The time that the trip's samples cover, without gaps."""
    known_m: int
    """Distance with a limit from the map."""
    vague_m: int
    """Distance, if harsh driving is unknown."""


class _Moved(NamedTuple):
    """A share that is added to sums (1) or taken out (-1)."""

    share: Share
    sign: int


class _Key(NamedTuple):
    subject: str
    period: str
    day: int
    """The first of the period."""
    policy: int
    kind: str
    """Of the subject."""


def held(tx: WriteTx, trip_nos: Iterable[int]) -> dict[int, Share]:
    """Lock and return the contributions of these trips' scores before they change.

    Without the lock, a deleted driver could be removed from them and the driver's sums deleted meanwhile: `move` would
    recreate the sums.
    """
    return _shares(tx, _HELD, trip_nos)


def shares(tx: ReadTx, trip_nos: Iterable[int]) -> dict[int, Share]:
    """The contributions of these trips' scores."""
    return _shares(tx, _SHARES, trip_nos)


def _shares(tx: ReadTx, statement: Select[Any], trip_nos: Iterable[int]) -> dict[int, Share]:
    found: dict[int, Share] = {}
    for row in tx.all(statement, {"nos": list(trip_nos)}):
        trip_no, vehicle_id, user_id, company_id, day, policy, vehicle_of, driver_of, *values = tuple(row)
        owners = {vehicle_id: vehicle_of, user_id: driver_of}
        score, distance_m, accel, de_accel, over_speed, over_speed_s, driving_ms, known_m, added_m, vague_m = values
        found[trip_no] = Share(
            vehicle_id,
            user_id,
            company_id,
            day,
            policy,
            {subject: company for subject, company in owners.items() if company is not None},
            trends.of_trip(
                lacking=lacking(score),
                distance_m=distance_m,
                accel=accel,
                de_accel=de_accel,
                over_speed=over_speed,
                over_speed_s=over_speed_s,
                driving_ms=driving_ms,
                known_m=known_m,
                added_m=added_m,
                vague_m=vague_m,
            ),
        )
    return found


def place_of(company_id: str, begun_ms: int, distance_m: float, judged: bytes, zone: ZoneInfo) -> Place:
    """The place of a trip's score; `judged`: the quality of its samples."""
    known = quality.read(judged)
    driving_ms = min(max((known.samples - 1 - known.gaps) * known.period_ms, 0), trends.LONGEST_MS)
    metres = min(distance_m, trends.LONGEST_M)
    vague_m = 0 if known.harsh_known else max(round(metres), 1)
    day = trends.day_of(begun_ms, zone)
    return Place(company_id, day, driving_ms, round(known.limits.known * metres), vague_m)


def place(tx: WriteTx, trip_no: int, now: Place) -> None:
    """Update the place of a stored score."""
    tx.run(_PLACE, {"of_trip": trip_no, **{f"to_{name}": value for name, value in now._asdict().items()}})


def move(tx: WriteTx, before: Mapping[int, Share], after: Mapping[int, Share]) -> None:
    """Replace the earlier shares of these scores in the sums by the present ones, and note the days.

    Trips with unknown harsh driving take no part in rankings.
    """
    moved = [
        _Moved(share, sign)
        for shares, others, sign in ((before, after, -1), (after, before, 1))
        for trip_no, share in shares.items()
        if share != others.get(trip_no)
    ]
    clear = [each for each in moved if not each.share.sums.vague_m]
    changes = _summed(moved)
    ranked = changes if len(clear) == len(moved) else _summed(clear)
    owners: dict[str, str] = {}
    for share, _ in moved:
        owners |= share.owners
    # In one order, so that two processes never wait for each other.
    ordered = sorted((key, sums) for key, sums in changes.items() if sums != NOTHING)
    _ROWS.insert(tx, [value for key, sums in ordered for value in (*key, *sums)])
    # A row without trips would be a period of the trend.
    if fewer := [key for key, sums in ordered if sums.trips < 0]:
        tx.run(_EMPTY, [dict(zip(_KEY, key, strict=False)) for key in fewer])
    for kind in (Subject.VEHICLE, Subject.DRIVER):
        rankings.change(tx, kind, _of_kind(ranked, kind), owners)
    standings.note(tx, {share.day for share, _ in moved})


def _of_kind(changes: Mapping[_Key, Sums], kind: Subject) -> dict[rankings.Key, Sums]:
    """The changes of a kind, of all policies together."""
    found: dict[rankings.Key, Sums] = {}
    for each, sums in changes.items():
        if each.kind == kind.value:
            key = rankings.Key(each.subject, each.period, each.day)
            found[key] = found.get(key, NOTHING).plus(sums)
    return found


def _summed(moved: Iterable[_Moved]) -> dict[_Key, Sums]:
    """The changes of sums by these shares."""
    found: dict[_Key, Sums] = {}
    for share, sign in moved:
        for key in _keys(share):
            found[key] = found.get(key, NOTHING).plus(share.sums, sign)
    return found


def _keys(share: Share) -> list[_Key]:
    """The sums that a score is in."""
    subjects = [(Subject.VEHICLE, share.vehicle_id), (Subject.COMPANY, share.company_id)]
    if share.user_id is not None:
        subjects.append((Subject.DRIVER, share.user_id))
    return [
        _Key(subject, period.value, trends.first_day(share.day, period), share.policy, kind.value)
        for kind, subject in subjects
        for period in Period
    ]


_SHARES: Final = select(
    *(driving_score.c[name] for name in ("trip_no", "vehicle_id", "user_id", "company_id", "day", "policy")),
    select(vehicle.c.company_id).where(vehicle.c.id == driving_score.c.vehicle_id).scalar_subquery(),
    select(account.c.company_id).where(account.c.id == driving_score.c.user_id).scalar_subquery(),
    driving_score.c.score,
    *(driving_score.c[name] for name in ("distance_m", "accel", "de_accel", "over_speed", "over_speed_s")),
    *(driving_score.c[name] for name in ("driving_ms", "known_m", "added_m", "vague_m")),
).where(driving_score.c.trip_no.in_(bindparam("nos", expanding=True)))
_HELD: Final = _SHARES.order_by(driving_score.c.trip_no).with_for_update()
_PLACE: Final = (
    update(driving_score)
    .where(
        driving_score.c.trip_no == bindparam("of_trip"),
        or_(*(driving_score.c[name] != bindparam(f"to_{name}") for name in Place._fields)),
    )
    .values({name: bindparam(f"to_{name}") for name in Place._fields})
)
_KEY: Final = ("of_subject", "of_period", "of_day", "of_policy")
_EMPTY: Final[Any] = delete(score_sum).where(
    and_(
        score_sum.c.subject == bindparam("of_subject"),
        score_sum.c.period == bindparam("of_period"),
        score_sum.c.day == bindparam("of_day"),
        score_sum.c.policy == bindparam("of_policy"),
    ),
    score_sum.c.trips == 0,
)
_ROWS: Final = Bulk(
    score_sum,
    *_Key._fields,
    *Sums._fields,
    on_conflict="ON CONFLICT (subject, period, day, policy) DO UPDATE SET "
    + ", ".join(f"{name} = score_sum.{name} + excluded.{name}" for name in Sums._fields),
)


def of_subjects(tx: ReadTx, subjects: Collection[str], period: Period, *, first: int, last: int) -> dict[str, Sums]:
    """Sums of these subjects over the periods that begin on these days; without a subject that has none."""
    row = score_sum.c
    added = (cast(func.sum(row[name]), BigInteger) for name in Sums._fields)
    chosen = row.subject.in_(subjects), row.period == period.value, row.day.between(first, last)
    rows = tx.all(select(row.subject, *added).where(*chosen).group_by(row.subject))
    return {subject: Sums(*values) for subject, *values in rows}


def of_subject(tx: ReadTx, subject: str) -> Sums:
    """All scored trips of a vehicle, driver or company."""
    added = (func.coalesce(func.sum(score_sum.c[name]), 0) for name in Sums._fields)
    months = score_sum.c.subject == subject, score_sum.c.period == Period.MONTH.value
    return Sums(*map(int, tx.all(select(*added).where(*months))[0]))


def trips_of_others(tx: ReadTx, subject: str, *, policy: int | None, first: int) -> int:
    """Count the scored trips of a subject from a day on whose scores are by other policies than this one."""
    row = score_sum.c
    days = row.subject == subject, row.period == Period.DAY.value, row.day >= first
    counted = select(func.coalesce(func.sum(row.trips), 0)).where(*days, row.policy != (policy or 0))
    return int(tx.all(counted)[0][0])


def kept(tx: ReadTx) -> dict[_Key, Sums]:
    """All stored sums."""
    found: dict[_Key, Sums] = {}
    for row in tx.all(select(*(score_sum.c[name] for name in (*_Key._fields, *Sums._fields)))):
        subject, period, day, policy, kind, *values = tuple(row)
        found[_Key(subject, period, day, policy, kind)] = Sums(*values)
    return found
