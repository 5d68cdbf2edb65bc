"""Directors and drivers: what their registration may say, and the record of any account.

Follows the interface specification (Director and Driver), rule 6, gaps G5 and H5.

Not here: who may register or read one (`access`), passwords and logins (`services/accounts`), rows
(`store/people.py`), JSON (`wire/rest_people.py`).
"""

from dataclasses import dataclass
from typing import Final

from tripline.domain import fields
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, TripId, UserId
from tripline.domain.refusals import BadParameter

DRIVING_ROLES: Final = (Authority.DRIVER, Authority.DIRECTOR)
"""Who is found among the drivers: a director may act as one (client-surface 7.2)."""


class EmailTaken(BadParameter):
    """Another account logs in with this e-mail address (H5)."""

    code = "user.email_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a registration says about a person, checked."""

    name: str
    email: str
    """Also the login id."""
    phone: str | None
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account as its record shows it: without the password; unset ids are None."""

    id: UserId
    created_ms: int
    company_id: CompanyId | None
    name: str
    phone: str | None
    latest_trip_id: TripId | None
    email: str
    authority: Authority
    additional_info: str | None
    password_updated_ms: int


def registration(
    *, name: str | None = None, email: str | None = None, phone: str | None = None, password: str | None = None
) -> Registration:
    """The registration when every rule holds; else raises the `BadParameter` of the first field that breaks one."""
    return Registration(
        name=fields.required("name", name),
        email=fields.email("email", email),
        phone=fields.text("phone", phone),
        password=fields.required("password", password),
    )


def email_taken(field: str, email: str) -> EmailTaken:
    """The refusal of a second account with the address that was sent in the field."""
    return EmailTaken(f"Parameter '{field}': an account with the e-mail address {email} already exists.")
