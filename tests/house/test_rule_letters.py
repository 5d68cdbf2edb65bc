"""Every rule letter of device messages, calls and pushes and every device row of the gaps is carried by a test's name.

A letter stands in lower case between underscores, `test_k2_event_signature_beats_small_number`; a test of two rules
carries both. The rules and check cases of the bus have numbers and words. The check messages of section 11 are files of
`tests/golden/device`, and each is played through the whole path in `tests/system/test_check_messages.py` and explained
in `tests/system/test_device_check.py`. The rows of the acceptance summary, section 10, are tests of
`tests/system/test_acceptance.py`, all over TLS.
"""

import re
from functools import cache

from tests.support import loops, reference

TESTS = reference.ROOT / "tests"
SPEC = reference.ROOT / "docs" / "spec"
TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def rules(page: str, form: str = r"[a-z]\d+") -> tuple[str, ...]:
    """The rules of a page of the specification that have a letter, or a number of this form, in its order."""
    return tuple(
        re.findall(rf'(?:^|- |\| )<a id="({form})"></a>\S', (SPEC / f"{page}.md").read_text("utf-8"), re.MULTILINE)
    )


LETTERS = (*rules("device-messages"), *(letter for letter in rules("push") if letter.startswith("n")))
GAPS = ("g21", "g22", "g35", "h6", "h7", "h8", "h9", "h14", "h15", "h16")
"""The rows of spec/gaps that devices meet."""
RPC_LETTERS = rules("rpc")
"""Letters of spec/rpc, whose `a` is not that of spec/device-messages: carried by tests in files about calls."""
RPC_FILES = ("test_rpc", "test_activation")
PUSH_LETTERS = tuple(letter for letter in rules("push") if letter.startswith("m"))
"""Letters of spec/push, whose `m` is not that of spec/device-messages: carried by tests in files about pushes."""
PUSH_FILES = ("test_push", "test_queue", "test_webhook")
BUS_RULES = tuple(rule.replace(".", "_") for rule in rules("bus-messages", r"4\.\d+"))
"""Reading rules of spec/bus-messages 4: `test_rule_4_1_...`."""
BUS_CASES = (
    *("payload_as_an_array", "capitalised_microtrip_on_the_topic_of_trips", "company_in_capitals_only"),
    *("sensor_beside_data_only", "unknown_sensor_is_a_dead_letter", "second_delivery_is_dropped"),
    *("event_without_id", "event_of_the_producer", "trip_with_any_latest_trip_or_none"),
    "trip_without_times_takes_those_of_its_payload",
)
"""Check cases of spec/bus-messages 6."""
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
"""Sections of spec/device-messages whose rejected and converted examples are explained."""


@cache
def names(beginnings: tuple[str, ...] = ("test_",)) -> list[str]:
    """The name of every test function in files that begin so. Read by lines, for parsing every test takes seconds."""
    return [
        name
        for path in sorted(TESTS.rglob("test_*.py"))
        if path.name.startswith(beginnings)
        for name in TEST.findall(path.read_text("utf-8"))
    ]


def text(path: str) -> str:
    """The source of a test file."""
    return (TESTS / path).read_text("utf-8")


def test_pages_of_the_specification_have_rules() -> None:
    assert all((LETTERS, RPC_LETTERS, PUSH_LETTERS, BUS_RULES))


@loops.every(RPC_LETTERS)
def test_rule_letter_of_calls_is_carried_by_a_test_about_calls(letter: str) -> None:
    carriers = [name for name in names(RPC_FILES) if letter in name.split("_")]

    assert carriers, f"no test of calls is named test_..._{letter}_..."


@loops.every(PUSH_LETTERS)
def test_rule_letter_of_pushes_is_carried_by_a_test_about_pushes(letter: str) -> None:
    carriers = [name for name in names(PUSH_FILES) if letter in name.split("_")]

    assert carriers, f"no test of pushes is named test_..._{letter}_..."


@loops.every((*LETTERS, *GAPS))
def test_rule_letter_is_carried_by_a_test(letter: str) -> None:
    carriers = [name for name in names() if letter in name.split("_")]

    assert carriers, f"no test is named test_..._{letter}_..."


@loops.every(BUS_RULES)
def test_rule_of_the_bus_is_carried_by_a_test(rule: str) -> None:
    assert any(name.startswith(f"test_rule_{rule}_") for name in names()), f"no test is named test_rule_{rule}_..."


@loops.every(BUS_CASES)
def test_every_check_case_of_the_bus_is_carried_by_a_test(case: str) -> None:
    assert any(name.startswith(f"test_bus_check_case_{case}") for name in names())


def test_every_check_message_has_a_file_that_a_test_of_the_whole_path_plays() -> None:
    files = {path.stem.removeprefix("check_") for path in (TESTS / "golden" / "device").glob("check_*.json")}
    played = text("system/test_check_messages.py")
    explained = text("system/test_device_check.py")

    assert sorted(case for case in files if not re.search(rf'"{case}"', played)) == []
    assert sorted(case for case in files if not re.search(rf'"{case}"', explained)) == []
    assert len(files) == CHECKS


@loops.every([(row, held) for row, several in ACCEPTANCE.items() for held in several])
def test_row_of_the_acceptance_summary_is_held_through_the_whole_path(row: str, held: str) -> None:
    assert f"def test_acceptance_{row}_{held}(" in text("system/test_acceptance.py")


@loops.every(EXAMPLES)
def test_examples_of_the_section_are_explained(section: str) -> None:
    explained = text("unit/wire/explanation/test_messages.py")

    assert re.search(rf'\("{re.escape(section)}[. ]', explained), f"no example of section {section} is explained"


@loops.every(
    [
        *("2_101_gps_and_obd_microtrips_under_2_are_pushed_and_event_102_is_not", "0f", "8_300", "600"),
        *("receiver_that_sends_a_status_line_only", "receiver_down_for_an_hour"),
        "m2_mute_receiver_gets_the_first_message_twice_and_every_other_one_once",
        "receiver_down_whose_address_is_changed_gets_everything_within_a_second",
    ]
)
def test_every_check_case_of_pushes_is_carried_by_a_test(case: str) -> None:
    assert any(name.startswith(f"test_check_case_{case}") for name in names())
