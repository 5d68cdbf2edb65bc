"""Correcting the driver of a past trip: choosing a person, a preview, and undoing it.

With a dispute in the address, the choice accepts that dispute. The form contains the driver it was rendered with; if
another window changes the driver meanwhile, the page shows the new one and keeps the choice.

Not here: who may correct it (`services/scores/corrections.py`), the trip's own page.
"""

from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import corrections
from tripline.domain.access import Action, Authority, Thing
from tripline.domain.corrections import CorrectedMeanwhile, NotCorrected, SeenDriver, Totals, TripDriver
from tripline.domain.disputes import NotOpen, OwnDispute
from tripline.domain.ids import TripId, UserId
from tripline.domain.people import DRIVING_ROLES
from tripline.domain.refusals import NotFound, Refusal
from tripline.domain.trends import Sums
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of, scores_of
from tripline.portal.frame import addresses, forms, views, words
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.services import notifications
from tripline.services.fleet import assignments
from tripline.services.fleet.assignments import Choosing
from tripline.services.scores import corrections as service
from tripline.services.scores import disputes
from tripline.store.listing.pages import PageRequest
from tripline.store.transactions import ReadTx, WriteTx

SHOWN: Final = 20
"""People on a page."""
_PERSON: Final = "userId"
_SHOWN_ID: Final = "shownId"
"""The field with the driver at rendering; empty for none."""
_DISPUTE: Final = "disputeId"
_CHOSEN: Final = "chosen"
_ROLE: Final = "role"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Scored trips of a person, before and after the correction."""

    name: str | None
    """None: hidden from the visitor."""
    before: Sums | None
    """None: the visitor may not read them."""
    after: Sums | None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The page's contents."""

    known: TripDriver
    choosing: Choosing
    now_name: str | None
    recorded_name: str | None
    preview: list[Standing]


@page("GET", "/trips/{tripId}/driver", access=Action.DISPUTE_DECIDE, refuses=corrections.REFUSALS)
async def choose(request: Call) -> Response[bytes]:
    """Choose another driver of a past trip, with a preview of the change."""
    chosen = parameters.query_id(request.query_params, _CHOSEN)
    return await _choose(request, None if chosen is None else UserId(chosen))


@page(
    "POST",
    "/trips/{tripId}/driver",
    access=Action.DISPUTE_DECIDE,
    refuses=(*corrections.REFUSALS, CorrectedMeanwhile, OwnDispute, NotOpen),
)
async def correct(request: Call) -> Response[bytes]:
    """Give a past trip another driver, or accept a dispute with that driver."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, trip_id = context_of(request), parameters.trip_id(request)
    driver_id = UserId(parameters.uuid_of(form.text(_PERSON), _PERSON))
    sent = form.text(_DISPUTE)
    dispute_id = parameters.uuid_of(sent, _DISPUTE) if sent else None
    seen = _seen(form)

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
    undo = Undo(f"{_path(trip_id)}/undo", {_SHOWN_ID: driver_id})
    return views.moved(request, _path(trip_id), notice="portal.trip_driver.corrected", undo=undo)


@page(
    "POST",
    "/trips/{tripId}/driver/undo",
    access=Action.DISPUTE_DECIDE,
    refuses=(*corrections.REFUSALS, CorrectedMeanwhile, NotCorrected),
)
async def undo(request: Call) -> Response[bytes]:
    """Give a trip back the driver that its messages name."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, trip_id = context_of(request), parameters.trip_id(request)

    def work(tx: WriteTx) -> None:
        service.withdraw(
            tx,
            actor=visitor.actor,
            trip_id=trip_id,
            language=visitor.language,
            ids=context.ids,
            now_ms=context.clock(),
            seen=_seen(form),
        )

    try:
        await context.store.write(work)
    except (CorrectedMeanwhile, NotCorrected):
        return await _choose(request, None, error=CorrectedMeanwhile())
    notifications.send(context.signals, disputes.CHANGED)
    return views.moved(request, _path(trip_id), notice="portal.trip_driver.undone")


