"""Look-ups of the pipeline stay on short index ranges, however many trips a sensor has made."""

import pytest
from tests.support import rows

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.store import tracks
from tripline.store.transactions import Hot

EVERYTHING = Scope.everything("test")


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (tracks._TRIPS, {"ix_trip_ended (sensor_id=? AND closed_ms=?)", "ix_trip_ended (sensor_id=? AND closed_ms>?)"}),
        (tracks._MICROTRIP_STORED, {"ix_microtrip_trip (trip_no=? AND rowid>?)"}),
        (tracks._EVENT_STORED, {"ix_device_event_sensor (sensor_id=? AND no>?)"}),
        (tracks._MESSAGE_STORED, {"ix_trip_message (sensor_id=? AND message_key=?)"}),
        (tracks._SILENT, {"ix_trip_open (no<?)", "ix_microtrip_trip (trip_no=? AND rowid>?)"}),
    ],
    ids=["trips", "microtrip", "event", "message", "silent"],
)
def test_look_up_searches_an_index_by_all_its_columns(statement: Hot, expected: set[str]) -> None:
    with rows.memory() as tx:
        sql, order, _ = statement.compiled(tx.connection.dialect)
        plan = tx.connection.exec_driver_sql("EXPLAIN QUERY PLAN " + sql, (None,) * len(order)).all()

    steps = [row[3] for row in plan]
    assert not [step for step in steps if step.startswith("SCAN")]
    assert {step.split("INDEX ")[1] for step in steps if "INDEX " in step} >= expected


def test_unknown_sensor_is_none() -> None:
    with rows.memory() as tx:
        assert tracks.load(tx, EVERYTHING, SensorId("nobody"), since_ms=0) is None


def test_a_customers_scope_is_not_enough() -> None:
    with rows.memory() as tx, pytest.raises(AssertionError, match="every sensor"):
        tracks.load(tx, Scope("mine", frozenset()), SensorId("nobody"), since_ms=0)
