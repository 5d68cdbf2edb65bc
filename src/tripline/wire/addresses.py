"""Addresses of peers in the form for counting, and the address that a proxy reports in `X-Forwarded-For`.

An IPv6 address is counted by its /64, the least that one subscriber gets. Only the last hop in the header counts: the
proxy in front wrote it, while the sender may have forged the earlier ones.
"""

import functools
import ipaddress
from typing import Final

UNKNOWN: Final = "unknown"
FORWARDED: Final = "x-forwarded-for"


def forwarded(hops: str) -> str:
    """The address in the last value of the header."""
    return form(hops.rpartition(",")[2].strip())


@functools.lru_cache(4_096)
def form(text: str) -> str:
    """The address in the form for counting; `unknown` when it cannot be parsed."""
    try:
        address = ipaddress.ip_address(_without_port(text))
    except ValueError:
        return UNKNOWN
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
