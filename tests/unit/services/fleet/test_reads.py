"""Reads take a fixed number of queries, however many rows they find."""

import pytest
from msgspec.structs import replace
from sqlalchemy import insert
from tests.support import journeys as stored
from tests.support import rows
from tests.support.refused import refused

from tripline.domain import companies, sensors, vehicles
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.ids import SensorId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import Forbidden
from tripline.services import admission
from tripline.services.fleet import companies as company_service
from tripline.services.fleet import sensors as sensor_service
from tripline.services.fleet import trip_lists
from tripline.services.fleet import vehicles as vehicle_service
from tripline.store.lists import Span, Window
from tripline.store.tables import account
from tripline.store.transactions import WriteTx
from tripline.store.trips import microtrips
from tripline.store.trips import trips as trip_rows

NOW_MS = 1_760_000_000_000


class Fleet:
    """One company with as many vehicles, mounted sensors, trips and microtrips of one trip as asked."""

    def __init__(self, tx: WriteTx, size: int) -> None:
        self.tx, self.ids = tx, TimeIds(node=1)
        granted = Actor(UserId("u"), Authority.COMPANY_ADMIN, None)
        row = {"id": "u", "created_ms": 1, "authority": "COMPANY_ADMIN", "name": "", "email": "a@a", "login": "a@a"}
        tx.run(insert(account), {**row, "password_hash": "", "password_updated_ms": 1, "enabled": True})
        company = company_service.register(
            tx,
            actor=granted,
            registration=companies.registration(
                name="A", pic_name="K", pic_email="a@a", pic_passwd="p", service_type="ace"
            ),
            password_hash="hash",
            ids=self.ids,
            now_ms=NOW_MS,
        )
        self.actor = Actor(UserId("u"), Authority.COMPANY_ADMIN, company.id)
        self.vehicles = [self._vehicle(number) for number in range(size)]
        self.trips = [self._trip(at) for at in range(size)]
        later = TimeIds(node=2)
        for at in range(size):
            stored.keep_microtrip(tx, later, self.trips[0][0], created_ms=NOW_MS + at, payload={})

    def _vehicle(self, number: int) -> VehicleId:
        common = {"actor": self.actor, "ids": self.ids, "now_ms": NOW_MS}
        vehicle = vehicle_service.register(
            self.tx, registration=vehicles.registration(vehicle_no=str(number), mileage=1), **common
        )
        sent = sensors.registration(serial_no=str(number), type="GPS", credentials_id=str(number) * 20)
        sensor = sensor_service.register(self.tx, registration=sent, **common)
        sensor_service.mount(self.tx, sensor_id=SensorId(sensor.id), vehicle_id=vehicle.id, **common)
        return vehicle.id

    def _trip(self, at: int):
        return stored.keep_trip(
            self.tx,
            self.ids,
            created_ms=NOW_MS + at,
            company_id=self.actor.company_id,
            vehicle_id=self.vehicles[0],
        )


def _trips(fleet, span):
    admission.admit(fleet.tx, fleet.actor, Action.DRIVING_READ, Thing.VEHICLE, fleet.vehicles[0])
    return trip_rows.trips_of_vehicle(fleet.tx, fleet.vehicles[0], span)


def _microtrips(fleet, span):
    trip_id = fleet.trips[0][1]
    admission.admit(fleet.tx, fleet.actor, Action.DRIVING_READ, Thing.TRIP, trip_id)
    return microtrips.of_trip(fleet.tx, trip_id, span)


READS = {
    "vehicles": (
        1,
        lambda fleet: vehicle_service.owned_by(
            fleet.tx, actor=fleet.actor, company_id=fleet.actor.company_id, window=Window(limit=10)
        ),
    ),
    "sensors": (
        1,
        lambda fleet: sensor_service.owned_by(
            fleet.tx, actor=fleet.actor, company_id=fleet.actor.company_id, window=Window(limit=10)
        ),
    ),
    "trips": (2, lambda fleet: _trips(fleet, Span(limit=10))),
    "microtrips": (2, lambda fleet: _microtrips(fleet, Span(limit=10))),
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", READS)
def test_list_takes_the_same_number_of_queries_for_1_and_3_rows(name, size):
    queries, read = READS[name]
    with rows.memory() as tx:
        fleet = Fleet(tx, size)

        with rows.statements(tx) as seen:
            found = read(fleet)

        assert (len(found), len(seen)) == (size, queries)


@pytest.mark.sqlite("how SQLite finds rows")
def test_pages_of_trips_and_microtrips_are_read_in_index_order_without_sorting():
    with rows.memory() as tx:
        fleet = Fleet(tx, 3)
        trip_id, microtrip_id = fleet.trips[1][1], _microtrips(fleet, Span(limit=9))[1].id
        for continued, ascending in ((False, False), (True, False), (True, True)):
            of_trips = Span(limit=2, after=trip_id if continued else None, ascending=ascending)
            of_microtrips = replace(of_trips, after=microtrip_id if continued else None)
            with rows.statements(tx) as seen:
                _trips(fleet, of_trips)
                _microtrips(fleet, of_microtrips)
                trip_lists.latest_microtrip(tx, actor=fleet.actor, vehicle_id=fleet.vehicles[0])

            plans = [row[3] for sql in seen for row in rows.plan(tx, sql)]

            assert not [step for step in plans if "TEMP B-TREE" in step or step.startswith("SCAN")], plans


def test_mounting_twice_is_new_only_once():
    with rows.memory() as tx:
        fleet = Fleet(tx, 1)
        sensor = sensor_service.read_by_serial(tx, actor=fleet.actor, serial_no="0")

        again = sensor_service.mount(
            tx, actor=fleet.actor, sensor_id=sensor.id, vehicle_id=fleet.vehicles[0], ids=fleet.ids, now_ms=NOW_MS
        )

        assert again == (sensor, sensor_service.Mounting.NOTHING)


def test_account_that_lost_the_race_for_its_company_is_refused():
    with rows.memory() as tx:
        fleet = Fleet(tx, 0)
        stale = Actor(UserId("u"), Authority.COMPANY_ADMIN, None)
        sent = companies.registration(name="B", pic_name="K", pic_email="b@b", pic_passwd="p", service_type="other")

        with refused(companies.OneCompanyOnly, match="has registered its company already"):
            company_service.register(
                tx, actor=stale, registration=sent, password_hash="hash", ids=fleet.ids, now_ms=NOW_MS
            )


def test_register_refuses_a_role_also_when_the_rim_forgot_to_ask():
    with rows.memory() as tx:
        driver = Actor(UserId("d"), Authority.DRIVER, None)

        with pytest.raises(Forbidden):
            vehicle_service.register(
                tx,
                actor=driver,
                registration=vehicles.registration(vehicle_no="1", mileage=1),
                ids=TimeIds(node=3),
                now_ms=NOW_MS,
            )
