"""Pages of directors, drivers and administrators: showing, registering, changing and deleting them, and their history.

An administrator is shown on the page of the company.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from litestar.handlers import HTTPRouteHandler
from litestar.response import Response
from litestar.types import Method

from tripline.domain import access, people
from tripline.domain.access import Action, Authority, Thing
from tripline.domain.ids import UserId
from tripline.domain.people import Registration, User
from tripline.domain.refusals import Refusal
from tripline.http import changes, parameters, peers
from tripline.http.changes import By
from tripline.http.context import Call, accounts_of, context_of
from tripline.portal.frame import deletions, forms, record_forms, views, words
from tripline.portal.frame.deletions import Doomed
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in
from tripline.portal.records import histories
from tripline.portal.records.histories import Lines
from tripline.services import admission, notifications
from tripline.services.fleet import administrators, companies, goes_with, overviews
from tripline.services.fleet import people as service
from tripline.services.fleet.overviews import PersonOverview
from tripline.services.notifications import Notification
from tripline.store.transactions import ReadTx, WriteTx

ADMINISTRATOR, DIRECTOR, DRIVER = Authority.COMPANY_ADMIN, Authority.DIRECTOR, Authority.DRIVER
LISTS: Final = {DIRECTOR: "/fleet/directors", DRIVER: "/fleet/drivers"}
FIELDS: Final[dict[str, Any]] = {"name": None, "email": None, "phone": None}
PASSWORD: Final = "password"  # noqa: S105  the name of a field
LABELS: Final = words.labels((*FIELDS, PASSWORD))
_BASES: Final = {**LISTS, ADMINISTRATOR: "/fleet/companies/{companyId}/administrators"}
_IDS: Final = {DIRECTOR: "directorId", DRIVER: "driverId", ADMINISTRATOR: "userId"}
_REFUSES: Final = (people.EmailTaken, people.OwnCredentials)
_DELETE_REFUSES: Final = (people.LastAdministrator,)


async def new(request: Call, role: Authority) -> Response[bytes]:
    """The form to register a person."""
    visitor, company = await visitor_and(request, partial(_to_register, request, role))
    return _form(request, visitor, role, record_forms.shown(dict.fromkeys(FIELDS, "")), company=company)


async def register(request: Call, role: Authority) -> Response[bytes]:
    """Register a person."""
    form, context = await forms.read(request), context_of(request)
    visitor, company = await visitor_and(request, partial(_to_register, request, role))
    said = {name: text or None for name, text in record_forms.typed(form, FIELDS).items()}
    try:
        registration = people.registration(**said, password=form.secret(PASSWORD) or None)
        password_hash = await _hashed(request, visitor, registration.password)
        made = await context.store.write(
            lambda tx: _registered(tx, request, role, changes.by(request, visitor.actor), registration, password_hash)
        )
    except Refusal as refusal:
        shown, error = record_forms.refilled(form, FIELDS), forms.of_form(refusal)
        return _form(request, visitor, role, shown, company=company, error=error)
    return views.moved(request, _up(request, role, made.id), notice="portal.people.registered", name=made.name)


async def detail(request: Call, role: Authority) -> Response[bytes]:
    """A person, the vehicles managed and driven, and the recent history. A driver may be a director, who drives too."""

    def work(tx: ReadTx, visitor: Visitor) -> tuple[PersonOverview, Lines | None]:
        user_id = _user_id(request, role)
        found = overviews.person(
            tx, actor=visitor.actor, roles=service.FOUND_AS[role], user_id=user_id, thing=service.THINGS[role]
        )
        return found, histories.beside(tx, visitor, Thing.USER, user_id, found.may)

    visitor, (found, lines) = await visitor_and(request, work)
    return views.show(
        request,
        "people/detail.html",
        title=views.Plain(found.user.name),
        found=found,
        user=found.user,
        base=_up(request, role, found.user.id),
        noun=f"portal.people.{deletions.PERSON[role]}.",
        may={action.value for action in found.may},
        is_self=found.user.id == visitor.actor.user_id,
        history=lines,
        list_path=LISTS[role],
    )


async def edit(request: Call, role: Authority) -> Response[bytes]:
    """The form to change a person."""
    visitor, (user, company) = await visitor_and(request, partial(_to_change, request, role))
    return _form(request, visitor, role, record_forms.shown(_texts(user)), user=user, company=company)


async def change(request: Call, role: Authority) -> Response[bytes]:
    """Change a person; refused if the record was changed meanwhile. Without a password the old one stays."""
    form = await forms.read(request)
    visitor, (user, company) = await visitor_and(request, partial(_to_change, request, role))
    said = record_forms.typed(form, FIELDS)
    named: dict[str, Any] = {name: text or None for name, text in said.items()}
    named[PASSWORD] = form.secret(PASSWORD) or None
    password_hash: str | None = None

    def show(now: User, shown: FormValues, error: Refusal) -> Response[bytes]:
        return _form(request, visitor, role, shown, user=now, company=company, error=error)

    def apply(tx: WriteTx, now: User) -> User:
        by = changes.by(request, visitor.actor)
        return service.apply(tx, now, **by, named=named, password_hash=password_hash)

    try:
        password = service.checked(user, actor=visitor.actor, named=named).password
        if password is not None:
            password_hash = await _hashed(request, visitor, password)
    except Refusal as refusal:
        return show(user, record_forms.refilled(form, FIELDS), forms.of_form(refusal))
    after = await record_forms.saved(
        request,
        visitor,
        said,
        user,
        find=lambda tx: _found(tx, request, visitor, role, Action.PERSON_MODIFY),
        texts=_texts,
        apply=apply,
        show=show,
    )
    if isinstance(after, Response):
        return after
    return views.moved(request, _up(request, role, after.id), notice="portal.people.saved", name=after.name)


async def ask_to_delete(request: Call, role: Authority) -> Response[bytes]:
    """Ask before a person is deleted, and show the effects."""
    return await deletions.ask(request, lambda tx, request: _to_delete(tx, request, role))


async def delete(request: Call, role: Authority) -> Response[bytes]:
    """Delete a person; a company keeps at least one administrator."""

    def work(tx: WriteTx, by: By, user: User) -> tuple[Notification, ...]:
        if role is ADMINISTRATOR:
            company_id = parameters.company_id(request)
            changed = administrators.delete(tx, **by, company_id=company_id, user_id=user.id)
        else:
            changed = service.delete(tx, **by, role=role, user_id=user.id)
        return notifications.deleted(changed)

    return await deletions.carried_out(
        request,
        lambda tx, request: _to_delete(tx, request, role),
        work,
        notice="portal.people.deleted",
        refuses=_DELETE_REFUSES,
    )


async def whole_history(request: Call, role: Authority) -> Response[bytes]:
    """The whole history of a person; also of a deleted one."""
    return await histories.whole(request, Thing.USER, _IDS[role], base=LISTS[role])


def _to_register(request: Call, role: Authority, tx: ReadTx, visitor: Visitor) -> str | None:
    """The company's name on pages of administrators, for a visitor who may register a person."""
    if role is not ADMINISTRATOR:
        access.company_of(visitor.actor)
        return None
    admission.admit(tx, visitor.actor, Action.COMPANY_ADMIN_MANAGE, Thing.COMPANY, parameters.company_id(request))
    return _company(tx, request, visitor, role)


