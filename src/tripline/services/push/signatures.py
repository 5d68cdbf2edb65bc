"""Signatures of messages to customers' servers: the Standard Webhooks headers (spec/push 3), scheme `v1`.

The signature covers `id.timestamp.body`, so a receiver can check the origin and age of a message, and detect
repetitions. A secret is shown as `whsec_` and base64, as receivers' libraries expect.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

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
