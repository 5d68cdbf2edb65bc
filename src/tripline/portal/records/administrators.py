"""Pages of a company's administrators: registering, changing and deleting them.

Not here: the company (`companies.py`), directors and drivers (`people.py`).
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from litestar.response import Response

from tripline.domain import people
from tripline.domain.access import Action
from tripline.domain.ids import SensorId, UserId
from tripline.domain.people import User
from tripline.domain.refusals import Refusal
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import deletions, forms, record_forms, views
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.portal.records import person_forms
from tripline.portal.records.person_forms import Names
from tripline.services import notifications
from tripline.services.fleet import administrators as service
from tripline.services.fleet import companies, goes_with
from tripline.services.fleet import people as persons
from tripline.store.transactions import ReadTx, WriteTx

NEW: Final = Names("portal.people.administrator.new", "portal.people.administrator.register")
EDIT: Final = Names("portal.people.administrator.edit", "portal.people.administrator.save")


@page("GET", "/fleet/companies/{companyId}/administrators/new", access=Action.COMPANY_ADMIN_MANAGE)
async def new(request: Call) -> Response[bytes]:
    """The form to register an administrator."""
    visitor, name = await context_of(request).store.read_short(lambda tx: _admitted(tx, request))
    shown = record_forms.shown(dict.fromkeys(person_forms.FIELDS, ""))
    return person_forms.show(request, visitor, shown, NEW, up=_up(request), up_text=name)


@page(
    "POST",
    "/fleet/companies/{companyId}/administrators/new",
    access=Action.COMPANY_ADMIN_MANAGE,
    refuses=(people.EmailTaken,),
)
async def register(request: Call) -> Response[bytes]:
    """Register an administrator."""
    form = await forms.read(request)
    context = context_of(request)
    visitor, name = await context.store.read_short(lambda tx: _admitted(tx, request))
    company_id = parameters.company_id(request)
    try:
        registration, password_hash = await person_forms.registration(request, form, visitor.actor)
        made = await context.store.write(
            lambda tx: service.register(
                tx,
                **changes.by(request, visitor.actor),
                company_id=company_id,
                registration=registration,
                password_hash=password_hash,
            )
        )
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        shown = record_forms.refilled(form, person_forms.FIELDS)
        return person_forms.show(request, visitor, shown, NEW, up=_up(request), up_text=name, error=refusal)
    return views.moved(request, _up(request), notice="portal.people.registered", name=made.name)


@page("GET", "/fleet/companies/{companyId}/administrators/{userId}/edit", access=Action.COMPANY_ADMIN_MANAGE)
async def edit(request: Call) -> Response[bytes]:
    """The form to change an administrator."""
    visitor, user, name = await context_of(request).store.read_short(lambda tx: _to_change(tx, request))
    shown = record_forms.shown(person_forms.texts(user))
    return person_forms.show(request, visitor, shown, EDIT, user=user, up=_up(request), up_text=name)


@page(
    "POST",
    "/fleet/companies/{companyId}/administrators/{userId}/edit",
    access=Action.COMPANY_ADMIN_MANAGE,
    refuses=(people.EmailTaken, people.OwnCredentials),
)
async def change(request: Call) -> Response[bytes]:
    """Change an administrator; refused if the record was changed meanwhile."""
    form = await forms.read(request)
    context = context_of(request)
    visitor, user, name = await context.store.read_short(lambda tx: _to_change(tx, request))
    named = person_forms.named(form)

    def work(tx: WriteTx) -> tuple[User, Clash | None]:
        now = service.find(tx, actor=visitor.actor, company_id=parameters.company_id(request), user_id=user.id)
        found = record_forms.clash(form, person_forms.texts(now), record_forms.typed(form, person_forms.FIELDS))
        if found is not None:
            return now, found
        changed = persons.apply(tx, now, **changes.by(request, visitor.actor), named=named, password_hash=password_hash)
        return changed, None

    try:
        checked = persons.checked(user, actor=visitor.actor, named=named)
        password_hash = await person_forms.hashed(request, checked.password, visitor.actor)
        after, found = await context.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        shown = record_forms.refilled(form, person_forms.FIELDS)
        up = _up(request)
        return person_forms.show(request, visitor, shown, EDIT, user=user, up=up, up_text=name, error=refusal)
    if found is not None:
        told = record_forms.told(visitor, found, person_forms.texts(after))
        error = record_forms.ChangedMeanwhile()
        up = _up(request)
        return person_forms.show(request, visitor, told, EDIT, user=after, up=up, up_text=name, error=error)
    return views.moved(request, _up(request), notice="portal.people.saved", name=after.name)


@page("GET", "/fleet/companies/{companyId}/administrators/{userId}/delete", access=Action.COMPANY_ADMIN_MANAGE)
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before an administrator is deleted, and show the effects."""
    visitor, user, company, counts = await context_of(request).store.read_short(lambda tx: _to_delete(tx, request))
    return _deletion(request, visitor, user, company, counts)


