"""Register many vehicles or sensors at once: find taken names, and insert rows in few statements.

The rules of single rows (`vehicles.py`, `sensors.py`, `delegations.py`) apply. No function takes a scope: they only
reveal that a name is taken, as a single registration does.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import ARRAY, Column, Executable, String, Table, bindparam, func, select, true

from tripline import cooperative
from tripline.domain import keys
from tripline.domain.ids import CompanyId, RecordId
from tripline.domain.sensors import Sensor
from tripline.domain.vehicles import Vehicle
from tripline.store.bulk import Bulk, Rows
from tripline.store.tables import sensor, vehicle, vehicle_company
from tripline.store.transactions import ReadTx

T = TypeVar("T")

_ASKED_AT_ONCE: Final = 500


def _stored(record: type[msgspec.Struct], table: Table) -> list[str]:
    return [name for name in record.__struct_fields__ if name in table.c]


_VEHICLE: Final = _stored(Vehicle, vehicle)
_SENSOR: Final = _stored(Sensor, sensor)
_VEHICLES: Final = Bulk(vehicle, *_VEHICLE, "number_key", on_conflict="ON CONFLICT DO NOTHING")
_SENSORS: Final = Bulk(sensor, *_SENSOR, "serial_key", on_conflict="ON CONFLICT DO NOTHING")
_DELEGATIONS: Final = Bulk(
    vehicle_company, "id", "vehicle_id", "created_ms", "from_company_id", "to_company_id", "automatic"
)


def taken_numbers(tx: ReadTx, service_type: str, numbers: Collection[str]) -> set[str]:
    """The keys, out of these, of numbers of vehicles in the service type."""
    return _taken(tx, vehicle.c.number_key, numbers, within=(vehicle.c.service_type, service_type))


def taken_serials(tx: ReadTx, service_type: str, serials: Collection[str]) -> set[str]:
    """The keys, out of these, of serial numbers of sensors in the service type."""
    return _taken(tx, sensor.c.serial_key, serials, within=(sensor.c.service_type, service_type))


def taken_credentials(tx: ReadTx, credentials: Collection[str]) -> set[str]:
    """The access tokens that already belong to a sensor."""
    return _taken(tx, sensor.c.credentials_id, credentials, within=None)


def vehicle_rows(new: Iterable[Vehicle]) -> Rows:
    """Rows of new vehicles."""
    return Rows(_VEHICLES, _flat(new, _VEHICLE, "vehicle_no"))


def sensor_rows(new: Iterable[Sensor]) -> Rows:
    """Rows of new sensors."""
    return Rows(_SENSORS, _flat(new, _SENSOR, "serial_no"))


def delegation_rows(
    new: Sequence[Vehicle], delegation_ids: Sequence[str], *, owner: CompanyId, to: CompanyId, created_ms: int
) -> Rows:
    """Rows of automatic delegations: each new vehicle delegated by its owner to the company from its creation on."""
    pairs = zip(delegation_ids, new, strict=True)
    values = [value for delegation_id, each in cooperative.each(pairs) for value in (RecordId(delegation_id), each.id)]
    return Rows(_DELEGATIONS, values, [(created_ms, owner, to, True)])


def _taken(
    tx: ReadTx, column: Column[Any], values: Collection[str], *, within: tuple[Column[Any], str] | None
) -> set[str]:
    statement = select(column).where(column.in_(bindparam("values", expanding=True)))
    if within is not None:
        statement = statement.where(within[0] == within[1])
    asked = _probing(column, within) if tx.shared else statement
    return {row[0] for part in _parts(values) for row in tx.all(asked, {"values": part})}


def _probing(column: Column[Any], within: tuple[Column[Any], str] | None) -> Executable:
    """Query each name separately: for a list the server would scan the table, as its statistics miss earlier
    imports."""
    asked = func.unnest(bindparam("values", type_=ARRAY(String))).table_valued("name", name="asked").render_derived()
    # The order is that of the index by name alone: an empty table's plan would else take any that begins as it does.
    found = select(column).where(column >= asked.c.name).order_by(column)
    if within is not None:
        found = found.where(within[0] == within[1])
    each = found.limit(1).lateral("found")
    return select(each.c[column.name]).select_from(asked.join(each, true())).where(each.c[column.name] == asked.c.name)


def _parts(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while part := list(islice(rest, _ASKED_AT_ONCE)):
        yield part


def _flat(new: Iterable[Any], names: list[str], number: str) -> list[Any]:
    """The values of the records one behind the other, with the key of each record's number."""
    of, numbered = attrgetter(*names), attrgetter(number)
    return [value for each in cooperative.each(new) for value in (*of(each), keys.key(numbered(each)))]
