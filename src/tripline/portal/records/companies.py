"""Pages of companies, the visitor's own and its partners: showing, registering, changing, deleting, history."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from litestar.response import Response

from tripline.domain import companies, people
from tripline.domain.access import Action, Authority, Thing
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import Forbidden, Refusal
from tripline.http import authentication, changes, parameters, peers
from tripline.http.changes import By
from tripline.http.context import Call, accounts_of, context_of, fleet_of
from tripline.portal.frame import deletions, forms, navigation, record_forms, views, words
from tripline.portal.frame.deletions import Doomed
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in, visitor_of
from tripline.portal.records import histories
from tripline.portal.records.histories import Lines
from tripline.services import notifications
from tripline.services.barrier import PIPELINES
from tripline.services.fleet import companies as service
from tripline.services.fleet import goes_with, overviews
from tripline.services.fleet.overviews import CompanyOverview
from tripline.services.notifications import Notification
from tripline.store.transactions import ReadTx, WriteTx

FIELDS: Final[dict[str, Any]] = dict.fromkeys(
    (
        *("name", "region", "description", "picName", "picPhone", "picEmail", "picDivision"),
        *("providerManagerName", "providerManagerEmail", "cooperationTask"),
    )
)
NEW_FIELDS: Final[dict[str, Any]] = {**FIELDS, "serviceType": None}
PASSWORD: Final = "picPasswd"  # noqa: S105  the name of a field
LABELS: Final = words.labels((*NEW_FIELDS, PASSWORD))
LIST: Final = navigation.COMPANIES
NEW: Final = navigation.REGISTRATION
_HOLDS: Final = ("vehicles", "sensors", "directors", "drivers")
"""Lists with a filter by company."""
_REFUSES: Final = (
    companies.ServiceTypeTaken,
    companies.ForeignServiceType,
    companies.OneCompanyOnly,
    people.EmailTaken,
)


@page("GET", "/fleet/companies/new", access=Action.COMPANY_CREATE)
async def new(request: Call) -> Response[bytes]:
    """The form to register a partner, or the own company of an account without one."""
    visitor = await visitor_of(request)
    texts_of_new = dict.fromkeys(NEW_FIELDS, "")
    if visitor.company is None and visitor.role is Authority.COMPANY_ADMIN:
        # The name of a granted account is its address until the owner enters another one.
        name = "" if visitor.name == visitor.email else visitor.name
        texts_of_new |= {"picName": name, "picEmail": visitor.email}
    return _form(request, visitor, record_forms.shown(texts_of_new))


@page("POST", "/fleet/companies/new", access=Action.COMPANY_CREATE, refuses=_REFUSES)
async def register(request: Call) -> Response[bytes]:
    """Register a partner, or the own company of an account without one."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    now_ms = context.clock()
    try:
        said = _said(record_forms.typed(form, NEW_FIELDS))
        registration = companies.registration(
            operator=visitor.company is None, **said, pic_passwd=form.secret(PASSWORD) or None
        )
        password_hash = await accounts_of(request).passwords.hash(
            registration.pic_passwd, peers.requester_of(request, visitor.actor)
        )
        made = await context.store.write(
            lambda tx: service.register(
                tx,
                actor=visitor.actor,
                registration=registration,
                password_hash=password_hash,
                ids=context.ids,
                now_ms=now_ms,
                session_id=authentication.session_of(request),
            )
        )
    except Refusal as refusal:
        return _form(request, visitor, record_forms.refilled(form, NEW_FIELDS), error=forms.of_form(refusal))
    return views.moved(request, _path(made.id), notice="portal.companies.registered", name=made.name)


@page("GET", "/company", access=Action.COMPANY_READ)
async def own(request: Call) -> Response[bytes]:
    """The visitor's own company; an account without one is redirected to the registration."""
    visitor = await visitor_of(request)
    company_id = visitor.actor.company_id
    if company_id is None:
        if not visitor.may(Action.COMPANY_CREATE):
            raise Forbidden("without_company")
        return views.moved(request, NEW)
    return await _detail(request, company_id, up=None)


@page("GET", "/fleet/companies/{companyId}", access=Action.COMPANY_READ)
async def detail(request: Call) -> Response[bytes]:
    """A company, its administrators, and its recent history."""
    return await _detail(request, None, up=LIST)


@page("GET", "/fleet/companies/{companyId}/edit", access=Action.COMPANY_MODIFY)
async def edit(request: Call) -> Response[bytes]:
    """The form to change a company."""
    visitor, company = await visitor_and(request, partial(_to_change, request))
    return _form(request, visitor, record_forms.shown(texts(company)), company=company)


