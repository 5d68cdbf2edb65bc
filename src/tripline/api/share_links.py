"""Share links over REST: making one, listing and ending them (spec/rest 10.9)."""

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import RecordId
from tripline.domain.share_links import NotShareable, Shows, TooManyLinks
from tripline.http import answers, changes, cookies, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import share_links as service
from tripline.services.scores.reads import TooLong
from tripline.store.transactions import ReadTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest.share_links import NewShareLink, NewTripShareLink, ShareLinkRecord, ShareLinks, record


@operation(
    "POST",
    "/api/tre/v1_3/vehicle/{vehicleId}/sharelink",
    access=Action.VEHICLE_SHARE,
    request=NewShareLink,
    answer=ShareLinkRecord,
    refuses=(TooManyLinks,),
)
async def make(request: Call) -> ASGIApp:
    """Make a link that shows the vehicle without an account. Only this answer has the link's address."""
    actor, vehicle_id = await permission.admitted_to(request, Thing.VEHICLE, parameters.vehicle_id)
    sent = rest_bodies.read(await parameters.json_object(request), NewShareLink)
    shows = Shows(trail=sent.trail, number=sent.number)
    made = await context_of(request).store.write(
        lambda tx: service.make(tx, **changes.by(request, actor), vehicle_id=vehicle_id, hours=sent.hours, shows=shows)
    )
    return answers.ok(record(made.link, url=cookies.public_address(request) + made.path))


@operation(
    "POST",
    "/api/tre/v1_3/trip/{tripId}/sharelink",
    access=Action.VEHICLE_SHARE,
    request=NewTripShareLink,
    answer=ShareLinkRecord,
    refuses=(NotShareable, TooLong, TooManyLinks),
)
async def make_of_trip(request: Call) -> ASGIApp:
    """Make a link that shows the trip without an account. Only this answer has the link's address."""
    actor = await permission.admitted(
        request, lambda tx, actor: service.admit_to_trip(tx, actor=actor, trip_id=parameters.trip_id(request))
    )
    trip_id = parameters.trip_id(request)
    sent = rest_bodies.read(await parameters.json_object(request), NewTripShareLink)
    shows = Shows(whole=sent.whole, number=sent.number)
    made = await context_of(request).store.write(
        lambda tx: service.make_of_trip(
            tx, **changes.by(request, actor), trip_id=trip_id, hours=sent.hours, shows=shows
        )
    )
    return answers.ok(record(made.link, url=cookies.public_address(request) + made.path))


@operation("GET", "/api/tre/v1_3/sharelinks", access=Action.VEHICLE_SHARE, answer=ShareLinks)
async def list_links(request: Call) -> ASGIApp:
    """The links of the caller's company on vehicles that the caller may share."""
    context = context_of(request)

    def work(tx: ReadTx, actor: Actor) -> ShareLinks:
        return ShareLinks(data=[record(each) for each in service.of_company(tx, actor=actor, now_ms=context.clock())])

    return await reads.many(request, work)


@operation("DELETE", "/api/tre/v1_3/sharelink/{linkId}", access=Action.VEHICLE_SHARE, answer=None)
async def end(request: Call) -> ASGIApp:
    """End a link at once."""
    await changes.made(
        request, lambda tx, by: service.end(tx, **by, link_id=RecordId(parameters.path_id(request, "linkId")))
    )
    return answers.ok({})
