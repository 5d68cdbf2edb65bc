"""Records of people: administrators, directors, drivers; and the account that joins the company it registers.

Not here: log-in, tokens and new accounts (`store/accounts/accounts.py`), driving data
(`store/erasure/remains.py`, `store/trips/trips.py`), rights on vehicles (`rights.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, literal, or_, select, update

from tripline.domain import people
from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.people import Change, User
from tripline.store import lists, reach, records, scopes
from tripline.store.accounts import accounts
from tripline.store.accounts.accounts import login_form
from tripline.store.database import uniqueness
from tripline.store.erasure import erasures
from tripline.store.listing import people as listing
from tripline.store.tables import account, mail_outbox, trip, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

Roles = tuple[Authority, ...]

_LOOKED_UP: Final[dict[str, ColumnElement[str]]] = {
    "vehicle_id": select(func.min(vehicle.c.id)).where(vehicle.c.current_driver_id == account.c.id).scalar_subquery(),
    "latest_trip_id": select(trip.c.id)
    .where(trip.c.id == account.c.latest_trip_id, erasures.kept(trip.c.vehicle_id))
    .scalar_subquery(),
}
"""The vehicle driven now; the trip driven last, unless its vehicle was deleted a moment ago."""
_COLUMNS: Final[list[ColumnElement[Any]]] = [
    _LOOKED_UP[name].label(name) if name in _LOOKED_UP else account.c[name] for name in User.__struct_fields__
]


_user: Final = records.maker(User)


def find(tx: ReadTx, scope: Scope, roles: Roles, user_id: UserId) -> tuple[User, bool] | None:
    """The account and whether it is inside the scope, or None when none with one of these roles has this id."""
    return scopes.found(tx.hot(_find(scope.reaches, roles), user_id, scope.user_id, scope.company_id), _user)


def find_by_email(tx: ReadTx, scope: Scope, email: str) -> tuple[User, bool] | None:
    """As `find`, the account that logs in with this address."""
    of_login = _with_inside(scope.reaches).where(account.c.login == login_form(email))
    return scopes.found(tx.all(of_login, scopes.values(scope)), _user)


def own(tx: ReadTx, user_id: UserId) -> User | None:
    """The account that asks for itself."""
    rows = tx.hot(_OWN, user_id)
    return _user(rows[0]) if rows else None


def of_company(
    tx: ReadTx, scope: Scope, company_id: CompanyId, role: Authority, window: lists.Window
) -> Sequence[User]:
    """The company's people with this role inside the scope, by name. Raises `UnknownOffset`."""
    filters = {"company_id": company_id, "role": role.value}
    return [_user(row) for row in lists.page(tx, _LIST, scope, filters, window)]


def ids_of_company(tx: ReadTx, company_id: CompanyId) -> list[UserId]:
    """Every account of a company that is about to be deleted. The caller checked permission."""
    return [UserId(row.id) for row in tx.all(select(account.c.id).where(account.c.company_id == company_id))]


def has_other_administrator(tx: ReadTx, company_id: CompanyId, user_id: UserId) -> bool:
    """True if the company has another administrator whose account is enabled."""
    is_administrator = account.c.authority == Authority.COMPANY_ADMIN.value
    return (
        tx.count(account.c.company_id == company_id, is_administrator, account.c.id != user_id, account.c.enabled) > 0
    )


def join_company(tx: WriteTx, user_id: UserId, company_id: CompanyId) -> bool:
    """Make the account, which is the actor's own, one of the company; False when it belongs to a company already."""
    return tx.run(_JOIN, {"key": user_id, "company_id": company_id}) == 1


def introduce(tx: WriteTx, user_id: UserId, *, name: str, phone: str | None, division: str | None) -> None:
    """Store the actor's details from a registration in its own account."""
    accounts.change(tx, user_id, name=name, phone=phone, division=division)


def change(tx: WriteTx, user_id: UserId, new: Change, *, password_hash: str | None, now_ms: int) -> None:
    """Write a partial update into an account; without a hash the password stays. The caller checked permission.

    Raises `people.EmailTaken` when another account logs in with the address.
    """
    values: dict[str, str | int | None] = {"name": new.name, "phone": new.phone}
    values |= {"email": new.email, "login": login_form(new.email)}
    if password_hash is not None:
        values |= {"password_hash": password_hash, "password_updated_ms": now_ms}
    with uniqueness.refusing(((account.c.login,), people.email_taken("email", new.email))):
        accounts.change(tx, user_id, **values)


def remove(tx: WriteTx, user_id: UserId) -> None:
    """Delete an account and the mails that wait for it; nothing else may name it. The caller checked permission."""
    tx.run(delete(mail_outbox).where(mail_outbox.c.account_id == user_id))
    tx.run(delete(account).where(account.c.id == user_id))
    reach.forget_principal(tx, user_id)


@cache
def _find(reaches: scopes.Reaches, roles: Roles) -> Hot:
    # Spelled out: a hot statement knows no lists.
    one_of = or_(*(account.c.authority == literal(role.value) for role in roles))
    statement = _with_inside(reaches).where(account.c.id == bindparam("id"), one_of)
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)


def _with_inside(reaches: scopes.Reaches) -> Select[Any]:
    return select(*_COLUMNS, scopes.accounts(reaches))


_OWN: Final = Hot(select(*_COLUMNS).where(account.c.id == bindparam("id")), "id")
_JOIN: Final = update(account).where(account.c.id == bindparam("key"), account.c.company_id.is_(None))
_LIST: Final = lists.by_name(listing.SPEC, account, _COLUMNS)
