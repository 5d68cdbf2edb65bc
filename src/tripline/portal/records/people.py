"""Pages of directors and drivers: showing, registering, changing and deleting them, with their vehicles and history.

Not here: the lists (`lists/people.py`), administrators (`administrators.py`), the visitor's own account.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain import access, people
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.ids import SensorId, UserId
from tripline.domain.people import User
from tripline.domain.refusals import Refusal
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import deletions, forms, record_forms, views
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in, visitor_of
from tripline.portal.records import histories, person_forms
from tripline.portal.records.histories import Lines, Opened
from tripline.portal.records.person_forms import Names
from tripline.services import notifications
from tripline.services.fleet import goes_with, history, overviews
from tripline.services.fleet import people as service
from tripline.services.fleet.overviews import PersonOverview
from tripline.store.transactions import ReadTx, WriteTx

DIRECTOR, DRIVER = Authority.DIRECTOR, Authority.DRIVER
LISTS: Final = {DIRECTOR: "/fleet/directors", DRIVER: "/fleet/drivers"}
_IDS: Final = {DIRECTOR: "directorId", DRIVER: "driverId"}
_NOUN: Final = {DIRECTOR: "portal.people.director.", DRIVER: "portal.people.driver."}
_REFUSES: Final = (people.EmailTaken, people.OwnCredentials)


@page("GET", "/fleet/directors/new", access=Action.PERSON_CREATE)
async def new_director(request: Call) -> Response[bytes]:
    """The form to register a director."""
    return await _new(request, DIRECTOR)


@page("GET", "/fleet/drivers/new", access=Action.PERSON_CREATE)
async def new_driver(request: Call) -> Response[bytes]:
    """The form to register a driver."""
    return await _new(request, DRIVER)


@page("POST", "/fleet/directors/new", access=Action.PERSON_CREATE, refuses=_REFUSES)
async def register_director(request: Call) -> Response[bytes]:
    """Register a director."""
    return await _register(request, DIRECTOR)


@page("POST", "/fleet/drivers/new", access=Action.PERSON_CREATE, refuses=_REFUSES)
async def register_driver(request: Call) -> Response[bytes]:
    """Register a driver."""
    return await _register(request, DRIVER)


@page("GET", "/fleet/directors/{directorId}", access=Action.USER_READ)
async def director(request: Call) -> Response[bytes]:
    """A director, the vehicles managed and driven, and the recent history."""
    return await _detail(request, DIRECTOR)


@page("GET", "/fleet/drivers/{driverId}", access=Action.USER_READ)
async def driver(request: Call) -> Response[bytes]:
    """A driver, or a director, who may drive as well."""
    return await _detail(request, DRIVER)


@page("GET", "/fleet/directors/{directorId}/edit", access=Action.PERSON_MODIFY)
async def edit_director(request: Call) -> Response[bytes]:
    """The form to change a director."""
    return await _edit(request, DIRECTOR)


@page("GET", "/fleet/drivers/{driverId}/edit", access=Action.PERSON_MODIFY)
async def edit_driver(request: Call) -> Response[bytes]:
    """The form to change a driver."""
    return await _edit(request, DRIVER)


@page("POST", "/fleet/directors/{directorId}/edit", access=Action.PERSON_MODIFY, refuses=_REFUSES)
async def change_director(request: Call) -> Response[bytes]:
    """Change a director; refused if the record was changed meanwhile."""
    return await _change(request, DIRECTOR)


@page("POST", "/fleet/drivers/{driverId}/edit", access=Action.PERSON_MODIFY, refuses=_REFUSES)
async def change_driver(request: Call) -> Response[bytes]:
    """Change a driver; refused if the record was changed meanwhile."""
    return await _change(request, DRIVER)


@page("GET", "/fleet/directors/{directorId}/delete", access=Action.PERSON_DELETE)
async def ask_to_delete_director(request: Call) -> Response[bytes]:
    """Ask before a director is deleted, and show the effects."""
    return await _ask_to_delete(request, DIRECTOR)


@page("GET", "/fleet/drivers/{driverId}/delete", access=Action.PERSON_DELETE)
async def ask_to_delete_driver(request: Call) -> Response[bytes]:
    """Ask before a driver is deleted, and show the effects."""
    return await _ask_to_delete(request, DRIVER)


@page("POST", "/fleet/directors/{directorId}/delete", access=Action.PERSON_DELETE)
async def delete_director(request: Call) -> Response[bytes]:
    """Delete a director."""
    return await _delete(request, DIRECTOR)


@page("POST", "/fleet/drivers/{driverId}/delete", access=Action.PERSON_DELETE)
async def delete_driver(request: Call) -> Response[bytes]:
    """Delete a driver."""
    return await _delete(request, DRIVER)


@page("GET", "/fleet/directors/{directorId}/history", access=Action.USER_HISTORY_READ)
async def director_history(request: Call) -> Response[bytes]:
    """The whole history of a director; also of a deleted one."""
    return await _whole_history(request, DIRECTOR)


@page("GET", "/fleet/drivers/{driverId}/history", access=Action.USER_HISTORY_READ)
async def driver_history(request: Call) -> Response[bytes]:
    """The whole history of a driver; also of a deleted one."""
    return await _whole_history(request, DRIVER)


async def _new(request: Call, role: Authority) -> Response[bytes]:
    visitor = await visitor_of(request)
    access.company_of(visitor.actor)
    shown = record_forms.shown(dict.fromkeys(person_forms.FIELDS, ""))
    return person_forms.show(request, visitor, shown, _named(role, "new", "register"), up=LISTS[role])


async def _register(request: Call, role: Authority) -> Response[bytes]:
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    access.company_of(visitor.actor)
    try:
        registration, password_hash = await person_forms.registration(request, form, visitor.actor)
        made = await context.store.write(
            lambda tx: service.register(
                tx,
                **changes.by(request, visitor.actor),
                role=role,
                registration=registration,
                password_hash=password_hash,
            )
        )
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        shown = record_forms.refilled(form, person_forms.FIELDS)
        names = _named(role, "new", "register")
        return person_forms.show(request, visitor, shown, names, up=LISTS[role], error=refusal)
    return views.moved(request, _path(role, made.id), notice="portal.people.registered", name=made.name)


async def _detail(request: Call, role: Authority) -> Response[bytes]:
    def work(tx: ReadTx) -> tuple[Visitor, PersonOverview, Lines | None]:
        visitor = visitor_in(tx, request)
        user_id = _user_id(request, role)
        found = overviews.person(
            tx, actor=visitor.actor, roles=service.FOUND_AS[role], user_id=user_id, thing=service.THINGS[role]
        )
        if Action.USER_HISTORY_READ not in found.may:
            return visitor, found, None
        read = partial(history.of_user, tx, actor=visitor.actor, user_id=user_id)
        return visitor, found, histories.page(visitor, lambda span: read(span=span), limit=histories.SHOWN)

    visitor, found, lines = await context_of(request).store.read_short(work)
    return views.show(
        request,
        visitor,
        "people/detail.html",
        title=views.Plain(found.user.name),
        found=found,
        user=found.user,
        base=_path(role, found.user.id),
        noun=_NOUN[role],
        may={action.value for action in found.may},
        is_self=found.user.id == visitor.actor.user_id,
        history=lines,
        list_path=LISTS[role],
    )


async def _edit(request: Call, role: Authority) -> Response[bytes]:
    visitor, user = await context_of(request).store.read_short(lambda tx: _to_change(tx, request, role))
    shown = record_forms.shown(person_forms.texts(user))
    names = _named(role, "edit", "save")
    return person_forms.show(request, visitor, shown, names, user=user, up=_path(role, user.id))


async def _change(request: Call, role: Authority) -> Response[bytes]:
    form = await forms.read(request)
    context = context_of(request)
    visitor, user = await context.store.read_short(lambda tx: _to_change(tx, request, role))
    named = person_forms.named(form)
    names, up = _named(role, "edit", "save"), _path(role, user.id)

    def work(tx: WriteTx) -> tuple[User, Clash | None]:
        now = service.find(tx, actor=visitor.actor, action=Action.PERSON_MODIFY, role=role, user_id=user.id)
        found = record_forms.clash(form, person_forms.texts(now), record_forms.typed(form, person_forms.FIELDS))
        if found is not None:
            return now, found
        changed = service.apply(tx, now, **changes.by(request, visitor.actor), named=named, password_hash=password_hash)
        return changed, None

    try:
        checked = service.checked(user, actor=visitor.actor, named=named)
        password_hash = await person_forms.hashed(request, checked.password, visitor.actor)
        after, found = await context.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        shown = record_forms.refilled(form, person_forms.FIELDS)
        return person_forms.show(request, visitor, shown, names, user=user, up=up, error=refusal)
    if found is not None:
        told = record_forms.told(visitor, found, person_forms.texts(after))
        error = record_forms.ChangedMeanwhile()
        return person_forms.show(request, visitor, told, names, user=after, up=up, error=error)
    return views.moved(request, up, notice="portal.people.saved", name=after.name)


async def _ask_to_delete(request: Call, role: Authority) -> Response[bytes]:
    visitor, user, counts = await context_of(request).store.read_short(lambda tx: _to_delete(tx, request, role))
    return _deletion(request, visitor, role, user, counts)


async def _delete(request: Call, role: Authority) -> Response[bytes]:
    form = await forms.read(request)
    context = context_of(request)

    def work(tx: WriteTx) -> tuple[User, AbstractSet[SensorId]]:
        visitor, user, counts = _to_delete(tx, request, role)
        deletions.require_confirmed(form, user.name, counts)
        return user, service.delete(tx, **changes.by(request, visitor.actor), role=role, user_id=user.id)

    try:
        user, changed = await context.store.write(work)
    except deletions.AGAIN as refusal:
        visitor, user, counts = await context.store.read_short(lambda tx: _to_delete(tx, request, role))
        return _deletion(request, visitor, role, user, counts, error=refusal)
    notifications.send(context.signals, notifications.deleted(changed))
    there = deletions.list_as_shown(form, LISTS[role])
    return views.moved(request, there, notice="portal.people.deleted", name=user.name)


async def _whole_history(request: Call, role: Authority) -> Response[bytes]:
    def opened(tx: ReadTx, actor: Actor) -> Opened:
        user_id = _user_id(request, role)
        history.admit_to_user(tx, actor=actor, user_id=user_id)
        name = history.name_of(tx, Thing.USER, user_id)
        return name, lambda span: history.of_user(tx, actor=actor, user_id=user_id, span=span)

    return await histories.whole(request, opened, up=lambda: _path(role, _user_id(request, role)))


def _to_change(tx: ReadTx, request: Call, role: Authority) -> tuple[Visitor, User]:
    visitor = visitor_in(tx, request)
    user_id = _user_id(request, role)
    action = Action.PERSON_MODIFY
    return visitor, service.find(tx, actor=visitor.actor, action=action, role=role, user_id=user_id)


def _to_delete(tx: ReadTx, request: Call, role: Authority) -> tuple[Visitor, User, Mapping[str, int]]:
    visitor = visitor_in(tx, request)
    user_id = _user_id(request, role)
    user = service.find(tx, actor=visitor.actor, action=Action.PERSON_DELETE, role=role, user_id=user_id)
    return visitor, user, goes_with.person(tx, user_id)


def _deletion(
    request: Call,
    visitor: Visitor,
    role: Authority,
    user: User,
    counts: Mapping[str, int],
    *,
    error: Refusal | None = None,
) -> Response[bytes]:
    title, up = f"{_NOUN[role]}delete", _path(role, user.id)
    noun = deletions.PERSON[user.authority]
    return deletions.show(
        request, visitor, noun, user.name, counts, title=title, up=up, list_path=LISTS[role], error=error
    )


def _named(role: Authority, title: str, submit: str) -> Names:
    """Title and button of a role's form."""
    button = _NOUN[role] + submit
    return Names(_NOUN[role] + title, button)


def _user_id(request: Call, role: Authority) -> UserId:
    return UserId(parameters.path_id(request, _IDS[role]))


def _path(role: Authority, user_id: UserId) -> str:
    return f"{LISTS[role]}/{user_id}"
