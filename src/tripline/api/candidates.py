"""Delegation candidates: registering, removing and listing them (spec/rest 7.6)."""

from typing import Final

from litestar.types import ASGIApp

from tripline.domain import delegations
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services import admission
from tripline.services.fleet import candidates as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import delegations as rest_delegations
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest.base import Page

DELEGATED: Final = Value(
    "delegated", bool, "true: the delegated companies, which have received vehicles; else the candidates", True
)


@operation(
    "POST",
    "/api/tre/v1/company/{companyId}/relation/company",
    access=Action.CANDIDATE_MANAGE,
    request=rest_delegations.CandidateRequest,
    required=("toCompanyId",),
    answer=rest_delegations.RelationRecord,
    refuses=(delegations.OwnCompany, delegations.OtherServiceType, delegations.AlreadyRegistered),
)
async def register(request: Call) -> ASGIApp:
    """Register a company of the same service type as one that vehicles may be delegated to."""
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_delegations.CandidateRequest)
    to_company_id = CompanyId(rest_delegations.id_of(sent.to_company_id, "toCompanyId"))

    def work(tx: WriteTx) -> rest_delegations.RelationRecord:
        new = service.register(tx, **changes.by(request, actor), company_id=company_id, to_company_id=to_company_id)
        return rest_read_only.registered(body, rest_delegations.CandidateRequest, rest_delegations.relation_record(new))

    return answers.ok(await context_of(request).store.write(work))


@operation(
    "DELETE",
    "/api/tre/v1/company/{companyId}/relation/company/{toCompanyId}",
    access=Action.CANDIDATE_MANAGE,
    answer=None,
    refuses=(delegations.HoldsVehicles,),
)
async def remove(request: Call) -> ASGIApp:
    """Remove a candidate. Refused while it holds vehicles of the company: they are to be taken back first."""

    def work(tx: WriteTx, by: changes.By) -> None:
        company_id, to_company_id = parameters.company_id(request), parameters.to_company_id(request)
        service.remove(tx, **by, company_id=company_id, to_company_id=to_company_id)

    await changes.made(request, work)
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/relation/companies",
    access=Action.CANDIDATE_READ,
    answer=pages.named(rest_delegations.RelationRecord),
    query=(DELEGATED,),
)
async def list_companies(request: Call) -> ASGIApp:
    """The company's candidates, or its delegated companies, by name."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.CANDIDATE_READ, Thing.COMPANY, company_id)
        delegated = bool(parameters.query_flag(request.query_params, "delegated"))
        return reads.by_name(
            request,
            lambda window: service.of_company(
                tx, actor=actor, company_id=company_id, delegated=delegated, window=window
            ),
            record=rest_delegations.relation_record,
            name=lambda relation: relation.to_company_name,
        )

    return await reads.answer(request, work)
