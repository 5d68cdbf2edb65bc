"""History of vehicles, sensors, people and companies: entries written by services with each change, and reading them.

An entry outlives its subject: after a deletion the same readers have access, until the entry is older than
`store.history_days`. Data of deleted people is removed with them.

Not here: the content of an entry (`domain/history.py`).
"""

from collections.abc import Callable
from typing import Final, Required, TypedDict, Unpack

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.companies import Company
from tripline.domain.history import Change, Entry, Event, Fact
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, UserId, VehicleId
from tripline.store.accounts import accounts
from tripline.store.fleet import companies, sensors, vehicles
from tripline.store.fleet import history as rows
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx, WriteTx

_ANYWHERE: Final = Scope.everything("when something was registered")


class Subjects(TypedDict, total=False):
    """The subjects of an entry, as in `Fact`."""

    company_id: Required[CompanyId | None]
    vehicle_id: VehicleId | None
    sensor_id: SensorId | None
    user_id: UserId | None
    to_company_id: CompanyId | None


class Place(Subjects):
    """The subjects and time of an entry."""

    ids: TimeIds
    now_ms: int


def note(
    tx: WriteTx,
    actor: Actor | None,
    event: Event,
    *,
    ids: TimeIds,
    now_ms: int,
    changes: tuple[Change, ...] = (),
    **subjects: Unpack[Subjects],
) -> None:
    """Store an entry of the actor's change; None: unknown actor. An empty change makes no entry."""
    if event is Event.CHANGED and not changes:
        return
    fact = Fact(event=event, actor_id=None if actor is None else actor.user_id, changes=changes, **subjects)
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


def admit_to_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> None:
    """Let pass who may read the history of the vehicle, be it deleted or not. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_HISTORY_READ)
    _admit(tx, scope, rows.Thing.VEHICLE, vehicle_id, vehicles.inside(tx, scope, vehicle_id), Thing.VEHICLE)


def admit_to_sensor(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> None:
    """As `admit_to_vehicle`, of a sensor."""
    scope = access.scope_of(actor, Action.SENSOR_HISTORY_READ)
    _admit(tx, scope, rows.Thing.SENSOR, sensor_id, sensors.inside(tx, scope, sensor_id), Thing.SENSOR)


def admit_to_user(tx: ReadTx, *, actor: Actor, user_id: UserId) -> None:
    """As `admit_to_vehicle`, of a person."""
    scope = access.scope_of(actor, Action.USER_HISTORY_READ)
    _admit(tx, scope, rows.Thing.USER, user_id, accounts.inside(tx, scope, user_id), Thing.USER)


def admit_to_company(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> None:
    """As `admit_to_vehicle`, of a company's record, candidates and imports."""
    scope = access.scope_of(actor, Action.COMPANY_HISTORY_READ)
    _admit(tx, scope, rows.Thing.COMPANY, company_id, companies.inside(tx, scope, company_id), Thing.COMPANY)


def name_of(tx: ReadTx, thing: Thing, thing_id: str) -> str | None:
    """The name of the thing, None when it is deleted. The caller has admitted the reader before."""
    return rows.name_of(tx, rows.Thing[thing.name], thing_id)


def of_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, span: Span) -> list[Entry]:
    """Entries of the vehicle, after `admit_to_vehicle`; the oldest is the import that made it.

    Raises `UnknownOffset`.
    """

    def first(seen: rows.Visibility) -> Entry | None:
        found = vehicles.find(tx, _ANYWHERE, vehicle_id)
        if found is None:
            return None
        return rows.imported(tx, seen, Event.VEHICLES_IMPORTED, found[0].company_id, found[0].created_ms)

    return _page(tx, actor, rows.Thing.VEHICLE, vehicle_id, span, first)


def of_sensor(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, span: Span) -> list[Entry]:
    """As `of_vehicle`, of a sensor, after `admit_to_sensor`."""

    def first(seen: rows.Visibility) -> Entry | None:
        found = sensors.find(tx, _ANYWHERE, sensor_id, tokens=_ANYWHERE)
        if found is None:
            return None
        return rows.imported(tx, seen, Event.SENSORS_IMPORTED, found[0].company_id, found[0].created_ms)

    return _page(tx, actor, rows.Thing.SENSOR, sensor_id, span, first)


def of_user(tx: ReadTx, *, actor: Actor, user_id: UserId, span: Span) -> list[Entry]:
    """Entries of the person, after `admit_to_user`. Raises `UnknownOffset`."""
    return _page(tx, actor, rows.Thing.USER, user_id, span)


def of_company(tx: ReadTx, *, actor: Actor, company_id: CompanyId, span: Span) -> list[Entry]:
    """Entries of the company itself, after `admit_to_company`. Raises `UnknownOffset`."""
    return _page(tx, actor, rows.Thing.COMPANY, company_id, span)


def _admit(tx: ReadTx, scope: Scope, kind: rows.Thing, thing_id: str, inside: bool | None, thing: Thing) -> None:
    if inside is None:
        inside = rows.inside_deleted(tx, scope, kind, thing_id)
    access.admit(inside, thing)


def _page(
    tx: ReadTx,
    actor: Actor,
    kind: rows.Thing,
    thing_id: str,
    span: Span,
    first: Callable[[rows.Visibility], Entry | None] = lambda _: None,
) -> list[Entry]:
    """The entries of the span, with the one that is older than all of the thing's own."""
    seen = _seen(actor)
    found = rows.page(tx, seen, kind, thing_id, span)
    if span.ascending and span.after is not None:
        return found
    if not span.ascending and len(found) >= span.limit:
        return found
    oldest = first(seen)
    if oldest is None or not span.first_ms <= oldest.at_ms <= span.last_ms or oldest.id == span.after:
        return found
    return ([oldest, *found] if span.ascending else [*found, oldest])[: span.limit]


def _seen(actor: Actor) -> rows.Visibility:
    """Whose names the actor may read."""
    roles = {action: access.RULES[action].get(actor.authority, frozenset()) for action in _NAMED}
    people = Scope(Action.USER_READ.value, roles[Action.USER_READ], actor.user_id, actor.company_id)
    return rows.Visibility(people, roles[Action.VEHICLE_READ], roles[Action.SENSOR_READ])


_NAMED: Final = (Action.USER_READ, Action.VEHICLE_READ, Action.SENSOR_READ)
