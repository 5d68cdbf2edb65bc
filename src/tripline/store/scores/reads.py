"""Queries of scores, GPS events and accumulated scores: pages by key, compiled once, one statement a page.

A page of a vehicle or driver walks the index (owner, time, ...) from the place of the offset, so the thousandth page
costs as much as the first. The time is that of the analysis or of the event; for a score, the start of its trip. The
caller checks access to the owner (`vehicles.inside`, `accounts.inside`, `trips.trip_inside`).
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, Table, and_, bindparam, exists, func, literal, select, tuple_

from tripline.domain.access import Scope
from tripline.scoring.score import COUNTED
from tripline.store import reach, scopes
from tripline.store.accounts import accounts
from tripline.store.accounts.accounts import Known
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.scores.scores import Total
from tripline.store.tables import (
    account,
    dispute,
    driving_score,
    erasure,
    gps_event,
    microtrip,
    trip,
    trip_findings,
    vehicle,
    vehicle_score,
)
from tripline.store.transactions import Hot, ReadTx

_NO_MAX: Final = 2**63 - 1


class Owner(Enum):
    """Whose scores or events: the column that names them."""

    VEHICLE = "vehicle_id"
    DRIVER = "user_id"


class By(Enum):
    """The sort key of a page."""

    ANALYSIS = "analysis"
    EVENT = "event"


Row: TypeAlias = tuple[Any, ...]
"""The values of the `SCORE` or `EVENT` columns, encoded directly into answers, since these pages are the most
requested."""
SCORE: Final = ("trip_id", "created_ms", "vehicle_id", "user_id", "score", "distance_m", *COUNTED)
"""Columns read from `driving_score`, in this order."""


class WholePage(NamedTuple):
    """A statement that answers a page by itself."""

    statement: Hot
    values: tuple[Any, ...]
    """In the order of its names."""


class StoredEvent(NamedTuple):
    """A stored GPS event, for matching when its trip is judged again."""

    id: str
    event_ms: int
    event_type: int


class Standing(NamedTuple):
    """How far a trip without a score is."""

    state: str
    not_scored: str | None
    """The reason kept with it when it is not scored."""


class Outcome(NamedTuple):
    """State, distances and score of a trip, as stored."""

    state: str
    not_scored: str | None
    quality: bytes | None
    """JSON (`scoring/quality.py`)."""
    stated_m: float | None
    """Its distance as the trip message says."""
    score: float | None
    scored_m: float | None
    """Its distance as the judgement found it."""


class Version(NamedTuple):
    """What a trip's explanation comes from."""

    changed_ms: int | None
    """When judging last found something else."""
    latest: int | None
    """Row number of its newest microtrip."""


class Explainable(NamedTuple):
    """The stored facts of a trip's result."""

    trip_no: int
    start_ms: int | None
    state: str
    not_scored: str | None
    latest: int | None
    """Row number of its newest microtrip."""
    disputes: int
    """How many were ever opened."""
    score: float | None
    judged_ms: int | None
    policy: int | None
    events: int
    """GPS events."""
    version: int | None
    """Version of the stored findings; None: there are none."""
    explained_by: int | None
    """Policy of the findings."""
    changed_ms: int | None
    """When judging last found something else."""
    findings: bytes | None


EVENT: Final = (
    *("id", "created_ms", "vehicle_id", "trip_id", "event_ms", "event_type", "info", "device_type"),
    *("speed_mh", "user_id", "lat", "lon"),
)
"""Columns read from `gps_event`, in this order."""


def scores(tx: ReadTx, owner: Owner, owner_id: str, span: Span, by: By = By.ANALYSIS) -> Sequence[Row]:
    """Scores of the owner by time of analysis or start of the trip, then trip. Raises `UnknownOffset`."""
    return _rows(tx, _SCORES[by], owner, owner_id, span)


def events(tx: ReadTx, owner: Owner, owner_id: str, span: Span, by: By = By.ANALYSIS) -> Sequence[Row]:
    """GPS events of the owner by time of analysis, then of the event; or by the latter. Raises `UnknownOffset`."""
    return _rows(tx, _EVENTS[by], owner, owner_id, span)


