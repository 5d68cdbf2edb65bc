"""Every rule letter of device-messages and every device row of the gaps is carried by the name of a test.

A letter stands in lower case between underscores, `test_k2_event_signature_beats_small_number`; a test of two rules
carries both. The check messages of section 11 are files of `tests/golden/device`, and each is played through the whole
path in `tests/system/test_check_messages.py`.
"""

import ast
import re

import pytest
from tests.support import reference

TESTS = reference.ROOT / "tests"
RULES = {"k": 8, "v": 6, "t": 5, "p": 2, "i": 6, "o": 4, "e": 1, "a": 7, "d": 29, "m": 4, "c": 6}
"""Letter -> how many rules it has."""
GAPS = ("g21", "g22", "g35", "h6", "h7", "h8", "h9", "h14", "h15", "h16")
LETTERS = [f"{letter}{number}" for letter, count in RULES.items() for number in range(1, count + 1)] + list(GAPS)
CHECKS = 12
"""Check messages: aggregate, three masks, old number, no `clt`, headerless, four unusable, one uninterpreted."""


def names() -> list[str]:
    """The name of every test function."""
    return [
        node.name
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


NAMES = names()


@pytest.mark.parametrize("letter", LETTERS)
def test_rule_letter_is_carried_by_a_test(letter: str) -> None:
    carriers = [name for name in NAMES if letter in name.split("_")]

    assert carriers, f"no test is named test_..._{letter}_..."


def test_every_check_message_has_a_file_that_a_test_of_the_whole_path_plays() -> None:
    files = {path.stem.removeprefix("check_") for path in (TESTS / "golden" / "device").glob("check_*.json")}
    played = (TESTS / "system" / "test_check_messages.py").read_text("utf-8")

    assert sorted(case for case in files if not re.search(rf'"{case}"', played)) == []
    assert len(files) == CHECKS