@page("POST", "/fleet/companies/{companyId}/edit", access=Action.COMPANY_MODIFY)
async def change(request: Call) -> Response[bytes]:
    """Change a company; refused if the record was changed meanwhile."""
    form, context = await forms.read(request), context_of(request)
    visitor, company = await visitor_and(request, partial(_to_change, request))
    said = record_forms.typed(form, FIELDS)
    after = await record_forms.saved(
        request,
        visitor,
        said,
        company,
        find=lambda tx: _to_change(request, tx, visitor),
        texts=texts,
        apply=lambda tx, now: service.change(
            tx, **changes.by(request, visitor.actor), company_id=now.id, named=_said(said)
        ),
        show=lambda now, shown, error: _form(request, visitor, shown, company=now, error=error),
    )
    if isinstance(after, Response):
        return after
    notifications.send(context.signals, notifications.company_changed(after.id))
    await fleet_of(request).settling.settled(PIPELINES)
    return views.moved(request, _path(after.id), notice="portal.companies.saved", name=after.name)


@page("GET", "/fleet/companies/{companyId}/delete", access=Action.COMPANY_DELETE)
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before a company is deleted, and show the effects or the obstacle."""
    return await deletions.ask(request, _to_delete)


@page("POST", "/fleet/companies/{companyId}/delete", access=Action.COMPANY_DELETE, refuses=(companies.InUse,))
async def delete(request: Call) -> Response[bytes]:
    """Delete a company, with its people and delegations."""

    def work(tx: WriteTx, by: By, company: Company) -> tuple[Notification, ...]:
        changed = service.delete(tx, **by, company_id=company.id)
        return (*notifications.deleted(changed), *notifications.company_changed(company.id))

    refuses = (companies.InUse,)
    return await deletions.carried_out(request, _to_delete, work, notice="portal.companies.deleted", refuses=refuses)


@page("GET", "/fleet/companies/{companyId}/history", access=Action.COMPANY_HISTORY_READ)
async def whole_history(request: Call) -> Response[bytes]:
    """The whole history of a company, its candidates and imports; also of a deleted one."""
    return await histories.whole(request, Thing.COMPANY, "companyId", base=LIST)


def kind_of_new(visitor: Visitor) -> str:
    """Key suffix of the texts about registering a company: it depends on the visitor's role and company."""
    if visitor.company is not None:
        return "new"
    return "new_operator" if visitor.role is Authority.SYS_ADMIN else "new_own"


def texts(company: Company) -> dict[str, str]:
    """The form's initial values."""
    return {name: words.text(getattr(company, record_forms.python_name(name))) for name in FIELDS}


def _said(typed: Mapping[str, str]) -> dict[str, Any]:
    """The submitted values by Python name; an empty text becomes None."""
    return {record_forms.python_name(name): text or None for name, text in typed.items()}


async def _detail(request: Call, own_id: CompanyId | None, *, up: str | None) -> Response[bytes]:
    def work(tx: ReadTx, visitor: Visitor) -> tuple[CompanyOverview, Lines | None]:
        company_id = parameters.company_id(request) if own_id is None else own_id
        found = overviews.company(tx, actor=visitor.actor, company_id=company_id)
        return found, histories.beside(tx, visitor, Thing.COMPANY, company_id, found.may)

    visitor, (found, lines) = await visitor_and(request, work)
    return views.show(
        request,
        "companies/detail.html",
        title=views.Plain(found.company.name),
        found=found,
        company=found.company,
        base=_path(found.company.id),
        values=texts(found.company),
        may={action.value for action in found.may},
        is_own=found.company.id == visitor.actor.company_id,
        holds=[noun for noun in _HOLDS if navigation.leads_to(request, visitor, f"/fleet/{noun}")],
        history=lines,
        list_path=up,
    )


def _form(
    request: Call, visitor: Visitor, shown: FormValues, *, company: Company | None = None, error: Refusal | None = None
) -> Response[bytes]:
    founds = company is None and visitor.company is None
    new = kind_of_new(visitor)
    is_own = company is None and new == "new_own"
    # Before registration, the list is empty: no link back to it.
    back = None if new == "new_own" else LIST
    return views.show(
        request,
        "companies/form.html",
        title="portal.companies.edit" if company else f"portal.companies.{new}",
        error=error,
        labels={**LABELS, PASSWORD: "portal.companies.password_own"} if is_own else LABELS,
        shown=shown,
        company=company,
        founds=founds,
        is_own=is_own,
        text=None if company else visitor.say(f"portal.companies.{new}_text"),
        up=back if company is None else _path(company.id),
    )


def _to_change(request: Call, tx: ReadTx, visitor: Visitor) -> Company:
    company_id = parameters.company_id(request)
    return service.find(tx, actor=visitor.actor, action=Action.COMPANY_MODIFY, company_id=company_id)


def _to_delete(tx: ReadTx, request: Call) -> tuple[Visitor, Doomed[Company]]:
    visitor = visitor_in(tx, request)
    company = service.find_to_delete(tx, actor=visitor.actor, company_id=parameters.company_id(request))
    goes, title, up = goes_with.company(tx, company.id), "portal.companies.delete", _path(company.id)
    blocked = "portal.companies.blocked" if goes_with.blocks_company(tx, company.id) else None
    return visitor, Doomed(company, "company", company.name, goes, title, up, list_path=LIST, blocked=blocked)


def _path(company_id: CompanyId) -> str:
    return f"{LIST}/{company_id}"
