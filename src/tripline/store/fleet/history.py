"""Rows of history: every change with its author and time.

They outlive their subjects. Data of deleted people is removed: values of the person's own entries, and the person's id
everywhere else; readers see neither after the deletion, the eraser deletes them.

Not here: the choice of entries, and access to them (`services/fleet/history.py`).
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    String,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    null,
    or_,
    select,
    update,
)

from tripline.domain import history as entries
from tripline.domain import ids as time_ids
from tripline.domain.access import Authority, Scope
from tripline.domain.history import Change, Entry, Event, Fact
from tripline.domain.ids import CompanyId, RowNo, TimeIds, UserId, VehicleId
from tripline.domain.instants import DAY_MS
from tripline.store import lists, reach, scopes
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import account, company, history, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

AHEAD_MS: Final = 60_000
"""How far the number of an entry may run ahead of its time: numbers do when very many are made at once."""
_KIB: Final = 1_024
_COUNTED_EVERY: Final = 61
"""An entry whose number this divides counts as so many: concurrent changes of an account rarely write its count then.
It is prime, so every slot of numbers has the same part of them. The error at 500,000 entries is about 1 %."""
_CHANGES: Final = msgspec.json.Decoder(tuple[Change, ...])
_IMPORTS: Final = (Event.VEHICLES_IMPORTED, Event.SENSORS_IMPORTED)


_UNDONE_BY: Final = {
    Event.ACTIVATED: Event.DEACTIVATED,
    Event.DEACTIVATED: Event.ACTIVATED,
    Event.DELEGATED: Event.TAKEN_BACK,
    Event.TAKEN_BACK: Event.DELEGATED,
}


class Deed(NamedTuple):
    """Something that was done to a vehicle."""

    no: RowNo
    """Of its entry."""
    vehicle_id: VehicleId
    to_company_id: CompanyId | None
    """The other company, of a delegation."""
    changed_since: bool
    """True if the change was repeated or undone since."""


class Thing(Enum):
    """Whose history; the value is the column that names it."""

    VEHICLE = "vehicle_id"
    SENSOR = "sensor_id"
    USER = "user_id"
    COMPANY = "company_id"


class Visibility(msgspec.Struct, frozen=True):
    """Whose names a reader is shown. The scopes are of one actor."""

    people: Scope
    vehicles: scopes.Reaches
    sensors: scopes.Reaches


def add(tx: WriteTx, fact: Fact, *, ids: TimeIds, now_ms: int) -> RowNo:
    """Store an entry; return its number. An actor who was deleted meanwhile is left out.

    Raises `TooManyChanges` when the actor has written as much today as an account may.
    """
    if fact.actor_id is not None:
        _require_room(tx, fact.actor_id, now_ms)
    made = ids.take(1, now_ms=now_ms)
    # On a database of our own another program may have numbered entries ahead of our clock.
    no = RowNo(ids.behind(max(made - 1, 0 if tx.shared else tx.hot(_NEWEST)[0][0])).start)
    values = {**_values(fact), "no": no, "at_ms": now_ms}
    tx.hot(_ADD, *(values[name] for name in _ADDED))
    if fact.actor_id is not None and no % _COUNTED_EVERY == 0:
        weight = _COUNTED_EVERY * (1 + len(values["changes"].encode()) // _KIB)
        tx.run(_COUNT, {"of_account": fact.actor_id, "today": now_ms // DAY_MS, "weight": weight})
    return no


def _require_room(tx: WriteTx, actor_id: UserId, now_ms: int) -> None:
    """Raise `TooManyChanges` when the account has written as much today as it may."""
    rows = tx.hot(_WRITTEN, actor_id)
    day = now_ms // DAY_MS
    if rows and rows[0][0] == day and rows[0][1] >= entries.OF_DAY:
        tomorrow_s = ((day + 1) * DAY_MS - now_ms) // 1_000 + 1
        raise entries.TooManyChanges(after_s=tomorrow_s, most=entries.OF_DAY)


def put(tx: WriteTx, no: RowNo | None, fact: Fact, *, ids: TimeIds, now_ms: int) -> RowNo:
    """Replace the changes of an existing entry, or add a new one; return its number. For an import stored in parts."""
    if no is not None and tx.run(update(history).where(history.c.no == no).values(changes=_changes_text(fact))):
        return no
    return add(tx, fact, ids=ids, now_ms=now_ms)


def page(tx: ReadTx, seen: Visibility, thing: Thing, thing_id: str, span: Span) -> list[Entry]:
    """Entries of the thing, whose reader was let pass, in the order that the span asks for. Raises `UnknownOffset`."""
    place = None if span.after is None else _known(tx, thing, thing_id, span.after)
    entries_of = _page(thing, seen.people.reaches, seen.vehicles, seen.sensors)
    rows = entries_of.page(tx, span, place, thing_id, seen.people.user_id, seen.people.company_id)
    return [_entry(row) for row in rows]


def deeds(
    tx: ReadTx, actor_id: UserId, event: Event, at_ms: int, *, after: RowNo | None = None, limit: int
) -> list[Deed]:
    """Changes to vehicles by a user at this instant, of an event in `_UNDONE_BY`, up to `limit` entries after
    `after`."""
    row, later = history.c, history.alias("later")
    again = later.c.event.in_((event.value, _UNDONE_BY[event].value))
    same = later.c.to_company_id.is_not_distinct_from(row.to_company_id)
    since = exists().where(later.c.vehicle_id == row.vehicle_id, later.c.no > row.no, again, same)
    found = select(row.no, row.vehicle_id, row.to_company_id, since).where(
        row.actor_id == actor_id,
        row.at_ms == at_ms,
        row.no > (time_ids.first_no(at_ms) - 1 if after is None else after),
        row.no < time_ids.first_no(at_ms + AHEAD_MS),
        row.event == event.value,
        row.vehicle_id.is_not(None),
    )
    return [Deed(no, on, to, bool(since)) for no, on, to, since in tx.all(found.order_by(row.no).limit(limit))]


def name_of(tx: ReadTx, thing: Thing, thing_id: str) -> str | None:
    """The name of the thing, None when it is deleted. It does not ask who may read it."""
    rows = tx.hot(_NAMES[thing], thing_id)
    return rows[0][0] if rows else None


def imported(tx: ReadTx, seen: Visibility, event: Event, company_id: CompanyId, at_ms: int) -> Entry | None:
    """The entry of the company's import of this instant, if there was one."""
    statement = _imported(seen.people.reaches, seen.vehicles, seen.sensors)
    in_time = (time_ids.first_no(at_ms), time_ids.first_no(at_ms + AHEAD_MS))
    values = (company_id, at_ms, *in_time, event.value, seen.people.user_id, seen.people.company_id)
    return next((_entry(row) for row in tx.hot(statement, *values)), None)


