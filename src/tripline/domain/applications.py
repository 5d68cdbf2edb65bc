"""Applications for a service account: the fields of the form, and the decision.

Follows spec/interface (Authentication 1) and spec/rest 8.5 (service application).

Not here: who reviews them (`access`), the account that an approval makes (`services/accounts/applications.py`), rows
(`store/accounts/applications.py`), JSON (`wire/rest/accounts.py`).
"""

from enum import Enum, StrEnum
from typing import Final

import msgspec

from tripline.domain import fields
from tripline.domain.ids import UserId
from tripline.domain.refusals import Kind, Refusal


class State(StrEnum):
    """State of an application."""

    SUBMITTED = "SUBMITTED"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


class Decision(Enum):
    """A platform administrator's decision."""

    APPROVE = "approve"
    REJECT = "reject"


NEXT: Final[dict[tuple[State, Decision], State]] = {
    (State.SUBMITTED, Decision.APPROVE): State.APPROVED,
    (State.SUBMITTED, Decision.REJECT): State.REJECTED,
}
"""The state after a decision; a missing pair is refused."""


class AlreadyDecided(Refusal):
    """The application was approved or rejected before."""

    code = "application.already_decided"
    kind = Kind.INVALID_ARGUMENTS


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The validated fields of an application."""

    service_name: str
    company_name: str
    contact_name: str
    mobile: str
    email: str
    """Will be the login id."""
    introduction: str
    """Of the service."""
    department: str | None
    provider_manager_name: str | None
    provider_manager_email: str | None
    notify_host: str | None


class Application(Form, frozen=True, kw_only=True):
    """A submitted application."""

    id: str
    created_ms: int
    state: State
    decided_ms: int | None
    decided_by_id: UserId | None
    reason: str | None
    """Sent to the applicant when rejected."""
    language: str
    """Of the applicant, for the mail."""


def form(
    *,
    service_name: str | None = None,
    company_name: str | None = None,
    contact_name: str | None = None,
    mobile: str | None = None,
    email: str | None = None,
    introduction: str | None = None,
    department: str | None = None,
    provider_manager_name: str | None = None,
    provider_manager_email: str | None = None,
    notify_host: str | None = None,
) -> Form:
    """Return the form when all fields are valid; else raise the `BadParameter` of the first invalid one, with the
    others attached."""
    checked = fields.Checks()
    made = Form(
        service_name=checked(fields.required, "serviceName", service_name),
        company_name=checked(fields.required, "companyName", company_name),
        contact_name=checked(fields.required, "contactName", contact_name),
        mobile=checked(fields.required, "mobile", mobile),
        email=checked(fields.email, "email", email),
        introduction=checked(fields.prose, "introduction", introduction),
        department=checked(fields.text, "department", department),
        provider_manager_name=checked(fields.text, "providerManagerName", provider_manager_name),
        provider_manager_email=(
            checked(fields.email, "providerManagerEmail", provider_manager_email) if provider_manager_email else None
        ),
        notify_host=checked(fields.text, "notifyHost", notify_host),
    )
    checked.end()
    return made


def state_named(text: str | None) -> State | None:
    """The state with this name; None when no name is given."""
    return State(known) if (known := fields.one_of("state", text, list(State))) else None


def decided(state: State, decision: Decision) -> State:
    """The state after the decision. Raises `AlreadyDecided`."""
    after = NEXT.get((state, decision))
    if after is None:
        raise AlreadyDecided(state=state)
    return after
