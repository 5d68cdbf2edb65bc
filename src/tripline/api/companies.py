"""Registering, reading, changing, deleting and listing companies, and the vehicles one owns (spec/rest 7.1)."""

from collections.abc import Container
from typing import Any, Final

import msgspec
from litestar.types import ASGIApp

from tripline.domain import companies, fields, people
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import NotFound
from tripline.http import answers, authentication, changes, pages, parameters, peers, permission, reads
from tripline.http.context import Call, accounts_of, context_of, fleet_of
from tripline.http.operations import Value, operation
from tripline.services import admission, notifications
from tripline.services.barrier import PIPELINES
from tripline.services.fleet import companies as service
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import companies as rest_companies
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest import vehicles as rest_vehicles
from tripline.wire.rest.base import Count, Page

SERVICE_TYPE: Final = Value(
    "serviceType", str, "the service type; every company within the caller's reach when absent", "ace"
)


@operation(
    "POST",
    "/api/tre/v1/company",
    access=Action.COMPANY_CREATE,
    request=rest_companies.CompanyRequest,
    required=("name", "picName", "picEmail", "picPasswd"),
    answer=rest_companies.CompanyRecord,
    refuses=(companies.ServiceTypeTaken, companies.ForeignServiceType, companies.OneCompanyOnly, people.EmailTaken),
)
async def register(request: Call) -> ASGIApp:
    """An operator, for a granted account or platform administrator; a partner, for a company's administrator."""
    actor = await permission.permitted(request)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_companies.CompanyRequest)
    registration = companies.registration(
        operator=actor.company_id is None, **rest_companies.said(msgspec.structs.asdict(sent))
    )
    password_hash = await accounts_of(request).passwords.hash(
        registration.pic_passwd, peers.requester_of(request, actor)
    )
    session_id = authentication.session_of(request)

    def work(tx: WriteTx) -> rest_companies.CompanyRecord:
        new = service.register(
            tx,
            **changes.by(request, actor),
            session_id=session_id,
            registration=registration,
            password_hash=password_hash,
        )
        record = rest_companies.company_record(new, for_administrator=True, password=registration.pic_passwd, sent=body)
        return rest_read_only.registered(body, rest_companies.CompanyRequest, record)

    return answers.ok(await context_of(request).store.write(work))


@operation(
    "GET",
    "/api/tre/v1/company/me",
    access=Action.COMPANY_READ,
    answer=rest_companies.CompanyRecord,
    refuses=(NotFound,),
)
async def read_mine(request: Call) -> ASGIApp:
    """The caller's company, with the prefix of its device tokens."""

    def work(tx: ReadTx, actor: Actor) -> rest_companies.CompanyRecord:
        return _record(service.mine(tx, actor=actor), actor, with_prefix=True)

    return await reads.one(request, work)


@operation("GET", "/api/tre/v1/company/{companyId}", access=Action.COMPANY_READ, answer=rest_companies.CompanyRecord)
async def read(request: Call) -> ASGIApp:
    """A company; administrators see the prefix of its device tokens too, and addresses with user and password."""
    actor = await permission.permitted(request)
    company_id = parameters.company_id(request)
    found = await context_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, company_id=company_id))
    return answers.ok(_record(found, actor))


@operation(
    "PUT",
    "/api/tre/v1/company/{companyId}",
    access=Action.COMPANY_MODIFY,
    request=rest_companies.CompanyRequest,
    answer=rest_companies.CompanyRecord,
    refuses=(companies.ServiceTypeFixed, companies.PasswordElsewhere),
)
async def change(request: Call) -> ASGIApp:
    """The company after a change of the fields in the body; its service type stays, and no account changes."""
    actor = await permission.permitted(request)
    company_id = parameters.company_id(request)
    await _admit_to_change(request, actor, company_id)
    return await _change(request, actor, company_id, await parameters.json_object(request))


@operation(
    "PUT",
    "/api/tre/v1/company",
    access=Action.COMPANY_MODIFY,
    request=rest_companies.NamedCompanyRequest,
    answer=rest_companies.CompanyRecord,
    refuses=(companies.ServiceTypeFixed, companies.PasswordElsewhere),
)
async def change_named(request: Call) -> ASGIApp:
    """As with the company's id in the path; here it is in the body."""
    actor = await permission.permitted(request)
    body = await parameters.json_object(request)
    company_id = CompanyId(fields.uuid("id", rest_companies.named_id(body)))
    await _admit_to_change(request, actor, company_id)
    return await _change(request, actor, company_id, body)


