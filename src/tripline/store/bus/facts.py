"""The sensors, vehicles and people that a batch of customers' messages names, read in a few statements."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.mountings import Past
from tripline.store.ingest import mountings
from tripline.store.ingest.mountings import CHANGED_MS
from tripline.store.tables import account, sensor, vehicle, vehicle_user
from tripline.store.transactions import ReadTx, WriteTx


class Sensor(msgspec.Struct, frozen=True):
    """A registered sensor."""

    id: SensorId
    company_id: CompanyId
    service_type: str
    type: str
    vehicle_id: VehicleId | None
    kind: str | None
    """Last kind of trip message."""
    mounted_ms: int
    """When its vehicle changed last; 0: unknown."""
    driven_ms: int
    """When the driver of its vehicle changed last; 0: unknown."""


class Vehicle(msgspec.Struct, frozen=True):
    """A registered vehicle."""

    company_id: CompanyId
    driver_id: UserId | None
    """Who drives it now."""


class Facts(msgspec.Struct, frozen=True):
    """The rows that placing a batch depends on."""

    sensors: dict[str, Sensor]
    vehicles: dict[str, Vehicle]
    people: dict[str, CompanyId | None]
    """Person -> company."""
    pasts: Mapping[SensorId, Past]
    """Changes of the sensors with an older message."""
    rights: frozenset[tuple[str, str]]
    """Person and vehicle, where the person has a right on a vehicle of any company."""


def sensors(tx: ReadTx, scope: Scope, ids: Collection[str]) -> dict[str, Sensor]:
    """The sensors among the ids."""
    scope.require_everything()
    return {row.id: Sensor(*row) for row in tx.all_among(ids, _SENSORS)}


def load(
    tx: ReadTx,
    scope: Scope,
    *,
    sensors: dict[str, Sensor],
    changed: Collection[Sensor],
    vehicle_ids: Iterable[str | None],
    user_ids: Iterable[str | None],
) -> Facts:
    """Load these vehicles and people, the vehicles of the sensors, the earlier ones of the `changed` sensors, and the
    drivers of all these vehicles."""
    scope.require_everything()
    mounted = {each.vehicle_id for each in sensors.values()}
    pasts = {each.id: mountings.past(tx, scope, each.id, each.vehicle_id) for each in changed}
    named = {owner for past in pasts.values() for owner in past.vehicle_ids}
    vehicles = _vehicles(tx, {*vehicle_ids, *mounted, *named})
    drivers = {each.driver_id for each in vehicles.values()}
    earlier = {owner for past in pasts.values() for owner in past.driver_ids}
    return Facts(
        sensors=sensors,
        vehicles=vehicles,
        people=_people(tx, {*user_ids, *drivers, *earlier}),
        pasts=pasts,
        rights=frozenset((row.user_id, row.vehicle_id) for row in tx.all_among(user_ids, _RIGHTS)),
    )


def hold(tx: WriteTx, scope: Scope, facts: Facts) -> bool:
    """Lock the rows until the commit; return True if they are unchanged.

    Locks follow the order of the device pipeline (docs/locks.md): sensors, vehicles, people, each by id. SQLite has no
    other writers.
    """
    scope.require_everything()
    if not tx.shared:
        return True
    rows = tx.all_among(facts.sensors, _SENSORS.with_for_update(key_share=True))
    vehicles = _vehicles(tx, facts.vehicles, locked=True)
    people = _people(tx, facts.people, locked=True)
    return (vehicles, {row.id: Sensor(*row) for row in rows}, people) == (facts.vehicles, facts.sensors, facts.people)


def _vehicles(tx: ReadTx, ids: Iterable[str | None], *, locked: bool = False) -> dict[str, Vehicle]:
    statement = _VEHICLES.with_for_update(key_share=True) if locked else _VEHICLES
    return {row.id: Vehicle(row.company_id, row.current_driver_id) for row in tx.all_among(ids, statement)}


def _people(tx: ReadTx, ids: Iterable[str | None], *, locked: bool = False) -> dict[str, CompanyId | None]:
    statement = _PEOPLE.with_for_update(key_share=True) if locked else _PEOPLE
    return {row.id: row.company_id for row in tx.all_among(ids, statement)}


_IDS: Final[Any] = bindparam("among", expanding=True)
_SENSORS: Final = (
    select(
        sensor.c.id,
        sensor.c.company_id,
        sensor.c.service_type,
        sensor.c.type,
        sensor.c.vehicle_id,
        sensor.c.last_trip_msg_type,
        *(changed.label(name) for name, changed in zip(("mounted_ms", "driven_ms"), CHANGED_MS, strict=True)),
    )
    .where(sensor.c.id.in_(_IDS))
    .order_by(sensor.c.id)
)
_VEHICLES: Final = (
    select(vehicle.c.id, vehicle.c.company_id, vehicle.c.current_driver_id)
    .where(vehicle.c.id.in_(_IDS))
    .order_by(vehicle.c.id)
)
_PEOPLE: Final = select(account.c.id, account.c.company_id).where(account.c.id.in_(_IDS)).order_by(account.c.id)
_RIGHTS: Final = (
    select(vehicle_user.c.user_id, vehicle_user.c.vehicle_id).where(vehicle_user.c.user_id.in_(_IDS)).distinct()
)
