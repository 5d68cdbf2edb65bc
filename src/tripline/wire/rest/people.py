"""JSON of people (directors, drivers, administrators): the fields of requests and records.

Follows spec/interface (Resources and fields), in its order, with the additions of spec/rest 8.5. Unset ids are the
placeholder, other unset values null. Not here: allowed values (`domain/`), reading a request (`bodies.py`).
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain.people import User
from tripline.wire.rest.base import Id, id_or_unset


class PersonRequest(msgspec.Struct, rename="camel", kw_only=True):
    """Registration of a director, driver or administrator; in a change, the fields that change."""

    name: Annotated[
        str | None, Meta(description="name of the person; required, at most 255 characters", examples=["Jung"])
    ] = None
    email: Annotated[
        str | None,
        Meta(
            description="e-mail address: the login id; required, unique among all accounts, at most 255 characters",
            examples=["jung@ace.example"],
        ),
    ] = None
    phone: Annotated[
        str | None, Meta(description="telephone, free text of at most 255 characters", examples=["010-1234-5678"])
    ] = None
    password: Annotated[
        str | None,
        Meta(
            description="password, at most 255 characters; required in a registration, null in a change leaves it",
            examples=["a long pass phrase"],
        ),
    ] = None


class UserRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A director, driver or administrator; the password is never shown."""

    id: Annotated[Id, Meta(description="id of the account", examples=[{"id": "5b6f9c10-c801-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when it was registered, epoch ms", examples=[1735689600000])]
    company_id: Annotated[
        Id,
        Meta(
            description="company; the placeholder for an account without one",
            examples=[{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    name: Annotated[str, Meta(description="name of the person", examples=["Jung"])]
    phone: Annotated[str | None, Meta(description="telephone, as given", examples=["010-1234-5678"])]
    vehicle_id: Annotated[
        Id | None,
        Meta(
            description="vehicle whose current driver the person is; null for none",
            examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    latest_trip_id: Annotated[
        Id,
        Meta(
            description="trip driven last; the placeholder before the first",
            examples=[{"id": "3a7be5e0-c802-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    email: Annotated[str, Meta(description="e-mail address: the login id, as given", examples=["jung@ace.example"])]
    authority: Annotated[
        str,
        Meta(description="role: SYS_ADMIN, COMPANY_ADMIN, DIRECTOR, DRIVER or CARRIER", examples=["DIRECTOR"]),
    ]
    password: Annotated[None, Meta(description="always null: it is hidden", examples=[None])]
    additional_info: Annotated[str | None, Meta(description="further text", examples=[None])]
    password_updated_time: Annotated[
        int, Meta(description="when the password was set last, epoch ms", examples=[1735689600000])
    ]


def user_record(user: User) -> UserRecord:
    """The record."""
    return UserRecord(
        id=Id(user.id),
        created_time=user.created_ms,
        company_id=id_or_unset(user.company_id),
        name=user.name,
        phone=user.phone,
        vehicle_id=None if user.vehicle_id is None else Id(user.vehicle_id),
        latest_trip_id=id_or_unset(user.latest_trip_id),
        email=user.email,
        authority=user.authority,
        password=None,
        additional_info=user.additional_info,
        password_updated_time=user.password_updated_ms,
    )
