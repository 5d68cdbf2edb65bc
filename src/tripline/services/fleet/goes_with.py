"""Count the data deleted with a vehicle, sensor, person or company, before the user confirms.

The caller checked permission for the deletion.
"""

from typing import Final

from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.services.fleet import removal
from tripline.store.devices import latest_values
from tripline.store.fleet import companies, delegations, people, rights, vehicles
from tripline.store.rpc import calls
from tripline.store.transactions import ReadTx
from tripline.store.trips import trips

TRIPS_MAX: Final = trips.COUNTED_MAX
"""Most trips counted; beyond that the result only indicates more."""
CALLS_MAX: Final = 100
"""As `TRIPS_MAX`, of calls under way."""


def vehicle(tx: ReadTx, vehicle_id: VehicleId) -> dict[str, int]:
    """Sensors that are unmounted, delegations and rights that end, trips that are erased."""
    return {
        "sensors": len(vehicles.sensors_of(tx, vehicle_id)),
        "delegations": delegations.count_of_vehicle(tx, vehicle_id),
        "rights": rights.count_of_vehicle(tx, vehicle_id),
        "trips": trips.count_of_vehicle(tx, vehicle_id),
    }


def sensor(tx: ReadTx, sensor_id: SensorId) -> dict[str, int]:
    """Count open trips to end, calls to cancel, latest values to erase, and trips that lose the sensor or, without a
    vehicle, are deleted with it."""
    return {
        "open_trips": trips.count_open_of_sensor(tx, sensor_id),
        "calls": _calls(tx, sensor_id),
        "values": len(latest_values.of_sensor(tx, sensor_id)),
        "trips": trips.count_of_sensor(tx, sensor_id),
    }


def unmounting(tx: ReadTx, sensor_id: SensorId) -> dict[str, int]:
    """Open trips that end and latest values that are erased when the sensor is taken off; calls that go on."""
    return {
        "open_trips": trips.count_open_of_sensor(tx, sensor_id),
        "values": len(latest_values.of_sensor(tx, sensor_id)),
        "calls_go_on": _calls(tx, sensor_id),
    }


def person(tx: ReadTx, user_id: UserId) -> dict[str, int]:
    """Count rights to end, vehicles that lose their managing director or driver, and trips that lose their driver."""
    return {**removal.goes_with_person(tx, user_id), "trips": trips.count_of_person(tx, user_id)}


def company(tx: ReadTx, company_id: CompanyId) -> dict[str, int]:
    """People who are deleted, and delegations that end."""
    return {
        "people": len(people.ids_of_company(tx, company_id)),
        "delegations": delegations.count_received(tx, company_id),
    }


def blocks_company(tx: ReadTx, company_id: CompanyId) -> bool:
    """True if the company cannot be deleted now because it owns vehicles or sensors, or has partners."""
    return companies.owns_anything(tx, company_id) or companies.has_partners(tx, company_id)


def _calls(tx: ReadTx, sensor_id: SensorId) -> int:
    """Calls under way, `CALLS_MAX` for more."""
    return len(calls.without_end(tx, sensor_id, limit=CALLS_MAX))
