"""Pushes to a company's server: waiting and dead-lettered ones, sending them again, and their secret (spec/push 3).

The company's record has their address and the wanted kinds (`companies.py`).
"""

from litestar.types import ASGIApp

from tripline.domain import fields
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import SensorId
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import admission, notifications
from tripline.services.push import resender, secrets, service
from tripline.store.push.parked import Which
from tripline.store.push.secrets import Secret
from tripline.store.transactions import ReadTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import pushes as rest_pushes
from tripline.wire.rest.base import Page


@operation("GET", "/api/tre/v1/company/{companyId}/push", access=Action.PUSH_MANAGE, answer=rest_pushes.PushCounts)
async def count(request: Call) -> ASGIApp:
    """How many messages to the company's server wait, were given up, or were delivered and never confirmed."""

    def work(tx: ReadTx, actor: Actor) -> rest_pushes.PushCounts:
        company_id = parameters.company_id(request)
        found = service.counts(tx, actor=actor, company_id=company_id)
        return rest_pushes.PushCounts(
            waiting=found.waiting,
            parked=found.parked,
            unconfirmed=found.unconfirmed,
            mute=[rest_pushes.mute(each) for each in service.mute(tx, actor=actor, company_id=company_id)],
            oldest_time=found.oldest_ms,
            last_error=found.last_error,
        )

    return await reads.many(request, work)


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/push/parked",
    access=Action.PUSH_MANAGE,
    answer=pages.timed(rest_pushes.ParkedPush),
)
async def list_parked(request: Call) -> ASGIApp:
    """Messages to the company's server that were given up, by the time they were last put in line."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id)
        return reads.by_time(
            request,
            lambda span: service.parked(tx, actor=actor, company_id=company_id, span=span),
            record=rest_pushes.parked,
            id_of=lambda parked: parked.id,
        )

    return await reads.answer(request, work)


@operation(
    "POST",
    "/api/tre/v1/company/{companyId}/push/resend",
    access=Action.PUSH_MANAGE,
    request=rest_pushes.Resend,
    answer=rest_pushes.Resent,
)
async def resend(request: Call) -> ASGIApp:
    """Send messages that were given up again: those named, those about a sensor, or all.

    They queue behind waiting messages and keep their ids, so a receiver that already has one can drop it. Of many
    messages the first 5,000 are queued before the answer, the others within seconds. All messages that wait for
    the company's servers go out at once, too; `released` counts them.
    """
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    sent = rest_bodies.read(await parameters.json_object(request), rest_pushes.Resend)
    now_ms = context.clock()
    which = Which(
        company_id=company_id,
        sensor_id=SensorId(fields.uuid("sensorId", sent.sensor_id)) if sent.sensor_id else None,
        message_ids=rest_pushes.resent_ids(sent),
        until_ms=now_ms,
        unconfirmed=sent.unconfirmed or False,
    )
    sent_again = await resender.resend(
        context.store,
        admit=lambda tx: admission.admit(tx, actor, Action.PUSH_MANAGE, Thing.COMPANY, company_id),
        which=which,
        ids=context.ids,
        now_ms=now_ms,
    )
    notifications.send(
        context.signals,
        (*notifications.company_changed(company_id), *notifications.PUSH_DUE, *notifications.RESEND_DUE),
    )
    return answers.ok(rest_pushes.Resent(count=sent_again.count, released=sent_again.released))


@operation(
    "GET", "/api/tre/v1/company/{companyId}/push/secret", access=Action.PUSH_MANAGE, answer=rest_pushes.PushSecret
)
async def read_secret(request: Call) -> ASGIApp:
    """The secret that signs messages to the company's server (Standard Webhooks), made when there is none yet."""
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    now_ms = context.clock()
    found = await context.store.write(lambda tx: service.secret(tx, actor=actor, company_id=company_id, now_ms=now_ms))
    return answers.ok(_secret(found, now_ms))


@operation(
    "POST", "/api/tre/v1/company/{companyId}/push/secret", access=Action.PUSH_MANAGE, answer=rest_pushes.PushSecret
)
async def rotate_secret(request: Call) -> ASGIApp:
    """Another secret. For a day the one before signs too: `webhook-signature` then holds two, a blank between."""
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    by = changes.by(request, actor)
    made = await context.store.write(lambda tx: service.rotate(tx, **by, company_id=company_id))
    notifications.send(context.signals, notifications.company_changed(company_id))
    return answers.ok(_secret(made, by["now_ms"]))


def _secret(found: Secret, now_ms: int) -> rest_pushes.PushSecret:
    until_ms = found.former_until_ms
    return rest_pushes.PushSecret(
        secret=secrets.shown(found.secret),
        created_time=found.created_ms,
        former_until=until_ms if until_ms is not None and until_ms > now_ms else None,
    )