def inside_deleted(tx: ReadTx, scope: Scope, thing: Thing, thing_id: str) -> bool | None:
    """True if the deleted thing belonged inside the scope; None if nothing with this id was ever deleted."""
    deleted = _of(select(scopes.history(scope.reaches)), thing, thing_id).where(history.c.event == Event.DELETED.value)
    row = tx.one(deleted.order_by(history.c.no.desc()).limit(1), scopes.values(scope))
    return None if row is None else bool(row[0])


def forget_company_values(tx: WriteTx, company_id: CompanyId) -> None:
    """Let a company that is to be deleted leave no values behind: they name people whom one may call."""
    own = _of(select(history.c.no), Thing.COMPANY, company_id)
    no_import = history.c.event.not_in([event.value for event in _IMPORTS])
    tx.run(update(history).where(history.c.no.in_(own.where(no_import))).values(changes=null()))


def erase_person_some(tx: WriteTx, user_id: UserId, *, limit: int) -> int:
    """Take up to `limit` mentions of a deleted person out, and values of the person's own entries; how many."""
    for statement in _ERASE_PERSON:
        touched = tx.run(statement, {"of_user": user_id, "most": limit})
        if touched:
            return touched
    return 0


def purge(tx: WriteTx, *, before_ms: int, limit: int) -> int:
    """Forget up to `limit` entries that are older; how many."""
    old = select(history.c.no).where(history.c.no < time_ids.first_no(before_ms)).order_by(history.c.no).limit(limit)
    return tx.run(delete(history).where(history.c.no.in_(old)))