async def _choose(request: Call, chosen_id: UserId | None, *, error: Refusal | None = None) -> Response[bytes]:
    """The page; `chosen_id`: the person whose preview it shows."""
    query = request.query_params
    trip_id, search = parameters.trip_id(request), parameters.query_text(query, addresses.SEARCH)
    role = Authority.DIRECTOR if query.get(_ROLE) == Authority.DIRECTOR else Authority.DRIVER
    dispute_id = parameters.query_id(query, _DISPUTE)
    back = query.get(addresses.BEFORE)
    place = addresses.place(back or query.get(addresses.AFTER))
    page_request = PageRequest(limit=SHOWN, by="name", place=place, back=bool(back))
    visitor, shown = await visitor_and(
        request, lambda tx, visitor: _shown(tx, visitor, trip_id, role, search, page_request, chosen_id), short=False
    )
    people = shown.choosing.people
    path = _path(trip_id)
    kept = [(_ROLE, role.value), *([(_DISPUTE, dispute_id)] if dispute_id else [])]
    asks = [*kept, *([(addresses.SEARCH, search)] if search else [])]

    def beside(name: str, place: Any) -> str:
        return addresses.of(path, [*asks, (name, addresses.of_place(place))])

    return views.show(
        request,
        "trips/driver.html",
        title="portal.trip_driver.title",
        error=error,
        shown=shown,
        known=shown.known,
        vehicle=shown.choosing.vehicle,
        chosen=shown.choosing.chosen,
        people=people.rows,
        previews={
            each.id: addresses.of(path, [*asks, (_CHOSEN, each.id)])
            for each in people.rows
            if each.id not in (shown.known.driver_id, visitor.actor.user_id)
        },
        roles=[
            (text, addresses.of(path, [(_ROLE, code), *asks[1:]]), code == role)
            for code, text in words.options(visitor, DRIVING_ROLES)
        ],
        nouns="directors" if role is Authority.DIRECTOR else "drivers",
        previous=beside(addresses.BEFORE, people.first) if people.more_before and people.first else None,
        next=beside(addresses.AFTER, people.last) if people.more_behind and people.last else None,
        asked=search or "",
        kept=dict(kept),
        dispute_id=dispute_id or "",
        path=path,
        trip_path=f"/trips/{trip_id}",
    )


def _shown(
    tx: ReadTx,
    visitor: Visitor,
    trip_id: TripId,
    role: Authority,
    search: str | None,
    page_request: PageRequest,
    chosen_id: UserId | None,
) -> Shown:
    actor = visitor.actor
    known = service.to_correct(tx, actor=actor, trip_id=trip_id)
    assert known.vehicle_id is not None
    choosing = assignments.to_assign(
        tx,
        actor=actor,
        post=Authority.DRIVER,
        vehicle_id=known.vehicle_id,
        role=role,
        search=search,
        page_request=page_request,
        chosen_id=chosen_id,
    )
    found: list[Totals] = []
    if chosen_id is not None:
        found = service.preview(tx, actor=actor, known=known, driver_id=chosen_id)

    def name(user_id: UserId | None) -> str | None:
        person = None if user_id is None else assignments.chosen(tx, actor=actor, user_id=user_id)
        return None if person is None else person.name

    return Shown(
        known=known,
        choosing=choosing,
        now_name=name(known.driver_id),
        recorded_name=name(known.recorded_id),
        preview=[Standing(name=name(each.user_id), before=each.before, after=each.after) for each in found],
    )


def _path(trip_id: TripId) -> str:
    return f"/trips/{trip_id}/driver"


def _seen(form: forms.Form) -> SeenDriver:
    """The driver at rendering. Raises `BadParameter`."""
    shown = form.text(_SHOWN_ID)
    return SeenDriver(UserId(parameters.uuid_of(shown, _SHOWN_ID)) if shown else None)
