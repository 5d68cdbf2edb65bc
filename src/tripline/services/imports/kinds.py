"""The differences between importing vehicles and importing sensors: columns, rules, names, inserts."""

from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import msgspec

from tripline import cooperative
from tripline.domain import keys, sensors, vehicles
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.companies import Company
from tripline.domain.history import Event
from tripline.domain.ids import SensorId, TimeIds, VehicleId
from tripline.domain.refusals import Refusal
from tripline.services.fleet import sensors as sensor_service
from tripline.services.fleet import vehicles as vehicle_service
from tripline.store import reach
from tripline.store.bulk import STAGED_FROM, Rows
from tripline.store.fleet import imports as rows
from tripline.store.reach import Kind, Why
from tripline.store.transactions import ReadTx
from tripline.wire import csv_registrations


class Key(msgspec.Struct, frozen=True):
    """A field with unique values."""

    column: str
    of: Callable[[Any], str]
    """Gets the field of a registration."""
    taken: Callable[[ReadTx, str, Collection[str]], set[str]]
    """Given the service type, returns the registered names among these, in normalised form."""
    refusal: Callable[[str], Refusal]
    compared: Callable[[str], str] = keys.key
    """Normalises a name for comparison."""

    def name(self, registration: Any) -> str:
        return self.compared(self.of(registration))


class ImportKind(msgspec.Struct, frozen=True):
    """A kind of record that can be imported."""

    noun: str
    action: Action
    """The required permission."""
    event: Event
    """The event in history."""
    sheet: csv_registrations.Sheet
    registration: Callable[..., Any]
    """The rules of a single registration; raises `BadParameter`."""
    keys: tuple[Key, ...]
    prepared: Callable[..., Iterator[list[Rows]]]
    """Yields the rows of registrations, part by part, before the transaction; inserting them fails if a name was
    registered meanwhile."""


def _parts(registrations: Sequence[Any], name: str) -> Iterator[Sequence[Any]]:
    """Sort by the name that lists are sorted by, so that index entries are adjacent, in half the time; yield parts."""
    by, starts = attrgetter(name), range(0, len(registrations), STAGED_FROM)
    # A single sort of all rows would hold the interpreter for a tenth of a second.
    runs = [sorted(registrations[start : start + STAGED_FROM], key=by) for start in cooperative.each(starts)]
    in_order = merge(*runs, key=by)
    while part := list(cooperative.each(islice(in_order, STAGED_FROM))):
        yield part


def _vehicles_prepared(
    registrations: Sequence[vehicles.Registration], *, actor: Actor, company: Company, ids: TimeIds, now_ms: int
) -> Iterator[list[Rows]]:
    """Vehicles, and for a partner their delegations to the operator (rule 3, H3)."""
    principals: dict[str, Why] = {company.id: Why.OWN}
    if not company.master:
        principals[company.master_id] = Why.PARTNER | Why.DELEGATED
    if actor.authority is Authority.DIRECTOR:
        principals[actor.user_id] = Why.MANAGED
    for part in _parts(registrations, "vehicle_no"):
        new = [
            vehicle_service.of_registration(
                registration, actor=actor, company=company, vehicle_id=VehicleId(vehicle_id), now_ms=now_ms
            )
            for registration, vehicle_id in cooperative.each(zip(part, ids.run(len(part), now_ms=now_ms), strict=True))
        ]
        seen = [(each.id, each.vehicle_no) for each in new]
        made = [rows.vehicle_rows(new), reach.rows_of_new(Kind.VEHICLE, principals, seen, created_ms=now_ms)]
        if not company.master:
            delegation_ids = ids.run(len(new), now_ms=now_ms)
            made.append(
                rows.delegation_rows(new, delegation_ids, owner=company.id, to=company.master_id, created_ms=now_ms)
            )
        yield made


def _sensors_prepared(
    registrations: Sequence[sensors.Registration], *, actor: Actor, company: Company, ids: TimeIds, now_ms: int
) -> Iterator[list[Rows]]:
    """Sensors without a vehicle; the row does not name the account that registers them."""
    principals: dict[str, Why] = {company.id: Why.OWN}
    if not company.master:
        principals[company.master_id] = Why.PARTNER
    for part in _parts(registrations, "serial_no"):
        new = [
            sensor_service.of_registration(registration, company=company, sensor_id=SensorId(sensor_id), now_ms=now_ms)
            for registration, sensor_id in zip(part, ids.run(len(part), now_ms=now_ms), strict=True)
        ]
        seen = [(each.id, each.serial_no) for each in new]
        yield [rows.sensor_rows(new), reach.rows_of_new(Kind.SENSOR, principals, seen, created_ms=now_ms)]


VEHICLES: Final = ImportKind(
    noun="vehicles",
    action=Action.VEHICLE_CREATE,
    event=Event.VEHICLES_IMPORTED,
    sheet=csv_registrations.VEHICLES,
    registration=vehicles.registration,
    keys=(Key("vehicleNo", attrgetter("vehicle_no"), rows.taken_numbers, vehicles.number_taken),),
    prepared=_vehicles_prepared,
)
SENSORS: Final = ImportKind(
    noun="sensors",
    action=Action.SENSOR_CREATE,
    event=Event.SENSORS_IMPORTED,
    sheet=csv_registrations.SENSORS,
    registration=sensors.registration,
    keys=(
        Key("serialNo", attrgetter("serial_no"), rows.taken_serials, sensors.serial_taken),
        Key(
            "credentialsId",
            attrgetter("credentials_id"),
            lambda tx, _, values: rows.taken_credentials(tx, values),
            lambda _: sensors.credentials_taken(),
            compared=str,
        ),
    ),
    prepared=_sensors_prepared,
)
KINDS: Final = {kind.noun: kind for kind in (VEHICLES, SENSORS)}
