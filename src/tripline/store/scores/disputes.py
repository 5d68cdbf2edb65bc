"""Rows of disputes of scores, and the events that accepted ones annul."""

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, ScalarSelect, Select, bindparam, func, insert, literal_column, select, update

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.disputes import Dispute, Disputed, Reason, State
from tripline.domain.ids import CompanyId, SensorId, TripId, UserId
from tripline.store import lists, records, scopes
from tripline.store.erasure import erasures
from tripline.store.lists import Span
from tripline.store.tables import dispute, gps_event, vehicle
from tripline.store.tables import trip as trips
from tripline.store.transactions import AnyRow, Hot, ReadTx, WriteTx

_ACCEPTED: Final[ColumnElement[bool]] = literal_column(f"dispute.state = '{State.ACCEPTED}'")
"""As text, for the index is over these rows alone."""
_OPEN: Final[ColumnElement[bool]] = literal_column(f"dispute.state = '{State.OPEN}'")


class Annulled(NamedTuple):
    """The events of a trip that an accepted dispute annuls."""

    dispute_id: str
    kind: str | None
    """None: the whole trip."""
    begin_ms: int
    end_ms: int


class OwnedTrip(NamedTuple):
    """A trip and its owner."""

    no: int
    company_id: CompanyId


class Drive(NamedTuple):
    """A trip's start and vehicle number, by which people recognise it."""

    begin_ms: int
    vehicle_no: str | None


class Event(NamedTuple):
    """A stored GPS event."""

    id: str
    event_type: int
    event_ms: int


def keep(
    tx: WriteTx,
    *,
    dispute_id: str,
    company_id: CompanyId,
    trip_no: int,
    opened_by: UserId,
    reason: Reason,
    text: str,
    event: Disputed | None,
    state: State,
    mail_language: str | None = None,
) -> None:
    """Store a new dispute. `mail_language`: language of the mail about the decision; None: no mail."""
    about: dict[str, Any] = {} if event is None else msgspec.structs.asdict(event)
    row = {"no": ids.no_of(dispute_id), "id": dispute_id, "company_id": company_id, "trip_no": trip_no}
    row |= {"opened_by": opened_by, "reason": reason.value, "text": text, "state": state.value}
    row["mail_language"] = mail_language
    tx.run(insert(dispute), row | about)


def trip(tx: ReadTx, trip_id: TripId) -> OwnedTrip:
    """The existing trip with this id."""
    row = tx.one(select(trips.c.no, trips.c.company_id).where(trips.c.id == trip_id))
    assert row is not None
    return OwnedTrip(row.no, CompanyId(row.company_id))


def drive(tx: ReadTx, trip_no: int) -> Drive:
    """The start of an existing trip and the number of its vehicle."""
    row = tx.one(
        select(func.coalesce(trips.c.start_ms, trips.c.created_ms).label("begin_ms"), vehicle.c.vehicle_no)
        .select_from(trips.outerjoin(vehicle, vehicle.c.id == trips.c.vehicle_id))
        .where(trips.c.no == trip_no)
    )
    assert row is not None
    return Drive(row.begin_ms, row.vehicle_no)


def sensor(tx: ReadTx, trip_no: int) -> SensorId | None:
    """The sensor of a trip; None: it is gone."""
    row = tx.one(select(erasures.mentioned(trips.c.sensor_id).label("id")).where(trips.c.no == trip_no))
    return None if row is None else row.id


def close(
    tx: WriteTx, dispute_id: str, state: State, *, by: UserId, answer: str | None, score: float | None, now_ms: int
) -> None:
    """Give a dispute its last state. `score`: of the trip as it is now."""
    values = {"state": state.value, "decided_ms": now_ms, "decided_by": by, "answer": answer, "score_before": score}
    tx.run(update(dispute).where(dispute.c.id == dispute_id).values(values))


def note_score(tx: WriteTx, trip_no: int, score: float | None, *, now_ms: int) -> None:
    """Keep with the accepted disputes of a trip that it was scored without them, and how."""
    tx.run(_NOTE, {"of_trip": trip_no, "score": score, "at_ms": now_ms})


