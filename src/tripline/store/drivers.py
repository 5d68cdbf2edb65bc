"""Who drove: taking a person out of what driving left behind, which itself is kept.

Not here: reading trips (`journeys.py`), who drives a vehicle now (`vehicles.release_driver`).
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import bindparam, literal_column, select, update

from tripline.domain import trips
from tripline.domain.ids import SensorId, UserId
from tripline.store.tables import account, device_event, driving_score, gps_event, trip, vehicle_score
from tripline.store.transactions import Hot, ReadTx, WriteTx

_EXISTS: Final = Hot(select(account.c.id).where(account.c.id == bindparam("id")), "id")
_DRIVING: Final = Hot(
    select(trip.c.sensor_id)
    .distinct()
    .where(
        trip.c.user_id == bindparam("of_user"),
        trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
        trip.c.sensor_id.is_not(None),
    ),
    "of_user",
)
_FORGET: Final = [
    update(table).where(table.c.user_id == bindparam("of_user")).values(user_id=None)
    for table in (trip, device_event, driving_score, gps_event, vehicle_score)
]


def sensors_with_open_trips(tx: ReadTx, user_id: UserId) -> list[SensorId]:
    """The sensors whose open trip the person drives: the pipeline holds it in memory."""
    return [SensorId(sensor_id) for (sensor_id,) in tx.hot(_DRIVING, user_id)]


def forget_user(tx: WriteTx, user_id: UserId) -> None:
    """Let everything that the person drove name no driver. For a person that is to be deleted, or is."""
    for statement in _FORGET:
        tx.run(statement, {"of_user": user_id})


def forget_deleted(tx: WriteTx, user_ids: Iterable[UserId]) -> None:
    """As `forget_user`, for those who have no account any more: rows were made from what was known before."""
    for user_id in user_ids:
        if not tx.hot(_EXISTS, user_id):
            forget_user(tx, user_id)
