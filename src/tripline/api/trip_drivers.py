"""The driver of a past trip over REST: reading it with a preview, correcting it, withdrawing the correction."""

from collections.abc import Callable
from typing import Final

from litestar.types import ASGIApp

from tripline.domain import corrections, fields
from tripline.domain.access import Action, Actor
from tripline.domain.corrections import TripDriver
from tripline.domain.ids import UserId
from tripline.domain.refusals import BadParameter
from tripline.http import answers, changes, languages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services import notifications
from tripline.services.scores import corrections as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest.trip_drivers import CorrectDriver, DriverOfTrip, driver_of_trip

_DRIVER: Final = "driverId"
_ASKED: Final = Value(
    _DRIVER, str, "what giving the trip this driver would change", "2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11"
)


@operation(
    "GET",
    "/api/tre/v1_3/trip/{tripId}/driver",
    access=Action.DISPUTE_DECIDE,
    answer=DriverOfTrip,
    query=(_ASKED,),
    refuses=corrections.REFUSALS,
)
async def read_driver(request: Call) -> ASGIApp:
    """The driver of a past trip that the caller may correct, with a preview of another driver."""

    def work(tx: ReadTx, actor: Actor) -> DriverOfTrip:
        known = service.to_correct(tx, actor=actor, trip_id=parameters.trip_id(request))
        asked = parameters.query_id(request.query_params, _DRIVER)
        if asked is None:
            return driver_of_trip(known)
        return driver_of_trip(known, service.preview(tx, actor=actor, known=known, driver_id=UserId(asked)))

    return await reads.many(request, work)


@operation(
    "PUT",
    "/api/tre/v1_3/trip/{tripId}/driver",
    access=Action.DISPUTE_DECIDE,
    request=CorrectDriver,
    required=(_DRIVER,),
    answer=DriverOfTrip,
    refuses=corrections.REFUSALS,
)
async def correct_driver(request: Call) -> ASGIApp:
    """Give a past trip another driver; its score, and the sums and rankings of both people, follow at once."""
    actor = await permission.admitted(
        request, lambda tx, actor: service.to_correct(tx, actor=actor, trip_id=parameters.trip_id(request))
    )
    trip_id = parameters.trip_id(request)
    sent = rest_bodies.read(await parameters.json_object(request), CorrectDriver)
    if not sent.driver_id:
        raise BadParameter.missing(_DRIVER)
    driver_id = UserId(fields.uuid(_DRIVER, sent.driver_id))

    def work(tx: WriteTx) -> TripDriver:
        return service.correct(
            tx, **changes.by(request, actor), trip_id=trip_id, driver_id=driver_id, language=languages.asked_of(request)
        )

    return await _written(request, work)


@operation(
    "DELETE",
    "/api/tre/v1_3/trip/{tripId}/driver",
    access=Action.DISPUTE_DECIDE,
    answer=DriverOfTrip,
    refuses=(*corrections.REFUSALS, corrections.NotCorrected),
)
async def withdraw_driver(request: Call) -> ASGIApp:
    """Withdraw the correction: the trip has the driver that its messages name."""

    def work(tx: WriteTx) -> TripDriver:
        actor, trip_id = permission.permitted_in(tx, request), parameters.trip_id(request)
        return service.withdraw(tx, **changes.by(request, actor), trip_id=trip_id, language=languages.asked_of(request))

    return await _written(request, work)


async def _written(request: Call, work: Callable[[WriteTx], TripDriver]) -> ASGIApp:
    """Write, wake the postman, and answer the trip's driver."""
    context = context_of(request)
    changed = await context.store.write(work)
    notifications.send(context.signals, notifications.MAIL_DUE)
    return answers.ok(driver_of_trip(changed))