_WRITTEN: Final = Hot(
    select(account.c.history_day, account.c.history_written).where(account.c.id == bindparam("id")), "id"
)
_COUNT: Final = (
    update(account)
    .where(account.c.id == bindparam("of_account"))
    .values(
        history_day=bindparam("today"),
        history_written=case((account.c.history_day == bindparam("today"), account.c.history_written), else_=0)
        + bindparam("weight"),
    )
)
_NEWEST: Final = Hot(select(func.coalesce(func.max(history.c.no), 0)))


def _name(name: Column[str]) -> Hot:
    return Hot(select(name).where(name.table.c.id == bindparam("id")), "id")


_NAMES: Final = {
    Thing.VEHICLE: _name(vehicle.c.vehicle_no),
    Thing.SENSOR: _name(sensor.c.serial_no),
    Thing.USER: _name(account.c.name),
    Thing.COMPANY: _name(company.c.name),
}
_SUBJECTS: Final = (history.c.vehicle_id, history.c.sensor_id, history.c.user_id)
_GIVEN: Final = ("no", "at_ms", "event", "company_id", "vehicle_id", "sensor_id", "user_id", "to_company_id", "changes")
_ADDED: Final = (*_GIVEN, "of_actor")


def _of_actor(column: ColumnElement[Any]) -> Any:
    return select(column).where(account.c.id == bindparam("of_actor", type_=String)).scalar_subquery()


_ADD: Final = Hot(
    insert(history).values(
        {
            **{name: bindparam(name, type_=history.c[name].type) for name in _GIVEN},
            "master_id": select(company.c.master_id)
            .where(company.c.id == bindparam("company_id", type_=String))
            .scalar_subquery(),
            "actor_id": _of_actor(account.c.id),
            "actor_authority": _of_actor(account.c.authority),
            "actor_company_id": _of_actor(account.c.company_id),
        }
    ),
    *_ADDED,
)


def _some(condition: ColumnElement[bool], *more: ColumnElement[bool]) -> Any:
    return history.c.no.in_(select(history.c.no).where(condition, *more).limit(bindparam("most")))


_OF_PERSON: Final = history.c.user_id == bindparam("of_user")
_ALONE: Final = history.c.vehicle_id.is_(None)
_ERASE_PERSON: Final = (
    update(history).where(_some(history.c.actor_id == bindparam("of_user"))).values(actor_id=null()),
    update(history).where(_some(_OF_PERSON, history.c.vehicle_id.is_not(None))).values(user_id=null()),
    update(history)
    .where(_some(_OF_PERSON, _ALONE, history.c.event != Event.DELETED.value, history.c.changes.is_not(None)))
    .values(changes=null()),
)


def _selected(people: scopes.Reaches, vehicles: scopes.Reaches, sensors: scopes.Reaches) -> Select[Any]:
    """Columns in the order of `Entry`."""
    row = history.c
    person = account.alias("person")
    return select(
        row.no,
        row.at_ms,
        row.event,
        _shown(account, account.c.id, row.actor_id, scopes.accounts(people)),
        _shown(account, account.c.name, row.actor_id, scopes.accounts(people)),
        row.actor_authority,
        row.actor_company_id,
        _company_name(row.actor_company_id),
        row.company_id,
        row.vehicle_id,
        _shown(vehicle, vehicle.c.vehicle_no, row.vehicle_id, reach.predicate(vehicles, vehicle.c.id)),
        row.sensor_id,
        _shown(sensor, sensor.c.serial_no, row.sensor_id, reach.predicate(sensors, sensor.c.id)),
        # Of a person who is gone only the person's own history keeps the id.
        case((_is_there(person, row.user_id) | row.vehicle_id.is_(None), row.user_id)),
        _shown(account, account.c.name, row.user_id, scopes.accounts(people)),
        row.to_company_id,
        _company_name(row.to_company_id),
        case((or_(_tells_of_nobody(), _is_there(person, row.user_id)), row.changes)),
    )


