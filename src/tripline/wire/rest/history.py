"""JSON of history: who changed what and when.

Not here: the contents of an entry (`domain/history.py`), permissions (`services/fleet/history.py`).
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain.history import Entry, Event
from tripline.wire.rest.base import Id, id_or_unset

_EVENTS = ", ".join(Event)


class ChangeRecord(msgspec.Struct, rename="camel", kw_only=True):
    """One field of an entry."""

    field: Annotated[
        str,
        Meta(
            description="name of the field; in the entry of a deletion or import what is counted", examples=["vendor"]
        ),
    ]
    before: Annotated[
        str | int | float | bool | None, Meta(description="its value before; null: none", examples=["Kia"])
    ]
    after: Annotated[
        str | int | float | bool | None, Meta(description="its value since; null: none", examples=["Hyundai"])
    ]
    secret: Annotated[
        bool,
        Meta(description="the field is a secret: it was changed, and its values are not kept", examples=[False]),
    ]


class HistoryRecord(msgspec.Struct, rename="camel", kw_only=True):
    """An entry of history; names of deleted objects, and names hidden from the caller, are null."""

    id: Annotated[Id, Meta(description="the entry", examples=[{"id": "91b1c0e0-c802-11ef-8000-010000000000"}])]
    created_time: Annotated[int, Meta(description="when it happened, epoch ms", examples=[1735689600000])]
    event: Annotated[str, Meta(description=f"what happened: {_EVENTS}", examples=["CHANGED"])]
    actor_id: Annotated[
        Id,
        Meta(
            description="account that asked for it; the placeholder when the caller may not read it, or it is deleted",
            examples=[{"id": "5b6f9c10-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    actor_name: Annotated[str | None, Meta(description="name of that account", examples=["Jung"])]
    actor_authority: Annotated[
        str | None, Meta(description="role of that account at that time", examples=["COMPANY_ADMIN"])
    ]
    actor_company_id: Annotated[
        Id,
        Meta(
            description="company of that account at that time",
            examples=[{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    actor_company_name: Annotated[str | None, Meta(description="name of that company", examples=["Han River Taxi"])]
    company_id: Annotated[
        Id,
        Meta(
            description="whose vehicle, sensor or person it is, or the company itself",
            examples=[{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    vehicle_id: Annotated[
        Id, Meta(description="vehicle, if it names one", examples=[{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    vehicle_no: Annotated[str | None, Meta(description="number of that vehicle now", examples=["12가3456"])]
    sensor_id: Annotated[
        Id, Meta(description="sensor, if it names one", examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    serial_no: Annotated[str | None, Meta(description="serial number of that sensor now", examples=["SN-0001"])]
    user_id: Annotated[
        Id, Meta(description="person, if it names one", examples=[{"id": "4e6a7f10-c802-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    user_name: Annotated[str | None, Meta(description="name of that person now", examples=["Kim Minji"])]
    to_company_id: Annotated[
        Id,
        Meta(
            description="the other company, of a delegation or candidate",
            examples=[{"id": "0d2f8e60-c802-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    to_company_name: Annotated[str | None, Meta(description="name of that company", examples=["Namsan Rental"])]
    changes: Annotated[
        list[ChangeRecord] | None,
        Meta(
            description="the fields that changed; null: erased with the person or company that they told of",
            examples=[[{"field": "vendor", "before": "Kia", "after": "Hyundai", "secret": False}]],
        ),
    ]


def history_record(entry: Entry) -> HistoryRecord:
    """The record."""
    changes = None
    if entry.changes is not None:
        changes = [
            ChangeRecord(field=change.field, before=change.before, after=change.after, secret=change.secret)
            for change in entry.changes
        ]
    return HistoryRecord(
        id=Id(entry.id),
        created_time=entry.at_ms,
        event=entry.event,
        actor_id=id_or_unset(entry.actor_id),
        actor_name=entry.actor_name,
        actor_authority=entry.actor_authority,
        actor_company_id=id_or_unset(entry.actor_company_id),
        actor_company_name=entry.actor_company_name,
        company_id=id_or_unset(entry.company_id),
        vehicle_id=id_or_unset(entry.vehicle_id),
        vehicle_no=entry.vehicle_no,
        sensor_id=id_or_unset(entry.sensor_id),
        serial_no=entry.serial_no,
        user_id=id_or_unset(entry.user_id),
        user_name=entry.user_name,
        to_company_id=id_or_unset(entry.to_company_id),
        to_company_name=entry.to_company_name,
        changes=changes,
    )
