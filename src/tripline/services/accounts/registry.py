"""New accounts, and the acting account of a command. The password is hashed before the transaction
(`services/accounts/passwords.py`)."""

from tripline.domain import people
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, TimeIds, UserId
from tripline.domain.refusals import NotFound
from tripline.store.accounts import accounts
from tripline.store.transactions import ReadTx, WriteTx


def acting_as(tx: ReadTx, *, email: str) -> Actor:
    """The enabled account with this e-mail address, for a command of the data folder's owner. Raises `NotFound`."""
    known = accounts.credentials(tx, email)
    actor = None if known is None else accounts.actor(tx, known.user_id)
    if actor is None:
        raise NotFound("account", email=email)
    return actor


def create(
    tx: WriteTx,
    *,
    authority: Authority,
    name: str,
    email: str,
    password_hash: str,
    ids: TimeIds,
    now_ms: int,
    company_id: CompanyId | None = None,
    phone: str | None = None,
    division: str | None = None,
    email_field: str = "email",
) -> UserId:
    """The id of a new, enabled account. Raises `people.EmailTaken` when another one logs in with the same e-mail
    address; `email_field` is the name that the sender gave the address."""
    user_id = UserId(ids.next(now_ms=now_ms))
    accounts.add(
        tx,
        {
            "id": user_id,
            "created_ms": now_ms,
            "company_id": company_id,
            "authority": authority.value,
            "name": name,
            "email": email,
            "phone": phone,
            "division": division,
            "password_hash": password_hash,
            "password_updated_ms": now_ms,
            "enabled": True,
        },
        taken=people.email_taken(email_field, email),
    )
    return user_id


def create_alone(
    tx: WriteTx, authority: Authority, *, email: str, password_hash: str, ids: TimeIds, now_ms: int
) -> UserId:
    """Create an account without a company, named by its address. Raises `people.EmailTaken`.

    A platform administrator registers operator companies; a company administrator may register its own operator
    company; a carrier may only submit line actions.
    """
    return create(tx, authority=authority, name=email, email=email, password_hash=password_hash, ids=ids, now_ms=now_ms)
