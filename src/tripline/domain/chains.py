"""The chain of a vehicle: its owner, delegated companies, directors and drivers, and the permissions of each.

Permissions are read from `access.RULES`: the reaches of a company or person on the vehicle are matched against the
reaches that each action requires. Nothing here decides a permission.
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
"""Actions on a vehicle and on the objects attached to it; the most widely granted first."""


class Place(StrEnum):
    """A company's relation to the vehicle."""

    OPERATOR = "operator"
    """Operator of the partner that owns it."""
    OWNER = "owner"
    DELEGATED = "delegated"
    """It has the vehicle by delegation."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person who directs or drives the vehicle."""

    user_id: UserId
    name: str
    email: str
    authority: Authority
    manages: bool = False
    """True for the managing director."""
    rights: tuple[UserRole, ...] = ()
    drives_now: bool = False
    may: tuple[Action, ...] = ()


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A company of the chain, and its people."""

    company_id: CompanyId
    name: str
    place: Place
    since_ms: int | None = None
    """Since when the vehicle is delegated to it; None: not delegated."""
    automatic: bool = False
    """True for a permanent delegation."""
    may: tuple[Action, ...] = ()
    """Permitted actions of its administrators."""
    people: tuple[Person, ...] = ()
    """Only people visible to the reader."""
    directors: int = 0
    """Number of delegated directors' rights, including people hidden from the reader."""
    drivers: int = 0
    """Number of rights to drive, likewise."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """All companies and people of a vehicle: the operator first, then the owner, then delegated companies."""

    vehicle_id: VehicleId
    vehicle_no: str
    members: tuple[Member, ...]
    more: bool = False
    """True when further companies have the vehicle."""

    @property
    def owner(self) -> Member:
        """The company that owns it."""
        return next(member for member in self.members if member.place is Place.OWNER)


def may(authority: Authority, reaches: Iterable[Reach]) -> tuple[Action, ...]:
    """Return the actions that an account with this role and these reaches may perform on a vehicle."""
    held = frozenset(reaches)
    return tuple(action for action in ON_VEHICLE if access.RULES[action].get(authority, frozenset()) & held)


def company_reaches(place: Place, *, delegated: bool) -> frozenset[Reach]:
    """Return the reaches on the vehicle of a company at this place."""
    by_place = {Place.OPERATOR: {Reach.PARTNERS}, Place.OWNER: {Reach.OWN_COMPANY}, Place.DELEGATED: set[Reach]()}
    return frozenset(by_place[place] | ({Reach.DELEGATED_COMPANY} if delegated else set()))


def person_reaches(company: frozenset[Reach], *, manages: bool, rights: Iterable[UserRole]) -> frozenset[Reach]:
    """Return the reaches on the vehicle of a person of that company."""
    by_right = {UserRole.DELEGATED_DIRECTOR: Reach.DIRECTING_RIGHT, UserRole.DRIVER: Reach.DRIVING_RIGHT}
    return company | {by_right[right] for right in rights} | ({Reach.MANAGED} if manages else set())
