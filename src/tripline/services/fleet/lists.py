"""Lists of the fleet within the actor's reach: a page in any order, with any filters, and the number of rows.

Not here: finding rows (`store/listing/`), the lists of REST (`vehicles.py`, `sensors.py`, `people.py`,
`companies.py`).
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from tripline.domain import access
from tripline.domain.access import Action, Actor, Authority, Reach, Scope, Thing
from tripline.services import admission
from tripline.services.fleet import companies as company_service
from tripline.services.fleet import people as people_service
from tripline.services.listings import Listing, within
from tripline.store.fleet import vehicles as vehicle_rows
from tripline.store.listing import companies, delegations, lines, people, sensors, vehicles
from tripline.store.listing.companies import ListedCompany
from tripline.store.listing.delegations import ListedDelegation, Side
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.people import ListedPerson
from tripline.store.listing.vehicles import ListedVehicle
from tripline.store.transactions import ReadTx


def has_delegations(tx: ReadTx, *, actor: Actor, side: Side) -> bool:
    """True if there are any. Raises `Forbidden`."""
    return delegations.any_of(tx, side, _of_side(actor, side))


def without_hidden_vehicles(tx: ReadTx, actor: Actor, found: Page[ListedPerson]) -> Page[ListedPerson]:
    """These people, without numbers of vehicles that the actor may not see. Raises `Forbidden`."""
    driven = {row.vehicle_id for row in found.rows if row.vehicle_id is not None}
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    hidden = driven - vehicle_rows.inside.those(tx, scope, driven)
    rows = [replace(row, vehicle_no=None) if row.vehicle_id in hidden else row for row in found.rows]
    return replace(found, rows=rows) if hidden else found


def _of_vehicles(tx: ReadTx, actor: Actor, filters: vehicles.Filters) -> tuple[Actor, Scope, vehicles.Filters]:
    """Check access to a list by the holder of rights, too; other lists pass."""
    if filters.holder_id is not None:
        people_service.find(tx, actor=actor, action=Action.RIGHT_READ, role=Authority.DRIVER, user_id=filters.holder_id)
    return actor, access.scope_of(actor, Action.VEHICLE_READ), filters


def _vehicles(
    tx: ReadTx, actor: Actor, scope: Scope, filters: vehicles.Filters, page_request: PageRequest
) -> Page[ListedVehicle]:
    """The vehicles, without names of people whom the actor may not see."""
    named = access.scope_of(actor, Action.USER_READ).reaches
    return vehicles.LIST.page(tx, scope, filters, page_request, named)


def _of_delegations(
    side: Side, _: ReadTx, actor: Actor, filters: delegations.Filters
) -> tuple[Side, Scope, delegations.Filters]:
    return side, _of_side(actor, side), filters


def _of_side(actor: Actor, side: Side) -> Scope:
    """Drivers of a vehicle see it, but not its other holders."""
    given = access.scope_of(actor, Action.VEHICLE_DELEGATIONS_READ)
    return given if side is Side.GIVEN else access.scope_of(actor, Action.VEHICLE_READ)


def _of_people(tx: ReadTx, actor: Actor, filters: people.Filters) -> tuple[Actor, Scope, people.Filters]:
    """For an account without a company the list is empty."""
    company_id = filters.company_id or actor.company_id
    if company_id is not None:
        admission.admit(tx, actor, Action.PERSON_LIST, Thing.COMPANY, company_id)
    return actor, access.scope_of(actor, Action.PERSON_LIST), filters


def _people(
    tx: ReadTx, actor: Actor, scope: Scope, filters: people.Filters, page_request: PageRequest
) -> Page[ListedPerson]:
    return without_hidden_vehicles(tx, actor, people.LIST.page(tx, scope, filters, page_request))


def _of_companies(tx: ReadTx, actor: Actor, filters: companies.Filters) -> tuple[Scope, companies.Filters]:
    """Within a service type, unless the actor sees all, or none yet: there an index has the names in order."""
    scope = access.scope_of(actor, Action.COMPANY_LIST)
    if Reach.ANY in scope.reaches or actor.company_id is None:
        return scope, filters
    scope, service_type = company_service.within(tx, actor, None)
    return scope, replace(filters, service_type=service_type)


VEHICLES: Final[Listing[vehicles.Filters, ListedVehicle]] = Listing(
    _vehicles, lambda tx, _, scope, filters: vehicles.LIST.count(tx, scope, filters), _of_vehicles
)
"""Raises `NotFound` of holders whose rights the actor may not see."""
SENSORS: Final = within(Action.SENSOR_READ, sensors.LIST)
LINES: Final = within(Action.SENSOR_READ, lines.LIST)
"""The lines of the devices of the actor's company."""
GIVEN: Final[Listing[delegations.Filters, ListedDelegation]] = Listing(
    delegations.page, delegations.count, partial(_of_delegations, Side.GIVEN)
)
RECEIVED: Final[Listing[delegations.Filters, ListedDelegation]] = Listing(
    delegations.page, delegations.count, partial(_of_delegations, Side.RECEIVED)
)
PEOPLE: Final[Listing[people.Filters, ListedPerson]] = Listing(
    _people, lambda tx, _, scope, filters: people.LIST.count(tx, scope, filters), _of_people
)
"""The people of a company. Raises `NotFound` of a company out of reach."""
COMPANIES: Final[Listing[companies.Filters, ListedCompany]] = Listing(
    companies.LIST.page, companies.LIST.count, _of_companies
)
UNCOUNTED_COMPANIES: Final[Listing[companies.Filters, ListedCompany]] = Listing(
    lambda tx, *of: companies.LIST.page(tx, *of, False), companies.LIST.count, _of_companies
)
"""Companies without the numbers of their vehicles, sensors and people."""
