"""Live positions: of a company's vehicles, of one vehicle, and its trail of today (spec/positions L8, L9, L14, L15)."""

from typing import Final

from litestar.types import ASGIApp

from tripline.domain.access import Action, Thing
from tripline.http import answers, languages, pages, parameters, permission
from tripline.http.context import Call, context_of, maps_of, scores_of
from tripline.http.operations import Value, operation
from tripline.services import admission
from tripline.services.live import positions as service
from tripline.services.live import trail
from tripline.store.transactions import ReadTx
from tripline.wire.rest import positions as rest_positions
from tripline.wire.rest.base import Id

_SINCE: Final = Value(
    "since",
    str,
    "`since` of an earlier answer: only what changed after it; absent: every position",
    "WyI0YzFkMmE5ZTBiN2YiLDQyLDE3MzU2ODk2MDAwMDAsNDIsMTczNTY4OTYwMDAwMCwiIl0",
)


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/positions",
    access=Action.DRIVING_READ,
    answer=rest_positions.Positions,
    query=(pages.LIMIT, _SINCE),
    refuses=(service.UnknownCursor,),
)
async def read(request: Call) -> ASGIApp:
    """Positions of the company's own and delegated vehicles whose driving data the caller may read.

    Continue with `since`: at once while `hasNext`, else as often as you need new positions.
    """
    context = context_of(request)
    now_ms = context.clock()

    def work(tx: ReadTx) -> service.Answer:
        actor = permission.permitted_in(tx, request)
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
        query = request.query_params
        return service.read(
            tx,
            actor=actor,
            company_id=company_id,
            since=parameters.query_text(query, _SINCE.name),
            limit=pages.limit_asked(query),
            now_ms=now_ms,
        )

    found = await context.store.read(work)
    return answers.ok(
        rest_positions.Positions(
            data=[rest_positions.position_record(each, now_ms=now_ms) for each in found.positions],
            left=[Id(each) for each in found.left],
            since=found.since,
            has_next=found.has_next,
        )
    )


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/position",
    access=Action.DRIVING_READ,
    answer=rest_positions.WhereaboutsRecord,
)
async def read_one(request: Call) -> ASGIApp:
    """Where the vehicle is now, with the speed limit of its road and the place in words by the imported map."""
    context = context_of(request)

    def work(tx: ReadTx) -> service.Whereabouts:
        actor = permission.permitted_in(tx, request)
        return service.whereabouts(tx, actor=actor, vehicle_id=parameters.vehicle_id(request))

    found = await context.store.read(work)
    roads, language = scores_of(request).roads, languages.asked_of(request)
    around = await service.around(found, roads=roads, names=maps_of(request).places, language=language)
    return answers.ok(
        rest_positions.whereabouts_record(
            found.position,
            now_ms=context.clock(),
            limit_kmh=around.limit_kmh,
            place=around.words,
            latest_trip_id=found.latest_trip_id,
            shareable=found.may_share,
        )
    )


@operation("GET", "/api/tre/v1/vehicle/{vehicleId}/trail", access=Action.DRIVING_READ, answer=rest_positions.Trail)
async def read_trail(request: Call) -> ASGIApp:
    """Where the vehicle was since midnight, in the time zone of the service."""
    context = context_of(request)
    now_ms = context.clock()

    def work(tx: ReadTx) -> list[trail.Point]:
        actor = permission.permitted_in(tx, request)
        vehicle_id = parameters.vehicle_id(request)
        return trail.read(tx, actor=actor, vehicle_id=vehicle_id, zone=context.time_zone, now_ms=now_ms)

    found = await context.store.read(work)
    points = [rest_positions.TrailPoint(ts=ts, lat=lat, lon=lon, speed=speed) for ts, lat, lon, speed in found]
    return answers.ok(rest_positions.Trail(data=points))
