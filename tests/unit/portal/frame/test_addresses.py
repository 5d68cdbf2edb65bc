"""Addresses that a request may lead on to."""

import pytest

from tripline.portal.frame import addresses


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/fleet/vehicles",
        "/fleet/vehicles?q=12%EA%B0%80&sort=number",
        "/a//b",
        "/fleet/vehicles?next=//x",
        "/signed",
    ],
)
def test_page_of_ours_is_led_to(address: str) -> None:
    assert addresses.within(address) == address


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "fleet",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/\tevil",
        "/\n/evil.example",
        " /fleet",
        "/fleet\\..\\",
        "/fleet\r\nSet-Cookie: a=b",
        "/fl\u00e9et",
        "/sign-in",
        "/sign-in?next=/",
        "/sign-out",
        "/api/auth/user",
        "/" + "a" * 2_000,
    ],
)
def test_anything_else_is_the_default(address: str | None) -> None:
    assert addresses.within(address, "/fleet") == "/fleet"


def test_address_has_a_query_only_when_there_are_values() -> None:
    made = [addresses.of("/fleet", query) for query in ([], [("q", "12가 1"), ("after", "x")])]

    assert made == ["/fleet", "/fleet?q=12%EA%B0%80+1&after=x"]


@pytest.mark.parametrize("query", ["", "?q=12%EA%B0%80&sort=-number&after=WzEsICJ4Il0", "?q=//evil.example"])
def test_list_is_led_back_to_in_the_state_that_it_was_shown_in(query: str) -> None:
    assert addresses.of_list(f"/fleet/vehicles{query}", "/fleet/vehicles") == f"/fleet/vehicles{query}"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/",
        "?q=12",
        "fleet/vehicles",
        "//evil.example/fleet/vehicles",
        "/\\evil.example/fleet/vehicles",
        "https://evil.example/fleet/vehicles",
        "javascript:alert(1)",
        "/fleet/vehiclesx",
        "/fleet/vehicles/",
        "/fleet/vehicles/activate",
        "/fleet/vehicles/../../admin",
        "/fleet/sensors",
        "/fleet/vehicles#x",
        "/fleet/vehicles\r\nSet-Cookie: a=b",
        "/fleet/vehicles?q=\r\nLocation: //evil.example",
        "/fleet/vehicles?q=\u00e9",
        f"/fleet/vehicles?q={'9' * 2_000}",
    ],
)
def test_address_of_no_such_list_is_none(address: str) -> None:
    assert addresses.of_list(address, "/fleet/vehicles") is None