@page(
    "POST",
    "/fleet/companies/{companyId}/administrators/{userId}/delete",
    access=Action.COMPANY_ADMIN_MANAGE,
    refuses=(people.LastAdministrator,),
)
async def delete(request: Call) -> Response[bytes]:
    """Delete an administrator; a company keeps at least one."""
    form = await forms.read(request)
    context = context_of(request)
    company_id = parameters.company_id(request)

    def work(tx: WriteTx) -> tuple[User, AbstractSet[SensorId]]:
        visitor, user, _, counts = _to_delete(tx, request)
        deletions.require_confirmed(form, user.name, counts)
        return user, service.delete(tx, **changes.by(request, visitor.actor), company_id=company_id, user_id=user.id)

    try:
        user, changed = await context.store.write(work)
    except (*deletions.AGAIN, people.LastAdministrator) as refusal:
        return _deletion(request, *await context.store.read_short(lambda tx: _to_delete(tx, request)), error=refusal)
    notifications.send(context.signals, notifications.deleted(changed))
    return views.moved(request, _up(request), notice="portal.people.deleted", name=user.name)


def _admitted(tx: ReadTx, request: Call) -> tuple[Visitor, str]:
    """Return the visitor and the company's name; the visitor may manage its administrators."""
    visitor = visitor_in(tx, request)
    service.admit(tx, actor=visitor.actor, company_id=parameters.company_id(request))
    return visitor, companies.read(tx, actor=visitor.actor, company_id=parameters.company_id(request)).name


def _to_change(tx: ReadTx, request: Call) -> tuple[Visitor, User, str]:
    """Return the visitor, the administrator and the company's name."""
    visitor, user = _found(tx, request)
    return visitor, user, companies.read(tx, actor=visitor.actor, company_id=parameters.company_id(request)).name


def _found(tx: ReadTx, request: Call) -> tuple[Visitor, User]:
    visitor = visitor_in(tx, request)
    company_id, user_id = parameters.company_id(request), _user_id(request)
    return visitor, service.find(tx, actor=visitor.actor, company_id=company_id, user_id=user_id)


def _to_delete(tx: ReadTx, request: Call) -> tuple[Visitor, User, str, Mapping[str, int]]:
    """As `_to_change`, with the counts of records deleted along with the administrator."""
    return *_to_change(tx, request), goes_with.person(tx, _user_id(request))


def _deletion(
    request: Call,
    visitor: Visitor,
    user: User,
    company: str,
    counts: Mapping[str, int],
    *,
    error: Refusal | None = None,
) -> Response[bytes]:
    title, up = "portal.people.administrator.delete", _up(request)
    noun = deletions.PERSON[user.authority]
    return deletions.show(request, visitor, noun, user.name, counts, title=title, up=up, up_text=company, error=error)


def _user_id(request: Call) -> UserId:
    return UserId(parameters.path_id(request, "userId"))


def _up(request: Call) -> str:
    return f"/fleet/companies/{parameters.company_id(request)}"
