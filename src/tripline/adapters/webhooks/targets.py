"""The address of a customer's server taken apart: where to connect, and its form in the request.

Registered addresses are untrusted text: every part is checked before it enters a request, a name and password in it
are dropped, and error texts never repeat it.
"""

import ipaddress
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec

from tripline.ports.webhooks import WebhookFailedError

_PORTS: Final = {"http": 80, "https": 443}
# fmt: off
_OTHER_SERVICES: Final = frozenset({
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
    5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
})
# fmt: on
"""Ports that browsers refuse (Fetch, "bad port"): some services act on any line they recognise, and a device writes the
body of a result. A customer's device could make this server send mail.
"""
_PATH: Final = "/:@!$&'()*+,;=-._~%"
_HOST_MAX: Final = 253


class Target(msgspec.Struct, frozen=True):
    """Where a request goes."""

    tls: bool
    host: str
    """Name or address, as certificates and resolvers know it."""
    port: int
    host_header: str
    path: str
    """With the query."""


@lru_cache(maxsize=1_024)
def target(url: str) -> Target:
    """The parts of an http or https address. Raises `WebhookFailedError`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        host = _host(parts.hostname or "")
    except (ValueError, UnicodeError) as error:
        raise WebhookFailedError("The address cannot be read.") from error
    usual = _PORTS.get(parts.scheme)
    if usual is None:
        raise WebhookFailedError("The address is neither http nor https.")
    if port == 0:
        raise WebhookFailedError("The address does not have a usable port.")
    if port in _OTHER_SERVICES:
        raise WebhookFailedError("The port belongs to a service other than a web server.")
    path = quote(parts.path or "/", safe=_PATH)
    if parts.query:
        path += "?" + quote(parts.query, safe=_PATH + "?")
    shown = f"[{host}]" if ":" in host else host
    return Target(
        tls=parts.scheme == "https",
        host=host,
        port=port or usual,
        host_header=shown if port in (None, usual) else f"{shown}:{port}",
        path=path if path.startswith("/") else f"/{path}",
    )


def _host(text: str) -> str:
    """The host in ASCII. Raises ValueError or UnicodeError."""
    if ":" in text:
        if "%" in text:
            raise ValueError  # a zone is any text, and means something on one machine only
        return str(ipaddress.IPv6Address(text))
    host = text.encode("idna").decode("ascii") if not text.isascii() else text
    if not host or len(host) > _HOST_MAX or not all(char.isalnum() or char in "-._" for char in host):
        raise ValueError
    return host