def whole_scores(owner: Owner, owner_id: str, span: Span, by: By, *, known: Known, scope: Scope) -> WholePage:
    """Return the complete answer of `scores` in one statement.

    Returns no row if the account has changed or its session ended, if the owner is outside the scope, or if the offset
    is not an item within the bounds. The same for a driver while an erasure is pending, since very many rows may have
    to be skipped.
    """
    return _whole(_SCORES[by], owner, owner_id, span, known, scope)


def whole_events(owner: Owner, owner_id: str, span: Span, by: By, *, known: Known, scope: Scope) -> WholePage:
    """As `whole_scores`, with the fields of `events`."""
    return _whole(_EVENTS[by], owner, owner_id, span, known, scope)


def score_of_trip(tx: ReadTx, trip_id: str) -> Row | None:
    """The trip's score."""
    rows = tx.hot(_SCORE_OF_TRIP, trip_id)
    return rows[0] if rows else None


def total_of_vehicle(tx: ReadTx, vehicle_id: str) -> Total | None:
    """The vehicle's accumulated score."""
    total = vehicle_score.c
    columns = total.vehicle_id, total.created_ms, erasures.mentioned(total.user_id), total["count"], total.score
    row = tx.one(select(*columns, total.distance_m).where(total.vehicle_id == vehicle_id))
    return None if row is None else Total(*row)


def scored_trips(tx: ReadTx, vehicle_id: str) -> list[tuple[str, float, float, int, float]]:
    """Id, score, distance, distance with a known limit and `added_m` of every scored trip of a vehicle."""
    row = driving_score.c
    found = select(row.trip_id, row.score, row.distance_m, row.known_m, row.added_m).where(row.vehicle_id == vehicle_id)
    return [(trip, score, distance, known, added) for trip, score, distance, known, added in tx.all(found)]


def has_scores(tx: ReadTx) -> bool:
    """True if any trip has a score."""
    return bool(tx.all(select(driving_score.c.trip_id).limit(1)))


def qualities(tx: ReadTx, trip_ids: Sequence[str]) -> dict[str, bytes]:
    """The sample quality of these judged trips."""
    found = select(trip.c.id, trip.c.quality).where(trip.c.id.in_(trip_ids))
    return {row.id: row.quality for row in tx.all(found)}


def added(tx: ReadTx, trip_ids: Sequence[str]) -> dict[str, float]:
    """Metres that the policy adds to the distance of each of these scored trips."""
    found = select(driving_score.c.trip_id, driving_score.c.added_m).where(driving_score.c.trip_id.in_(trip_ids))
    return {row.trip_id: row.added_m for row in tx.all(found)}


def starts(tx: ReadTx, trip_ids: Sequence[str]) -> dict[str, int]:
    """When these trips began, epoch ms; without trips whose device never named a time."""
    found = select(trip.c.id, trip.c.start_ms).where(trip.c.id.in_(trip_ids), trip.c.start_ms.is_not(None))
    return {row.id: row.start_ms for row in tx.all(found)}


def newest_policy(tx: ReadTx, vehicle_id: str) -> int:
    """The policy number of the vehicle's latest judged trip; 0 if there is none."""
    row = driving_score.c
    newest = select(row.policy).where(row.vehicle_id == vehicle_id).order_by(row.created_ms.desc(), row.trip_no.desc())
    return next((each.policy for each in tx.all(newest.limit(1))), 0)


def why_no_score(tx: ReadTx, trip_id: str) -> Standing:
    """How far a trip that exists is."""
    return Standing(*tx.all(select(trip.c.state, trip.c.not_scored).where(trip.c.id == trip_id))[0])


def outcome(tx: ReadTx, trip_id: str) -> Outcome:
    """The outcome of a trip that exists."""
    return Outcome(*tx.hot(_OUTCOME, trip_id)[0])


def to_explain(tx: ReadTx, trip_id: str) -> Explainable:
    """The stored facts of an existing trip's result."""
    return Explainable(*tx.hot(_TO_EXPLAIN, trip_id)[0])


