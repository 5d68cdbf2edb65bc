"""Companies: registering, reading, changing, deleting and listing them."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tripline.domain import access, companies, fields
from tripline.domain import history as entries
from tripline.domain.access import Action, Actor, Authority, Reach, Scope
from tripline.domain.companies import Company, Details, Registration
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, SensorId, TimeIds, no_of
from tripline.domain.pushes import Channel
from tripline.domain.refusals import Forbidden, NotFound
from tripline.services.accounts import links, registry
from tripline.services.accounts.tokens import TokenUnreadable
from tripline.services.fleet import history, removal
from tripline.store import lists
from tripline.store.accounts import accounts
from tripline.store.fleet import companies as rows
from tripline.store.fleet import people
from tripline.store.listing import companies as listing
from tripline.store.push import receiver_state
from tripline.store.transactions import ReadTx, WriteTx


def register(
    tx: WriteTx,
    *,
    actor: Actor,
    registration: Registration,
    password_hash: str,
    ids: TimeIds,
    now_ms: int,
    session_id: str | None = None,
) -> Company:
    """Register a company; its administrator logs in with picEmail and picPasswd (rule 6).

    A partner joins the service type and the operator of the registering company (G32, H2). A granted account becomes an
    administrator of the operator it registers. If picEmail is its own address, it is the administrator: picPasswd
    becomes its password, and its other sessions and links end. Otherwise it is one beside the administrator named.

    Raises `companies.ServiceTypeTaken`, `companies.ForeignServiceType`, `companies.OneCompanyOnly` and
    `people.EmailTaken`.
    """
    access.scope_of(actor, Action.COMPANY_CREATE)
    company_id = CompanyId(ids.next(now_ms=now_ms))
    registrar = None if actor.company_id is None else own(tx, actor=actor)
    if registrar is None:
        service_type = fields.required("serviceType", registration.service_type)
    else:
        service_type = companies.partner_service_type(registration.service_type, registrar=registrar.service_type)
    new = Company(
        **msgspec.structs.asdict(registration.details),
        id=company_id,
        created_ms=now_ms,
        service_type=service_type,
        master=registrar is None,
        master_id=company_id if registrar is None else registrar.master_id,
        registered_by_id=None if registrar is None else registrar.id,
        token_prefix=_free_prefix(tx, company_id),
    )
    rows.insert_new(tx, new)
    said = entries.first_values(companies.without_credentials(new), Details.__struct_fields__)
    history.note(tx, actor, Event.REGISTERED, company_id=company_id, changes=said, ids=ids, now_ms=now_ms)
    if registrar is None and actor.authority is Authority.COMPANY_ADMIN:
        _join(tx, actor, new)
    if _names_itself(tx, actor, registration):
        _introduce(tx, actor, registration, password_hash, session_id, now_ms)
    else:
        _create_administrator(tx, actor, new, password_hash, ids, now_ms)
    return new


def read(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Company:
    """The company. Raises `NotFound` or `Forbidden`."""
    return find(tx, actor=actor, action=Action.COMPANY_READ, company_id=company_id)


def mine(tx: ReadTx, *, actor: Actor) -> Company:
    """The actor's company. Raises `NotFound` for an account without one."""
    if actor.company_id is None:
        raise NotFound("without_company")
    return read(tx, actor=actor, company_id=actor.company_id)


def own(tx: ReadTx, *, actor: Actor) -> Company:
    """The actor's company. Raises `Forbidden` for an account without one.

    Raises `TokenUnreadable` if the account was deleted after authentication, alone or with its company: a registration
    would refer to deleted rows.
    """
    company_id = access.company_of(actor)
    if accounts.actor(tx, actor.user_id) is None:
        raise TokenUnreadable("account_gone")
    return read(tx, actor=actor, company_id=company_id)


def require_service_type(tx: ReadTx, *, actor: Actor, service_type: str) -> None:
    """Let pass an actor of the service type. Raises `Forbidden` for another one, whether it exists or not."""
    _refuse_other(own(tx, actor=actor), service_type)


def change(
    tx: WriteTx, *, actor: Actor, company_id: CompanyId, named: Mapping[str, Any], ids: TimeIds, now_ms: int
) -> Company:
    """Update some fields of the company and return it (`companies.changed`). Raises `NotFound`, `Forbidden` and
    `BadParameter`.

    Messages waiting for a receiver with a changed address are sent at once.
    """
    before = find(tx, actor=actor, action=Action.COMPANY_MODIFY, company_id=company_id)
    details = companies.changed(before, named)
    rows.change(tx, company_id, details)
    after = replace(before, **msgspec.structs.asdict(details))
    changes = _told(before, after)
    history.note(tx, actor, Event.CHANGED, company_id=company_id, changes=changes, ids=ids, now_ms=now_ms)
    moved = [channel for channel in Channel if _address(before, channel) != _address(after, channel)]
    receiver_state.readdressed(tx, company_id, moved, now_ms=now_ms)
    return after


def _address(company: Company, channel: Channel) -> tuple[object, ...]:
    """The fields that say where messages go."""
    if channel is Channel.NOTIFY:
        return (company.notify_host,)
    return company.rpc_notify_host, company.rpc_notify_port, company.rpc_notify_base_path


