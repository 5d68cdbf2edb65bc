"""Address ranges that are refused for customers' servers, as data: one list for all interpreters.

Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries [RFC 6890], the IANA multicast registries, and the
IANA IPv6 address space registry for the IETF's reserved ranges [RFC 4291]. The interpreter's own properties
(`is_global` and the like) follow these registries too, but each version follows another edition of them.

Not here: IPv6 forms that carry an IPv4 address, and the verdict on an address (`addresses.py`).
"""

from typing import Final

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
    ("255.255.255.255/32", "limited broadcast", "RFC 919"),
)
"""Range, name, source."""

V6: Final[tuple[tuple[str, str, str], ...]] = (
    ("::/8", "reserved by the IETF", "RFC 4291"),
    ("::/128", "unspecified", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("::/96", "IPv4-compatible, deprecated", "RFC 4291"),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"),
    ("64:ff9b:1::/48", "IPv4-IPv6 translation, local use", "RFC 8215"),
    ("100::/8", "reserved by the IETF", "RFC 4291"),
    ("100::/64", "discard only", "RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    ("200::/7", "reserved by the IETF", "RFC 4048"),
    ("400::/6", "reserved by the IETF", "RFC 4291"),
    ("800::/5", "reserved by the IETF", "RFC 4291"),
    ("1000::/4", "reserved by the IETF", "RFC 4291"),
    ("2001::/23", "IETF protocol assignments", "RFC 2928"),
    ("2001::/32", "Teredo", "RFC 4380"),
    ("2001:1::1/128", "port control protocol anycast", "RFC 7723"),
    ("2001:1::2/128", "TURN anycast", "RFC 8155"),
    ("2001:1::3/128", "DNS-SD service registration anycast", "RFC 9665"),
    ("2001:2::/48", "benchmarking", "RFC 5180"),
    ("2001:3::/32", "AMT", "RFC 7450"),
    ("2001:4:112::/48", "AS112", "RFC 7535"),
    ("2001:10::/28", "ORCHID, deprecated", "RFC 4843"),
    ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
    ("2001:30::/28", "drone remote identification", "RFC 9374"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2620:4f:8000::/48", "direct delegation of AS112", "RFC 7534"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("4000::/3", "reserved by the IETF", "RFC 4291"),
    ("5f00::/16", "segment routing (SRv6) SIDs", "RFC 9602"),
    ("6000::/3", "reserved by the IETF", "RFC 4291"),
    ("8000::/3", "reserved by the IETF", "RFC 4291"),
    ("a000::/3", "reserved by the IETF", "RFC 4291"),
    ("c000::/3", "reserved by the IETF", "RFC 4291"),
    ("e000::/4", "reserved by the IETF", "RFC 4291"),
    ("f000::/5", "reserved by the IETF", "RFC 4291"),
    ("f800::/6", "reserved by the IETF", "RFC 4291"),
    ("fc00::/7", "unique local", "RFC 4193"),
    ("fe00::/9", "reserved by the IETF", "RFC 4291"),
    ("fe80::/10", "link local", "RFC 4291"),
    ("fec0::/10", "site local, deprecated", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291"),
)
"""Range, name, source. `::ffff:0:0/96`, `64:ff9b::/96` and `2002::/16` are judged by the IPv4 address inside."""
