"""Delegating vehicles to companies, taking them back, and who has which (client-surface 7.1, 7.3, 7.6, 7.7).

A vehicle can be delegated on either of two paths (G13, X2): the company's, here, and the director's with the header
`toCompanyId`, which `rights.py` serves with `lend_to`.
"""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, operation
from tripline.api.rim import Call, rim_of
from tripline.domain import delegations
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId, VehicleId
from tripline.services import hints
from tripline.services.fleet import candidates, companies
from tripline.services.fleet import loans as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire import rest_read_only, rest_reading, rest_relations, rest_vehicles
from tripline.wire.rest import Page

REFUSALS: Final = (delegations.AlreadyLent, delegations.NotCandidate)


@operation(
    "POST",
    "/api/tre/v1/company/{toCompanyId}/relation/vehicle",
    access=Action.VEHICLE_LEND,
    request=rest_relations.VehicleChoice,
    required=("vehicleId",),
    answer=rest_relations.LoanRecord,
    refuses=REFUSALS,
)
async def lend(request: Call) -> ASGIApp:
    """Delegate a vehicle of the caller's company to a company that is its delegation candidate."""
    actor = await guards.permitted(request)
    return await lend_to(request, actor, CompanyId(parameters.path_id(request, "toCompanyId")))


@operation(
    "DELETE",
    "/api/tre/v1/company/{toCompanyId}/relation/vehicle/{vehicleId}",
    access=Action.VEHICLE_LEND,
    answer=None,
    refuses=(delegations.Irrevocable,),
)
async def take_back(request: Call) -> ASGIApp:
    """Take a vehicle back from a company; whatever its people may do with the vehicle ends at once."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    to_company_id = CompanyId(parameters.path_id(request, "toCompanyId"))
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    sensors = await rim.store.write(
        lambda tx: service.take_back(tx, actor=actor, vehicle_id=vehicle_id, to_company_id=to_company_id)
    )
    hints.tell(rim.signals, hints.sensors_changed(sensors))
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/vehicles/delegated",
    access=Action.VEHICLE_READ,
    answer=PageOf(record=rest_vehicles.VehicleRecord, timed=False),
    query=pages.TEXT_PAGE,
)
async def list_received(request: Call) -> ASGIApp:
    """The vehicles that were delegated to the company, by number."""
    return await _vehicles(request, received=True)


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/vehicles/delegating",
    access=Action.VEHICLE_READ,
    answer=PageOf(record=rest_vehicles.VehicleRecord, timed=False),
    query=pages.TEXT_PAGE,
)
async def list_lent(request: Call) -> ASGIApp:
    """The vehicles that the company delegated, by number; a partner's are all delegated to its operator."""
    return await _vehicles(request, received=False)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/companies",
    access=Action.VEHICLE_LOANS_READ,
    answer=PageOf(record=rest_relations.LoanRecord, timed=False),
    query=pages.TEXT_PAGE,
)
async def list_companies(request: Call) -> ASGIApp:
    """The companies that the vehicle is delegated to, by name."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
        service.require_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
        return reading.by_name(
            request,
            lambda window: service.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, window=window),
            record=rest_relations.loan_record,
            name=lambda loan: loan.to_company_name,
        )

    return answers.ok(await reading.page(request, work))


async def lend_to(request: Call, actor: Actor, to_company_id: CompanyId) -> ASGIApp:
    """Delegate the vehicle that the body names to the company, for an actor whose role may."""
    rim = rim_of(request)
    await rim.store.read_short(lambda tx: candidates.counterpart(tx, to_company_id))
    body = await parameters.json_object(request)
    sent = rest_reading.read(body, rest_relations.VehicleChoice)
    vehicle_id = VehicleId(rest_relations.id_of(sent.vehicle_id, "vehicleId"))
    now_ms = rim.clock()

    def work(tx: WriteTx) -> rest_relations.LoanRecord:
        new = service.lend(
            tx, actor=actor, vehicle_id=vehicle_id, to_company_id=to_company_id, ids=rim.ids, now_ms=now_ms
        )
        return rest_read_only.registered(body, rest_relations.VehicleChoice, rest_relations.loan_record(new))

    return answers.ok(await rim.store.write(work))


async def _vehicles(request: Call, *, received: bool) -> ASGIApp:
    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        company_id = CompanyId(parameters.path_id(request, "companyId"))
        companies.require(tx, actor=actor, company_id=company_id)
        return reading.by_name(
            request,
            lambda window: service.lent(tx, actor=actor, company_id=company_id, received=received, window=window),
            record=rest_vehicles.vehicle_record,
            name=lambda vehicle: vehicle.vehicle_no,
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [lend, take_back, list_received, list_lent, list_companies]
