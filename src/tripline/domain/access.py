"""Permissions: this module alone decides which role may do which action.

`RULES` says, for each action and role, how far the role reaches: which companies', vehicles' or users' rows. A role
without an entry may not do the action at all. `scope_of` turns an actor and an action into a `Scope`; every store
function on customers' rows takes one and turns it into SQL (`store/scopes.py`).

Follows spec/rest 9 and the interface specification's delegation rules. The documentation page of roles
(`docs/reference/access.md`) is made from `RULES`, and so is the matrix that tests every route against it.
"""

from enum import Enum, StrEnum
from typing import TypeVar

import msgspec

from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import Forbidden, NotFound, Word

T = TypeVar("T")


class Authority(StrEnum):
    """Role of an account, as written in records and tokens."""

    SYS_ADMIN = "SYS_ADMIN"
    COMPANY_ADMIN = "COMPANY_ADMIN"
    DIRECTOR = "DIRECTOR"
    DRIVER = "DRIVER"
    CARRIER = "CARRIER"
    """The telephone company whose lines devices use; it reports changes to them."""


class Thing(Word, Enum):
    """A kind of object that callers request by id."""

    ADMINISTRATOR = "administrator"
    CALL = "call"
    COMPANY = "company"
    DIRECTOR = "director"
    DISPUTE = "dispute"
    DRAFT = "draft"
    DRIVER = "driver"
    LINE = "line"
    RESCORING = "rescoring"
    SENSOR = "sensor"
    SHARE_LINK = "share link"
    TRIP = "trip"
    USER = "user"
    VEHICLE = "vehicle"


class Reach(Enum):
    """One way in which a row can be within an actor's reach."""

    ANY = "every row"
    OWN_COMPANY = "rows of the actor's company"
    PARTNERS = "rows of the companies under the actor's operator company, not the operator's own"
    DELEGATED_COMPANIES = "people of companies that vehicles of the actor's company are delegated to"
    DELEGATED_COMPANY = "vehicles (with their trips, events and scores) delegated to the actor's company"
    MANAGED = "vehicles (with their trips, events and scores) whose managing director is the actor"
    DIRECTING_RIGHT = "vehicles (with their trips, events and scores) on which the actor is DELEGATED_DIRECTOR"
    DRIVING_RIGHT = "vehicles (with their trips, events and scores) that the actor may drive"
    SELF = "the actor's own record, trips and scores"


