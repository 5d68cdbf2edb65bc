"""Rows of sensors: what goes with a deleted vehicle."""

import pytest
from sqlalchemy import insert, select
from tests.support import fleet_rows, rows

from tripline.domain.ids import VehicleId
from tripline.store import tables
from tripline.store.fleet import sensors

HERE, ELSEWHERE = VehicleId("here"), VehicleId("elsewhere")


@pytest.fixture
def tx():
    with rows.memory(keys_checked=False) as tx:
        for name, vehicle_id in (("b", HERE), ("a", HERE), ("c", ELSEWHERE), ("d", None)):
            status = "DEACTIVATED" if vehicle_id is None else "ACTIVATED"
            tx.run(insert(tables.sensor), fleet_rows.sensor(name, "company", vehicle_id=vehicle_id, status=status))
        yield tx


def mountings(tx):
    """Every sensor's vehicle and state."""
    return {row.id: row[1:] for row in tx.all(select(tables.sensor.c["id", "vehicle_id", "status"]))}


def test_unmount_all_takes_every_sensor_off_the_vehicle_and_names_them(tx):
    taken_off = sensors.unmount_all(tx, HERE)

    assert taken_off == ["a", "b"]
    assert mountings(tx) == {
        "a": (None, "DEACTIVATED"),
        "b": (None, "DEACTIVATED"),
        "c": (ELSEWHERE, "ACTIVATED"),
        "d": (None, "DEACTIVATED"),
    }


def test_unmount_all_of_a_vehicle_without_sensors_changes_nothing(tx):
    before = mountings(tx)

    assert sensors.unmount_all(tx, VehicleId("bare")) == []
    assert mountings(tx) == before
