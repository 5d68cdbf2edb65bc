"""Delegating vehicles to companies, taking them back, and who has which (spec/rest 7.1, 7.3, 7.6, 7.7).

A vehicle can be delegated on either of two paths (G13, X2): the company's, here, and the director's with the header
`toCompanyId`, which `rights.py` serves with `delegate_to`.
"""

from functools import partial
from typing import Final

from litestar.types import ASGIApp

from tripline.domain import delegations
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId, VehicleId
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import admission, notifications
from tripline.services.fleet import candidates
from tripline.services.fleet import delegations as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import delegations as rest_delegations
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest import vehicles as rest_vehicles
from tripline.wire.rest.base import Page

REFUSALS: Final = (delegations.AlreadyDelegated, delegations.NotCandidate)


@operation(
    "POST",
    "/api/tre/v1/company/{toCompanyId}/relation/vehicle",
    access=Action.VEHICLE_DELEGATE,
    request=rest_delegations.VehicleChoice,
    required=("vehicleId",),
    answer=rest_delegations.DelegationRecord,
    refuses=REFUSALS,
)
async def delegate(request: Call) -> ASGIApp:
    """Delegate a vehicle of the caller's company to a company that is its delegation candidate."""
    actor = await permission.permitted(request)
    return await delegate_to(request, actor, parameters.to_company_id(request))


@operation(
    "DELETE",
    "/api/tre/v1/company/{toCompanyId}/relation/vehicle/{vehicleId}",
    access=Action.VEHICLE_DELEGATE,
    answer=None,
    refuses=(delegations.Irrevocable,),
)
async def take_back(request: Call) -> ASGIApp:
    """Take a vehicle back from a company; the rights of its people on the vehicle end at once."""

    def work(tx: WriteTx, by: changes.By) -> service.TakenBack:
        to_company_id, vehicle_id = parameters.to_company_id(request), parameters.vehicle_id(request)
        return service.take_back(tx, **by, vehicle_id=vehicle_id, to_company_id=to_company_id)

    taken_back = await changes.made(request, work)
    notifications.send(context_of(request).signals, notifications.sensors_changed(taken_back.sensors))
    return answers.ok({})


_vehicles_at: Final = partial(
    operation, "GET", access=Action.VEHICLE_READ, answer=pages.named(rest_vehicles.VehicleRecord)
)


@_vehicles_at("/api/tre/v1/company/{companyId}/vehicles/delegated")
async def list_received(request: Call) -> ASGIApp:
    """The vehicles that were delegated to the company, by number."""
    return await _vehicles(request, received=True)


@_vehicles_at("/api/tre/v1/company/{companyId}/vehicles/delegating")
async def list_delegating(request: Call) -> ASGIApp:
    """The vehicles that the company delegated, by number; a partner's are all delegated to its operator."""
    return await _vehicles(request, received=False)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/companies",
    access=Action.VEHICLE_DELEGATIONS_READ,
    answer=pages.named(rest_delegations.DelegationRecord),
)
async def list_companies(request: Call) -> ASGIApp:
    """The companies that the vehicle is delegated to, by name."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        vehicle_id = parameters.vehicle_id(request)
        admission.admit(tx, actor, Action.VEHICLE_DELEGATIONS_READ, Thing.VEHICLE, vehicle_id)
        return reads.by_name(
            request,
            lambda window: service.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, window=window),
            record=rest_delegations.delegation_record,
            name=lambda delegation: delegation.to_company_name,
        )

    return await reads.answer(request, work)


async def delegate_to(request: Call, actor: Actor, to_company_id: CompanyId) -> ASGIApp:
    """Delegate the vehicle that the body names to the company, for an actor whose role may."""
    context = context_of(request)
    await context.store.read_short(lambda tx: candidates.counterpart(tx, to_company_id))
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_delegations.VehicleChoice)
    vehicle_id = VehicleId(rest_delegations.id_of(sent.vehicle_id, "vehicleId"))

    def work(tx: WriteTx) -> rest_delegations.DelegationRecord:
        new = service.delegate(tx, **changes.by(request, actor), vehicle_id=vehicle_id, to_company_id=to_company_id)
        return rest_read_only.registered(body, rest_delegations.VehicleChoice, rest_delegations.delegation_record(new))

    return answers.ok(await context.store.write(work))


async def _vehicles(request: Call, *, received: bool) -> ASGIApp:
    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
        return reads.by_name(
            request,
            lambda window: service.delegated(tx, actor=actor, company_id=company_id, received=received, window=window),
            record=rest_vehicles.vehicle_record,
            name=lambda vehicle: vehicle.vehicle_no,
        )

    return await reads.answer(request, work)
