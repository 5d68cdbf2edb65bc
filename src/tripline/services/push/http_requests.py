"""The HTTP request that carries a message: its address, its headers, its body from the outbox.

A message to `notifyHost` is the body. A result for `rpcNotify*` has the device's own bytes as its body, so headers
identify its call (spec/push 4.3). Both are signed.
"""

import re
from typing import Final
from urllib.parse import quote

import msgspec

from tripline.domain.pushes import Channel
from tripline.ports.webhooks import Webhook
from tripline.services.push import secrets
from tripline.store.push.queue import Addresses, Content, Row
from tripline.store.push.secrets import Secret

JSON: Final = ("Content-Type", "application/json; charset=utf-8")
BYTES: Final = ("Content-Type", "application/octet-stream")
_VISIBLE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def request(channel: Channel, row: Row, content: Content, *, url: str, secret: Secret, now_ms: int) -> Webhook:
    """Build the request for one attempt at a message."""
    signed = secrets.headers(secret.valid(now_ms), message_id=row.id, body=content.body, now_ms=now_ms)
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


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_AUTHORITY: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)(.*)", re.DOTALL)
_HAS_PORT: Final = re.compile(r"(?:.*@)?(?:\[[^\]]*\]|[^:\[\]]*):[0-9]+")
_BARE_IPV6: Final = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")


def url_of(channel: Channel, addresses: Addresses) -> str | None:
    """Return the URL of one of a company's two addresses; None: it has none."""
    if channel is Channel.NOTIFY:
        host = (addresses.notify_host or "").strip()
        return _with_scheme(host) if host else None
    host = (addresses.rpc_notify_host or "").strip()
    return _rpc(host, addresses.rpc_notify_port, addresses.rpc_notify_base_path) if host else None


def _rpc(host: str, port: int | None, base_path: str | None) -> str:
    """`http://{host}:{port}{basePath}`; a host with its own scheme, port or path is extended by the rest."""
    parts = _AUTHORITY.fullmatch(_with_scheme(host))
    assert parts is not None
    scheme, authority, rest = parts.groups()
    if port is not None and not _HAS_PORT.fullmatch(authority):
        authority = f"{authority}:{port}"
    path = (base_path or "").strip()
    if path:
        rest = f"{rest.rstrip('/')}/{path.lstrip('/')}"
    return f"{scheme}{authority}{rest}"


def _with_scheme(host: str) -> str:
    if _SCHEME.match(host):
        return host
    return f"http://[{host}]" if _BARE_IPV6.fullmatch(host) else f"http://{host}"