def find(tx: ReadTx, *, actor: Actor, action: Action, company_id: CompanyId) -> Company:
    """The company, if the actor may do the action on it. Raises `NotFound` or `Forbidden`."""
    return access.admitted(rows.find(tx, access.scope_of(actor, action), company_id), access.Thing.COMPANY)


def find_to_delete(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> Company:
    """The company, if the actor may delete it; its own is refused. Raises `NotFound` or `Forbidden`."""
    access.scope_of(actor, Action.COMPANY_DELETE)
    if company_id == actor.company_id:
        raise Forbidden("delete_oneself")
    return find(tx, actor=actor, action=Action.COMPANY_DELETE, company_id=company_id)


def delete(tx: WriteTx, *, actor: Actor, company_id: CompanyId, ids: TimeIds, now_ms: int) -> AbstractSet[SensorId]:
    """Delete the company; the sensors that changed. Raises `NotFound`, `Forbidden` or `companies.InUse`."""
    company = find_to_delete(tx, actor=actor, company_id=company_id)
    return removal.company(tx, actor, company, ids=ids, now_ms=now_ms)


def admit_to_service_type(tx: ReadTx, *, actor: Actor, service_type: str | None) -> None:
    """Let pass who may list companies of the service type; None: of every one within reach.

    Raises `Forbidden` for another one than the actor's own, whether it exists or not.
    """
    within(tx, actor, service_type)


def listed(tx: ReadTx, *, actor: Actor, service_type: str | None, window: lists.Window) -> Sequence[Company]:
    """The companies within the actor's reach, by name. Raises `Forbidden` and `UnknownOffset`."""
    scope, known = within(tx, actor, service_type)
    return rows.listed(tx, scope, known, window)


def count_partners(tx: ReadTx, *, actor: Actor, service_type: str | None) -> int:
    """How many partners are within the actor's reach. Raises `Forbidden`."""
    scope, known = within(tx, actor, service_type)
    return listing.LIST.count(tx, scope, listing.Filters(service_type=known, operators=False))


def within(tx: ReadTx, actor: Actor, service_type: str | None) -> tuple[Scope, str | None]:
    """The scope of a list of companies and its service type; None: of all. Raises `Forbidden`."""
    scope = access.scope_of(actor, Action.COMPANY_LIST)
    if Reach.ANY in scope.reaches:
        return scope, service_type
    company = own(tx, actor=actor)
    _refuse_other(company, service_type)
    if not company.master:
        # A partner has no partners of its own; asked for them, the store would look through its whole service type.
        scope = replace(scope, reaches=scope.reaches & {Reach.OWN_COMPANY})
    return scope, company.service_type


def _refuse_other(company: Company, service_type: str | None) -> None:
    if service_type not in (None, company.service_type):
        raise Forbidden("service_type")


def _free_prefix(tx: ReadTx, company_id: CompanyId) -> str:
    """A token prefix that no company has, taken from the instant of the registration."""
    first = no_of(company_id)
    candidates = (companies.prefix_of((first + step) % companies.PREFIXES) for step in range(companies.PREFIXES))
    return next(prefix for prefix in candidates if not rows.has_prefix(tx, prefix))


def _join(tx: WriteTx, actor: Actor, company: Company) -> None:
    """The granted account becomes an administrator of its company; of one only, also when it asks twice at once."""
    if not people.join_company(tx, actor.user_id, company.id):
        raise companies.OneCompanyOnly()


def _names_itself(tx: ReadTx, actor: Actor, registration: Registration) -> bool:
    """True if a granted account named its own address as the administrator's."""
    if actor.company_id is not None or actor.authority is not Authority.COMPANY_ADMIN:
        return False
    named = accounts.credentials(tx, registration.details.pic_email)
    return named is not None and named.user_id == actor.user_id


def _introduce(
    tx: WriteTx, actor: Actor, registration: Registration, password_hash: str, session_id: str | None, now_ms: int
) -> None:
    """Store the administrator's details and password from the registration in the registering account."""
    details = registration.details
    people.introduce(tx, actor.user_id, name=details.pic_name, phone=details.pic_phone, division=details.pic_division)
    links.set_password(tx, user_id=actor.user_id, password_hash=password_hash, now_ms=now_ms, kept=session_id)


def _create_administrator(
    tx: WriteTx, actor: Actor, company: Company, password_hash: str, ids: TimeIds, now_ms: int
) -> None:
    user_id = registry.create(
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
    history.note(tx, actor, Event.REGISTERED, company_id=company.id, user_id=user_id, ids=ids, now_ms=now_ms)


def _told(before: Company, after: Company) -> tuple[Change, ...]:
    """Changes for the history; credentials in an address are recorded only as changed."""
    shown, now_shown = companies.without_credentials(before), companies.without_credentials(after)
    hidden = tuple(name for name in _ADDRESSES if getattr(shown, name) == getattr(now_shown, name))
    raw = entries.differences(before, after, hidden, secret=hidden)
    return (*entries.differences(shown, now_shown, Details.__struct_fields__), *raw)


_ADDRESSES: Final = ("notify_host", "rpc_notify_host", "rpc_notify_base_path")
