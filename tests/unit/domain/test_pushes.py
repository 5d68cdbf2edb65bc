"""The messages that a company asked for, letter by letter, and the companies that get one (spec/push 2, 4.4, 5)."""

import pytest

from tripline.domain import pushes
from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Receiver, Selector, Subscription, receivers, selected

OPERATOR, OWNER = CompanyId("operator"), CompanyId("owner")


def wanting(company_id, asked, host="http://n.example/"):
    return Subscription(company_id, host, asked)


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("7, 8, 101, 102, 300", {7, 8, 101, 102, 300}),
        (" 8 ,, 300 ", {8, 300}),
        ("2,101", {2, 101}),
        ("0f", set()),
        ("0f,600", {600}),
        ("600 500", set()),
        ("06", {6}),
        ("-1,+2,1.5,1e2,٦٠٠", set()),
        ("9" * 255, set()),
    ],
)
def test_n1_parts_that_are_decimal_integers_select(asked, numbers):
    assert selected(asked) == numbers


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [(600, {600}), (600.0, {600}), (1.5, set()), ([2, "101", 300.0, "x"], {2, 101, 300}), (["7,8", " 9 "], {7, 8, 9})],
)
def test_n2_numbers_and_arrays_select_like_their_text(asked, numbers):
    assert selected(asked) == numbers


@pytest.mark.parametrize("asked", [None, "", " , ", []])
def test_n3_missing_or_empty_selects_nothing(asked):
    assert selected(asked) == set()


@pytest.mark.parametrize("host", [None, ""])
def test_n3_missing_host_disables_the_push(host):
    assert receivers(wanting(OPERATOR, "600", host), wanting(OPERATOR, "600", host), [600]) == []


@pytest.mark.parametrize(
    ("asked", "numbers", "selector"),
    [("2", (2, 2), 2), ("2", (4, 2), 2), ("4", (4, 2), 4), ("2,4", (4, 2), 4), ("101", (102, 102), None)],
)
def test_n4_the_kind_or_the_number_sent_selects(asked, numbers, selector):
    operator = wanting(OPERATOR, asked)

    assert receivers(operator, operator, numbers) == ([] if selector is None else [Receiver(OPERATOR, selector)])


@pytest.mark.parametrize("number", [Selector.RULE_ALARM, 0, 13, 100, 117, 601])
def test_n5_numbers_without_messages_produce_nothing(number):
    operator = wanting(OPERATOR, str(int(number)))

    assert receivers(operator, operator, [number]) == []


@pytest.mark.parametrize(
    ("by_operator", "by_owner", "expected"),
    [
        ("600", "600", [OPERATOR, OWNER]),
        ("600", "500", [OPERATOR]),
        ("500", "600", [OWNER]),
        (None, None, []),
    ],
)
def test_operator_and_owner_receive_by_their_own_wish(by_operator, by_owner, expected):
    found = receivers(wanting(OPERATOR, by_operator), wanting(OWNER, by_owner), [Selector.NETWORK_STATUS])

    assert [receiver.company_id for receiver in found] == expected


def test_operator_that_owns_the_sensor_receives_once():
    operator = wanting(OPERATOR, "600")

    assert receivers(operator, operator, [600]) == [Receiver(OPERATOR, 600)]


def test_names_follow_the_table_of_the_envelope():
    names = {number: pushes.name_of(number).value for number in (1, 2, 11, 12, 101, 116, 300, 500, 600, 700)}

    assert names == {
        1: "TRIP",
        2: "MICROTRIP",
        11: "TRIP",
        12: "MICROTRIP",
        101: "EVENT",
        116: "EVENT",
        300: "RPC",
        500: "CONNECTION",
        600: "NWSTATUS",
        700: "DISPUTE",
    }
