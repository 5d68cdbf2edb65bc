"""A new driver, as the pipeline sees it."""

from tests.support.ingest_rig import COMPANY, DRIVER, MINUTE, NOW, SENSOR, VEHICLE, Rig, microtrip

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.services.fleet import assignments
from tripline.store import tables

ADMIN = Actor(UserId("00000000-0000-11ef-8000-0000000000ff"), Authority.COMPANY_ADMIN, CompanyId(COMPANY))


def change(rig, work):
    """Do it beside the running pipeline, and tell that of the sensors."""
    _, sensors = rig.run(
        rig.store.write(
            lambda tx: work(
                tx,
                actor=ADMIN,
                vehicle_id=VehicleId(VEHICLE),
                driver_id=UserId(DRIVER),
                ids=rig.ids,
                now_ms=NOW,
            )
        )
    )
    rig.take_in([], again=sensors)
    return sensors


def test_h9_next_trip_that_opens_carries_the_driver_of_then(tmp_path):
    with Rig.fresh(tmp_path) as rig:
        rig.send(microtrip(NOW))
        assert change(rig, assignments.unset_driver) == [SENSOR]
        rig.send(microtrip(NOW + 1_000), at=NOW + 1_000)
        rig.send(microtrip(NOW + 60 * MINUTE), at=NOW + 60 * MINUTE)
        change(rig, assignments.set_driver)
        rig.send(microtrip(NOW + 120 * MINUTE), at=NOW + 120 * MINUTE)

        assert rig.rows(tables.trip, "user_id") == [DRIVER, None, DRIVER]
        assert len(rig.rows(tables.microtrip, "no")) == 4
