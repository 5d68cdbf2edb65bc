"""The chain of a vehicle: whose it is, who has it by delegation, who directs and drives it, and what each may do.

What somebody may do is read from `access.RULES`: the reaches that a company or person has on the vehicle, against those
that each action asks for. Nothing here decides a permission.

Not here: which members an actor gets to see (`services/fleet/chains.py`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Authority, Reach
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId

ON_VEHICLE: Final = (
    Action.VEHICLE_READ,
    Action.DRIVING_READ,
    Action.SENSOR_READ,
    Action.RPC_CALL,
    Action.VEHICLE_ACTIVATE,
    Action.VEHICLE_ASSIGN_DRIVER,
    Action.RIGHT_GIVE_DRIVER,
    Action.RIGHT_GIVE_DIRECTOR,
    Action.VEHICLE_ASSIGN_DIRECTOR,
    Action.VEHICLE_MODIFY,
    Action.SENSOR_MOUNT,
    Action.VEHICLE_DELEGATE,
    Action.VEHICLE_DELETE,
)
"""What can be done with a vehicle, or with what hangs on it; the widest held first."""


class Place(StrEnum):
    """What a company is to the vehicle."""

    OPERATOR = "operator"
    """Of the partner that owns it."""
    OWNER = "owner"
    DELEGATED = "delegated"
    """It has the vehicle by delegation."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who directs or drives the vehicle."""

    user_id: UserId
    name: str
    email: str
    authority: Authority
    manages: bool = False
    """Whether this is the managing director."""
    rights: tuple[UserRole, ...] = ()
    drives_now: bool = False
    may: tuple[Action, ...] = ()


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A company of the chain, and its people."""

    company_id: CompanyId
    name: str
    place: Place
    since_ms: int | None = None
    """Since when it has the vehicle by delegation; None: by none."""
    automatic: bool = False
    """Whether that delegation is for good."""
    may: tuple[Action, ...] = ()
    """What its administrators may do."""
    people: tuple[Person, ...] = ()
    """Those whom the reader may know."""
    directors: int = 0
    """Rights of delegated directors, of people whom the reader may not know too."""
    drivers: int = 0
    """Rights to drive, likewise."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody who has to do with a vehicle: the operator first, then the owner, then who has it by delegation."""

    vehicle_id: VehicleId
    vehicle_no: str
    members: tuple[Member, ...]
    more: bool = False
    """Whether further companies have the vehicle."""

    @property
    def owner(self) -> Member:
        """The company that owns it."""
        return next(member for member in self.members if member.place is Place.OWNER)


def may(authority: Authority, reaches: Iterable[Reach]) -> tuple[Action, ...]:
    """What an account with this role may do with a vehicle that is within these reaches of it."""
    held = frozenset(reaches)
    return tuple(action for action in ON_VEHICLE if access.RULES[action].get(authority, frozenset()) & held)


def company_reaches(place: Place, *, delegated: bool) -> frozenset[Reach]:
    """How a vehicle is within reach of a company at this place."""
    by_place = {Place.OPERATOR: {Reach.PARTNERS}, Place.OWNER: {Reach.OWN_COMPANY}, Place.DELEGATED: set[Reach]()}
    return frozenset(by_place[place] | ({Reach.DELEGATED_COMPANY} if delegated else set()))


def person_reaches(company: frozenset[Reach], *, manages: bool, rights: Iterable[UserRole]) -> frozenset[Reach]:
    """How it is within reach of somebody of that company."""
    by_right = {UserRole.DELEGATED_DIRECTOR: Reach.DIRECTING_RIGHT, UserRole.DRIVER: Reach.DRIVING_RIGHT}
    return company | {by_right[right] for right in rights} | ({Reach.MANAGED} if manages else set())
