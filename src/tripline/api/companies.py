"""Registering and reading companies, and the vehicles one owns (client-surface 7.1)."""

from typing import Any, Final

import msgspec
from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, operation
from tripline.api.rim import Call, rim_of
from tripline.domain import companies, people
from tripline.domain.access import Action, Authority
from tripline.domain.ids import CompanyId
from tripline.services.fleet import companies as service
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx
from tripline.wire import rest_companies, rest_reading, rest_vehicles
from tripline.wire.rest import Page


@operation(
    "POST",
    "/api/tre/v1/company",
    access=Action.COMPANY_CREATE,
    request=rest_companies.CompanyRequest,
    answer=rest_companies.CompanyRecord,
    refuses=(companies.ServiceTypeTaken, companies.ForeignServiceType, companies.OneCompanyOnly, people.EmailTaken),
)
async def register(request: Call) -> ASGIApp:
    """An operator, for a granted account or platform administrator; a partner, for a company's administrator."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    sent = rest_reading.read(await parameters.json_object(request), rest_companies.CompanyRequest)
    registration = companies.registration(**msgspec.structs.asdict(sent))
    password_hash = await rim.passwords.hash(registration.pic_passwd)
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(
            tx, actor=actor, registration=registration, password_hash=password_hash, ids=rim.ids, now_ms=now_ms
        )
    )
    return answers.ok(rest_companies.company_record(new, password=registration.pic_passwd))


@operation("GET", "/api/tre/v1/company/me", access=Action.COMPANY_READ, answer=rest_companies.CompanyRecord)
async def read_mine(request: Call) -> ASGIApp:
    """The caller's company, with the prefix of its device tokens."""

    def work(tx: ReadTx) -> companies.Company:
        return service.mine(tx, actor=guards.permitted_in(tx, request))

    found = await rim_of(request).store.read_short(work)
    return answers.ok(rest_companies.company_record(found, with_prefix=True))


@operation("GET", "/api/tre/v1/company/{companyId}", access=Action.COMPANY_READ, answer=rest_companies.CompanyRecord)
async def read(request: Call) -> ASGIApp:
    """A company; administrators see the prefix of its device tokens too."""
    actor = await guards.permitted(request)
    company_id = CompanyId(parameters.path_id(request, "companyId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, company_id=company_id))
    return answers.ok(rest_companies.company_record(found, with_prefix=actor.authority is Authority.COMPANY_ADMIN))


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/vehicles",
    access=Action.VEHICLE_READ,
    answer=PageOf(record=rest_vehicles.VehicleRecord, timed=False),
    query=pages.TEXT_PAGE,
)
async def list_vehicles(request: Call) -> ASGIApp:
    """The vehicles that the company owns, by number."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        company_id = CompanyId(parameters.path_id(request, "companyId"))
        service.require(tx, actor=actor, company_id=company_id)
        page = pages.text_page(request)
        found = vehicles.owned_by(tx, actor=actor, company_id=company_id, window=reading.window(page))
        return pages.text_answer(
            page,
            found,
            record=rest_vehicles.vehicle_record,
            name_and_id=lambda vehicle: (vehicle.vehicle_no, vehicle.id),
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [register, read_mine, read, list_vehicles]
