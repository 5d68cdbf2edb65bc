"""Applications for a service account: the fields of the form, and the decision.

Follows spec/interface (Authentication 1) and spec/rest 8.5 (service application).
"""

from enum import Enum, StrEnum
from typing import Any, Final

import msgspec

from tripline.domain import fields
from tripline.domain.ids import UserId
from tripline.domain.refusals import Invalid


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


class AlreadyDecided(Invalid):
    """The application was approved or rejected before."""

    code = "application.already_decided"


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


_RULES: Final[fields.Rules] = {
    "service_name": (fields.required,),
    "company_name": (fields.required,),
    "contact_name": (fields.required,),
    "mobile": (fields.required,),
    "email": (fields.email,),
    "introduction": (fields.prose,),
    "department": (fields.text,),
    "provider_manager_name": (fields.text,),
    "provider_manager_email": (fields.optional_email,),
    "notify_host": (fields.text,),
}


def form(**sent: Any) -> Form:
    """Return the form when all fields are valid; else raise the `BadParameter` of the first invalid one, with the
    others attached."""
    return Form(**fields.checked(_RULES, sent))


def state_named(text: str | None) -> State | None:
    """The state with this name; None when no name is given."""
    return State(known) if (known := fields.one_of("state", text, list(State))) else None


def decided(state: State, decision: Decision) -> State:
    """The state after the decision. Raises `AlreadyDecided`."""
    after = NEXT.get((state, decision))
    if after is None:
        raise AlreadyDecided(state=state)
    return after
