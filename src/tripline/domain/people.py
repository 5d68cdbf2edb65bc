"""Administrators, directors and drivers: validation of registrations and changes, and their record.

Follows spec/interface (Director and Driver), rule 6, spec/gaps G5 and H5, spec/rest 8.5.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from tripline.domain import fields
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Invalid

DRIVING_ROLES: Final = (Authority.DRIVER, Authority.DIRECTOR)
"""Roles listed among the drivers: a director may act as one (spec/rest 7.2)."""


class EmailTaken(BadParameter):
    """Another account logs in with this e-mail address (H5)."""

    code = "user.email_taken"


class LastAdministrator(Invalid):
    """The only administrator of a company cannot be deleted."""

    code: ClassVar[str] = "user.last_administrator"


class OwnCredentials(Invalid):
    """An account cannot change its own log-in this way, because a stolen token must not suffice."""

    code: ClassVar[str] = "user.own_credentials"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The validated fields of a registration."""

    name: str
    email: str
    """Also the login id."""
    phone: str | None
    password: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The validated fields of a person's account after a partial update."""

    name: str
    email: str
    phone: str | None
    password: str | None
    """None: unchanged."""


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
    """False: the person may not sign in."""


def registration(**sent: Any) -> Registration:
    """Return the registration when all fields are valid; else raise the `BadParameter` of the first invalid one, with
    the others attached."""
    return Registration(**fields.checked({**_RULES, "password": (fields.required,)}, sent))


def changed(user: User, named: Mapping[str, Any]) -> Change:
    """Return the account's fields after a partial update: values in `named` replace the old ones, None clears them.

    A password of None leaves the password unchanged, because records show None and clients send them back. Raises
    `BadParameter` as `registration` does.
    """
    before = {name: getattr(user, name) for name in _RULES}
    is_new = named.get("password") is not None
    rules = {**_RULES, "password": (fields.required if is_new else fields.text,)}
    return Change(**fields.checked(rules, {**before, **{name: named[name] for name in rules if name in named}}))


def refuse_own_credentials(user: User, change: Change) -> None:
    """Raise `OwnCredentials` when a user's change to the own account alters e-mail address or password."""
    if change.password is not None:
        raise OwnCredentials("password")
    if change.email != user.email:
        raise OwnCredentials("email")


def email_taken(field: str, email: str) -> EmailTaken:
    """The refusal of a second account with the address that was sent in the field."""
    return EmailTaken(field=field, email=email)


_RULES: Final[fields.Rules] = {"name": (fields.required,), "email": (fields.email,), "phone": (fields.text,)}
