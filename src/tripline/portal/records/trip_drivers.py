"""Correcting the driver of a past trip: choosing a person, a preview, and undoing it.

With a dispute in the address, the choice accepts that dispute. The form contains the driver it was rendered with; if
another window changes the driver meanwhile, the page shows the new one and keeps the choice.
"""

from functools import partial
from typing import Any, Final

from litestar.response import Response

from tripline.domain import corrections, fields
from tripline.domain.access import Action, Authority, Thing
from tripline.domain.corrections import CorrectedMeanwhile, NotCorrected, SeenDriver, TripDriver
from tripline.domain.disputes import NotOpen, OwnDispute
from tripline.domain.ids import TripId, UserId
from tripline.domain.refusals import NotFound, Refusal
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of, scores_of
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.portal.records import choices
from tripline.portal.records.choices import Asked
from tripline.services import notifications
from tripline.services.fleet import assignments
from tripline.services.fleet.assignments import Choosing
from tripline.services.scores import corrections as service
from tripline.services.scores import disputes
from tripline.store.transactions import ReadTx, WriteTx

_DISPUTE: Final = "disputeId"
_ONE: Final = "/trips/{tripId}/driver"
_correcting: Final = partial(page, access=Action.DISPUTE_DECIDE)


@_correcting("GET", _ONE, refuses=corrections.REFUSALS)
async def choose(request: Call) -> Response[bytes]:
    """Choose another driver of a past trip, with a preview of the change."""
    return await _choose(request, choices.chosen_before(request))


@_correcting("POST", _ONE, refuses=(*corrections.REFUSALS, CorrectedMeanwhile, OwnDispute, NotOpen))
async def correct(request: Call) -> Response[bytes]:
    """Give a past trip another driver, or accept a dispute with that driver."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, trip_id = context_of(request), parameters.trip_id(request)
    driver_id, seen = choices.person(form), SeenDriver(choices.shown_id(form))
    sent = form.text(_DISPUTE)
    dispute_id = fields.uuid(_DISPUTE, sent) if sent else None

    def work(tx: WriteTx) -> None:
        actor, language = visitor.actor, visitor.language
        if dispute_id is None:
            service.correct(
                tx, **changes.by(request, actor), trip_id=trip_id, driver_id=driver_id, language=language, seen=seen
            )
        else:
            if disputes.to_decide(tx, actor=actor, dispute_id=dispute_id).trip_id != trip_id:
                raise NotFound("id", thing=Thing.DISPUTE)
            scores_of(request).disputes.correct(
                tx, actor=actor, dispute_id=dispute_id, driver_id=driver_id, answer=None, language=language, seen=seen
            )

    try:
        await context.store.write(work)
    except CorrectedMeanwhile as refusal:
        return await _choose(request, driver_id, error=refusal)
    notifications.send(context.signals, disputes.CHANGED)
    undo = Undo(f"{_path(trip_id)}/undo", {choices.SHOWN_ID: driver_id})
    return views.moved(request, _path(trip_id), notice="portal.trip_driver.corrected", undo=undo)


@_correcting("POST", f"{_ONE}/undo", refuses=(*corrections.REFUSALS, CorrectedMeanwhile, NotCorrected))
async def undo(request: Call) -> Response[bytes]:
    """Give a trip back the driver that its messages name."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, trip_id, by = context_of(request), parameters.trip_id(request), changes.by(request, visitor.actor)
    seen = SeenDriver(choices.shown_id(form))
    work = partial(service.withdraw, **by, trip_id=trip_id, language=visitor.language, seen=seen)
    try:
        await context.store.write(work)
    except (CorrectedMeanwhile, NotCorrected):
        return await _choose(request, None, error=CorrectedMeanwhile())
    notifications.send(context.signals, disputes.CHANGED)
    return views.moved(request, _path(trip_id), notice="portal.trip_driver.undone")


async def _choose(request: Call, chosen_id: UserId | None, *, error: Refusal | None = None) -> Response[bytes]:
    """The page; `chosen_id`: the person whose preview it shows."""
    trip_id, wanted = parameters.trip_id(request), choices.asked(request)
    dispute_id = parameters.query_id(request.query_params, _DISPUTE)
    visitor, (known, found, shown) = await visitor_and(
        request, lambda tx, visitor: _shown(tx, visitor, trip_id, wanted, chosen_id), short=False
    )
    path = _path(trip_id)
    kept = [(_DISPUTE, dispute_id)] if dispute_id else []
    listed = choices.values(visitor, wanted, found, path, kept, has_roles=True)
    asks = [*listed["kept"].items(), *([(addresses.SEARCH, wanted.search)] if wanted.search else [])]
    return views.show(
        request,
        "trips/driver.html",
        title="portal.trip_driver.title",
        error=error,
        shown=shown,
        known=known,
        previews={
            each.id: addresses.of(path, [*asks, (choices.CHOSEN, each.id)])
            for each in found.people.rows
            if each.id not in (known.driver_id, visitor.actor.user_id)
        },
        dispute_id=dispute_id or "",
        path=path,
        trip_path=f"/trips/{trip_id}",
        **listed,
    )


def _shown(
    tx: ReadTx, visitor: Visitor, trip_id: TripId, wanted: Asked, chosen_id: UserId | None
) -> tuple[TripDriver, Choosing, dict[str, Any]]:
    """The trip's driver, whom the visitor may choose, and in words: the present and the recorded driver, and the scored
    trips of each person before and after the correction."""
    actor = visitor.actor
    known = service.to_correct(tx, actor=actor, trip_id=trip_id)
    assert known.vehicle_id is not None
    found = assignments.to_assign(
        tx,
        actor=actor,
        post=Authority.DRIVER,
        vehicle_id=known.vehicle_id,
        role=wanted.role,
        search=wanted.search,
        page_request=wanted.page_request,
        chosen_id=chosen_id,
    )
    totals = [] if chosen_id is None else service.preview(tx, actor=actor, known=known, driver_id=chosen_id)

    def name(user_id: UserId | None) -> str | None:
        person = assignments.chosen(tx, actor=actor, user_id=user_id)
        return None if person is None else person.name

    names = {"now_name": name(known.driver_id), "recorded_name": name(known.recorded_id)}
    return known, found, {**names, "preview": [(name(each.user_id), each.before, each.after) for each in totals]}


def _path(trip_id: TripId) -> str:
    return f"/trips/{trip_id}/driver"