def _to_change(request: Call, role: Authority, tx: ReadTx, visitor: Visitor) -> tuple[User, str | None]:
    """The person, and the company's name on pages of administrators."""
    return _found(tx, request, visitor, role, Action.PERSON_MODIFY), _company(tx, request, visitor, role)


def _to_delete(tx: ReadTx, request: Call, role: Authority) -> tuple[Visitor, Doomed[User]]:
    visitor = visitor_in(tx, request)
    user = _found(tx, request, visitor, role, Action.PERSON_DELETE)
    doomed = Doomed(
        record=user,
        noun=deletions.PERSON[user.authority],
        name=user.name,
        counts=goes_with.person(tx, user.id),
        title=f"portal.people.{deletions.PERSON[role]}.delete",
        up=_up(request, role, user.id),
        up_text=_company(tx, request, visitor, role),
        list_path=LISTS.get(role),
    )
    return visitor, doomed


def _found(tx: ReadTx, request: Call, visitor: Visitor, role: Authority, action: Action) -> User:
    """The person in the path. Raises `NotFound` and `Forbidden`."""
    actor = visitor.actor
    if role is ADMINISTRATOR:
        company_id = parameters.company_id(request)
        return administrators.find(tx, actor=actor, company_id=company_id, user_id=_user_id(request, role))
    return service.find(tx, actor=actor, action=action, role=role, user_id=_user_id(request, role))


