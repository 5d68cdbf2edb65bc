"""Every rule letter of device messages, calls and pushes and every device row of the gaps is carried by a test's name.

A letter stands in lower case between underscores, `test_k2_event_signature_beats_small_number`; a test of two rules
carries both. The rules and check cases of the bus have numbers and words. The check messages of section 11 are files of
`tests/golden/device`, and each is played through the whole path in `tests/system/test_check_messages.py` and explained
in `tests/system/test_device_check.py`. The rows of the acceptance summary, section 10, are tests of
`tests/system/test_acceptance.py`, all over TLS.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.support import reference

TESTS = reference.ROOT / "tests"
RULES = {"k": 8, "v": 6, "t": 5, "p": 2, "i": 6, "o": 4, "e": 1, "a": 7, "d": 29, "m": 4, "c": 6, "n": 5}
"""Letter -> how many rules it has."""
GAPS = ("g21", "g22", "g35", "h6", "h7", "h8", "h9", "h14", "h15", "h16")
LETTERS = [f"{letter}{number}" for letter, count in RULES.items() for number in range(1, count + 1)] + list(GAPS)
RPC = {"q": 6, "a": 3, "b": 6, "r": 8}
"""Letters of rpc.md, whose `a` is not that of device-messages: they are carried by tests in files about calls."""
RPC_LETTERS = [f"{letter}{number}" for letter, count in RPC.items() for number in range(1, count + 1)]
RPC_FILES = ("test_rpc", "test_activation")
PUSH_LETTERS = ("m1", "m2", "m3")
"""Letters of push.md, whose `m` is not that of device-messages: carried by tests in files about pushes."""
PUSH_FILES = ("test_push", "test_queue", "test_webhook")
BUS_RULES = [f"4_{number}" for number in range(1, 21)]
"""Reading rules of bus-messages 4: `test_rule_4_1_...`."""
BUS_CASES = (
    *("payload_as_an_array", "capitalised_microtrip_on_the_topic_of_trips", "company_in_capitals_only"),
    *("sensor_beside_data_only", "unknown_sensor_is_a_dead_letter", "second_delivery_is_dropped"),
    *("event_without_id", "event_of_the_producer", "trip_with_any_latest_trip_or_none"),
    "trip_without_times_takes_those_of_its_payload",
)
"""Check cases of bus-messages 6."""
CHECKS = 12
"""Check messages: aggregate, three masks, old number, no `clt`, headerless, four unusable, one uninterpreted."""

ACCEPTANCE = {
    "microtrip": ("of_every_even_number_is_stored", "is_stored_with_at_least_one_object"),
    "trip": (
        "of_every_odd_number_is_stored_when_its_payload_is_an_object",
        "is_scored_by_its_type_of_device_and_when_driving",
        "is_scored_from_3000_m_on",
        "is_scored_with_two_usable_samples",
        "is_scored_with_a_median_period_under_5_s",
    ),
    "sample": ("counts_with_position_and_own_time_or_alone",),
    "event": ("is_stored_by_number_or_signature_and_never_scored",),
    "messages": ("of_an_unmapped_sensor_are_stored_and_not_scored",),
}
"""Row of the acceptance summary -> what is held of it."""
EXAMPLES = ("3.4", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "5", "6", "7", "8", "9", "11")
"""Sections of device-messages whose rejected and converted examples are explained."""


def names(paths: Iterable[Path] = ()) -> list[str]:
    """The name of every test function, of these files or of all."""
    return [
        node.name
        for path in sorted(paths or TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


NAMES = names()


def text(path: str) -> str:
    """The source of a test file."""
    return (TESTS / path).read_text("utf-8")


@pytest.mark.parametrize("letter", RPC_LETTERS)
def test_rule_letter_of_calls_is_carried_by_a_test_about_calls(letter: str) -> None:
    paths = [path for path in TESTS.rglob("test_*.py") if path.name.startswith(RPC_FILES)]
    carriers = [name for name in names(paths) if letter in name.split("_")]

    assert carriers, f"no test of calls is named test_..._{letter}_..."


@pytest.mark.parametrize("letter", PUSH_LETTERS)
def test_rule_letter_of_pushes_is_carried_by_a_test_about_pushes(letter: str) -> None:
    paths = [path for path in TESTS.rglob("test_*.py") if path.name.startswith(PUSH_FILES)]
    carriers = [name for name in names(paths) if letter in name.split("_")]

    assert carriers, f"no test of pushes is named test_..._{letter}_..."


@pytest.mark.parametrize("letter", LETTERS)
def test_rule_letter_is_carried_by_a_test(letter: str) -> None:
    carriers = [name for name in NAMES if letter in name.split("_")]

    assert carriers, f"no test is named test_..._{letter}_..."


@pytest.mark.parametrize("rule", BUS_RULES)
def test_rule_of_the_bus_is_carried_by_a_test(rule: str) -> None:
    assert any(name.startswith(f"test_rule_{rule}_") for name in NAMES), f"no test is named test_rule_{rule}_..."


@pytest.mark.parametrize("case", BUS_CASES)
def test_every_check_case_of_the_bus_is_carried_by_a_test(case: str) -> None:
    assert any(name.startswith(f"test_bus_check_case_{case}") for name in NAMES)


def test_every_check_message_has_a_file_that_a_test_of_the_whole_path_plays() -> None:
    files = {path.stem.removeprefix("check_") for path in (TESTS / "golden" / "device").glob("check_*.json")}
    played = text("system/test_check_messages.py")
    explained = text("system/test_device_check.py")

    assert sorted(case for case in files if not re.search(rf'"{case}"', played)) == []
    assert sorted(case for case in files if not re.search(rf'"{case}"', explained)) == []
    assert len(files) == CHECKS


@pytest.mark.parametrize(("row", "held"), [(row, held) for row, several in ACCEPTANCE.items() for held in several])
def test_row_of_the_acceptance_summary_is_held_through_the_whole_path(row: str, held: str) -> None:
    assert f"def test_acceptance_{row}_{held}(" in text("system/test_acceptance.py")


@pytest.mark.parametrize("section", EXAMPLES)
def test_examples_of_the_section_are_explained(section: str) -> None:
    explained = text("unit/wire/test_device_explain.py")

    assert re.search(rf'\("{re.escape(section)}[. ]', explained), f"no example of section {section} is explained"


@pytest.mark.parametrize(
    "case",
    [
        *("2_101_gps_and_obd_microtrips_under_2_are_pushed_and_event_102_is_not", "0f", "8_300", "600"),
        *("receiver_that_sends_a_status_line_only", "receiver_down_for_an_hour"),
        "m2_mute_receiver_gets_the_first_message_twice_and_every_other_one_once",
        "receiver_down_whose_address_is_changed_gets_everything_within_a_second",
    ],
)
def test_every_check_case_of_pushes_is_carried_by_a_test(case: str) -> None:
    assert any(name.startswith(f"test_check_case_{case}") for name in NAMES)
