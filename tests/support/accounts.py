"""Accounts of no company whose password is known, for tests that log in as people do."""

from tests.support.rest import Rest
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import registry


async def with_password(app: Rest, email: str, password: str, authority: Authority = Authority.COMPANY_ADMIN) -> UserId:
    """A new account's id."""
    known = {"email": email, "password_hash": app.passwords.hash_now(password)}
    return await app.store.write(lambda tx: registry.create_alone(tx, authority, **known, ids=app.ids, now_ms=1))