class Action(Enum):
    """An operation that needs a permission; each has a row in `RULES`."""

    ACCOUNT_MANAGE = "account.manage"
    """See every account of the installation, disable and enable any."""
    APPLICATION_REVIEW = "application.review"
    CARRIER_ACT = "carrier.act"
    CARRIER_UNPAUSE = "carrier.unpause"
    COMPANY_ADMIN_MANAGE = "company.admin_manage"
    """Register, change, delete and list the administrators of a company."""
    COMPANY_CREATE = "company.create"
    """An operator, for an account without a company; a partner, for a company's administrator."""
    COMPANY_DELETE = "company.delete"
    COMPANY_HISTORY_READ = "company.history_read"
    """Read the changes of a company's record, of its candidates and its imports; also of a deleted company."""
    COMPANY_LIST = "company.list"
    COMPANY_MODIFY = "company.modify"
    COMPANY_READ = "company.read"
    CANDIDATE_MANAGE = "candidate.manage"
    """Register and remove the companies that vehicles may be delegated to; the row is the delegating company."""
    CANDIDATE_READ = "candidate.read"
    """List those companies; the row is the delegating company."""
    DISPUTE_DECIDE = "dispute.decide"
    """Accept or reject a dispute of a score, and correct the driver of a past trip; the row is the trip."""
    DISPUTE_LIST = "dispute.list"
    """List the disputes about a company's trips that the caller may decide; the row is the company."""
    DISPUTE_OPEN = "dispute.open"
    """Dispute an event or a whole trip, and withdraw that; the row is the trip."""
    DRIVING_READ = "driving.read"
    """Read trips, microtrips, device events, scores and GPS events of a vehicle or driver. A company from which a
    vehicle was taken back loses access to all data of the vehicle; its people keep access to their own drives
    (docs/delegation.md)."""
    INSTALLATION_READ = "installation.read"
    """See what the installation serves, how well it runs, and which settings are in force."""
    MAP_MANAGE = "map.manage"
    """See, import and remove road maps with their speed limits."""
    PERSON_CREATE = "person.create"
    PERSON_DELETE = "person.delete"
    PERSON_LIST = "person.list"
    PERSON_MODIFY = "person.modify"
    POLICY_CHOOSE = "policy.choose"
    """See the scoring policy of a company, preview and choose another, have stored trips scored anew; the row is the
    company."""
    PUSH_MANAGE = "push.manage"
    """List waiting and parked messages for the company's own server, send them again, read and change the secret."""
    RIGHT_GIVE_DIRECTOR = "right.give_director"
    """Make a person DELEGATED_DIRECTOR of a vehicle, or revoke that; the row is the vehicle."""
    RIGHT_GIVE_DRIVER = "right.give_driver"
    """Let a person drive a vehicle, or revoke that; the row is the vehicle."""
    RIGHT_RECEIVE_DIRECTOR = "right.receive_director"
    """Who may be made DELEGATED_DIRECTOR by the actor; the row is the person."""
    RIGHT_RECEIVE_DRIVER = "right.receive_driver"
    """Who may be let drive by the actor; the row is the person."""
    RIGHT_READ = "right.read"
    """List a person's rights; the row is the person."""
    RPC_CALL = "rpc.call"
    """Have a device do something; the row is the sensor."""
    RPC_READ = "rpc.read"
    """Read a device's calls and answers; the row is the sensor, and the call by itself."""
    SENSOR_CREATE = "sensor.create"
    SENSOR_CREDENTIAL_READ = "sensor.credential_read"
    """See the access token in a sensor's record; other readers see null."""
    SENSOR_DELETE = "sensor.delete"
    SENSOR_HISTORY_READ = "sensor.history_read"
    SENSOR_MODIFY = "sensor.modify"
    SENSOR_MOUNT = "sensor.mount"
    SENSOR_READ = "sensor.read"
    USER_FIND = "user.find"
    """Look a person up by e-mail address."""
    USER_HISTORY_READ = "user.history_read"
    USER_READ = "user.read"
    VEHICLE_ACTIVATE = "vehicle.activate"
    VEHICLE_ASSIGN_DIRECTOR = "vehicle.assign_director"
    VEHICLE_ASSIGN_DRIVER = "vehicle.assign_driver"
    VEHICLE_CREATE = "vehicle.create"
    VEHICLE_DELETE = "vehicle.delete"
    VEHICLE_DELEGATE = "vehicle.delegate"
    """Delegate a vehicle to a company, or take it back; the row is the vehicle."""
    VEHICLE_RECEIVE_DIRECTOR = "vehicle.receive_director"
    """Who may be made managing director by the actor; the row is the person."""
    VEHICLE_RECEIVE_DRIVER = "vehicle.receive_driver"
    """Who may be set as a driver by the actor, beside those who hold a right on the vehicle; the row is the person."""
    VEHICLE_DELEGATIONS_READ = "vehicle.delegations_read"
    """The companies that a vehicle is delegated to; the row is the vehicle."""
    VEHICLE_DRIVE = "vehicle.drive"
    """Open the driver's page, take a vehicle and give it back; the row is the person. Which vehicle:
    `VEHICLE_ASSIGN_DRIVER`."""
    VEHICLE_HISTORY_READ = "vehicle.history_read"
    VEHICLE_MODIFY = "vehicle.modify"
    VEHICLE_READ = "vehicle.read"
    VEHICLE_SHARE = "vehicle.share"
    """Make links that show a vehicle without an account, list and end those of the own company; the row is the
    vehicle."""


_ALL = frozenset({Reach.ANY})
_OWN = frozenset({Reach.OWN_COMPANY})
_ADMIN = frozenset({Reach.OWN_COMPANY, Reach.PARTNERS})
_ADMIN_VEHICLE = _ADMIN | {Reach.DELEGATED_COMPANY}
_HOLDER = frozenset({Reach.OWN_COMPANY, Reach.DELEGATED_COMPANY})
_MANAGED = frozenset({Reach.MANAGED})
_DIRECTING = frozenset({Reach.MANAGED, Reach.DIRECTING_RIGHT})
_DIRECTOR = _DIRECTING | {Reach.DRIVING_RIGHT}
_SELF = frozenset({Reach.SELF})

_DRIVING = {
    Authority.COMPANY_ADMIN: _ADMIN_VEHICLE,
    Authority.DIRECTOR: _DIRECTOR | _SELF,
    Authority.DRIVER: frozenset({Reach.DRIVING_RIGHT, Reach.SELF}),
}

