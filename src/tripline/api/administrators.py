"""Registering, changing, deleting and listing a company's administrators (spec/rest 7.1)."""

from functools import partial

from litestar.types import ASGIApp

from tripline.api import person_bodies
from tripline.domain import people
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import UserId
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import admission, notifications
from tripline.services.fleet import administrators as service
from tripline.store.transactions import ReadTx
from tripline.wire.rest import people as rest_people
from tripline.wire.rest.base import Page


@operation(
    "POST",
    "/api/tre/v1/company/{companyId}/admin",
    access=Action.COMPANY_ADMIN_MANAGE,
    request=rest_people.PersonRequest,
    required=("name", "email", "password"),
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken,),
)
async def register(request: Call) -> ASGIApp:
    """A further administrator of the company."""
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    return await person_bodies.register(request, actor, partial(service.register, company_id=company_id))


@operation(
    "PUT",
    "/api/tre/v1/company/{companyId}/admin/{userId}",
    access=Action.COMPANY_ADMIN_MANAGE,
    request=rest_people.PersonRequest,
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken, people.OwnCredentials),
)
async def change(request: Call) -> ASGIApp:
    """The administrator after a change of the fields in the body; a new password ends every session of the account.

    The caller's own e-mail address and password cannot be changed here.
    """
    actor = await permission.permitted(request)
    company_id, user_id = parameters.company_id(request), _user_id(request)
    find = partial(service.find, actor=actor, company_id=company_id, user_id=user_id)
    apply = partial(service.change, company_id=company_id, user_id=user_id)
    return await person_bodies.change(request, actor, find, apply)


@operation(
    "DELETE",
    "/api/tre/v1/company/{companyId}/admin/{userId}",
    access=Action.COMPANY_ADMIN_MANAGE,
    answer=None,
    refuses=(people.LastAdministrator,),
)
async def delete(request: Call) -> ASGIApp:
    """The administrator's account ends; a company keeps at least one."""
    changed = await changes.made(
        request,
        lambda tx, by: service.delete(tx, **by, company_id=parameters.company_id(request), user_id=_user_id(request)),
    )
    notifications.send(context_of(request).signals, notifications.deleted(changed))
    return answers.ok({})


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/admins",
    access=Action.COMPANY_ADMIN_MANAGE,
    answer=pages.named(rest_people.UserRecord),
)
async def list_administrators(request: Call) -> ASGIApp:
    """The company's administrators, by name."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.COMPANY_ADMIN_MANAGE, Thing.COMPANY, company_id)
        return reads.by_name(
            request,
            lambda window: service.listed(tx, actor=actor, company_id=company_id, window=window),
            record=rest_people.user_record,
            name=lambda user: user.name,
        )

    return await reads.answer(request, work)


def _user_id(request: Call) -> UserId:
    return UserId(parameters.path_id(request, "userId"))
