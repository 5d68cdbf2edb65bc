"""The secret that signs what is pushed to a company: made on first need, shown to and changed by its administrators."""

import secrets
from typing import Final

import msgspec

from tripline.domain.ids import CompanyId
from tripline.services.push.signatures import SECRET_BYTES
from tripline.store.push import secrets as push_secrets
from tripline.store.push.secrets import Secret
from tripline.store.transactions import WriteTx

FORMER_MS: Final = 24 * 3_600_000
"""How long the former secret signs too, so that receivers can be given the new one without losing a message."""


class Sign(msgspec.Struct, frozen=True):
    """What signs messages to a company."""

    secret: bytes
    former: bytes | None
    former_until_ms: int | None

    def at(self, now_ms: int) -> tuple[bytes, ...]:
        """The secrets that sign at this instant, the present one first."""
        if self.former is None or self.former_until_ms is None or now_ms >= self.former_until_ms:
            return (self.secret,)
        return self.secret, self.former


def of(tx: WriteTx, company_id: CompanyId, *, now_ms: int) -> Secret:
    """The company's secret, made when it has none; the caller checked permission."""
    found = push_secrets.find(tx, company_id)
    if found is None:
        found = Secret(now_ms, secrets.token_bytes(SECRET_BYTES), None, None)
        push_secrets.put(tx, company_id, found)
    return found


def rotate(tx: WriteTx, company_id: CompanyId, *, now_ms: int) -> Secret:
    """Another secret in place of the company's, which signs too for a day; one that was former is forgotten."""
    before = of(tx, company_id, now_ms=now_ms)
    after = Secret(now_ms, secrets.token_bytes(SECRET_BYTES), before.secret, now_ms + FORMER_MS)
    push_secrets.put(tx, company_id, after)
    return after
