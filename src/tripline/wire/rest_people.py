"""JSON of people: directors, drivers, administrators: what requests carry and what records look like, field by field.

Follows the interface specification (Resources and fields), in its order, with the additions of client-surface 8.5.
Unset ids are the placeholder, other unset values null. Not here: which values are allowed (`domain/`), how a request
is read (`rest_reading.py`).
"""

import msgspec

from tripline.domain.people import User
from tripline.wire.rest import Id, id_or_unset


class PersonRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a director or driver."""

    name: str | None = None
    email: str | None = None
    phone: str | None = None
    password: str | None = None


class UserRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A director, driver or administrator; the password is never shown."""

    id: Id
    created_time: int
    company_id: Id
    name: str
    phone: str | None
    vehicle_id: Id | None
    latest_trip_id: Id
    email: str
    authority: str
    password: None
    additional_info: str | None
    password_updated_time: int


def user_record(user: User) -> UserRecord:
    """The record."""
    return UserRecord(
        id=Id(user.id),
        created_time=user.created_ms,
        company_id=id_or_unset(user.company_id),
        name=user.name,
        phone=user.phone,
        vehicle_id=None,
        latest_trip_id=id_or_unset(user.latest_trip_id),
        email=user.email,
        authority=user.authority,
        password=None,
        additional_info=user.additional_info,
        password_updated_time=user.password_updated_ms,
    )
