"""JSON of history: who changed what and when."""

from typing import Annotated

import msgspec

from tripline.domain.history import Entry, Event
from tripline.wire.described import about, example_of
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of

_EVENTS = ", ".join(Event)


class ChangeRecord(msgspec.Struct, rename="camel", kw_only=True):
    """One field of an entry."""

    field: Annotated[str, about("name of the field; in the entry of a deletion or import what is counted", "vendor")]
    before: Annotated[str | int | float | bool | None, about("its value before; null: none", "Kia")]
    after: Annotated[str | int | float | bool | None, about("its value since; null: none", "Hyundai")]
    secret: Annotated[bool, about("the field is a secret: it was changed, and its values are not kept", False)]


class HistoryRecord(msgspec.Struct, rename="camel", kw_only=True):
    """An entry of history; names of deleted objects, and names hidden from the caller, are null."""

    id: Annotated[Id, about("the entry", {"id": "91b1c0e0-c802-11ef-8000-010000000000"})]
    created_time: Annotated[int, about("when it happened, epoch ms", 1735689600000)]
    event: Annotated[str, about(f"what happened: {_EVENTS}", "CHANGED")]
    actor_id: Annotated[
        Id,
        about(
            "account that asked for it; the placeholder when the caller may not read it, or it is deleted",
            examples.PERSON,
        ),
    ]
    actor_name: Annotated[str | None, about("name of that account", "Jung")]
    actor_authority: Annotated[str | None, about("role of that account at that time", "COMPANY_ADMIN")]
    actor_company_id: Annotated[Id, about("company of that account at that time", examples.COMPANY)]
    actor_company_name: Annotated[str | None, about("name of that company", "Han River Taxi")]
    company_id: Annotated[Id, about("whose vehicle, sensor or person it is, or the company itself", examples.COMPANY)]
    vehicle_id: Annotated[Id, about("vehicle, if it names one", examples.VEHICLE)]
    vehicle_no: Annotated[str | None, about("number of that vehicle now", "12가3456")]
    sensor_id: Annotated[Id, about("sensor, if it names one", {"id": "0d8f4c50-c801-11ef-9d5c-6b1f6f2a4c11"})]
    serial_no: Annotated[str | None, about("serial number of that sensor now", "SN-0001")]
    user_id: Annotated[Id, about("person, if it names one", examples.PERSON)]
    user_name: Annotated[str | None, about("name of that person now", "Kim Minji")]
    to_company_id: Annotated[Id, about("the other company, of a delegation or candidate", examples.OTHER_COMPANY)]
    to_company_name: Annotated[str | None, about("name of that company", "Namsan Rental")]
    changes: Annotated[
        list[ChangeRecord] | None,
        about(
            "the fields that changed; null: erased with the person or company that they told of",
            [example_of(ChangeRecord)],
        ),
    ]


def history_record(entry: Entry) -> HistoryRecord:
    """The record."""
    changes = None if entry.changes is None else [record_of(ChangeRecord, change) for change in entry.changes]
    return record_of(HistoryRecord, entry, created_time=entry.at_ms, changes=changes)
