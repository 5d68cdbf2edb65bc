"""Administrators, directors and drivers: what their registration may say and a change may alter, and their record.

Follows spec/interface (Director and Driver), rule 6, spec/gaps G5 and H5, spec/rest 8.5.

Not here: who may register or read one (`access`), passwords and logins (`services/accounts`), rows
(`store/fleet/people.py`), JSON (`wire/rest/people.py`).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from tripline.domain import fields
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Kind, Refusal

DRIVING_ROLES: Final = (Authority.DRIVER, Authority.DIRECTOR)
"""Who is found among the drivers: a director may act as one (spec/rest 7.2)."""


class EmailTaken(BadParameter):
    """Another account logs in with this e-mail address (H5)."""

    code = "user.email_taken"


class LastAdministrator(Refusal):
    """The only administrator of a company was to be deleted."""

    code: ClassVar[str] = "user.last_administrator"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class OwnCredentials(Refusal):
    """Somebody was about to change the log-in of the account in use: what a stolen token must not be enough for."""

    code: ClassVar[str] = "user.own_credentials"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """What a registration says about a person, checked."""

    name: str
    email: str
    """Also the login id."""
    phone: str | None
    password: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a person's account says after a partial update, checked."""

    name: str
    email: str
    phone: str | None
    password: str | None
    """None: as it was."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """An account as its record shows it: without the password; unset ids are None."""

    id: UserId
    created_ms: int
    company_id: CompanyId | None
    name: str
    phone: str | None
    vehicle_id: VehicleId | None
    """The vehicle that the person drives now; of several, any one."""
    latest_trip_id: TripId | None
    email: str
    authority: Authority
    additional_info: str | None
    password_updated_ms: int
    enabled: bool
    """Whether the person may sign in."""


def registration(
    *, name: str | None = None, email: str | None = None, phone: str | None = None, password: str | None = None
) -> Registration:
    """The registration when every rule holds; else raises the `BadParameter` of the first field that breaks one, with
    those of the others."""
    checked = fields.Checks()
    made = Registration(
        name=checked(fields.required, "name", name),
        email=checked(fields.email, "email", email),
        phone=checked(fields.text, "phone", phone),
        password=checked(fields.required, "password", password),
    )
    checked.end()
    return made


def changed(user: User, named: Mapping[str, Any]) -> Change:
    """The account after a partial update: what `named` holds replaces what was, None clears it.

    A password of None leaves the password as it is, because records show it so and are sent back. Raises `BadParameter`
    as `registration` does.
    """
    checked, password = fields.Checks(), named.get("password")
    change = Change(
        name=checked(fields.required, "name", named.get("name", user.name)),
        email=checked(fields.email, "email", named.get("email", user.email)),
        phone=checked(fields.text, "phone", named.get("phone", user.phone)),
        password=None if password is None else checked(fields.required, "password", password),
    )
    checked.end()
    return change


def refuse_own_credentials(user: User, change: Change) -> None:
    """Raise `OwnCredentials` when the change, which the user asked for, is one of e-mail address or password."""
    if change.password is not None:
        raise OwnCredentials("password")
    if change.email != user.email:
        raise OwnCredentials("email")


def email_taken(field: str, email: str) -> EmailTaken:
    """The refusal of a second account with the address that was sent in the field."""
    return EmailTaken(field=field, email=email)
