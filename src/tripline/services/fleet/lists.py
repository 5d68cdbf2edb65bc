"""Lists of the fleet within the actor's reach: a page in any order, with any filters, and the number of rows.

Not here: finding rows (`store/browsing/`), the lists of REST (`vehicles.py`, `sensors.py`, `people.py`,
`companies.py`).
"""

from msgspec.structs import replace

from tripline.domain import access
from tripline.domain.access import Action, Actor, Authority, Reach, Scope
from tripline.services.fleet import companies as company_service
from tripline.services.fleet import people as people_service
from tripline.store.browsing import companies, delegations, lines, people, sensors, services, vehicles
from tripline.store.browsing.companies import ListedCompany
from tripline.store.browsing.delegations import ListedDelegation, Side
from tripline.store.browsing.lines import ListedLine
from tripline.store.browsing.pages import Page, PageRequest
from tripline.store.browsing.people import ListedPerson
from tripline.store.browsing.sensors import ListedSensor
from tripline.store.browsing.services import ListedService
from tripline.store.browsing.vehicle_rows import ListedVehicle
from tripline.store.fleet import vehicles as vehicle_rows
from tripline.store.transactions import ReadTx


def vehicles_of(
    tx: ReadTx, *, actor: Actor, filters: vehicles.Filters, page_request: PageRequest
) -> Page[ListedVehicle]:
    """The vehicles of the page that the actor may see, without names of people whom the actor may not see.

    Raises `Forbidden`; `NotFound` of people whose rights the actor may not see.
    """
    _admit_to_rights(tx, actor, filters)
    scope, named = (access.scope_of(actor, action) for action in (Action.VEHICLE_READ, Action.USER_READ))
    return vehicles.page(tx, scope, filters, page_request, named=named.reaches)


def count_vehicles(tx: ReadTx, *, actor: Actor, filters: vehicles.Filters) -> int:
    """How many vehicles the actor may see. Raises as `vehicles_of`."""
    _admit_to_rights(tx, actor, filters)
    return vehicles.count(tx, access.scope_of(actor, Action.VEHICLE_READ), filters)


def sensors_of(tx: ReadTx, *, actor: Actor, filters: sensors.Filters, page_request: PageRequest) -> Page[ListedSensor]:
    """The sensors of the page that the actor may see. Raises `Forbidden`."""
    return sensors.page(tx, access.scope_of(actor, Action.SENSOR_READ), filters, page_request)


def count_sensors(tx: ReadTx, *, actor: Actor, filters: sensors.Filters) -> int:
    """How many sensors the actor may see. Raises `Forbidden`."""
    return sensors.count(tx, access.scope_of(actor, Action.SENSOR_READ), filters)


def lines_of(tx: ReadTx, *, actor: Actor, filters: lines.Filters, page_request: PageRequest) -> Page[ListedLine]:
    """The lines of the page of those devices of the actor's company that the actor may see. Raises `Forbidden`."""
    return lines.page(tx, access.scope_of(actor, Action.SENSOR_READ), filters, page_request)


def count_lines(tx: ReadTx, *, actor: Actor, filters: lines.Filters) -> int:
    """How many these lines are. Raises `Forbidden`."""
    return lines.count(tx, access.scope_of(actor, Action.SENSOR_READ), filters)


def delegations_of(
    tx: ReadTx, *, actor: Actor, side: Side, filters: delegations.Filters, page_request: PageRequest
) -> Page[ListedDelegation]:
    """The delegations of the page on this side of the actor's company, of vehicles that the actor may see.

    Raises `Forbidden`.
    """
    return delegations.page(tx, side, _of_delegations(actor, side), filters, page_request)


def count_delegations(tx: ReadTx, *, actor: Actor, side: Side, filters: delegations.Filters) -> int:
    """How many these delegations are. Raises `Forbidden`."""
    return delegations.count(tx, side, _of_delegations(actor, side), filters)


def has_delegations(tx: ReadTx, *, actor: Actor, side: Side) -> bool:
    """True if there are any. Raises `Forbidden`."""
    return delegations.any_of(tx, side, _of_delegations(actor, side))


