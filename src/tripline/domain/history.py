"""History: who changed what and when, of vehicles, sensors, people and companies.

An entry is one event. It belongs to the history of every object that it names: a mounting to the sensor's and the
vehicle's, a right to the vehicle's and the person's. An entry that names no vehicle, sensor or person belongs to its
company. The entry of a deletion counts the objects deleted with it.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from tripline.domain import fields, ids
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import TryLater

Scalar: TypeAlias = str | int | float | bool | None
OF_DAY: Final = 500_000
"""Entries of one account in a day (UTC), one more for each KiB of their values. Registering 100,000 vehicles with
their sensors, mountings and delegations one by one takes 400,000; a file of any length takes one."""
_IDS: Final = TimeIds(node=0)
"""Entries are stored by number; their id is the same number in another form."""


class Event(StrEnum):
    """The kinds of events."""

    REGISTERED = "REGISTERED"
    VEHICLES_IMPORTED = "VEHICLES_IMPORTED"
    """One entry for a whole file."""
    SENSORS_IMPORTED = "SENSORS_IMPORTED"
    CHANGED = "CHANGED"
    DELETED = "DELETED"
    ACTIVATED = "ACTIVATED"
    DEACTIVATED = "DEACTIVATED"
    MOUNTED = "MOUNTED"
    UNMOUNTED = "UNMOUNTED"
    DIRECTOR_SET = "DIRECTOR_SET"
    DIRECTOR_UNSET = "DIRECTOR_UNSET"
    DRIVER_SET = "DRIVER_SET"
    DRIVER_UNSET = "DRIVER_UNSET"
    TRIP_DRIVER_SET = "TRIP_DRIVER_SET"
    """The driver of a past trip was corrected, or the correction withdrawn: its new driver."""
    TRIP_DRIVER_UNSET = "TRIP_DRIVER_UNSET"
    """As `TRIP_DRIVER_SET`: its former driver."""
    DELEGATED = "DELEGATED"
    TAKEN_BACK = "TAKEN_BACK"
    RIGHT_GIVEN = "RIGHT_GIVEN"
    RIGHT_TAKEN_BACK = "RIGHT_TAKEN_BACK"
    CANDIDATE_REGISTERED = "CANDIDATE_REGISTERED"
    CANDIDATE_REMOVED = "CANDIDATE_REMOVED"
    SHARED = "SHARED"
    """A link that shows the vehicle without an account was made."""
    SHARE_ENDED = "SHARE_ENDED"


class TooManyChanges(TryLater):
    """The account has reached the day's limit of history."""

    code = "history.full"


class Change(msgspec.Struct, frozen=True, array_like=True):
    """One field, by its published name, with its values before and after. Values of secrets are not stored."""

    field: str
    before: Scalar = None
    after: Scalar = None
    secret: bool = False


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """An event to be stored."""

    event: Event
    actor_id: UserId | None
    """The actor; None: no known account."""
    company_id: CompanyId | None
    """Owner of the vehicle, sensor or person, or the company itself; None: an account without a company."""
    vehicle_id: VehicleId | None = None
    sensor_id: SensorId | None = None
    user_id: UserId | None = None
    to_company_id: CompanyId | None = None
    """The other company, of a delegation or candidate."""
    changes: tuple[Change, ...] = ()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An event as a reader sees it; names of deleted objects, and of objects outside of the reader's reach, are
    None."""

    no: RowNo
    at_ms: int
    event: Event
    actor_id: UserId | None
    actor_name: str | None
    actor_authority: Authority | None
    """The actor's role at that time."""
    actor_company_id: CompanyId | None
    actor_company_name: str | None
    company_id: CompanyId | None
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    sensor_id: SensorId | None
    serial_no: str | None
    user_id: UserId | None
    user_name: str | None
    to_company_id: CompanyId | None
    to_company_name: str | None
    changes: tuple[Change, ...] | None
    """None: erased, because they named a deleted person or company."""

    @property
    def id(self) -> str:
        """The entry's public id."""
        return _IDS.text(self.no)


def number_of(entry_id: str) -> RowNo | None:
    """The number of the entry with this canonical id; None: no entry has it."""
    no = ids.no_of(entry_id)
    return no if _IDS.text(no) == entry_id else None


def differences(
    before: msgspec.Struct, after: msgspec.Struct, names: Iterable[str], *, secret: Collection[str] = ()
) -> tuple[Change, ...]:
    """Return the fields among `names` that differ; secret ones without their values."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    return tuple(_change(name, was, now, secret) for name, was, now in pairs if was != now)


def first_values(new: msgspec.Struct, names: Iterable[str], *, secret: Collection[str] = ()) -> tuple[Change, ...]:
    """Return the fields among `names` that have a value at registration; secret ones without it."""
    values = ((name, getattr(new, name)) for name in names)
    return tuple(_change(name, None, value, secret) for name, value in values if value not in (None, ""))


def _change(name: str, before: Any, after: Any, secret: Collection[str]) -> Change:
    if name in secret:
        return Change(fields.published(name), secret=True)
    return Change(fields.published(name), before=_scalar(before), after=_scalar(after))


def ended(**counts: int) -> tuple[Change, ...]:
    """Return the numbers of objects deleted with another one; zeros are omitted."""
    return tuple(Change(name, before=count) for name, count in counts.items() if count)


def _scalar(value: Any) -> Scalar:
    """Return the value; a list of message types as text."""
    return ",".join(str(each) for each in value) if isinstance(value, list) else value
