"""Every range in which no customer's server can be: first, last and an address within, and those just outside.

The table is written out, not computed from the program's list, so that a slip there shows here.
"""

from ipaddress import collapse_addresses, ip_network

import pytest

from tripline.adapters.webhooks import addresses
from tripline.adapters.webhooks.addresses import is_public

V4 = {
    "0.0.0.0/8": ("0.0.0.0", "0.1.2.3", "0.255.255.255", [], ["1.0.0.0"]),
    "10.0.0.0/8": ("10.0.0.0", "10.20.30.40", "10.255.255.255", [], ["9.255.255.255", "11.0.0.0"]),
    "100.64.0.0/10": ("100.64.0.0", "100.100.0.1", "100.127.255.255", [], ["100.63.255.255", "100.128.0.0"]),
    "127.0.0.0/8": ("127.0.0.0", "127.0.0.1", "127.255.255.255", [], ["126.255.255.255", "128.0.0.0"]),
    "169.254.0.0/16": ("169.254.0.0", "169.254.169.254", "169.254.255.255", [], ["169.253.255.255", "169.255.0.0"]),
    "172.16.0.0/12": ("172.16.0.0", "172.20.0.1", "172.31.255.255", [], ["172.15.255.255", "172.32.0.0"]),
    "192.0.0.0/24": ("192.0.0.0", "192.0.0.9", "192.0.0.255", [], ["191.255.255.255", "192.0.1.0"]),
    "192.0.2.0/24": ("192.0.2.0", "192.0.2.77", "192.0.2.255", [], ["192.0.1.255", "192.0.3.0"]),
    "192.31.196.0/24": ("192.31.196.0", "192.31.196.1", "192.31.196.255", [], ["192.31.195.255", "192.31.197.0"]),
    "192.52.193.0/24": ("192.52.193.0", "192.52.193.1", "192.52.193.255", [], ["192.52.192.255", "192.52.194.0"]),
    "192.88.99.0/24": ("192.88.99.0", "192.88.99.1", "192.88.99.255", [], ["192.88.98.255", "192.88.100.0"]),
    "192.168.0.0/16": ("192.168.0.0", "192.168.1.1", "192.168.255.255", [], ["192.167.255.255", "192.169.0.0"]),
    "192.175.48.0/24": ("192.175.48.0", "192.175.48.6", "192.175.48.255", [], ["192.175.47.255", "192.175.49.0"]),
    "198.18.0.0/15": ("198.18.0.0", "198.19.0.1", "198.19.255.255", [], ["198.17.255.255", "198.20.0.0"]),
    "198.51.100.0/24": ("198.51.100.0", "198.51.100.7", "198.51.100.255", [], ["198.51.99.255", "198.51.101.0"]),
    "203.0.113.0/24": ("203.0.113.0", "203.0.113.7", "203.0.113.255", [], ["203.0.112.255", "203.0.114.0"]),
    "224.0.0.0/4": ("224.0.0.0", "239.255.255.250", "239.255.255.255", ["240.0.0.0"], ["223.255.255.255"]),
    "240.0.0.0/4": ("240.0.0.0", "250.1.2.3", "255.255.255.255", ["239.255.255.255"], []),
    "255.255.255.255/32": ("255.255.255.255", "255.255.255.255", "255.255.255.255", ["255.255.255.254"], []),
}
"""Range -> first, one within, last, those just outside that another range refuses, those just outside that pass."""
_ALL = "ffff:ffff:ffff:ffff"
V6 = {
    "::/8": ("::", "1:2::3", f"ff:ffff:ffff:ffff:{_ALL}", ["100::"], []),
    "::/128": ("::", "::", "::", ["::1"], []),
    "::1/128": ("::1", "::1", "::1", ["::", "::2"], []),
    "::/96": ("::", "::7f00:1", "::ffff:ffff", ["::1:0:0"], []),
    "::ffff:0:0:0/96": ("::ffff:0:0:0", "::ffff:0:808:808", "::ffff:0:ffff:ffff", ["::fffe:ffff:ffff:ffff"], []),
    "64:ff9b:1::/48": ("64:ff9b:1::", "64:ff9b:1::808:808", f"64:ff9b:1:ffff:{_ALL}", ["64:ff9b:2::"], []),
    "100::/8": ("100::", "123::1", f"1ff:ffff:ffff:ffff:{_ALL}", ["200::"], []),
    "100::/64": ("100::", "100::1", f"100::{_ALL}", ["100:0:0:2::"], []),
    "100:0:0:1::/64": ("100:0:0:1::", "100:0:0:1::7", f"100:0:0:1:{_ALL}", ["100:0:0:2::"], []),
    "200::/7": ("200::", "300::1", f"3ff:ffff:ffff:ffff:{_ALL}", ["400::"], []),
    "400::/6": ("400::", "500::1", f"7ff:ffff:ffff:ffff:{_ALL}", ["800::"], []),
    "800::/5": ("800::", "900::1", f"fff:ffff:ffff:ffff:{_ALL}", ["1000::"], []),
    "1000::/4": ("1000::", "1234::1", f"1fff:ffff:ffff:ffff:{_ALL}", [], ["2000::"]),
    "2001::/23": (
        *("2001::", "2001:1::5", f"2001:1ff:ffff:ffff:{_ALL}"),
        *([], [f"2000:ffff:ffff:ffff:{_ALL}", "2001:200::"]),
    ),
    "2001::/32": ("2001::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", f"2001:0:ffff:ffff:{_ALL}", ["2001:1::"], []),
    "2001:1::1/128": ("2001:1::1", "2001:1::1", "2001:1::1", ["2001:1::"], []),
    "2001:1::2/128": ("2001:1::2", "2001:1::2", "2001:1::2", ["2001:1::4"], []),
    "2001:1::3/128": ("2001:1::3", "2001:1::3", "2001:1::3", ["2001:1::4"], []),
    "2001:2::/48": ("2001:2::", "2001:2::9", f"2001:2:0:ffff:{_ALL}", ["2001:2:1::"], []),
    "2001:3::/32": ("2001:3::", "2001:3::9", f"2001:3:ffff:ffff:{_ALL}", ["2001:4::"], []),
    "2001:4:112::/48": ("2001:4:112::", "2001:4:112::1", f"2001:4:112:ffff:{_ALL}", ["2001:4:113::"], []),
    "2001:10::/28": ("2001:10::", "2001:1a::1", f"2001:1f:ffff:ffff:{_ALL}", ["2001:f::"], []),
    "2001:20::/28": ("2001:20::", "2001:2a::1", f"2001:2f:ffff:ffff:{_ALL}", ["2001:30::"], []),
    "2001:30::/28": ("2001:30::", "2001:3a::1", f"2001:3f:ffff:ffff:{_ALL}", ["2001:40::"], []),
    "2001:db8::/32": (
        *("2001:db8::", "2001:db8::1", f"2001:db8:ffff:ffff:{_ALL}"),
        *([], [f"2001:db7:ffff:ffff:{_ALL}", "2001:db9::"]),
    ),
    "2620:4f:8000::/48": (
        *("2620:4f:8000::", "2620:4f:8000::6", f"2620:4f:8000:ffff:{_ALL}"),
        *([], [f"2620:4f:7fff:ffff:{_ALL}", "2620:4f:8001::"]),
    ),
    "3fff::/20": (
        *("3fff::", "3fff:123::1", f"3fff:fff:ffff:ffff:{_ALL}"),
        *([], [f"3ffe:ffff:ffff:ffff:{_ALL}", "3fff:1000::"]),
    ),
    "4000::/3": ("4000::", "4abc::1", f"5fff:ffff:ffff:ffff:{_ALL}", [], [f"3fff:ffff:ffff:ffff:{_ALL}"]),
    "5f00::/16": ("5f00::", "5f00::1", f"5f00:ffff:ffff:ffff:{_ALL}", ["5f01::"], []),
    "6000::/3": ("6000::", "7000::1", f"7fff:ffff:ffff:ffff:{_ALL}", ["8000::"], []),
    "8000::/3": ("8000::", "9000::1", f"9fff:ffff:ffff:ffff:{_ALL}", ["a000::"], []),
    "a000::/3": ("a000::", "b000::1", f"bfff:ffff:ffff:ffff:{_ALL}", ["c000::"], []),
    "c000::/3": ("c000::", "d000::1", f"dfff:ffff:ffff:ffff:{_ALL}", ["e000::"], []),
    "e000::/4": ("e000::", "e123::1", f"efff:ffff:ffff:ffff:{_ALL}", ["f000::"], []),
    "f000::/5": ("f000::", "f123::1", f"f7ff:ffff:ffff:ffff:{_ALL}", ["f800::"], []),
    "f800::/6": ("f800::", "f923::1", f"fbff:ffff:ffff:ffff:{_ALL}", ["fc00::"], []),
    "fc00::/7": ("fc00::", "fd12::1", f"fdff:ffff:ffff:ffff:{_ALL}", ["fe00::"], []),
    "fe00::/9": ("fe00::", "fe12::1", f"fe7f:ffff:ffff:ffff:{_ALL}", ["fe80::"], []),
    "fe80::/10": ("fe80::", "fe80::1", f"febf:ffff:ffff:ffff:{_ALL}", ["fec0::"], []),
    "fec0::/10": ("fec0::", "fec0::1", f"feff:ffff:ffff:ffff:{_ALL}", ["ff00::"], []),
    "ff00::/8": ("ff00::", "ff0e::1", f"ffff:ffff:ffff:ffff:{_ALL}", ["feff::"], []),
}
TABLE = {**V4, **V6}
INNER_FORMS = {
    "mapped": "::ffff:{0:x}:{1:x}",
    "6to4": "2002:{0:x}:{1:x}::1",
    "NAT64": "64:ff9b::{0:x}:{1:x}",
    "ISATAP": "2606:4700::5efe:{0:x}:{1:x}",
    "ISATAP with a global identifier": "2606:4700::200:5efe:{0:x}:{1:x}",
    "ISATAP within public 6to4": "2002:808:808::5efe:{0:x}:{1:x}",
}


