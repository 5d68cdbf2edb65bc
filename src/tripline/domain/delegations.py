"""Delegations: vehicles delegated to companies, rights of people on single vehicles, and candidates.

Follows spec/interface (Delegation, rules 1 to 3), spec/rest 7.6, 7.7 and 9, spec/gaps G13, H3 and H4.
"""

from collections.abc import Callable
from enum import Enum, StrEnum
from typing import ClassVar, Final

import msgspec

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, RecordId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Forbidden, Invalid, NotFound, Refusal


class UserRole(StrEnum):
    """A person's right on a single vehicle."""

    DELEGATED_DIRECTOR = "DELEGATED_DIRECTOR"
    """See and control it, set it active or inactive, drive it."""
    DRIVER = "DRIVER"
    """Drive it (H4)."""


class Standing(Enum):
    """A company's relation to another one that may delegate vehicles to it."""

    STRANGER = "stranger"
    CANDIDATE = "candidate"
    """Registered; vehicles may be delegated to it."""
    DELEGATED = "delegated company"
    """It has received a vehicle; no longer a candidate (rule 1)."""


class Step(Enum):
    """An action of the delegating company."""

    REGISTER = "register as candidate"
    REMOVE = "remove the candidate"
    DELEGATE = "delegate a vehicle"


class AlreadyRegistered(BadParameter):
    """The company is already a candidate or a delegated company."""

    code = "candidate.already_registered"


class OwnCompany(Invalid):
    """A company cannot be its own candidate."""

    code: ClassVar[str] = "candidate.own_company"


class OtherServiceType(Invalid):
    """Vehicles are delegated inside one service type only (rule 1)."""

    code: ClassVar[str] = "candidate.other_service_type"


class HoldsVehicles(Invalid):
    """The company to be removed still has vehicles of the delegating company."""

    code: ClassVar[str] = "candidate.holds_vehicles"


class NotCandidate(Invalid):
    """A vehicle can only be delegated to a registered candidate (rule 1)."""

    code: ClassVar[str] = "delegation.not_candidate"


class AlreadyDelegated(BadParameter):
    """The company has the vehicle already."""

    code = "delegation.already_delegated"


class Irrevocable(Forbidden):
    """A partner's vehicle stays with its operator (H3)."""

    code = "delegation.irrevocable"


class RightHeld(BadParameter):
    """The person has this right on the vehicle already."""

    code = "right.already_held"


class Oneself(Invalid):
    """Directors give rights to others, not to themselves (rule 2)."""

    code: ClassVar[str] = "right.oneself"


class NotDelegatedThere(Invalid):
    """The person's company neither owns the vehicle nor has it by delegation."""

    code: ClassVar[str] = "right.not_delegated_there"


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """A company may delegate its vehicles to another."""

    id: RecordId
    created_ms: int
    from_company_id: CompanyId
    from_company_name: str
    to_company_id: CompanyId
    to_company_name: str
    service_type: str


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle delegated to a company."""

    id: RecordId
    created_ms: int
    from_company_id: CompanyId
    from_company_name: str
    to_company_id: CompanyId
    to_company_name: str
    vehicle_id: VehicleId
    vehicle_no: str


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """A person's right on a vehicle that the person's company owns or has by delegation."""

    id: RecordId
    created_ms: int
    company_id: CompanyId
    """The person's."""
    company_name: str
    user_id: UserId
    user_name: str
    vehicle_id: VehicleId
    vehicle_no: str
    user_role: UserRole


NEXT: Final[dict[tuple[Standing, Step], Standing]] = {
    (Standing.STRANGER, Step.REGISTER): Standing.CANDIDATE,
    (Standing.CANDIDATE, Step.REMOVE): Standing.STRANGER,
    (Standing.CANDIDATE, Step.DELEGATE): Standing.DELEGATED,
    (Standing.DELEGATED, Step.DELEGATE): Standing.DELEGATED,
}
"""The standing after a step; missing pairs are refused.

A standing is derived from candidates and delegations (`store/fleet/candidates.py`), not stored: when the last vehicle
is taken back, or deleted, a delegated company is a candidate again.
"""

REFUSALS: Final[dict[tuple[Standing, Step], Callable[[], Refusal]]] = {
    (Standing.CANDIDATE, Step.REGISTER): lambda: AlreadyRegistered("candidate", field="toCompanyId"),
    (Standing.DELEGATED, Step.REGISTER): lambda: AlreadyRegistered("delegated", field="toCompanyId"),
    (Standing.STRANGER, Step.REMOVE): lambda: NotFound("candidate"),
    (Standing.DELEGATED, Step.REMOVE): HoldsVehicles,
    (Standing.STRANGER, Step.DELEGATE): NotCandidate,
}
"""The refusal of each missing pair."""


def standing_after(standing: Standing, step: Step) -> Standing:
    """The standing after the step.

    Raises `AlreadyRegistered`, `NotFound`, `HoldsVehicles` or `NotCandidate` when the step is not possible.
    """
    after = NEXT.get((standing, step))
    if after is None:
        raise REFUSALS[standing, step]()
    return after


def check_pair(*, from_company: CompanyId, from_service_type: str, to_company: CompanyId, to_service_type: str) -> None:
    """Check that two companies may delegate to each other. Raises `OwnCompany` or `OtherServiceType`."""
    if from_company == to_company:
        raise OwnCompany()
    if from_service_type != to_service_type:
        raise OtherServiceType()


def check_receiver(*, giver: UserId, receiver: UserId, role: UserRole, available: bool) -> None:
    """Check that a person may get the right on a vehicle that the giver may give rights on.

    `available`: the person's company owns the vehicle or has it by delegation. Raises `Oneself` or `NotDelegatedThere`.
    """
    if role is UserRole.DELEGATED_DIRECTOR and giver == receiver:
        raise Oneself()
    if not available:
        raise NotDelegatedThere()


def may_end(*, actor: Actor, owner: CompanyId, could_give: bool) -> bool:
    """Return whether the actor may take back a right on a vehicle that it may give rights on.

    An actor who could give the right to this person may; administrators of the vehicle's company may take back any
    right.
    """
    return could_give or (actor.authority is Authority.COMPANY_ADMIN and actor.company_id == owner)
