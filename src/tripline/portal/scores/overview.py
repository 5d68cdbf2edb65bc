"""The overview of scores: what needs attention, and why. Drivers go to their own scores."""

from litestar.response import Response

from tripline.domain.access import Action, Authority
from tripline.domain.attention import Attention
from tripline.domain.ids import VehicleId
from tripline.domain.scores import why_not
from tripline.http.context import Call, context_of
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.scores.subjects import PLACES, numbers_of
from tripline.services.scores import attention
from tripline.store.transactions import ReadTx


@page("GET", "/scores", access=Action.DRIVING_READ)
async def overview(request: Call) -> Response[bytes]:
    """Scores that need attention."""
    context = context_of(request)

    def work(tx: ReadTx, visitor: Visitor) -> tuple[Attention | None, dict[VehicleId, str | None]]:
        if visitor.role is Authority.DRIVER:
            return None, {}
        found = attention.read(tx, actor=visitor.actor, now_ms=context.clock(), zone=context.time_zone)
        return found, numbers_of(tx, found.waiting)

    visitor, (found, numbers) = await visitor_and(request, work, short=False)
    if found is None:
        return views.moved(request, f"/scores/people/{visitor.actor.user_id}")
    company_id = visitor.actor.company_id
    return views.show(
        request,
        "scores/overview.html",
        title="portal.scores.title",
        found=found,
        numbers=numbers,
        places={kind.value: place for kind, place in PLACES.items()},
        reasons={each.reason: why_not(each.reason) for each in found.unscored},
        own=f"/scores/people/{visitor.actor.user_id}" if visitor.role is Authority.DIRECTOR else None,
        company=f"/scores/companies/{company_id}" if visitor.role is Authority.COMPANY_ADMIN and company_id else None,
        empty=not (found.falling or found.harsh or found.waiting or found.unscored),
    )