def events_of_trip(tx: ReadTx, trip_no: int) -> list[StoredEvent]:
    """The stored GPS events of a trip, in the order written."""
    row = gps_event.c
    found = select(row.id, row.event_ms, row.event_type).where(row.trip_no == trip_no).order_by(row.no)
    return [StoredEvent(*each) for each in tx.all(found)]


def samples_bytes(tx: ReadTx, trip_no: int) -> int:
    """Size of the packed samples of a trip."""
    return int(tx.number(_SAMPLES_BYTES, trip_no))


def version(tx: ReadTx, trip_id: str) -> Version:
    """The version of an existing trip's explanation."""
    found = select(trip_findings.c.changed_ms, _LATEST)
    joined = found.outerjoin_from(trip, trip_findings, trip_findings.c.trip_no == trip.c.no)
    return Version(*tx.all(joined.where(trip.c.id == trip_id))[0])


def vehicle_of_trip(tx: ReadTx, trip_no: int) -> str | None:
    """The vehicle of an existing trip."""
    vehicle_id: str | None = tx.all(select(trip.c.vehicle_id).where(trip.c.no == trip_no))[0][0]
    return vehicle_id


_FIELDS: Final = {driving_score: SCORE, gps_event: EVENT}
_PLACE_NAMES: Final = ("at_0", "at_1", "at_2")


def _columns(table: Table) -> list[ColumnElement[Any]]:
    """Columns of a record; a deleted driver is null."""
    return [erasures.mentioned(table.c[name]) if name == "user_id" else table.c[name] for name in _FIELDS[table]]


_LATEST: Final = select(func.max(microtrip.c.no)).where(microtrip.c.trip_no == trip.c.no).scalar_subquery()
_SCORE_OF_TRIP: Final = Hot(
    select(*_columns(driving_score)).where(driving_score.c.trip_id == bindparam("trip")), "trip"
)
_OUTCOME: Final = Hot(
    select(trip.c.state, trip.c.not_scored, trip.c.quality, trip.c.distance_m)
    .add_columns(driving_score.c.score, driving_score.c.distance_m)
    .outerjoin_from(trip, driving_score, driving_score.c.trip_no == trip.c.no)
    .where(trip.c.id == bindparam("trip")),
    "trip",
)
_TO_EXPLAIN: Final = Hot(
    select(
        trip.c.no,
        trip.c.start_ms,
        trip.c.state,
        trip.c.not_scored,
        _LATEST,
        select(func.count()).select_from(dispute).where(dispute.c.trip_no == trip.c.no).scalar_subquery(),
        driving_score.c.score,
        driving_score.c.created_ms,
        driving_score.c.policy,
        func.coalesce(sum((driving_score.c[name] for name in COUNTED), literal(0)), 0),
        trip_findings.c.version,
        trip_findings.c.policy,
        trip_findings.c.changed_ms,
        trip_findings.c.body,
    )
    .outerjoin_from(trip, driving_score, driving_score.c.trip_no == trip.c.no)
    .outerjoin(trip_findings, trip_findings.c.trip_no == trip.c.no)
    .where(trip.c.id == bindparam("trip")),
    "trip",
)
_SAMPLES_BYTES: Final = Hot(
    select(func.coalesce(func.sum(func.length(microtrip.c.samples)), 0)).where(microtrip.c.trip_no == bindparam("of")),
    "of",
)


class _Walk(msgspec.Struct, frozen=True, eq=False):
    """The traversal of a list: its columns, and the rest of an index that begins with the owner."""

    shown: Table
    key: ColumnElement[str]
    """The column that an offset refers to."""
    order: tuple[ColumnElement[int], ...]
    """Columns of one table, the time first."""

    @property
    def walked(self) -> Table:
        """The table whose index is walked."""
        table = self.order[0].table
        assert isinstance(table, Table)
        return table

    def of(self, owner: Owner) -> list[ColumnElement[bool]]:
        """The owner's rows; for a driver, without rows of deleted vehicles."""
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


def _rows(tx: ReadTx, walk: _Walk, owner: Owner, owner_id: str, span: Span) -> Sequence[Row]:
    place = _place(tx, walk, owner, owner_id, span)
    return tx.hot(_page(walk, owner, span.ascending), owner_id, *place, _far_end(span), span.limit)


