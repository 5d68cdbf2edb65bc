"""History of vehicles, sensors, people and companies: entries written by services with each change, and reading them.

An entry outlives its subject: after a deletion the same readers have access, until the entry is older than
`store.history_days`. Data of deleted people is removed with them.
"""

from typing import Any, Final, TypedDict, Unpack

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.companies import Company
from tripline.domain.history import Change, Entry, Event, Fact
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, UserId, VehicleId
from tripline.domain.people import User
from tripline.domain.sensors import Sensor
from tripline.domain.vehicles import Vehicle
from tripline.services import admission
from tripline.store.fleet import history as rows
from tripline.store.fleet import sensors, vehicles
from tripline.store.fleet.vehicles import OwnedVehicle
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx, WriteTx

_SUBJECT: Final = {Vehicle: "vehicle_id", OwnedVehicle: "vehicle_id", Sensor: "sensor_id", User: "user_id"}
_ANYWHERE: Final = Scope.everything("when something was registered")


class Subjects(TypedDict, total=False):
    """The subjects of an entry, as in `Fact`."""

    company_id: CompanyId | None
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    user_id: UserId | None
    to_company_id: CompanyId | None


def note(
    tx: WriteTx,
    actor: Actor | None,
    event: Event,
    of: Vehicle | OwnedVehicle | Sensor | User | None = None,
    *,
    ids: TimeIds,
    now_ms: int,
    changes: tuple[Change, ...] = (),
    **subjects: Unpack[Subjects],
) -> None:
    """Store an entry of the actor's change; None: unknown actor. An empty change makes no entry.

    `of`: whose history it stands in, with its company; `subjects`: others, or all without it.
    """
    if event is Event.CHANGED and not changes:
        return
    own: dict[str, Any] = {} if of is None else {"company_id": of.company_id, _SUBJECT[type(of)]: of.id}
    actor_id = None if actor is None else actor.user_id
    fact = Fact(**{"event": event, "actor_id": actor_id, "changes": changes, **own, **subjects})
    rows.add(tx, fact, ids=ids, now_ms=now_ms)


def note_import(
    tx: WriteTx,
    actor: Actor,
    event: Event,
    *,
    company: Company,
    count: int,
    no: RowNo | None,
    ids: TimeIds,
    now_ms: int,
) -> RowNo:
    """Keep the one entry of an import that has registered so many by now; its number, which the next part gives."""
    noun = "vehicles" if event is Event.VEHICLES_IMPORTED else "sensors"
    changes = [Change(noun, after=count)]
    if noun == "vehicles" and not company.master:
        changes.append(Change("delegations", after=count))  # of each, to the operator (rule 3)
    fact = Fact(event=event, actor_id=actor.user_id, company_id=company.id, changes=tuple(changes))
    return rows.put(tx, no, fact, ids=ids, now_ms=now_ms)


def done_to(tx: ReadTx, *, actor: Actor, event: Event, at_ms: int, limit: int) -> list[VehicleId]:
    """Vehicles that the actor changed this way at this instant, up to `limit`."""
    return [each.vehicle_id for each in rows.deeds(tx, actor.user_id, event, at_ms, limit=limit)]


def admit(tx: ReadTx, *, actor: Actor, thing: Thing, thing_id: str) -> None:
    """Let pass who may read the history of the thing, be it deleted or not; of a company: that of its record,
    candidates and imports. Raises `NotFound` or `Forbidden`.
    """
    scope = access.scope_of(actor, READS[thing])
    inside = admission.INSIDE[thing](tx, scope, thing_id)
    if inside is None:
        inside = rows.inside_deleted(tx, scope, rows.Thing[thing.name], thing_id)
    access.admit(inside, thing)


def name_of(tx: ReadTx, thing: Thing, thing_id: str) -> str | None:
    """The name of the thing, None when it is deleted. The caller has admitted the reader before."""
    return rows.name_of(tx, rows.Thing[thing.name], thing_id)


def read(tx: ReadTx, *, actor: Actor, thing: Thing, thing_id: str, span: Span) -> list[Entry]:
    """Entries of the thing, after `admit`; the oldest of a vehicle or sensor may be the import that made it.

    Raises `UnknownOffset`.
    """
    seen = _seen(actor)
    found = rows.page(tx, seen, rows.Thing[thing.name], thing_id, span)
    if span.ascending and span.after is not None:
        return found
    if not span.ascending and len(found) >= span.limit:
        return found
    oldest = _import_of(tx, seen, thing, thing_id)
    if oldest is None or not span.first_ms <= oldest.at_ms <= span.last_ms or oldest.id == span.after:
        return found
    return ([oldest, *found] if span.ascending else [*found, oldest])[: span.limit]


def _import_of(tx: ReadTx, seen: rows.Visibility, thing: Thing, thing_id: str) -> Entry | None:
    """The import that made the thing, while the thing exists."""
    known: Vehicle | Sensor
    if thing is Thing.VEHICLE and (vehicle := vehicles.find(tx, _ANYWHERE, VehicleId(thing_id))):
        event, known = Event.VEHICLES_IMPORTED, vehicle[0]
    elif thing is Thing.SENSOR and (sensor := sensors.find(tx, _ANYWHERE, SensorId(thing_id), tokens=_ANYWHERE)):
        event, known = Event.SENSORS_IMPORTED, sensor[0]
    else:
        return None
    return rows.imported(tx, seen, event, known.company_id, known.created_ms)


def _seen(actor: Actor) -> rows.Visibility:
    """Whose names the actor may read."""
    roles = {action: access.RULES[action].get(actor.authority, frozenset()) for action in _NAMED}
    people = Scope(Action.USER_READ.value, roles[Action.USER_READ], actor.user_id, actor.company_id)
    return rows.Visibility(people, roles[Action.VEHICLE_READ], roles[Action.SENSOR_READ])


_NAMED: Final = (Action.USER_READ, Action.VEHICLE_READ, Action.SENSOR_READ)
READS: Final = {
    Thing.VEHICLE: Action.VEHICLE_HISTORY_READ,
    Thing.SENSOR: Action.SENSOR_HISTORY_READ,
    Thing.USER: Action.USER_HISTORY_READ,
    Thing.COMPANY: Action.COMPANY_HISTORY_READ,
}
"""The action that reads the history of a thing."""
