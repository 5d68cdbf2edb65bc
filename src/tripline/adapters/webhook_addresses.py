"""The address guard: which addresses a customer's server may have, and the look-up of names under it (push.md 3).

Every address that a name stands for is checked, and the one that was checked is the one that is connected to: a name
that changes between look and connection gains nothing. Look-ups run on threads of their own, few and never waited for
longer than the caller's time, so that a name server that is away holds up nobody else.
"""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from tripline.ports import WebhookFailedError

FRESH_S: Final = 60.0
"""How long what was found for a name is not asked for again."""
STALE_S: Final = 3_600.0
"""How long it may be used when the name cannot be looked up at the moment."""
LOOKUP_S: Final = 3.0
"""How long a look-up is waited for."""
LOOKUPS_MAX: Final = 32
"""Look-ups under way; the thread of one that hangs ends with it."""
NAMES_MAX: Final = 4_096
ADDRESSES_MAX: Final = 8
"""Addresses of one name that are looked at; more are refused, for none may go unchecked."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_V4_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_TEREDO: Final = ipaddress.IPv6Network("2001::/32")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
_V4_BITS: Final = 0xFFFFFFFF

Resolve = Callable[[str], Sequence[str]]
"""Addresses of a name; blocks. Raises OSError."""


def is_public(address: str) -> bool:
    """Whether the address belongs to a machine anywhere on the Internet, and to none of a network of our own.

    False for loopback, private, link-local, shared (100.64.0.0/10), multicast, unspecified and reserved ones, and for
    IPv6 addresses that stand for such an IPv4 address (mapped, compatible, 6to4, NAT64, ISATAP) or hide one (Teredo).
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _public_v4(parsed)
    inner = _inside(parsed)
    if inner is not None:
        return _public_v4(inner)
    if parsed in _TEREDO or parsed in _NAT64_LOCAL or parsed in _V4_COMPATIBLE:
        return False
    return parsed.is_global and not (parsed.is_multicast or parsed.is_reserved or parsed.is_site_local)


def _public_v4(address: IPv4Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that this one stands for."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    number = int(address)
    if address in _NAT64 or number >> 32 & _V4_BITS in _ISATAP:
        return IPv4Address(number & _V4_BITS)
    return None


def looked_up(host: str) -> Sequence[str]:
    """The addresses of a name, as the system knows them."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class _Known:
    addresses: tuple[str, ...]
    at_s: float


class AddressGuard:
    """Finds the addresses of a host that may be connected to. Used on one event loop."""

    def __init__(self, *, allow_private: bool, resolve: Resolve = looked_up) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Future[tuple[str, ...]]] = {}

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Addresses of the host, every one checked, at least one. Raises `WebhookFailedError`."""
        found = (host,) if _is_address(host) else await self._of_name(host)
        if not found or len(found) > ADDRESSES_MAX:
            raise WebhookFailedError("The name has no addresses, or too many.")
        if not self._allow_private and not all(is_public(each) for each in found):
            raise WebhookFailedError("The address is within a private network, where nothing is sent.")
        return found

    async def _of_name(self, host: str) -> tuple[str, ...]:
        now_s = asyncio.get_running_loop().time()
        known = self._known.get(host)
        if known is not None and now_s - known.at_s < FRESH_S:
            return known.addresses
        try:
            async with asyncio.timeout(LOOKUP_S):
                return await asyncio.shield(self._lookup(host))
        except (OSError, TimeoutError) as error:
            if known is not None and now_s - known.at_s < STALE_S:
                return known.addresses
            raise WebhookFailedError("The name could not be looked up.") from error

    def _lookup(self, host: str) -> "asyncio.Future[tuple[str, ...]]":
        """The look-up of this name that is under way, begun when there is none. Raises OSError when too many are."""
        asking = self._asking.get(host)
        if asking is not None:
            return asking
        if len(self._asking) >= LOOKUPS_MAX:
            raise OSError
        loop = asyncio.get_running_loop()
        asking = self._asking[host] = loop.create_future()
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())

        def ask() -> None:
            found: tuple[str, ...] | OSError
            try:
                found = tuple(self._resolve(host))
            except (OSError, UnicodeError) as error:
                found = error if isinstance(error, OSError) else OSError()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._answered, host, found)

        threading.Thread(target=ask, name="push-lookup", daemon=True).start()
        return asking

    def _answered(self, host: str, found: tuple[str, ...] | OSError) -> None:
        asking = self._asking.pop(host)
        if isinstance(found, OSError):
            asking.set_exception(found)
            return
        if len(self._known) >= NAMES_MAX:
            del self._known[next(iter(self._known))]
        self._known[host] = _Known(found, asyncio.get_running_loop().time())
        asking.set_result(found)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
