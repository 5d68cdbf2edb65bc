"""Scores, GPS events and accumulated scores as they are read: pages by key, compiled once, one statement a page.

A page of a vehicle or driver walks the index (owner, time, ...) from the place of the offset, so the thousandth page
costs what the first costs. The time is that of the analysis, or that of the event: of a score the start of its trip.
The caller has asked before whether the owner is inside the scope (`vehicles.inside`, `accounts.inside`,
`journeys.trip_inside`).

Not here: writing them (`store/scores.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import BigInteger, ColumnElement, Table, bindparam, select, tuple_

from tripline.store import erasures
from tripline.store.journeys import Span
from tripline.store.listing import UnknownOffset
from tripline.store.tables import driving_score, gps_event, trip, vehicle_score
from tripline.store.transactions import Hot, ReadTx

_NO_MAX: Final = 2**63 - 1


class Owner(Enum):
    """Whose scores or events: the column that names them."""

    VEHICLE = "vehicle_id"
    DRIVER = "user_id"


class By(Enum):
    """What a page goes by."""

    ANALYSIS = "analysis"
    EVENT = "event"


class Score(NamedTuple):
    """One row of `driving_score`."""

    trip_id: str
    created_ms: int
    vehicle_id: str
    user_id: str | None
    score: float
    accel: int
    de_accel: int
    distance_m: float
    over_speed: int


ScoreRow: TypeAlias = tuple[Any, ...]
"""The fields of a `Score`, in their order: pages of scores are not wrapped, for they are read the most."""


class Event(NamedTuple):
    """One row of `gps_event`."""

    id: str
    created_ms: int
    vehicle_id: str
    trip_id: str
    event_ms: int
    event_type: int
    info: str
    device_type: str
    speed_mh: float
    user_id: str | None
    lat: float
    lon: float


class Total(NamedTuple):
    """One row of `vehicle_score`."""

    vehicle_id: str
    created_ms: int
    user_id: str | None
    trips: int
    """Number of scored trips."""
    score: float
    distance_m: float


def scores(tx: ReadTx, owner: Owner, owner_id: str, span: Span, by: By = By.ANALYSIS) -> Sequence[ScoreRow]:
    """Scores of the owner by time of analysis or start of the trip, then trip. Raises `UnknownOffset`."""
    return _rows(tx, _SCORES[by], owner, owner_id, span)


def events(tx: ReadTx, owner: Owner, owner_id: str, span: Span, by: By = By.ANALYSIS) -> Sequence[Event]:
    """GPS events of the owner by time of analysis, then of the event; or by the latter. Raises `UnknownOffset`."""
    return [Event._make(row) for row in _rows(tx, _EVENTS[by], owner, owner_id, span)]


def score_of_trip(tx: ReadTx, trip_id: str) -> Score | None:
    """The trip's score."""
    rows = tx.hot(_TRIP_SCORE, trip_id)
    return Score._make(rows[0]) if rows else None


def total_of_vehicle(tx: ReadTx, vehicle_id: str) -> Total | None:
    """The vehicle's accumulated score."""
    rows = tx.hot(_TOTAL, vehicle_id)
    return Total._make(rows[0]) if rows else None


def why_no_score(tx: ReadTx, trip_id: str) -> tuple[str, str | None]:
    """The state of a trip that exists, and the reason kept with it when it is not scored."""
    state, reason = tx.hot(_TRIP_STATE, trip_id)[0]
    return state, reason


_FIELDS: Final = {driving_score: Score._fields, gps_event: Event._fields}
_PLACE_NAMES: Final = ("at_0", "at_1", "at_2")


def _columns(table: Table) -> list[ColumnElement[Any]]:
    """What a record shows of a row; a deleted driver is none."""
    return [erasures.mentioned(table.c[name]) if name == "user_id" else table.c[name] for name in _FIELDS[table]]