def _registered(
    tx: WriteTx, request: Call, role: Authority, by: By, registration: Registration, password_hash: str
) -> User:
    if role is ADMINISTRATOR:
        company_id = parameters.company_id(request)
        return administrators.register(
            tx, **by, company_id=company_id, registration=registration, password_hash=password_hash
        )
    return service.register(tx, **by, role=role, registration=registration, password_hash=password_hash)


def _company(tx: ReadTx, request: Call, visitor: Visitor, role: Authority) -> str | None:
    if role is not ADMINISTRATOR:
        return None
    return companies.read(tx, actor=visitor.actor, company_id=parameters.company_id(request)).name


async def _hashed(request: Call, visitor: Visitor, password: str) -> str:
    """Hash a password. Raises `TooManyLogins`."""
    return await accounts_of(request).passwords.hash(password, peers.requester_of(request, visitor.actor))


def _texts(user: User) -> dict[str, str]:
    """The form's initial values; never a password."""
    return {"name": user.name, "email": user.email, "phone": words.text(user.phone)}


def _form(
    request: Call,
    visitor: Visitor,
    role: Authority,
    shown: FormValues,
    *,
    user: User | None = None,
    company: str | None = None,
    error: Refusal | None = None,
) -> Response[bytes]:
    """The form of a new person, or of the given one; `company` names the company of an administrator."""
    noun = f"portal.people.{deletions.PERSON[role]}."
    title, submit = ("new", "register") if user is None else ("edit", "save")
    return views.show(
        request,
        "people/form.html",
        title=noun + title,
        error=error,
        labels=LABELS,
        shown=shown,
        user=user,
        is_self=user is not None and user.id == visitor.actor.user_id,
        submit=noun + submit,
        up=_up(request, role, None if user is None else user.id),
        up_text=company,
    )


def _user_id(request: Call, role: Authority) -> UserId:
    return UserId(parameters.path_id(request, _IDS[role]))


def _up(request: Call, role: Authority, user_id: UserId | None) -> str:
    """The page of the person, or the list; the company's page for administrators."""
    if role is ADMINISTRATOR:
        return f"/fleet/companies/{parameters.company_id(request)}"
    return LISTS[role] if user_id is None else f"{LISTS[role]}/{user_id}"


def _pages(role: Authority) -> list[HTTPRouteHandler]:
    base, one = _BASES[role], f"{_BASES[role]}/{{{_IDS[role]}}}"
    is_admin, manage = role is ADMINISTRATOR, Action.COMPANY_ADMIN_MANAGE
    create = manage if is_admin else Action.PERSON_CREATE
    modify = manage if is_admin else Action.PERSON_MODIFY
    remove = manage if is_admin else Action.PERSON_DELETE
    made = [
        _page(role, "GET", f"{base}/new", create, new),
        _page(role, "POST", f"{base}/new", create, register, _REFUSES),
        _page(role, "GET", f"{one}/edit", modify, edit),
        _page(role, "POST", f"{one}/edit", modify, change, _REFUSES),
        _page(role, "GET", f"{one}/delete", remove, ask_to_delete),
        _page(role, "POST", f"{one}/delete", remove, delete, _DELETE_REFUSES if is_admin else ()),
    ]
    if not is_admin:
        made.append(_page(role, "GET", one, Action.USER_READ, detail))
        made.append(_page(role, "GET", f"{one}/history", Action.USER_HISTORY_READ, whole_history))
    return made


def _page(
    role: Authority,
    method: Method,
    path: str,
    action: Action,
    handler: Callable[[Call, Authority], Coroutine[Any, Any, Response[bytes]]],
    refuses: tuple[type[Refusal], ...] = (),
) -> HTTPRouteHandler:
    async def of_role(request: Call) -> Response[bytes]:
        return await handler(request, role)

    of_role.__name__, of_role.__doc__ = f"{handler.__name__}_{deletions.PERSON[role]}", handler.__doc__
    return page(method, path, access=action, refuses=refuses)(of_role)


handlers: Final = [handler for role in (DIRECTOR, DRIVER, ADMINISTRATOR) for handler in _pages(role)]
