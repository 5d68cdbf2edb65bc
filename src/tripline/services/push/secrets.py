"""The secret that signs a company's pushes: created on first use, shown to and changed by its administrators."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

from tripline.domain.ids import CompanyId
from tripline.store.push import secrets as push_secrets
from tripline.store.push.secrets import Secret
from tripline.store.transactions import WriteTx

SECRET_BYTES: Final = 32
PREFIX: Final = "whsec_"
_MS: Final = 1_000


def shown(secret: bytes) -> str:
    """Format a secret as receivers configure it."""
    return PREFIX + base64.b64encode(secret).decode()


def signature(secret: bytes, *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """One signature of a message: `v1,` and the base64 of an HMAC-SHA256."""
    signed = hmac.digest(secret, f"{message_id}.{timestamp_s}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def headers(secrets: Sequence[bytes], *, message_id: str, body: bytes, now_ms: int) -> tuple[tuple[str, str], ...]:
    """The three headers; several secrets give several signatures, separated by a space."""
    timestamp_s = now_ms // _MS
    signed = [signature(each, message_id=message_id, timestamp_s=timestamp_s, body=body) for each in secrets]
    return (
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp_s)),
        ("webhook-signature", " ".join(signed)),
    )


FORMER_MS: Final = 24 * 3_600_000
"""How long the former secret also signs, so that receivers can switch without losing a message."""


def of(tx: WriteTx, company_id: CompanyId, *, now_ms: int) -> Secret:
    """Return the company's secret, creating it if missing; the caller checked permission."""
    found = push_secrets.find(tx, company_id)
    if found is None:
        found = Secret(now_ms, secrets.token_bytes(SECRET_BYTES), None, None)
        push_secrets.put(tx, company_id, found)
    return found


def rotate(tx: WriteTx, company_id: CompanyId, *, now_ms: int) -> Secret:
    """Replace the company's secret; the replaced one also signs for a day, and an earlier one is forgotten."""
    before = of(tx, company_id, now_ms=now_ms)
    after = Secret(now_ms, secrets.token_bytes(SECRET_BYTES), before.secret, now_ms + FORMER_MS)
    push_secrets.put(tx, company_id, after)
    return after
