"""The address guard: which addresses a customer's server may have, and checked DNS look-ups (spec/push 3).

Every address of a name is checked, and we connect to the very address that was checked: a name that changes between
check and connection gains nothing. Look-ups run on a few threads of their own, and no caller waits beyond its own
timeout, so an unresponsive name server delays no other requests.

The refused ranges are data, one list for all interpreters. Sources: the IANA IPv4 and IPv6 Special-Purpose Address
Registries [RFC 6890], the IANA multicast registries, and the IANA IPv6 address space registry for the IETF's reserved
ranges [RFC 4291]. The interpreter's own properties (`is_global` and the like) follow these registries too, but each
version follows another edition of them.
"""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

import msgspec

from tripline.ports.webhooks import WebhookFailedError

V4: Final[tuple[tuple[str, str, str], ...]] = (
    ("0.0.0.0/8", "this network", "RFC 791"),
    ("10.0.0.0/8", "private use", "RFC 1918"),
    ("100.64.0.0/10", "shared address space", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("169.254.0.0/16", "link local", "RFC 3927"),
    ("172.16.0.0/12", "private use", "RFC 1918"),
    ("192.0.0.0/24", "IETF protocol assignments", "RFC 6890"),
    ("192.0.2.0/24", "documentation (TEST-NET-1)", "RFC 5737"),
    ("192.31.196.0/24", "AS112", "RFC 7535"),
    ("192.52.193.0/24", "AMT", "RFC 7450"),
    ("192.88.99.0/24", "6to4 relay anycast, deprecated", "RFC 7526"),
    ("192.168.0.0/16", "private use", "RFC 1918"),
    ("192.175.48.0/24", "direct delegation of AS112", "RFC 7534"),
    ("198.18.0.0/15", "benchmarking", "RFC 2544"),
    ("198.51.100.0/24", "documentation (TEST-NET-2)", "RFC 5737"),
    ("203.0.113.0/24", "documentation (TEST-NET-3)", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved", "RFC 1112"),
)
"""Range, name, source."""

V6: Final[tuple[tuple[str, str, str], ...]] = (
    ("::/3", "not global unicast", "RFC 4291"),
    ("2001::/23", "IETF protocol assignments", "RFC 2928"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2620:4f:8000::/48", "direct delegation of AS112", "RFC 7534"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("4000::/2", "not global unicast", "RFC 4291"),
    ("8000::/1", "not global unicast", "RFC 4291"),
)
"""Range, name, source. Global unicast addresses are assigned from `2000::/3` alone. `::ffff:0:0/96`, `64:ff9b::/96` and
`2002::/16` are judged by the IPv4 address inside."""

FRESH_S: Final = 60.0
"""How long the addresses of a name are reused without a new look-up."""
STALE_S: Final = 3_600.0
"""How long they may be used while the name cannot be looked up."""
LOOKUP_S: Final = 3.0
"""How long to wait for a look-up."""
LOOKUPS_MAX: Final = 32
"""Look-ups under way; the thread of one that hangs ends with it."""
NAMES_MAX: Final = 4_096
"""Names with remembered addresses; beyond it the one remembered longest is forgotten."""
ADDRESSES_MAX: Final = 8
"""Most addresses of one name that we check; a name with more is refused, for none may go unchecked."""

_V4_BITS: Final = 0xFFFFFFFF
_REFUSED_V4: Final = tuple(IPv4Network(text) for text, _, _ in V4)
_REFUSED_V6: Final = tuple(IPv6Network(text) for text, _, _ in V6)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
"""First half of the interface identifier of an address that carries an IPv4 address in the other half [RFC 5214]."""

Resolve = Callable[[str], Sequence[str]]
"""Addresses of a name; blocks. Raises OSError."""


def is_public(address: str) -> bool:
    """True if the address may belong to a machine anywhere on the Internet.

    False for every refused range, for IPv6 addresses with such an IPv4 address inside (mapped, 6to4,
    NAT64, ISATAP), for one with a zone, and for text that is not an address.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _public_v4(parsed)
    if parsed.scope_id is not None:
        return False
    inside = _inside(parsed)
    if not all(_public_v4(each) for each in inside):
        return False
    # Both are within reserved ranges; only the embedded IPv4 address decides.
    if parsed in _MAPPED or parsed in _NAT64:
        return True
    return not any(parsed in refused for refused in _REFUSED_V6)


def _public_v4(address: IPv4Address) -> bool:
    return not any(address in refused for refused in _REFUSED_V4)


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that this one carries."""
    number = int(address)
    found = []
    if address in _SIX_TO_FOUR:
        found.append(IPv4Address(number >> 80 & _V4_BITS))
    if address in _MAPPED or address in _NAT64 or number >> 32 & _V4_BITS in _ISATAP:
        found.append(IPv4Address(number & _V4_BITS))
    return found


def looked_up(host: str) -> Sequence[str]:
    """The addresses of a name, as the system knows them."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class _Known(msgspec.Struct, frozen=True):
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
            raise WebhookFailedError("The host name has no addresses, or too many.")
        if not self._allow_private and not all(is_public(each) for each in found):
            raise WebhookFailedError(
                "The address is within a private network; the operator of this installation can allow such addresses"
                " with push.allow_private."
            )
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
            raise WebhookFailedError("The host name could not be resolved.") from error

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