def people_of(tx: ReadTx, *, actor: Actor, filters: people.Filters, page_request: PageRequest) -> Page[ListedPerson]:
    """The people of a company of the page, without numbers of vehicles that the actor may not see.

    Raises `NotFound` and `Forbidden`.
    """
    return without_hidden_vehicles(tx, actor, people.page(tx, _of_people(tx, actor, filters), filters, page_request))


def without_hidden_vehicles(tx: ReadTx, actor: Actor, found: Page[ListedPerson]) -> Page[ListedPerson]:
    """These people, without numbers of vehicles that the actor may not see. Raises `Forbidden`."""
    driven = {row.vehicle_id for row in found.rows if row.vehicle_id is not None}
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    hidden = driven - vehicle_rows.those_inside(tx, scope, driven) if driven else driven
    rows = [replace(row, vehicle_no=None) if row.vehicle_id in hidden else row for row in found.rows]
    return replace(found, rows=rows) if hidden else found


def count_people(tx: ReadTx, *, actor: Actor, filters: people.Filters) -> int:
    """How many people the company has. Raises `NotFound` and `Forbidden`."""
    return people.count(tx, _of_people(tx, actor, filters), filters)


def companies_of(
    tx: ReadTx, *, actor: Actor, filters: companies.Filters, page_request: PageRequest, counted: bool = True
) -> Page[ListedCompany]:
    """The companies of the page that the actor may see; `counted`: with how much each holds. Raises `Forbidden`."""
    return companies.page(tx, *_of_companies(tx, actor, filters), page_request, counted=counted)


def count_companies(tx: ReadTx, *, actor: Actor, filters: companies.Filters) -> int:
    """How many companies the actor may see. Raises `Forbidden`."""
    return companies.count(tx, *_of_companies(tx, actor, filters))


def services_of(
    tx: ReadTx, *, actor: Actor, filters: services.Filters, page_request: PageRequest
) -> Page[ListedService]:
    """The services of the page. Raises `Forbidden`."""
    access.scope_of(actor, Action.INSTALLATION_READ)
    return services.page(tx, filters, page_request)


def count_services(tx: ReadTx, *, actor: Actor, filters: services.Filters) -> int:
    """How many services there are. Raises `Forbidden`."""
    access.scope_of(actor, Action.INSTALLATION_READ)
    return services.count(tx, filters)


def _admit_to_rights(tx: ReadTx, actor: Actor, filters: vehicles.Filters) -> None:
    """Check access to a list of vehicles by their rights' holder; other lists pass."""
    if filters.holder_id is not None:
        people_service.find(tx, actor=actor, action=Action.RIGHT_READ, role=Authority.DRIVER, user_id=filters.holder_id)


def _of_delegations(actor: Actor, side: Side) -> Scope:
    """Drivers of a vehicle see it, but not its other holders."""
    given = access.scope_of(actor, Action.VEHICLE_DELEGATIONS_READ)
    return given if side is Side.GIVEN else access.scope_of(actor, Action.VEHICLE_READ)


def _of_people(tx: ReadTx, actor: Actor, filters: people.Filters) -> Scope:
    """For an account without a company the list is empty."""
    company_id = filters.company_id or actor.company_id
    if company_id is not None:
        people_service.admit_to_list(tx, actor=actor, company_id=company_id)
    return access.scope_of(actor, Action.PERSON_LIST)


def _of_companies(tx: ReadTx, actor: Actor, filters: companies.Filters) -> tuple[Scope, companies.Filters]:
    """Within a service type, unless the actor sees all, or none yet: there an index has the names in order."""
    scope = access.scope_of(actor, Action.COMPANY_LIST)
    if Reach.ANY in scope.reaches or actor.company_id is None:
        return scope, filters
    own = company_service.own(tx, actor=actor)
    if not own.master:
        # A partner has no partners of its own; asked for them, the store would look through its whole service type.
        scope = replace(scope, reaches=scope.reaches & {Reach.OWN_COMPANY})
    return scope, replace(filters, service_type=own.service_type)
