"""Registering and reading companies, and the vehicles one owns (client-surface 7.1)."""

from typing import Any, Final

import msgspec
from litestar import get, post
from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.rim import Call, rim_of
from tripline.domain import access, companies
from tripline.domain.access import Action, Authority
from tripline.domain.ids import CompanyId
from tripline.services.fleet import companies as service
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx
from tripline.wire import rest_fleet
from tripline.wire.rest import Page


@post("/api/tre/v1/company")
async def register(request: Call) -> ASGIApp:
    """An operator, for a granted account or platform administrator; a partner, for a company's administrator."""
    rim = rim_of(request)
    actor = await guards.actor_of(request)
    access.scope_of(actor, service.registering(actor))
    sent = rest_fleet.read(await parameters.json_object(request), rest_fleet.CompanyRequest)
    registration = companies.registration(**msgspec.structs.asdict(sent))
    password_hash = await rim.passwords.hash(registration.pic_passwd)
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(
            tx, actor=actor, registration=registration, password_hash=password_hash, ids=rim.ids, now_ms=now_ms
        )
    )
    return answers.ok(rest_fleet.company_record(new, password=registration.pic_passwd))


@get("/api/tre/v1/company/me")
async def read_mine(request: Call) -> ASGIApp:
    """The caller's company, with the prefix of its device tokens."""

    def work(tx: ReadTx) -> companies.Company:
        return service.mine(tx, actor=guards.permitted_in(tx, request, Action.COMPANY_READ))

    found = await rim_of(request).store.read_short(work)
    return answers.ok(rest_fleet.company_record(found, with_prefix=True))


@get("/api/tre/v1/company/{companyId:str}")
async def read(request: Call) -> ASGIApp:
    """A company; administrators see the prefix of its device tokens too."""
    actor = await guards.permitted(request, Action.COMPANY_READ)
    company_id = CompanyId(parameters.path_id(request, "companyId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, company_id=company_id))
    return answers.ok(rest_fleet.company_record(found, with_prefix=actor.authority is Authority.COMPANY_ADMIN))


@get("/api/tre/v1/company/{companyId:str}/vehicles")
async def list_vehicles(request: Call) -> ASGIApp:
    """The vehicles that the company owns, by number."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request, Action.VEHICLE_READ)
        company_id = CompanyId(parameters.path_id(request, "companyId"))
        service.require(tx, actor=actor, company_id=company_id)
        page = pages.text_page(request)
        found = vehicles.owned_by(tx, actor=actor, company_id=company_id, window=reading.window(page))
        return pages.text_answer(
            page, found, record=rest_fleet.vehicle_record, name_and_id=lambda vehicle: (vehicle.vehicle_no, vehicle.id)
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [register, read_mine, read, list_vehicles]
