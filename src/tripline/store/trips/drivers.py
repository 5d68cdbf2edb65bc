"""The driver of a trip as stored, and giving it another one, with its score, GPS events and sums."""

from typing import Final

from sqlalchemy import bindparam, func, select, update

from tripline.domain.corrections import TripDriver
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.trips import State
from tripline.store.erasure import erasures
from tripline.store.scores import scores, sums
from tripline.store.tables import account, driving_score, gps_event, trip
from tripline.store.transactions import ReadTx, WriteTx


def of_trip(tx: ReadTx, trip_id: TripId) -> TripDriver:
    """The driver of an existing trip."""
    row = trip.c
    driver, recorded = erasures.mentioned(row.user_id), erasures.mentioned(row.recorded_user_id)
    columns = (row.no, row.id, row.company_id, row.vehicle_id, _BEGUN, row.state, driver, recorded, row.corrected_ms)
    found = tx.all(select(*columns).where(row.id == trip_id))[0]
    no, key, company_id, vehicle_id, begun_ms, state, driver_id, recorded_id, corrected_ms = found
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
        # Against a deletion, whose eraser would miss the trip.
        tx.all(select(account.c.id).where(account.c.id == driver_id).with_for_update(key_share=True))
    values = {"user_id": driver_id, "recorded_user_id": recorded_id, "corrected_ms": corrected_ms}
    tx.run(update(trip).where(trip.c.no == known.trip_no).values(values))
    _judged(tx, known, driver_id, now_ms=now_ms)
    if driver_id is not None:
        _make_latest(tx, driver_id, known)
    if known.driver_id is not None:
        _unmake_latest(tx, known.driver_id, known)


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
    judged = tx.one(select(driving_score.c.created_ms).where(driving_score.c.trip_no == known.trip_no))
    at_ms = now_ms if judged is None else max(now_ms, judged.created_ms)
    renamed(tx, {known.trip_no: driver_id}, at_ms=at_ms)
    if judged and known.vehicle_id is not None and (total := scores.total(tx, known.vehicle_id)) is not None:
        newest = scores.newest_driver(tx, known.vehicle_id)
        scores.keep_total(tx, total._replace(user_id=newest, created_ms=max(at_ms + 2, total.created_ms + 1)))


def _make_latest(tx: WriteTx, user_id: UserId, known: TripDriver) -> None:
    """Make it the person's latest trip, unless a later one is."""
    latest = select(_BEGUN).where(trip.c.id == account.c.latest_trip_id).scalar_subquery()
    is_earlier = func.coalesce(latest, -1) < known.begun_ms
    tx.run(update(account).where(account.c.id == user_id, is_earlier).values(latest_trip_id=known.trip_id))


def _unmake_latest(tx: WriteTx, user_id: UserId, known: TripDriver) -> None:
    """If it was the person's latest trip, the one before is."""
    driven = select(trip.c.id).where(trip.c.user_id == user_id, erasures.kept(trip.c.vehicle_id))
    before = driven.order_by(trip.c.created_ms.desc(), trip.c.no.desc()).limit(1).scalar_subquery()
    was_latest = account.c.id == user_id, account.c.latest_trip_id == known.trip_id
    tx.run(update(account).where(*was_latest).values(latest_trip_id=before))


_BEGUN: Final = func.coalesce(trip.c.start_ms, trip.c.created_ms)