RULES: dict[Action, dict[Authority, frozenset[Reach]]] = {
    Action.ACCOUNT_MANAGE: {Authority.SYS_ADMIN: _ALL},
    Action.APPLICATION_REVIEW: {Authority.SYS_ADMIN: _ALL},
    Action.INSTALLATION_READ: {Authority.SYS_ADMIN: _ALL},
    Action.MAP_MANAGE: {Authority.SYS_ADMIN: _ALL},
    Action.CARRIER_ACT: {Authority.CARRIER: _ALL},
    Action.CARRIER_UNPAUSE: {Authority.COMPANY_ADMIN: _OWN},
    Action.COMPANY_ADMIN_MANAGE: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _ADMIN},
    Action.COMPANY_CREATE: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _OWN},
    # A partner registers partners, but only the operator deletes them; an operator is deleted by the platform.
    Action.COMPANY_DELETE: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: frozenset({Reach.PARTNERS})},
    Action.COMPANY_HISTORY_READ: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _ADMIN},
    Action.COMPANY_LIST: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _ADMIN},
    Action.COMPANY_MODIFY: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _ADMIN},
    Action.COMPANY_READ: {
        Authority.SYS_ADMIN: _ALL,
        Authority.COMPANY_ADMIN: _ADMIN,
        Authority.DIRECTOR: _OWN,
        Authority.DRIVER: _OWN,
    },
    Action.CANDIDATE_MANAGE: {Authority.COMPANY_ADMIN: _OWN},
    Action.CANDIDATE_READ: {Authority.COMPANY_ADMIN: _ADMIN},
    # Excludes companies that only use the vehicle: its owner is responsible for its scores.
    Action.DISPUTE_DECIDE: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _MANAGED},
    Action.DISPUTE_LIST: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _OWN},
    Action.DISPUTE_OPEN: _DRIVING,
    Action.DRIVING_READ: _DRIVING,
    Action.PERSON_CREATE: {Authority.COMPANY_ADMIN: _OWN},
    Action.PERSON_DELETE: {Authority.COMPANY_ADMIN: _OWN},
    Action.PERSON_LIST: {Authority.COMPANY_ADMIN: _ADMIN, Authority.DIRECTOR: _OWN},
    Action.PERSON_MODIFY: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _SELF, Authority.DRIVER: _SELF},
    Action.POLICY_CHOOSE: {Authority.SYS_ADMIN: _ALL, Authority.COMPANY_ADMIN: _ADMIN},
    # Messages contain data from partners' sensors, and the secret proves the sender: only the company itself.
    Action.PUSH_MANAGE: {Authority.COMPANY_ADMIN: _OWN},
    # Rules 2 and 3 of the delegation chapter.
    Action.RIGHT_GIVE_DIRECTOR: {Authority.COMPANY_ADMIN: _HOLDER, Authority.DIRECTOR: _MANAGED},
    Action.RIGHT_GIVE_DRIVER: {Authority.COMPANY_ADMIN: _HOLDER, Authority.DIRECTOR: _DIRECTING},
    Action.RIGHT_RECEIVE_DIRECTOR: {
        Authority.COMPANY_ADMIN: _OWN,
        Authority.DIRECTOR: frozenset({Reach.OWN_COMPANY, Reach.DELEGATED_COMPANIES}),
    },
    Action.RIGHT_RECEIVE_DRIVER: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _OWN},
    Action.RIGHT_READ: {Authority.COMPANY_ADMIN: _ADMIN, Authority.DIRECTOR: _OWN | _SELF, Authority.DRIVER: _SELF},
    # spec/rpc 5.4: directors and delegated directors control vehicles; drivers do not.
    Action.RPC_CALL: {Authority.COMPANY_ADMIN: _ADMIN_VEHICLE, Authority.DIRECTOR: _DIRECTING},
    Action.RPC_READ: {Authority.COMPANY_ADMIN: _ADMIN_VEHICLE, Authority.DIRECTOR: _DIRECTING},
    Action.SENSOR_CREATE: {Authority.COMPANY_ADMIN: _OWN},
    # The access token lets its holder speak as the device: excludes companies that only use the vehicle.
    Action.SENSOR_CREDENTIAL_READ: {Authority.COMPANY_ADMIN: _ADMIN, Authority.DIRECTOR: _MANAGED},
    Action.SENSOR_DELETE: {Authority.COMPANY_ADMIN: _OWN},
    # A sensor's earlier vehicles are hidden from companies that only use its present one.
    Action.SENSOR_HISTORY_READ: {Authority.COMPANY_ADMIN: _ADMIN},
    Action.SENSOR_MODIFY: {Authority.COMPANY_ADMIN: _OWN},
    Action.SENSOR_MOUNT: {Authority.COMPANY_ADMIN: _OWN},
    # Access to a sensor follows its vehicle. Drivers are excluded: the record holds the device's access token.
    Action.SENSOR_READ: {Authority.COMPANY_ADMIN: _ADMIN_VEHICLE, Authority.DIRECTOR: _DIRECTING},
    Action.USER_FIND: {Authority.COMPANY_ADMIN: _ADMIN},
    Action.USER_HISTORY_READ: {
        Authority.SYS_ADMIN: _ALL,
        Authority.COMPANY_ADMIN: _ADMIN,
        Authority.DIRECTOR: _SELF,
        Authority.DRIVER: _SELF,
    },
    Action.USER_READ: {
        Authority.SYS_ADMIN: _ALL,
        Authority.COMPANY_ADMIN: _ADMIN,
        Authority.DIRECTOR: _OWN | _SELF,
        Authority.DRIVER: _SELF,
    },
    Action.VEHICLE_ACTIVATE: {Authority.COMPANY_ADMIN: _HOLDER, Authority.DIRECTOR: _DIRECTING},
    Action.VEHICLE_ASSIGN_DIRECTOR: {Authority.COMPANY_ADMIN: _OWN},
    Action.VEHICLE_ASSIGN_DRIVER: {
        Authority.COMPANY_ADMIN: _HOLDER,
        Authority.DIRECTOR: _DIRECTING,
        Authority.DRIVER: frozenset({Reach.DRIVING_RIGHT}),
    },
    Action.VEHICLE_CREATE: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _OWN},
    # A company that a vehicle is delegated to manages it, but does not delete it.
    Action.VEHICLE_DELETE: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _MANAGED},
    Action.VEHICLE_DELEGATE: {Authority.COMPANY_ADMIN: _OWN},
    Action.VEHICLE_DELEGATIONS_READ: {Authority.COMPANY_ADMIN: _ADMIN_VEHICLE, Authority.DIRECTOR: _DIRECTING},
    Action.VEHICLE_DRIVE: {Authority.DIRECTOR: _SELF, Authority.DRIVER: _SELF},
    # Excludes delegated companies: it names the other companies and earlier events.
    Action.VEHICLE_HISTORY_READ: {Authority.COMPANY_ADMIN: _ADMIN, Authority.DIRECTOR: _MANAGED},
    Action.VEHICLE_RECEIVE_DIRECTOR: {Authority.COMPANY_ADMIN: _OWN},
    Action.VEHICLE_RECEIVE_DRIVER: {Authority.COMPANY_ADMIN: _OWN, Authority.DIRECTOR: _OWN, Authority.DRIVER: _SELF},
    Action.VEHICLE_MODIFY: {Authority.COMPANY_ADMIN: _HOLDER, Authority.DIRECTOR: _MANAGED},
    Action.VEHICLE_READ: {
        Authority.COMPANY_ADMIN: _ADMIN_VEHICLE,
        Authority.DIRECTOR: _DIRECTOR,
        Authority.DRIVER: frozenset({Reach.DRIVING_RIGHT}),
    },
    Action.VEHICLE_SHARE: {Authority.COMPANY_ADMIN: _HOLDER, Authority.DIRECTOR: _DIRECTING},
}


