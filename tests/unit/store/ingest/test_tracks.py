"""Look-ups of the pipeline stay on short index ranges, however many trips a sensor has made."""

import re

import pytest
from tests.support import rows

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.store.ingest import deliveries, tracks
from tripline.store.tables import device_event, microtrip
from tripline.store.transactions import Hot

DELIVERY = "PRIMARY KEY (instant=? AND mark=? AND no>?)"
BOUNDED = re.compile(r"SCAN (lately|wanted|[48] CONSTANT ROWS)")
"""At most `MOST_LATELY` rows; the keys that are asked for."""
EVERYTHING = Scope.everything("test")


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            tracks._TRIPS,
            {
                "INDEX ix_trip_ended (sensor_id=? AND closed_ms=?)",
                "INDEX ix_trip_ended (sensor_id=? AND closed_ms>?)",
                "INDEX ix_microtrip_trip (trip_no=? AND rowid>?)",
            },
        ),
        (
            tracks._SENSOR,
            {
                "INDEX ix_device_event_early (sensor_id=? AND event_ms>?)",
                "INDEX ix_history_sensor_id (sensor_id=?)",
                "INDEX ix_history_vehicle_id (vehicle_id=?)",
            },
        ),
        (deliveries._of_some(microtrip, 4), {DELIVERY, "INTEGER PRIMARY KEY (rowid=?)"}),
        (deliveries._of_some(device_event, 4), {DELIVERY, "INTEGER PRIMARY KEY (rowid=?)"}),
        (tracks._MESSAGE_STORED, {"INDEX ix_trip_message (sensor_id=? AND message_key=?)"}),
        (tracks._SILENT, {"INDEX ix_trip_open (no<?)", "INDEX ix_microtrip_trip (trip_no=? AND rowid>?)"}),
    ],
    ids=["trips", "sensor", "microtrip", "event", "message", "silent"],
)
def test_look_up_searches_an_index_by_all_its_columns(statement: Hot, expected: set[str]) -> None:
    with rows.memory() as tx:
        sql, order, _ = statement.compiled(tx.connection.dialect)
        plan = tx.connection.exec_driver_sql("EXPLAIN QUERY PLAN " + sql, (None,) * len(order)).all()

    steps = [row[3] for row in plan]
    assert not [step for step in steps if step.startswith("SCAN") and not BOUNDED.fullmatch(step)]
    used = [step.removesuffix(" LEFT-JOIN").split("USING ")[1] for step in steps if "USING " in step]
    assert {index.removeprefix("COVERING ") for index in used} >= expected


def test_unknown_sensor_is_none() -> None:
    with rows.memory() as tx:
        assert tracks.load(tx, EVERYTHING, SensorId("nobody"), since_ms=0) is None


def test_a_customers_scope_is_not_enough() -> None:
    with rows.memory() as tx, pytest.raises(AssertionError, match="mine"):
        tracks.load(tx, Scope("mine", frozenset()), SensorId("nobody"), since_ms=0)
