"""The newest trip of a vehicle and of its driver, and the kind of its last message, as changed by a batch.

The newest trip is the one with the latest start: topics are independent, and old drives may be delivered late, so the
order of arrival does not matter. Only differences are written.
"""

from msgspec.structs import replace

from tripline.domain.ids import SensorId, VehicleId
from tripline.store.bus.facts import Facts, Latest
from tripline.store.trips.batch_rows import Rows
from tripline.store.trips.bus_trips import BusTrip


class Telling:
    """Collects in `rows` the changes for vehicles, sensors and people."""

    def __init__(self, facts: Facts) -> None:
        self.rows = Rows()
        self._vehicles = dict(facts.vehicles)
        self._people = dict(facts.people)
        self._kinds = {sensor.id: sensor.kind for sensor in facts.sensors.values()}

    def of(self, trip: BusTrip, kind: str) -> None:
        """Record a message of this kind for the trip."""
        if trip.start_ms is None or trip.sensor_id is None:
            return
        if trip.vehicle_id is None:
            self._tell_sensor(trip.sensor_id, kind)
            return
        vehicle = self._vehicles.get(trip.vehicle_id)
        if vehicle is None or not _is_latest(trip, vehicle):
            return
        self._tell_sensor(trip.sensor_id, kind)
        self._tell_vehicle(trip.vehicle_id, vehicle, trip, kind)
        person = None if trip.user_id is None else self._people.get(trip.user_id)
        if trip.user_id is not None and person is not None and _is_latest(trip, person):
            if person.trip_id != trip.id:
                self.rows.drivers[trip.user_id] = trip.id
            self._people[trip.user_id] = replace(person, trip_id=trip.id, start_ms=trip.start_ms)

    def in_order(self) -> Rows:
        """Return the rows, with rows that get locked sorted by id."""
        self.rows.vehicles = dict(sorted(self.rows.vehicles.items()))
        self.rows.sensors = dict(sorted(self.rows.sensors.items()))
        self.rows.drivers = dict(sorted(self.rows.drivers.items()))
        self.rows.jobs = dict(sorted(self.rows.jobs.items()))
        return self.rows

    def _tell_vehicle(self, vehicle_id: VehicleId, vehicle: Latest, trip: BusTrip, kind: str) -> None:
        if vehicle.trip_id != trip.id or vehicle.kind != kind:
            self.rows.tell_vehicle(vehicle_id, None if vehicle.trip_id == trip.id else trip.id, kind)
        self._vehicles[vehicle_id] = replace(vehicle, trip_id=trip.id, start_ms=trip.start_ms, kind=kind)

    def _tell_sensor(self, sensor_id: SensorId, kind: str) -> None:
        if self._kinds.get(sensor_id) != kind:
            self._kinds[sensor_id] = kind
            self.rows.sensors[sensor_id] = kind


def _is_latest(trip: BusTrip, latest: Latest) -> bool:
    assert trip.start_ms is not None
    return latest.trip_id == trip.id or latest.start_ms is None or trip.start_ms >= latest.start_ms
