"""Forgotten passwords: requesting a link by mail, and setting a password with it.

A request does the same work for existing and unknown accounts; the account is read when the mail is sent
(`postman.py`).
"""

from tripline.domain.ids import TimeIds
from tripline.language.catalogue import Language
from tripline.services.accounts import letters, links
from tripline.services.accounts.hash_turns import Requester
from tripline.services.accounts.login import Attempts
from tripline.services.accounts.passwords import Passwords
from tripline.store.accounts import accounts, mail_outbox
from tripline.store.transactions import Store, WriteTx


def ask(tx: WriteTx, *, email: str, language: Language, ids: TimeIds, now_ms: int) -> None:
    """Let a mail with a link go to the account with this address, if there is one."""
    mail_outbox.add(tx, ids=ids, kind=letters.Kind.RESET, recipient=email, language=language, now_ms=now_ms)


async def set_password(
    store: Store, *, token: str, password: str, attempts: Attempts, passwords: Passwords, ids: TimeIds
) -> None:
    """Set the password of the link's account; nothing holds up its next log-in from this address. Raises
    `LinkUnusable`, `TooManyLogins`."""
    now_ms = attempts.now_ms
    user_id = await store.read_short(lambda tx: links.holder(tx, token=token, now_ms=now_ms))
    password_hash = await passwords.hash(password, Requester(user_id, attempts.address, known=True))

    def spend(tx: WriteTx) -> str:
        user_id = links.spend(tx, token=token, password_hash=password_hash, now_ms=now_ms)
        found, actor = accounts.credentials_of(tx, user_id), accounts.actor(tx, user_id)
        assert found is not None
        assert actor is not None
        links.note_password(tx, actor, ids=ids, now_ms=now_ms)
        return found.email

    attempts.limits.logins.forgive(accounts.login_form(await store.write(spend)), attempts.address)