def _whole(walk: _Walk, owner: Owner, owner_id: str, span: Span, known: Known, scope: Scope) -> WholePage:
    place: tuple[Any, ...] = _bound(walk, span)
    if span.after is not None:
        place = (span.first_ms if span.ascending else span.last_ms, span.after)
    statement = _whole_page(walk, owner, span.ascending, span.after is not None, scope.reaches)
    return WholePage(statement, (owner_id, _far_end(span), span.limit, *accounts.as_known(known), *place))


def _place(tx: ReadTx, walk: _Walk, owner: Owner, owner_id: str, span: Span) -> Sequence[int]:
    """The place right before the page's first row, in the order of the list: of the offset, or of the nearer bound."""
    bound = _bound(walk, span)
    if span.after is None:
        return bound
    rows = tx.hot(_offset(walk, owner), span.after, owner_id)
    if not rows:
        raise UnknownOffset.of_list()
    return max(bound, rows[0]) if span.ascending else min(bound, rows[0])


def _bound(walk: _Walk, span: Span) -> tuple[int, ...]:
    """The place right before the nearer bound."""
    width = len(walk.order)
    if span.ascending:
        return (span.first_ms - 1, *[_NO_MAX] * (width - 1))
    return (span.last_ms + 1, *[-1] * (width - 1))


def _far_end(span: Span) -> int:
    return span.last_ms if span.ascending else span.first_ms


def _seen(owner: Owner, reaches: scopes.Reaches) -> ColumnElement[bool]:
    """Condition for the owner to be inside the scope."""
    if owner is Owner.VEHICLE:
        return reach.predicate(reaches, bindparam("owner", type_=vehicle.c.id.type))
    inside = exists().where(account.c.id == bindparam("owner"), scopes.accounts(reaches))
    return and_(inside, ~exists(select(erasure.c.id)))


@cache
def _whole_page(walk: _Walk, owner: Owner, ascending: bool, continued: bool, reaches: scopes.Reaches) -> Hot:
    """A page with the checks of its offset and of the reader's access: if they fail there is no row."""
    statement = _walked(walk, owner, ascending)
    if continued:
        time, bound = walk.order[0], bindparam("at_0", type_=BigInteger)
        offset = select(*walk.order).where(walk.key == bindparam("after"), *walk.of(owner))
        offset = offset.where(time >= bound if ascending else time <= bound).correlate(None)
        place: Any = offset.scalar_subquery()
        names: tuple[str, ...] = ("at_0", "after")
    else:
        names = _PLACE_NAMES[: len(walk.order)]
        place = tuple_(*(bindparam(name, type_=BigInteger) for name in names))
    here = tuple_(*walk.order)
    statement = statement.where(
        here > place if ascending else here < place, accounts.unchanged(), _seen(owner, reaches)
    )
    return Hot(statement, "owner", "far", "limit", *accounts.AS_KNOWN, *names)


@cache
def _offset(walk: _Walk, owner: Owner) -> Hot:
    return Hot(select(*walk.order).where(walk.key == bindparam("id"), *walk.of(owner)), "id", "owner")


@cache
def _page(walk: _Walk, owner: Owner, ascending: bool) -> Hot:
    names = _PLACE_NAMES[: len(walk.order)]
    here, place = tuple_(*walk.order), tuple_(*(bindparam(name, type_=BigInteger) for name in names))
    statement = _walked(walk, owner, ascending).where(here > place if ascending else here < place)
    return Hot(statement, "owner", *names, "far", "limit")


def _walked(walk: _Walk, owner: Owner, ascending: bool) -> Select[Any]:
    """The owner's rows up to the farther bound, in order, without a starting place."""
    time = walk.order[0]
    return (
        select(*_columns(walk.shown))
        .where(*walk.of(owner), time <= bindparam("far") if ascending else time >= bindparam("far"))
        .order_by(*(walk.order if ascending else [column.desc() for column in walk.order]))
        .limit(bindparam("limit"))
    )