_TRIP_SCORE: Final = Hot(select(*_columns(driving_score)).where(driving_score.c.trip_id == bindparam("id")), "id")
_TOTAL: Final = Hot(
    select(
        vehicle_score.c.vehicle_id,
        vehicle_score.c.created_ms,
        erasures.mentioned(vehicle_score.c.user_id),
        vehicle_score.c["count"],
        vehicle_score.c.score,
        vehicle_score.c.distance_m,
    ).where(vehicle_score.c.vehicle_id == bindparam("id")),
    "id",
)
_TRIP_STATE: Final = Hot(select(trip.c.state, trip.c.not_scored).where(trip.c.id == bindparam("id")), "id")


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """How a list is walked: what it shows, and the rest of an index that begins with the owner."""

    shown: Table
    key: ColumnElement[str]
    """What an offset names."""
    order: tuple[ColumnElement[int], ...]
    """Columns of one table, the time first."""

    @property
    def walked(self) -> Table:
        """The table whose index is walked."""
        table = self.order[0].table
        assert isinstance(table, Table)
        return table

    def of(self, owner: Owner) -> list[ColumnElement[bool]]:
        """The rows of the owner; of a driver without those that a deleted vehicle left behind."""
        walked = self.walked
        found = [walked.c[owner.value] == bindparam("owner")]
        if owner is Owner.DRIVER:
            found.append(erasures.kept(walked.c.vehicle_id))
        if walked is not self.shown:
            found += [self.shown.c.trip_no == walked.c.no, walked.c.not_scored.is_(None)]
        return found


_SCORES: Final = {
    By.ANALYSIS: _Walk(driving_score, driving_score.c.trip_id, (driving_score.c.created_ms, driving_score.c.trip_no)),
    By.EVENT: _Walk(driving_score, driving_score.c.trip_id, (trip.c.start_ms, trip.c.no)),
}
_EVENTS: Final = {
    By.ANALYSIS: _Walk(gps_event, gps_event.c.id, (gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no)),
    By.EVENT: _Walk(gps_event, gps_event.c.id, (gps_event.c.event_ms, gps_event.c.no)),
}


def _rows(tx: ReadTx, walk: _Walk, owner: Owner, owner_id: str, span: Span) -> Sequence[tuple[Any, ...]]:
    place = _place(tx, walk, owner, owner_id, span)
    return tx.hot(_page(walk, owner, span.ascending), owner_id, *place, _far_end(span), span.limit)


def _place(tx: ReadTx, walk: _Walk, owner: Owner, owner_id: str, span: Span) -> Sequence[int]:
    """The place right before the page's first row, in the order of the list: of the offset, or of the nearer bound."""
    width = len(walk.order)
    if span.ascending:
        bound = (span.first_ms - 1, *[_NO_MAX] * (width - 1))
    else:
        bound = (span.last_ms + 1, *[-1] * (width - 1))
    if span.after is None:
        return bound
    rows = tx.hot(_offset(walk, owner), span.after, owner_id)
    if not rows:
        raise UnknownOffset.of_list()
    return max(bound, rows[0]) if span.ascending else min(bound, rows[0])


def _far_end(span: Span) -> int:
    return span.last_ms if span.ascending else span.first_ms


@cache
def _offset(walk: _Walk, owner: Owner) -> Hot:
    return Hot(select(*walk.order).where(walk.key == bindparam("id"), *walk.of(owner)), "id", "owner")


@cache
def _page(walk: _Walk, owner: Owner, ascending: bool) -> Hot:
    names = _PLACE_NAMES[: len(walk.order)]
    here, place = tuple_(*walk.order), tuple_(*(bindparam(name, type_=BigInteger) for name in names))
    time = walk.order[0]
    statement = (
        select(*_columns(walk.shown))
        .where(
            *walk.of(owner),
            here > place if ascending else here < place,
            time <= bindparam("far") if ascending else time >= bindparam("far"),
        )
        .order_by(*(walk.order if ascending else [column.desc() for column in walk.order]))
        .limit(bindparam("limit"))
    )
    return Hot(statement, "owner", *names, "far", "limit")