def annulled(tx: ReadTx, trip_no: int) -> list[Annulled]:
    """The annulments of a trip by accepted disputes, the oldest first."""
    return [Annulled(*row) for row in tx.hot(_ANNULLED, trip_no)]


def annulments(trip_no: ColumnElement[int]) -> ScalarSelect[int]:
    """How many accepted disputes a trip has."""
    return select(func.count()).select_from(dispute).where(dispute.c.trip_no == trip_no, _ACCEPTED).scalar_subquery()


def of_trip(tx: ReadTx, trip_no: int) -> list[Dispute]:
    """The disputes of a trip, the oldest first."""
    return [_dispute(row) for row in tx.all(_OF_TRIP, {"of_trip": trip_no})]


def inside(tx: ReadTx, scope: Scope, dispute_id: str) -> tuple[Dispute, bool] | None:
    """A dispute, and whether its trip's vehicle is inside the scope; None: there is none."""
    return scopes.found(tx.all(_one(scope.reaches), {"of_id": dispute_id, **scopes.values(scope)}), _dispute)


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, span: Span, *, state: State | None) -> list[Dispute]:
    """Disputes about vehicles of a company that are inside the scope, by when they were opened. Raises `UnknownOffset`.

    `state`: those alone.
    """
    statement = _disputes().where(dispute.c.company_id == company_id, scopes.trips(scope.reaches))
    if state is State.OPEN:
        statement = statement.where(_OPEN)
    elif state is not None:
        statement = statement.where(dispute.c.state == state.value)
    page = lists.in_span(tx, statement, dispute, span, of=dispute.c.company_id == company_id)
    return [_dispute(row) for row in tx.all(page, scopes.values(scope))]


def event(tx: ReadTx, trip_no: int, event_id: str) -> Event | None:
    """A GPS event of a trip."""
    known = select(gps_event.c.id, gps_event.c.event_type, gps_event.c.event_ms)
    row = tx.one(known.where(gps_event.c.trip_no == trip_no, gps_event.c.id == event_id))
    return None if row is None else Event(row.id, row.event_type, row.event_ms)


def _disputes() -> Select[Any]:
    """Disputes of trips that are there."""
    looked_up = {
        "opened_by": erasures.mentioned(dispute.c.opened_by),
        "decided_by": erasures.mentioned(dispute.c.decided_by),
        "driver_id": erasures.mentioned(trips.c.user_id),
        "trip_id": trips.c.id,
        "vehicle_id": trips.c.vehicle_id,
    }
    own = (column for column in dispute.c if column.name not in looked_up)
    return (
        select(*own, *(column.label(name) for name, column in looked_up.items()))
        .select_from(dispute.join(trips, trips.c.no == dispute.c.trip_no))
        .where(erasures.kept(trips.c.vehicle_id))
    )


@cache
def _one(reaches: frozenset[Reach]) -> Select[Any]:
    return _disputes().add_columns(scopes.trips(reaches).label("inside")).where(dispute.c.id == bindparam("of_id"))


_OF_TRIP: Final = _disputes().where(dispute.c.trip_no == bindparam("of_trip")).order_by(dispute.c.no)


def _dispute(row: AnyRow) -> Dispute:
    event = None if row.event_id is None else Disputed(**records.given(Disputed, row))
    return Dispute(**records.given(Dispute, row), created_ms=ids.ms_of_no(row.no), event=event)


_ANNULLED: Final = Hot(
    select(dispute.c.id, dispute.c.kind, dispute.c.begin_ms, dispute.c.end_ms)
    .where(dispute.c.trip_no == bindparam("of_trip"), _ACCEPTED)
    .order_by(dispute.c.no),
    "of_trip",
)
_NOTE: Final = (
    update(dispute)
    .where(dispute.c.trip_no == bindparam("of_trip"), _ACCEPTED, dispute.c.rescored_ms.is_(None))
    .values(score_after=bindparam("score"), rescored_ms=bindparam("at_ms"))
)
