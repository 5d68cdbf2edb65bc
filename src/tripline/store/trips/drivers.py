"""The driver of a trip as stored, and giving it another one, with its score, GPS events and sums.

Not here: who may do that (`services/scores/corrections.py`), drivers named by bus messages (`bus_trips.py`).
"""

from typing import Final

from sqlalchemy import bindparam, func, select, update

from tripline.domain.corrections import TripDriver
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.trips import State
from tripline.store.erasure import erasures
from tripline.store.scores import scores, sums
from tripline.store.tables import account, driving_score, gps_event, trip
from tripline.store.transactions import Hot, ReadTx, WriteTx


def of_trip(tx: ReadTx, trip_id: TripId) -> TripDriver:
    """The driver of an existing trip."""
    row = tx.hot(_ONE, trip_id)[0]
    no, key, company_id, vehicle_id, begun_ms, state, driver_id, recorded_id, corrected_ms = row
    return TripDriver(
        trip_no=no,
        trip_id=TripId(key),
        company_id=CompanyId(company_id),
        vehicle_id=None if vehicle_id is None else VehicleId(vehicle_id),
        begun_ms=begun_ms,
        under_way=state == State.OPEN,
        driver_id=driver_id,
        recorded_id=driver_id if corrected_ms is None else recorded_id,
        corrected_ms=corrected_ms,
    )


def change(
    tx: WriteTx,
    known: TripDriver,
    driver_id: UserId | None,
    *,
    recorded_id: UserId | None,
    corrected_ms: int | None,
    now_ms: int,
) -> None:
    """Give the trip this driver, and move its score to that person's sums; `recorded_id` only with `corrected_ms`.

    The caller holds the trip and its vehicle (`scores.hold`).
    """
    if driver_id is not None:
        tx.all(_HOLD, {"of_user": driver_id})  # against a deletion, whose eraser would miss the trip
    values = {"user_id": driver_id, "recorded_user_id": recorded_id, "corrected_ms": corrected_ms}
    tx.run(update(trip).where(trip.c.no == known.trip_no).values(values))
    _judged(tx, known, driver_id, now_ms=now_ms)
    if driver_id is not None:
        tx.run(_LATER, {"of_user": driver_id, "of_trip": known.trip_id, "begun_ms": known.begun_ms})
    if known.driver_id is not None:
        tx.run(_FORMER, {"of_user": known.driver_id, "of_trip": known.trip_id})


def renamed(tx: WriteTx, driven: dict[int, UserId | None], *, at_ms: int | None = None) -> None:
    """Set the drivers of the scores and events of these trips, by trip number, and move the scores between sums.

    `at_ms`: time of analysis from which pollers find the events, the scores 1 ms later; None: leave it.
    """
    before = sums.held(tx, driven)
    values = [{"of_trip": trip_no, "by": user_id} for trip_no, user_id in driven.items()]
    for table, later_ms in ((gps_event, 0), (driving_score, 1)):
        moved = {} if at_ms is None else {"created_ms": at_ms + later_ms}
        statement = update(table).where(table.c.trip_no == bindparam("of_trip"))
        tx.run(statement.values(user_id=bindparam("by"), **moved), values)
    sums.move(tx, before, sums.shares(tx, driven))


def _judged(tx: WriteTx, known: TripDriver, driver_id: UserId | None, *, now_ms: int) -> None:
    """Move the score, if any, and name the driver of the newest one in the vehicle's accumulated score."""
    rows = tx.hot(_ANALYSED, known.trip_no)
    at_ms = max(now_ms, *(row[0] for row in rows)) if rows else now_ms
    renamed(tx, {known.trip_no: driver_id}, at_ms=at_ms)
    if rows and known.vehicle_id is not None and (total := scores.total(tx, known.vehicle_id)) is not None:
        newest = scores.newest_driver(tx, known.vehicle_id)
        scores.keep_total(tx, total._replace(user_id=newest, created_ms=max(at_ms + 2, total.created_ms + 1)))


_BEGUN: Final = func.coalesce(trip.c.start_ms, trip.c.created_ms)
_ONE: Final = Hot(
    select(
        trip.c.no,
        trip.c.id,
        trip.c.company_id,
        trip.c.vehicle_id,
        _BEGUN,
        trip.c.state,
        erasures.mentioned(trip.c.user_id),
        erasures.mentioned(trip.c.recorded_user_id),
        trip.c.corrected_ms,
    ).where(trip.c.id == bindparam("id")),
    "id",
)
_ANALYSED: Final = Hot(
    select(driving_score.c.created_ms).where(driving_score.c.trip_no == bindparam("of_trip")), "of_trip"
)


_HOLD: Final = select(account.c.id).where(account.c.id == bindparam("of_user")).with_for_update(key_share=True)
_LATER: Final = (
    update(account)
    .where(
        account.c.id == bindparam("of_user"),
        func.coalesce(select(_BEGUN).where(trip.c.id == account.c.latest_trip_id).scalar_subquery(), -1)
        < bindparam("begun_ms"),
    )
    .values(latest_trip_id=bindparam("of_trip"))
)
_FORMER: Final = (
    update(account)
    .where(account.c.id == bindparam("of_user"), account.c.latest_trip_id == bindparam("of_trip"))
    .values(
        latest_trip_id=select(trip.c.id)
        .where(trip.c.user_id == bindparam("of_user"), erasures.kept(trip.c.vehicle_id))
        .order_by(trip.c.created_ms.desc(), trip.c.no.desc())
        .limit(1)
        .scalar_subquery()
    )
)