@pytest.mark.parametrize(("registered", "refused"), [(V4, addresses.V4), (V6, addresses.V6)])
def test_program_refuses_the_ranges_of_the_table_and_no_others(registered, refused) -> None:
    ranges = [ip_network(text) for text, _, _ in refused]

    assert list(collapse_addresses(ranges)) == list(collapse_addresses(map(ip_network, registered)))


@pytest.mark.parametrize("text", TABLE)
def test_range_is_refused_from_its_first_address_to_its_last(text: str) -> None:
    first, within, last, refused_outside, _ = TABLE[text]

    assert [address for address in (first, within, last, *refused_outside) if is_public(address)] == []


@pytest.mark.parametrize(("text", "outside"), [(text, each) for text, row in TABLE.items() for each in row[4]])
def test_address_just_outside_of_a_range_is_let_pass(text: str, outside: str) -> None:
    assert is_public(outside), f"{outside} is outside of {text}"


@pytest.mark.parametrize("form", INNER_FORMS)
@pytest.mark.parametrize("text", V4)
def test_ipv6_form_of_a_refused_ipv4_address_is_refused(text: str, form: str) -> None:
    written = [INNER_FORMS[form].format(*halves(address)) for address in V4[text][:3]]

    assert [address for address in written if is_public(address)] == []


@pytest.mark.parametrize("form", INNER_FORMS)
def test_ipv6_form_of_a_public_ipv4_address_is_let_pass(form: str) -> None:
    assert is_public(INNER_FORMS[form].format(*halves("8.8.8.8")))


@pytest.mark.parametrize("address", ["2606:4700::1111%1", "2606:4700::1111%eth0", "fe80::1%2", "::ffff:8.8.8.8%1"])
def test_address_with_a_zone_is_refused(address: str) -> None:
    assert not is_public(address)


def halves(address: str) -> tuple[int, int]:
    """Both 16-bit halves of an IPv4 address."""
    one, two, three, four = map(int, address.split("."))
    return one << 8 | two, three << 8 | four
