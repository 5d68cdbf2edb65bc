"""The HTTP request that carries a message: its address, its headers, its body from the outbox.

A message to `notifyHost` is the body. A result for `rpcNotify*` has the device's own bytes as its body, so headers
identify its call (spec/push 4.3). Both are signed.
"""

from typing import Final
from urllib.parse import quote

import msgspec

from tripline.domain.pushes import Channel
from tripline.ports.webhooks import Webhook
from tripline.services.push import signatures
from tripline.services.push.secrets import Sign
from tripline.store.push.queue import Content, Row

JSON: Final = ("Content-Type", "application/json; charset=utf-8")
BYTES: Final = ("Content-Type", "application/octet-stream")
_VISIBLE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def request(channel: Channel, row: Row, content: Content, *, url: str, sign: Sign, now_ms: int) -> Webhook:
    """Build the request for one attempt at a message."""
    signed = signatures.headers(sign.at(now_ms), message_id=row.id, body=content.body, now_ms=now_ms)
    if channel is Channel.NOTIFY:
        return Webhook(url, (JSON, *signed), content.body)
    about = (
        ("X-Request-Id", content.request_id or ""),
        ("X-Sensor-Id", content.sensor_id),
        ("X-Rpc-Method", header_text(content.method or "")),
    )
    return Webhook(url, (JSON if _is_json(content.body) else BYTES, *about, *signed), content.body)


def header_text(text: str) -> str:
    """Encode text as a header value: percent signs and anything but visible ASCII become percent-encoded UTF-8."""
    return quote(text, safe=_VISIBLE, errors="replace")


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
