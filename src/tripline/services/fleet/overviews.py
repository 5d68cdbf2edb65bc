"""A record with its related records, within the reader's reach, in a few queries by key.

Names or whole parts outside the reader's reach are omitted. The permitted actions on this record (`may`) use the same
scopes as the actions themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor, Authority, Scope, Thing
from tripline.domain.companies import Company
from tripline.domain.delegations import Delegation
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES, User
from tripline.domain.refusals import NotFound
from tripline.domain.rpc import StoredCall
from tripline.domain.sensors import Sensor
from tripline.domain.stored_trips import StoredTrip
from tripline.domain.vehicles import Vehicle
from tripline.services import admission
from tripline.services.fleet import companies, delegations, sensors, trip_lists, vehicles
from tripline.services.fleet import lists as fleet_lists
from tripline.services.fleet.sensors import Latest
from tripline.services.rpc import requests
from tripline.services.scores import reads as scores
from tripline.services.scores.reads import Outcome
from tripline.store import lists, positions
from tripline.store.devices import connections
from tripline.store.devices.connections import Connection
from tripline.store.fleet import companies as company_rows
from tripline.store.fleet import people as person_rows
from tripline.store.fleet import rights as right_rows
from tripline.store.fleet import sensors as sensor_rows
from tripline.store.fleet import vehicles as vehicle_rows
from tripline.store.listing.pages import PageRequest
from tripline.store.listing.vehicles import Filters
from tripline.store.lists import Span
from tripline.store.rpc import activations
from tripline.store.transactions import ReadTx

SHOWN: Final = 20
"""Things of one sort beside a record; of more the list is to be opened."""
_PEOPLE: Final = (Authority.COMPANY_ADMIN, *DRIVING_ROLES)
_ANY_COMPANY: Final = Scope.everything("name the owner of what is shown")
_VEHICLE: Final = (
    Action.VEHICLE_MODIFY,
    Action.VEHICLE_DELETE,
    Action.VEHICLE_ACTIVATE,
    Action.VEHICLE_ASSIGN_DIRECTOR,
    Action.VEHICLE_ASSIGN_DRIVER,
    Action.VEHICLE_DELEGATE,
    Action.VEHICLE_DELEGATIONS_READ,
    Action.VEHICLE_HISTORY_READ,
    Action.VEHICLE_SHARE,
    Action.DRIVING_READ,
    Action.SENSOR_READ,
    Action.SENSOR_MOUNT,
    Action.RIGHT_GIVE_DIRECTOR,
    Action.RIGHT_GIVE_DRIVER,
)
_SENSOR: Final = (
    Action.SENSOR_MODIFY,
    Action.SENSOR_DELETE,
    Action.SENSOR_MOUNT,
    Action.SENSOR_CREDENTIAL_READ,
    Action.SENSOR_HISTORY_READ,
    Action.RPC_READ,
    Action.RPC_CALL,
)
_PERSON: Final = (
    Action.PERSON_MODIFY,
    Action.PERSON_DELETE,
    Action.USER_HISTORY_READ,
    Action.RIGHT_READ,
    Action.DRIVING_READ,
)
_COMPANY: Final = (
    Action.COMPANY_MODIFY,
    Action.COMPANY_DELETE,
    Action.COMPANY_ADMIN_MANAGE,
    Action.COMPANY_HISTORY_READ,
    Action.CANDIDATE_READ,
    Action.POLICY_CHOOSE,
    Action.VEHICLE_READ,
)

T = TypeVar("T")


class Named(msgspec.Struct, frozen=True):
    """A person, with the name if the reader may know it."""

    id: UserId
    name: str | None
    authority: Authority | None


class Owner(msgspec.Struct, frozen=True):
    """The company that owns something."""

    id: CompanyId
    name: str
    readable: bool
    """True if the reader may open its record."""


class VehicleOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle with its related records."""

    vehicle: Vehicle
    company: Owner
    director: Named | None
    driver: Named | None
    sensors: Sequence[Sensor]
    connections: Mapping[SensorId, Connection]
    """Connections of their devices that ever connected."""
    position_ms: int | None
    """When it was at its newest position; None: it has none."""
    trip: StoredTrip | None
    """The newest."""
    outcome: Outcome | None
    """Its distance and score, or why it has no score."""
    delegations: Sequence[Delegation]
    may: frozenset[Action]


class SensorOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor with its related records, without the access token."""

    sensor: Sensor
    company: Owner
    has_token: bool
    latest: Latest
    activation_on: VehicleId | None
    """Where it goes when the activation that is awaited succeeds."""
    calls: Sequence[StoredCall]
    may: frozenset[Action]


class PersonOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A person with related records."""

    user: User
    company: Owner | None
    driven: Vehicle | None
    """The vehicle driven now."""
    managed: Sequence[Vehicle]
    managed_count: int
    rights_count: int
    rights_seen: bool
    """True if the reader may see a vehicle that one of these rights is on."""
    trip: StoredTrip | None
    """The newest."""
    may: frozenset[Action]


class CompanyOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A company and its administrators."""

    company: Company
    operator_name: str
    registered_by_name: str | None
    administrators: Sequence[User]
    may: frozenset[Action]


def vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> VehicleOverview:
    """The vehicle. Raises `NotFound` or `Forbidden`."""
    found = vehicles.read(tx, actor=actor, vehicle_id=vehicle_id)
    may = admission.allowed(tx, actor, _VEHICLE, Thing.VEHICLE, vehicle_id)
    on_it = _sensors_on(tx, actor, vehicle_id)
    driven = Action.DRIVING_READ in may
    trip = _or_none(lambda: trip_lists.latest_trip(tx, actor=actor, vehicle_id=vehicle_id)) if driven else None
    return VehicleOverview(
        vehicle=found,
        company=_owner(tx, actor, found.company_id),
        director=named(tx, actor, found.director_id),
        driver=named(tx, actor, found.current_driver_id),
        sensors=on_it,
        connections=connections.on_vehicle(tx, vehicle_id) if on_it else {},
        position_ms=positions.time_ms(tx, vehicle_id),
        trip=trip,
        outcome=None if trip is None else scores.outcome(tx, trip.id),
        delegations=delegations.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, window=lists.Window(limit=SHOWN))
        if Action.VEHICLE_DELEGATIONS_READ in may
        else (),
        may=may,
    )


def sensor(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> SensorOverview:
    """The sensor. Raises `NotFound` or `Forbidden`."""
    found = sensors.read(tx, actor=actor, sensor_id=sensor_id)
    may = admission.allowed(tx, actor, _SENSOR, Thing.SENSOR, sensor_id)
    awaited = activations.of_sensor(tx, sensor_id)
    calls: Sequence[StoredCall] = ()
    if Action.RPC_READ in may:
        calls = requests.of_sensor(tx, actor=actor, sensor_id=sensor_id, span=Span(limit=5))
    return SensorOverview(
        sensor=msgspec.structs.replace(found, credentials_id=None),
        company=_owner(tx, actor, found.company_id),
        has_token=found.credentials_id is not None,
        latest=sensors.latest(tx, actor=actor, sensor_id=sensor_id),
        activation_on=None if awaited is None else awaited[1],
        calls=calls,
        may=may,
    )


def person(tx: ReadTx, *, actor: Actor, roles: tuple[Authority, ...], user_id: UserId, thing: Thing) -> PersonOverview:
    """The person, with one of these roles. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.USER_READ)
    user = access.admitted(person_rows.find(tx, scope, roles, user_id), thing)
    may = admission.allowed(tx, actor, _PERSON, Thing.USER, user_id)
    readable = access.RULES[Action.VEHICLE_READ].get(actor.authority) is not None
    managed: Sequence[Vehicle] = ()
    if readable and user.authority is Authority.DIRECTOR:
        window = lists.Window(limit=SHOWN)
        managed = vehicles.managed_by(tx, actor=actor, director_id=user_id, window=window)
    driven = None
    if readable and user.vehicle_id is not None:
        at = vehicle_rows.find(tx, access.scope_of(actor, Action.VEHICLE_READ), user.vehicle_id)
        driven = at[0] if at is not None and at[1] else None
    rights_count = right_rows.count_of_user(tx, user_id)
    return PersonOverview(
        user=user,
        company=None if user.company_id is None else _owner(tx, actor, user.company_id),
        driven=driven,
        managed=managed,
        managed_count=vehicle_rows.count_managed(tx, user_id),
        rights_count=rights_count,
        rights_seen=bool(rights_count) and readable and Action.RIGHT_READ in may and _sees_held(tx, actor, user_id),
        trip=_newest_trip(tx, actor, user) if Action.DRIVING_READ in may else None,
        may=may,
    )