class Gate(Enum):
    """Who may call a route that no row of `RULES` decides."""

    ANYONE = "anyone; no token needed"
    ACCOUNT = "every account, about itself alone"
    SIGNED_IN = "every account; it contains no customers' data"
    MACHINE = "callers on the server's own machine, on the API port"


class Actor(msgspec.Struct, frozen=True):
    """The caller: an account as its access token names it."""

    user_id: UserId
    authority: Authority
    company_id: CompanyId | None


class Scope(msgspec.Struct, frozen=True):
    """Whose rows an operation may touch: a row is inside when any reach holds. `why` is for the log and tests."""

    why: str
    reaches: frozenset[Reach]
    user_id: UserId | None = None
    company_id: CompanyId | None = None

    @classmethod
    def everything(cls, why: str) -> "Scope":
        """The scope of background work, with its reason."""
        return cls(why, _ALL)

    def require_everything(self) -> None:
        """Check that this is the scope of background work, which may touch every row."""
        assert Reach.ANY in self.reaches, self.why


def scope_of(actor: Actor, action: Action) -> Scope:
    """The rows on which the actor may do the action. Raises `Forbidden` when its role may not do it at all."""
    reaches = RULES[action].get(actor.authority)
    if reaches is None:
        raise Forbidden("role", role=actor.authority)
    return Scope(action.value, reaches, actor.user_id, actor.company_id)


def company_of(actor: Actor) -> CompanyId:
    """The actor's company. Raises `Forbidden` for an account that has none (yet)."""
    if actor.company_id is None:
        raise Forbidden("without_company")
    return actor.company_id


def admit(inside: bool | None, thing: Thing) -> None:
    """Check that an object is inside a scope: None (unknown) raises `NotFound`, False raises `Forbidden`.

    An object outside of the scope is never reported as unknown (spec/rest 3.3).
    """
    if inside is None:
        raise NotFound("id", thing=thing)
    if not inside:
        raise Forbidden("reach", thing=thing)


def admitted(found: tuple[T, bool] | None, thing: Thing) -> T:
    """Return the object of a look-up that also says if it is inside the scope; raises as `admit`."""
    admit(None if found is None else found[1], thing)
    assert found is not None
    return found[0]
