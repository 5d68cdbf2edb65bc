"""Who may do what: the only place that answers a question of permission.

`RULES` says, for each action and role, how far the role reaches: which companies', vehicles' or users' rows. A role
without an entry may not do the action at all. `scope_of` turns an actor and an action into a `Scope`; every store
function on customers' rows takes one and turns it into SQL (`store/scopes.py`).

Follows `reference/client-surface.md` 9 and the interface specification's delegation rules.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeVar

from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Forbidden, NotFound

T = TypeVar("T")


class Authority(StrEnum):
    """Role of an account, as written in records and tokens."""

    SYS_ADMIN = "SYS_ADMIN"
    COMPANY_ADMIN = "COMPANY_ADMIN"
    DIRECTOR = "DIRECTOR"
    DRIVER = "DRIVER"


class Reach(Enum):
    """One way in which a row can be within an actor's reach."""

    ANY = "every row"
    OWN_COMPANY = "rows of the actor's company"
    SERVICE_TYPE = "rows of every company under the actor's operator company"
    DELEGATED_COMPANY = "vehicles (and what hangs on them) delegated to the actor's company"
    MANAGED = "vehicles whose managing director is the actor"
    USER_RIGHT = "vehicles on which the actor holds a delegated right"
    SELF = "the actor's own record, trips and scores"


class Action(Enum):
    """Everything that needs a permission."""

    COMPANY_CREATE_OPERATOR = "company.create_operator"
    COMPANY_CREATE_PARTNER = "company.create_partner"
    COMPANY_READ = "company.read"
    VEHICLE_CREATE = "vehicle.create"
    VEHICLE_READ = "vehicle.read"
    SENSOR_CREATE = "sensor.create"
    SENSOR_READ = "sensor.read"
    SENSOR_MOUNT = "sensor.mount"
    DIRECTOR_CREATE = "director.create"
    DRIVER_CREATE = "driver.create"
    USER_READ = "user.read"
    DRIVING_READ = "driving.read"
    """Trips, microtrips, device events, scores, GPS events of a vehicle or driver."""


_ALL = frozenset({Reach.ANY})
_ADMIN = frozenset({Reach.OWN_COMPANY, Reach.SERVICE_TYPE})
_ADMIN_VEHICLE = _ADMIN | {Reach.DELEGATED_COMPANY}
_DIRECTOR = frozenset({Reach.MANAGED, Reach.USER_RIGHT})

RULES: dict[Action, dict[Authority, frozenset[Reach]]] = {
    Action.COMPANY_CREATE_OPERATOR: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: frozenset()},
    Action.COMPANY_CREATE_PARTNER: {Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY})},
    Action.COMPANY_READ: {
        Authority.SYS_ADMIN: _ALL,
        Authority.COMPANY_ADMIN: _ADMIN,
        Authority.DIRECTOR: frozenset({Reach.OWN_COMPANY}),
        Authority.DRIVER: frozenset({Reach.OWN_COMPANY}),
    },
    Action.VEHICLE_CREATE: {
        Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY}),
        Authority.DIRECTOR: frozenset({Reach.OWN_COMPANY}),
    },
    Action.VEHICLE_READ: {
        Authority.COMPANY_ADMIN: _ADMIN_VEHICLE,
        Authority.DIRECTOR: _DIRECTOR,
        Authority.DRIVER: frozenset({Reach.USER_RIGHT}),
    },
    Action.SENSOR_CREATE: {Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY})},
    # A sensor hangs on its vehicle. Drivers are left out: the record holds the device's access token.
    Action.SENSOR_READ: {Authority.COMPANY_ADMIN: _ADMIN_VEHICLE, Authority.DIRECTOR: _DIRECTOR},
    Action.SENSOR_MOUNT: {Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY})},
    Action.DIRECTOR_CREATE: {Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY})},
    Action.DRIVER_CREATE: {Authority.COMPANY_ADMIN: frozenset({Reach.OWN_COMPANY})},
    Action.USER_READ: {
        Authority.SYS_ADMIN: _ALL,
        Authority.COMPANY_ADMIN: _ADMIN,
        Authority.DIRECTOR: frozenset({Reach.SELF, Reach.OWN_COMPANY}),
        Authority.DRIVER: frozenset({Reach.SELF}),
    },
    Action.DRIVING_READ: {
        Authority.COMPANY_ADMIN: _ADMIN_VEHICLE,
        Authority.DIRECTOR: _DIRECTOR | {Reach.SELF},
        Authority.DRIVER: frozenset({Reach.USER_RIGHT, Reach.SELF}),
    },
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: an account as its access token names it."""

    user_id: UserId
    authority: Authority
    company_id: CompanyId | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose rows an operation may touch: a row is inside when any reach holds. `why` is for the log and tests."""

    why: str
    reaches: frozenset[Reach]
    user_id: UserId | None = None
    company_id: CompanyId | None = None

    @classmethod
    def everything(cls, why: str) -> "Scope":
        """The scope of background work, with its reason."""
        return cls(why, _ALL)


def scope_of(actor: Actor, action: Action) -> Scope:
    """The rows on which the actor may do the action. Raises `Forbidden` when its role may not do it at all."""
    reaches = RULES[action].get(actor.authority)
    if reaches is None:
        raise Forbidden(f"An account with the role {actor.authority} may not do this.")
    return Scope(action.value, reaches, actor.user_id, actor.company_id)


def company_of(actor: Actor) -> CompanyId:
    """The actor's company. Raises `Forbidden` for an account that has none (yet)."""
    if actor.company_id is None:
        raise Forbidden("This account belongs to no company; register the company first.")
    return actor.company_id


def admit(inside: bool | None, thing: str) -> None:
    """Let pass what is inside a scope. None stands for an unknown object: `NotFound`; False raises `Forbidden`.

    What exists elsewhere is never called unknown (client-surface 3.3).
    """
    if inside is None:
        raise NotFound(f"There is no {thing} with this id.")
    if not inside:
        raise Forbidden(f"This {thing} is outside your reach.")


def admitted(found: tuple[T, bool] | None, thing: str) -> T:
    """The object of a look-up that says whether it is inside; else as `admit`."""
    admit(None if found is None else found[1], thing)
    assert found is not None
    return found[0]
