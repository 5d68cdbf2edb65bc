"""Numbers of vehicles and sensors: of a company, or of the service type as far as the caller may see them.

Follows spec/rest 7.3 and 7.4. `companyId` is narrower: it decides when both are sent.
"""

from collections.abc import Callable
from typing import Final

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId
from tripline.http import pages, parameters, reads
from tripline.http.context import Call
from tripline.http.operations import Value
from tripline.services import admission
from tripline.store.transactions import ReadTx
from tripline.wire.rest.base import Count

OF_WHOM: Final = (
    Value("serviceType", str, "all of the caller's service type that the caller may see, not only a company's", "ace"),
    pages.OF_COMPANY,
)
"""Values of the query that say whose are counted."""


async def of_whom_asked(
    request: Call, *, owned: Callable[[ReadTx, Actor, CompanyId], int], within: Callable[[ReadTx, Actor, str], int]
) -> ASGIApp:
    """Count with `owned` in a company that the caller may see, or with `within` in a service type.

    Both read the other query parameters themselves, after the permission check.
    """

    def work(tx: ReadTx, actor: Actor) -> Count:
        query = request.query_params
        service_type = parameters.query_text(query, "serviceType")
        if service_type is not None and parameters.query_text(query, "companyId") is None:
            return Count(within(tx, actor, service_type))
        company_id = parameters.company_asked(query, actor)
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
        return Count(owned(tx, actor, company_id))

    return await reads.many(request, work)