async def _admit_to_change(request: Call, actor: Actor, company_id: CompanyId) -> None:
    """Ownership is checked before the body (spec/rest 3.3); the change itself asks again."""
    store = context_of(request).store
    action = Action.COMPANY_MODIFY
    await store.read_short(lambda tx: service.find(tx, actor=actor, action=action, company_id=company_id))


async def _change(request: Call, actor: Actor, company_id: CompanyId, body: dict[str, Any]) -> ASGIApp:
    context = context_of(request)
    named = rest_companies.said(rest_bodies.read_partial(body, rest_companies.CompanyRequest))

    def work(tx: WriteTx) -> rest_companies.CompanyRecord:
        changed = service.change(tx, **changes.by(request, actor), company_id=company_id, named=named)
        return rest_read_only.changed(body, rest_companies.CompanyRequest, _record(changed, actor, sent=body))

    record = await context.store.write(work)
    notifications.send(context.signals, notifications.company_changed(company_id))
    await fleet_of(request).settling.settled(PIPELINES)
    return answers.ok(record)


@operation(
    "DELETE", "/api/tre/v1/company/{companyId}", access=Action.COMPANY_DELETE, answer=None, refuses=(companies.InUse,)
)
async def delete(request: Call) -> ASGIApp:
    """Delete the company with its people, candidates and delegations; not while it has vehicles, sensors or partners.

    Trips of its people stay with the vehicles, without a driver.
    """
    context = context_of(request)
    changed = await changes.made(
        request, lambda tx, by: service.delete(tx, **by, company_id=parameters.company_id(request))
    )
    company_id = parameters.company_id(request)
    notifications.send(context.signals, (*notifications.deleted(changed), *notifications.company_changed(company_id)))
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/companies",
    access=Action.COMPANY_LIST,
    answer=pages.named(rest_companies.CompanyRecord),
    query=(SERVICE_TYPE,),
)
async def list_companies(request: Call) -> ASGIApp:
    """The companies within the caller's reach, by name: an operator's its own and its partners, a partner's its own."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        service_type = _service_type(tx, request, actor)
        return reads.by_name(
            request,
            lambda window: service.listed(tx, actor=actor, service_type=service_type, window=window),
            record=lambda company: _record(company, actor),
            name=lambda company: company.name,
        )

    return await reads.answer(request, work)


@operation("GET", "/api/tre/v1/companies/count", access=Action.COMPANY_LIST, answer=Count, query=(SERVICE_TYPE,))
async def count_partners(request: Call) -> ASGIApp:
    """How many partners of a service type are within the caller's reach; operators are not counted."""

    def work(tx: ReadTx, actor: Actor) -> Count:
        service_type = _service_type(tx, request, actor)
        return Count(service.count_partners(tx, actor=actor, service_type=service_type))

    return await reads.many(request, work)


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/vehicles",
    access=Action.VEHICLE_READ,
    answer=pages.named(rest_vehicles.VehicleRecord),
)
async def list_vehicles(request: Call) -> ASGIApp:
    """The vehicles that the company owns, by number."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
        return reads.by_name(
            request,
            lambda window: vehicles.owned_by(tx, actor=actor, company_id=company_id, window=window),
            record=rest_vehicles.vehicle_record,
            name=lambda vehicle: vehicle.vehicle_no,
        )

    return await reads.answer(request, work)


def _service_type(tx: ReadTx, request: Call, actor: Actor) -> str | None:
    """The service type in the query, which must be within the caller's reach. Raises `Forbidden`."""
    service_type = parameters.query_text(request.query_params, "serviceType")
    service.admit_to_service_type(tx, actor=actor, service_type=service_type)
    return service_type


def _record(
    company: Company, actor: Actor, *, with_prefix: bool = False, sent: Container[str] = ()
) -> rest_companies.CompanyRecord:
    """The record as the actor may see it, in answer to a request with these JSON keys."""
    return rest_companies.company_record(
        company,
        for_administrator=actor.authority in (Authority.SYS_ADMIN, Authority.COMPANY_ADMIN),
        with_prefix=with_prefix or actor.authority is Authority.COMPANY_ADMIN,
        sent=sent,
    )
