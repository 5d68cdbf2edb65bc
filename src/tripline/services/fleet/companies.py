"""Registering and reading companies."""

from dataclasses import asdict

from tripline.domain import access, companies
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.companies import Company, Registration
from tripline.domain.ids import CompanyId, TimeIds, no_of
from tripline.domain.refusals import NotFound
from tripline.services.accounts import registry
from tripline.store import accounts, people
from tripline.store import companies as rows
from tripline.store.transactions import ReadTx, WriteTx


def register(
    tx: WriteTx, *, actor: Actor, registration: Registration, password_hash: str, ids: TimeIds, now_ms: int
) -> Company:
    """The new company; its administrator logs in with picEmail and picPasswd (rule 6).

    A partner joins the service type and the operator of the registering company (G32, H2). A granted account becomes
    an administrator of the operator it registers: the one that picEmail names when that is its own address, else
    beside that one. Raises `companies.ServiceTypeTaken`, `companies.ForeignServiceType`, `companies.OneCompanyOnly`
    and `people.EmailTaken`.
    """
    access.scope_of(actor, Action.COMPANY_CREATE)
    company_id = CompanyId(ids.next(now_ms=now_ms))
    registrar = None if actor.company_id is None else own(tx, actor=actor)
    if registrar is None:
        service_type = companies.operator_service_type(registration.service_type)
    else:
        service_type = companies.partner_service_type(registration.service_type, registrar=registrar.service_type)
    new = Company(
        **asdict(registration.details),
        id=company_id,
        created_ms=now_ms,
        service_type=service_type,
        master=registrar is None,
        master_id=company_id if registrar is None else registrar.master_id,
        registered_by_id=None if registrar is None else registrar.id,
        token_prefix=_free_prefix(tx, company_id),
    )
    rows.insert_new(tx, new)
    if registrar is None and actor.authority is Authority.COMPANY_ADMIN:
        _join(tx, actor, new)
    if _names_itself(tx, actor, registration):
        _introduce(tx, actor, registration, password_hash, now_ms)
    else:
        _create_administrator(tx, new, password_hash, ids, now_ms)
    return new


def read(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Company:
    """The company. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.COMPANY_READ)
    return access.admitted(rows.find(tx, scope, company_id), "company")


def mine(tx: ReadTx, *, actor: Actor) -> Company:
    """The actor's company. Raises `NotFound` for an account without one."""
    if actor.company_id is None:
        raise NotFound("This account belongs to no company.")
    return read(tx, actor=actor, company_id=actor.company_id)


def require(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> None:
    """Let pass an actor who may see the company. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.COMPANY_READ)
    access.admit(rows.inside(tx, scope, company_id), "company")


def own(tx: ReadTx, *, actor: Actor) -> Company:
    """The actor's company. Raises `Forbidden` for an account without one."""
    return read(tx, actor=actor, company_id=access.company_of(actor))


def _free_prefix(tx: ReadTx, company_id: CompanyId) -> str:
    """A token prefix that no company has, taken from the instant of the registration."""
    first = no_of(company_id)
    candidates = (companies.prefix_of((first + step) % companies.PREFIXES) for step in range(companies.PREFIXES))
    return next(prefix for prefix in candidates if not rows.has_prefix(tx, prefix))


def _join(tx: WriteTx, actor: Actor, company: Company) -> None:
    """The granted account becomes an administrator of its company; of one only, also when it asks twice at once."""
    if not people.join_company(tx, actor.user_id, company.id):
        raise companies.OneCompanyOnly("This account has registered its company already.")


def _names_itself(tx: ReadTx, actor: Actor, registration: Registration) -> bool:
    """Whether a granted account named its own address as the administrator's."""
    if actor.company_id is not None or actor.authority is not Authority.COMPANY_ADMIN:
        return False
    named = accounts.credentials(tx, registration.details.pic_email)
    return named is not None and named.user_id == actor.user_id


def _introduce(tx: WriteTx, actor: Actor, registration: Registration, password_hash: str, now_ms: int) -> None:
    details = registration.details
    people.introduce(
        tx,
        actor.user_id,
        name=details.pic_name,
        phone=details.pic_phone,
        division=details.pic_division,
        password_hash=password_hash,
        now_ms=now_ms,
    )


def _create_administrator(tx: WriteTx, company: Company, password_hash: str, ids: TimeIds, now_ms: int) -> None:
    registry.create(
        tx,
        company_id=company.id,
        authority=Authority.COMPANY_ADMIN,
        name=company.pic_name,
        email=company.pic_email,
        phone=company.pic_phone,
        division=company.pic_division,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
        email_field="picEmail",
    )
