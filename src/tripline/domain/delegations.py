"""Delegations: vehicles lent to companies, rights of people on single vehicles, and the companies one may lend to.

Follows the interface specification (Delegation, rules 1 to 3), client-surface 7.6, 7.7 and 9, gaps G13, H3 and H4.

Not here: whose vehicles and people an actor may name (`access`), rows (`store/candidates.py`, `store/loans.py`,
`store/rights.py`), JSON (`wire/rest_relations.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import ClassVar, Final

from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, RecordId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, Forbidden, Kind, NotFound, Refusal


class UserRole(StrEnum):
    """What a person may do with a vehicle that was delegated to them."""

    DELEGATED_DIRECTOR = "DELEGATED_DIRECTOR"
    """See and control it, set it active or inactive, drive it."""
    DRIVER = "DRIVER"
    """Drive it (H4)."""


class Standing(Enum):
    """What a company is to another one that may lend it vehicles."""

    STRANGER = "stranger"
    CANDIDATE = "candidate"
    """Registered; vehicles may be lent to it."""
    DELEGATED = "delegated company"
    """It has received a vehicle; no longer a candidate (rule 1)."""


class Step(Enum):
    """What the lending company does."""

    REGISTER = "register as candidate"
    REMOVE = "remove the candidate"
    LEND = "lend a vehicle"


class AlreadyRegistered(BadParameter):
    """The company is a candidate, or a delegated company, already."""

    code = "candidate.already_registered"


class OwnCompany(Refusal):
    """A company was to be its own candidate."""

    code: ClassVar[str] = "candidate.own_company"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class OtherServiceType(Refusal):
    """Vehicles are lent inside one service type only (rule 1)."""

    code: ClassVar[str] = "candidate.other_service_type"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class HoldsVehicles(Refusal):
    """The company to be removed still has vehicles of the one that removes it."""

    code: ClassVar[str] = "candidate.holds_vehicles"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class NotCandidate(Refusal):
    """A vehicle was to be lent to a company that was not registered as a candidate first (rule 1)."""

    code: ClassVar[str] = "delegation.not_candidate"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class AlreadyLent(BadParameter):
    """The company has the vehicle already."""

    code = "delegation.already_lent"


class Irrevocable(Forbidden):
    """A partner's vehicle stays with its operator (H3)."""

    code = "delegation.irrevocable"


class RightHeld(BadParameter):
    """The person has this right on the vehicle already."""

    code = "right.already_held"


class Oneself(Refusal):
    """Directors give rights to others, not to themselves (rule 2)."""

    code: ClassVar[str] = "right.oneself"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class NotLentThere(Refusal):
    """The person's company neither owns the vehicle nor has it on loan."""

    code: ClassVar[str] = "right.not_lent_there"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """That one company may lend its vehicles to another."""

    id: RecordId
    created_ms: int
    from_company_id: CompanyId
    from_company_name: str
    to_company_id: CompanyId
    to_company_name: str
    service_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """A vehicle lent to a company."""

    id: RecordId
    created_ms: int
    from_company_id: CompanyId
    from_company_name: str
    to_company_id: CompanyId
    to_company_name: str
    vehicle_id: VehicleId
    vehicle_no: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What a person may do with a vehicle; it hangs on the person's company owning the vehicle or having it on loan."""

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
    (Standing.CANDIDATE, Step.LEND): Standing.DELEGATED,
    (Standing.DELEGATED, Step.LEND): Standing.DELEGATED,
}
"""The standing after a step; the steps that are missing are refused.

A standing is read from what is registered and lent (`store/candidates.py`) and kept nowhere: when the last vehicle is
taken back, or deleted, a delegated company is a candidate again.
"""

REFUSALS: Final[dict[tuple[Standing, Step], Callable[[], Refusal]]] = {
    (Standing.CANDIDATE, Step.REGISTER): lambda: AlreadyRegistered(
        "Parameter 'toCompanyId': this company is a delegation candidate already."
    ),
    (Standing.DELEGATED, Step.REGISTER): lambda: AlreadyRegistered(
        "Parameter 'toCompanyId': this company is a delegated company already."
    ),
    (Standing.STRANGER, Step.REMOVE): lambda: NotFound("The company is no delegation candidate."),
    (Standing.DELEGATED, Step.REMOVE): lambda: HoldsVehicles(
        "The company holds vehicles of the delegating company; take them back first."
    ),
    (Standing.STRANGER, Step.LEND): lambda: NotCandidate(
        "The receiving company is no delegation candidate of the vehicle's company; register it first."
    ),
}
"""What the caller is told instead."""


def standing_after(standing: Standing, step: Step) -> Standing:
    """The standing after the step.

    Raises `AlreadyRegistered`, `NotFound`, `HoldsVehicles` or `NotCandidate` when it cannot be done.
    """
    after = NEXT.get((standing, step))
    if after is None:
        raise REFUSALS[standing, step]()
    return after


def check_pair(*, from_company: CompanyId, from_service_type: str, to_company: CompanyId, to_service_type: str) -> None:
    """Let pass two companies that may lend to each other. Raises `OwnCompany` or `OtherServiceType`."""
    if from_company == to_company:
        raise OwnCompany("A company cannot be its own delegation candidate.")
    if from_service_type != to_service_type:
        raise OtherServiceType("Vehicles can be delegated only to a company of the same service type.")


def check_revocable(*, automatic: bool) -> None:
    """Let pass a loan that can be taken back. Raises `Irrevocable`."""
    if automatic:
        raise Irrevocable("A partner's vehicle is delegated to its operator for good.")


def check_receiver(*, giver: UserId, receiver: UserId, role: UserRole, available: bool) -> None:
    """Let pass a person who may get the right on a vehicle that the giver may give rights on.

    `available`: the person's company owns the vehicle or has it on loan. Raises `Oneself` or `NotLentThere`.
    """
    if role is UserRole.DELEGATED_DIRECTOR and giver == receiver:
        raise Oneself("A director gives rights to another director.")
    if not available:
        raise NotLentThere("The person's company neither owns the vehicle nor has it delegated to it.")


def may_end(*, actor: Actor, owner: CompanyId, could_give: bool) -> bool:
    """Whether the actor may take back a right on a vehicle that it may give rights on.

    Who could give the right to this person may; the administrators of the vehicle's company may take it from anybody.
    """
    return could_give or (actor.authority is Authority.COMPANY_ADMIN and actor.company_id == owner)
