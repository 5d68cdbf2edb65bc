"""Numbers of vehicles and sensors: those of a company, or those the caller sees in the service type.

Follows spec/rest 7.3 and 7.4. `companyId` is the narrower one: it decides when both are sent.
"""

from collections.abc import Callable
from typing import Final

from tripline.domain.access import Actor
from tripline.domain.ids import CompanyId
from tripline.http import pages, parameters, permission
from tripline.http.context.base import Call, context_of
from tripline.http.operations import Value
from tripline.services.fleet import companies
from tripline.store.transactions import ReadTx
from tripline.wire.rest.base import Count

OF_WHOM: Final = (
    Value(
        name="serviceType",
        type=str,
        meaning="all of the caller's service type that the caller may see, not only a company's",
        example="ace",
    ),
    pages.OF_COMPANY,
)
"""Values of the query that say whose are counted."""


async def of_whom_asked(
    request: Call,
    *,
    owned: Callable[[ReadTx, Actor, CompanyId], int],
    within: Callable[[ReadTx, Actor, str], int],
) -> Count:
    """How many `owned` finds of a company that the caller may see, or `within` of a service type.

    Both read what else the query asks for themselves, after the permission was checked.
    """

    def work(tx: ReadTx) -> int:
        actor = permission.permitted_in(tx, request)
        query = request.query_params
        service_type = parameters.query_text(query, "serviceType")
        if service_type is not None and parameters.query_text(query, "companyId") is None:
            return within(tx, actor, service_type)
        company_id = parameters.company_asked(query, actor)
        companies.require(tx, actor=actor, company_id=company_id)
        return owned(tx, actor, company_id)

    return Count(await context_of(request).store.read(work))