@cache
def _page(thing: Thing, people: scopes.Reaches, vehicles: scopes.Reaches, sensors: scopes.Reaches) -> lists.ByNumber:
    entries_of = _of(_selected(people, vehicles, sensors), thing, bindparam("thing"))
    return lists.ByNumber(entries_of, history.c.no, "thing", scopes.USER, scopes.COMPANY)


@cache
def _imported(people: scopes.Reaches, vehicles: scopes.Reaches, sensors: scopes.Reaches) -> Hot:
    row = history.c
    entries_of = _of(_selected(people, vehicles, sensors), Thing.COMPANY, bindparam("thing"))
    in_time = row.no >= bindparam("first"), row.no <= bindparam("last")
    found = entries_of.where(row.at_ms == bindparam("at_ms"), *in_time, row.event == bindparam("event"))
    names = ("thing", "at_ms", "first", "last", "event", scopes.USER, scopes.COMPANY)
    return Hot(found.order_by(row.no).limit(1), *names)


def _tells_of_nobody() -> ColumnElement[bool]:
    """Condition for entries without personal values: the entry of a deletion has numbers alone."""
    row = history.c
    return or_(row.user_id.is_(None), row.vehicle_id.is_not(None), row.event == Event.DELETED.value)


def _shown(table: Any, column: ColumnElement[Any], key: ColumnElement[str], inside: ColumnElement[bool]) -> Any:
    return select(column).where(table.c.id == key, inside).correlate(history).scalar_subquery()


def _company_name(key: ColumnElement[str]) -> Any:
    return select(company.c.name).where(company.c.id == key).correlate(history).scalar_subquery()


def _is_there(person: Any, key: ColumnElement[str]) -> ColumnElement[bool]:
    return select(person.c.id).where(person.c.id == key).correlate(history).exists()


def _of(statement: Select[Any], thing: Thing, thing_id: str | ColumnElement[str]) -> Select[Any]:
    found = statement.where(history.c[thing.value] == thing_id)
    return found.where(*(column.is_(None) for column in _SUBJECTS)) if thing is Thing.COMPANY else found


def _known(tx: ReadTx, thing: Thing, thing_id: str, entry_id: str) -> RowNo:
    """The number of an entry that is of the thing, or of an import that may have made it. Raises `UnknownOffset`."""
    of_thing = history.c[thing.value] == thing_id
    known = or_(of_thing, history.c.event.in_([event.value for event in _IMPORTS]))
    no = entries.number_of(entry_id)
    if no is None or tx.one(select(history.c.no).where(history.c.no == no, known)) is None:
        raise UnknownOffset.of_list()
    return no


def _values(fact: Fact) -> dict[str, Any]:
    return {
        "event": fact.event.value,
        "of_actor": fact.actor_id,
        "company_id": fact.company_id,
        "vehicle_id": fact.vehicle_id,
        "sensor_id": fact.sensor_id,
        "user_id": fact.user_id,
        "to_company_id": fact.to_company_id,
        "changes": _changes_text(fact),
    }


def _changes_text(fact: Fact) -> str:
    return msgspec.json.encode(fact.changes).decode()


def _entry(row: Sequence[Any]) -> Entry:
    values = dict(zip(Entry.__struct_fields__, row, strict=True))
    authority, changes = values["actor_authority"], values["changes"]
    values["event"] = Event(values["event"])
    values["actor_authority"] = None if authority is None else Authority(authority)
    values["changes"] = None if changes is None else _CHANGES.decode(changes)
    return Entry(**values)
