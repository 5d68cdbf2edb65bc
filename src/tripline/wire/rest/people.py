"""JSON of people (directors, drivers, administrators): the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null.
"""

from typing import Annotated

import msgspec

from tripline.domain.people import User
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of


class PersonRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a director, driver or administrator; in a change, the fields that change."""

    name: Annotated[str | None, about("name of the person; required, at most 255 characters", "Jung")] = None
    email: Annotated[
        str | None,
        about(
            "e-mail address: the login id; required, unique among all accounts, at most 255 characters",
            "jung@ace.example",
        ),
    ] = None
    phone: Annotated[str | None, about("telephone, free text of at most 255 characters", "010-1234-5678")] = None
    password: Annotated[
        str | None,
        about(
            "password, at most 255 characters; required in a registration, null in a change leaves it",
            "a long pass phrase",
        ),
    ] = None


class UserRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A director, driver or administrator; the password is never shown."""

    id: Annotated[Id, about("id of the account", examples.PERSON)]
    created_time: Annotated[int, about("when it was registered, epoch ms", 1735689600000)]
    company_id: Annotated[Id, about("company; the placeholder for an account without one", examples.COMPANY)]
    name: Annotated[str, about("name of the person", "Jung")]
    phone: Annotated[str | None, about("telephone, as given", "010-1234-5678")]
    vehicle_id: Annotated[
        Id | None, about("vehicle whose current driver the person is; null for none", examples.VEHICLE)
    ]
    latest_trip_id: Annotated[Id, about("trip driven last; the placeholder before the first", examples.TRIP)]
    email: Annotated[str, about("e-mail address: the login id, as given", "jung@ace.example")]
    authority: Annotated[str, about("role: SYS_ADMIN, COMPANY_ADMIN, DIRECTOR, DRIVER or CARRIER", "DIRECTOR")]
    password: Annotated[None, about("always null: it is hidden", None)]
    additional_info: Annotated[str | None, about("further text", None)]
    password_updated_time: Annotated[int, about("when the password was set last, epoch ms", 1735689600000)]


def user_record(user: User) -> UserRecord:
    """The record."""
    return record_of(UserRecord, user, password=None)
