"""To whom a company may delegate vehicles: registering, removing and listing candidates (client-surface 7.6)."""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, Value, operation
from tripline.api.rim import Call, rim_of
from tripline.domain import delegations
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId
from tripline.services.fleet import candidates as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire import rest_read_only, rest_reading, rest_relations
from tripline.wire.rest import Page

DELEGATED: Final = Value(
    name="delegated",
    type=bool,
    meaning="true: the delegated companies, which have received vehicles; else the candidates",
    example=True,
)


@operation(
    "POST",
    "/api/tre/v1/company/{companyId}/relation/company",
    access=Action.CANDIDATE_MANAGE,
    request=rest_relations.CandidateRequest,
    required=("toCompanyId",),
    answer=rest_relations.RelationRecord,
    refuses=(delegations.OwnCompany, delegations.OtherServiceType, delegations.AlreadyRegistered),
)
async def register(request: Call) -> ASGIApp:
    """Register a company of the same service type as one that vehicles may be delegated to."""
    rim = rim_of(request)

    def admitted(tx: ReadTx) -> tuple[Actor, CompanyId]:
        actor = guards.permitted_in(tx, request)
        company_id = CompanyId(parameters.path_id(request, "companyId"))
        service.require(tx, actor=actor, company_id=company_id)
        return actor, company_id

    actor, company_id = await rim.store.read_short(admitted)
    body = await parameters.json_object(request)
    sent = rest_reading.read(body, rest_relations.CandidateRequest)
    to_company_id = CompanyId(rest_relations.id_of(sent.to_company_id, "toCompanyId"))
    now_ms = rim.clock()

    def work(tx: WriteTx) -> rest_relations.RelationRecord:
        new = service.register(
            tx, actor=actor, company_id=company_id, to_company_id=to_company_id, ids=rim.ids, now_ms=now_ms
        )
        return rest_read_only.registered(body, rest_relations.CandidateRequest, rest_relations.relation_record(new))

    return answers.ok(await rim.store.write(work))


@operation(
    "DELETE",
    "/api/tre/v1/company/{companyId}/relation/company/{toCompanyId}",
    access=Action.CANDIDATE_MANAGE,
    answer=None,
    refuses=(delegations.HoldsVehicles,),
)
async def remove(request: Call) -> ASGIApp:
    """Remove a candidate. Refused while it holds vehicles of the company: they are to be taken back first."""
    actor = await guards.permitted(request)
    company_id = CompanyId(parameters.path_id(request, "companyId"))
    to_company_id = CompanyId(parameters.path_id(request, "toCompanyId"))
    await rim_of(request).store.write(
        lambda tx: service.remove(tx, actor=actor, company_id=company_id, to_company_id=to_company_id)
    )
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/relation/companies",
    access=Action.CANDIDATE_READ,
    answer=PageOf(record=rest_relations.RelationRecord, timed=False),
    query=(*pages.TEXT_PAGE, DELEGATED),
)
async def list_companies(request: Call) -> ASGIApp:
    """The company's candidates, or its delegated companies, by name."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        company_id = CompanyId(parameters.path_id(request, "companyId"))
        service.require_reader(tx, actor=actor, company_id=company_id)
        delegated = bool(parameters.query_flag(request.query_params, "delegated"))
        return reading.by_name(
            request,
            lambda window: service.of_company(
                tx, actor=actor, company_id=company_id, delegated=delegated, window=window
            ),
            record=rest_relations.relation_record,
            name=lambda relation: relation.to_company_name,
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [register, remove, list_companies]
