"""The address of a receiver: a company's registration as a URL (spec/push 1, 4.3).

Not here: which addresses are permitted (`adapters/webhooks/addresses.py`).
"""

import re
from typing import Final

from tripline.domain.pushes import Channel
from tripline.store.push.queue import Addresses

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