def company(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> CompanyOverview:
    """The company. Raises `NotFound` or `Forbidden`."""
    found = companies.read(tx, actor=actor, company_id=company_id)
    may = admission.allowed(tx, actor, _COMPANY, Thing.COMPANY, company_id)
    if company_id == actor.company_id:
        may -= {Action.COMPANY_DELETE}
    people: Sequence[User] = ()
    if Action.COMPANY_ADMIN_MANAGE in may:
        scope = access.scope_of(actor, Action.COMPANY_ADMIN_MANAGE)
        window = lists.Window(limit=SHOWN)
        people = person_rows.of_company(tx, scope, company_id, Authority.COMPANY_ADMIN, window)
    registrar = found.registered_by_id
    return CompanyOverview(
        company=found,
        operator_name=_company_name(tx, found.master_id),
        registered_by_name=None if registrar is None else _company_name(tx, registrar),
        administrators=people,
        may=may,
    )


def _sees_held(tx: ReadTx, actor: Actor, user_id: UserId) -> bool:
    """True if this person has a right on a vehicle within reach."""
    page_request = PageRequest(limit=1, by="number")
    return bool(
        fleet_lists.VEHICLES.page(tx, actor=actor, filters=Filters(holder_id=user_id), page_request=page_request).rows
    )


def _sensors_on(tx: ReadTx, actor: Actor, vehicle_id: VehicleId) -> Sequence[Sensor]:
    if actor.authority not in access.RULES[Action.SENSOR_READ]:
        return ()
    return sensor_rows.on_vehicle(tx, access.scope_of(actor, Action.SENSOR_READ), vehicle_id, limit=SHOWN)


def named(tx: ReadTx, actor: Actor, user_id: UserId | None) -> Named | None:
    """The person, with the name if the actor may know it; None without a person."""
    if user_id is None:
        return None
    found = person_rows.find(tx, access.scope_of(actor, Action.USER_READ), _PEOPLE, user_id)
    if found is None or not found[1]:
        return Named(user_id, None, None)
    return Named(user_id, found[0].name, found[0].authority)


def _owner(tx: ReadTx, actor: Actor, company_id: CompanyId) -> Owner:
    readable = admission.allowed(tx, actor, (Action.COMPANY_READ,), Thing.COMPANY, company_id)
    return Owner(company_id, _company_name(tx, company_id), bool(readable))


def _company_name(tx: ReadTx, company_id: CompanyId) -> str:
    return access.admitted(company_rows.find(tx, _ANY_COMPANY, company_id), Thing.COMPANY).name


def _newest_trip(tx: ReadTx, actor: Actor, user: User) -> StoredTrip | None:
    trip_id = user.latest_trip_id
    if trip_id is None:
        return None
    return _or_none(lambda: trip_lists.read_trip(tx, actor=actor, trip_id=trip_id))


def _or_none(read: Callable[[], T]) -> T | None:
    """Return the result of the query, or None if it does not exist yet."""
    try:
        return read()
    except NotFound:
        return None
