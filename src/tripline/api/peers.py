"""From where a request comes, as far as it can be believed; for counting, not for letting in.

`X-Forwarded-For` is read only when the operator says that a proxy stands in front (`behind_proxy`), and only its last
hop: that one the proxy wrote itself, the ones before it are what the sender claims. An IPv6 address stands for its /64,
which is what one subscriber is given at least.
"""

import ipaddress
from typing import Final

from tripline.api.rim import Call, rim_of
from tripline.services.accounts.login import Attempts

_UNKNOWN: Final = "unknown"
_HEADER: Final = "x-forwarded-for"


def address_of(request: Call) -> str:
    """The address of whoever asks, in one form; `unknown` when there is none that can be read."""
    if rim_of(request).behind_proxy and (hops := request.headers.getall(_HEADER, [])):
        return _form(hops[-1].rpartition(",")[2].strip())
    peer = request.scope.get("client")
    return _form(peer[0]) if peer else _UNKNOWN


def attempts_of(request: Call) -> Attempts:
    """Attempts at a password from where this request comes."""
    rim = rim_of(request)
    return Attempts(rim.limits.logins, address_of(request), rim.clock())


def _form(text: str) -> str:
    try:
        address = ipaddress.ip_address(_without_port(text))
    except ValueError:
        return _UNKNOWN
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)


def _without_port(text: str) -> str:
    """Some proxies write `192.0.2.1:5000` and `[2001:db8::1]:5000`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
