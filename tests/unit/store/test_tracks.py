"""Look-ups of the pipeline stay on short index ranges, however many trips a sensor has made."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine
from tests.support.stores import fresh_file

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.store import tracks
from tripline.store.transactions import Hot, ReadTx

EVERYTHING = Scope.everything("test")


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
def test_look_up_searches_an_index_by_all_its_columns(tmp_path: Path, statement: Hot, expected: set[str]) -> None:
    engine = create_engine(f"sqlite:///{fresh_file(tmp_path)}")
    with engine.connect() as connection:
        sql, order, _ = statement.compiled(connection.dialect)
        plan = connection.exec_driver_sql("EXPLAIN QUERY PLAN " + sql, (None,) * len(order)).all()
    engine.dispose()

    steps = [row[3] for row in plan]
    assert not [step for step in steps if step.startswith("SCAN")]
    assert {step.split("INDEX ")[1] for step in steps if "INDEX " in step} >= expected


def test_unknown_sensor_is_none(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{fresh_file(tmp_path)}")
    with engine.connect() as connection:
        assert tracks.load(ReadTx(connection), EVERYTHING, SensorId("nobody"), since_ms=0) is None
    engine.dispose()


def test_a_customers_scope_is_not_enough(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{fresh_file(tmp_path)}")
    with engine.connect() as connection, pytest.raises(AssertionError, match="every sensor"):
        tracks.load(ReadTx(connection), Scope("mine", frozenset()), SensorId("nobody"), since_ms=0)
    engine.dispose()
