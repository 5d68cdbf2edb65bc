"""The states of a line: every pair of state and event, against a table written by hand."""

import re
from pathlib import Path

import pytest
from tests.support.refused import refused

from tripline.domain import lines
from tripline.domain.lines import NEXT, LineEvent, NwStatus
from tripline.language.catalogue import sentence

BY_HAND = {
    # state: OPEN, USE, DORMANT, TO_END, UNPAUSE, END, BY_AUTHORITY, LEAVE, KEEP
    "00": "01 -- -- -- -- -- -- -- --",
    "01": "01 02 03 04 -- 06 05 00 01",
    "02": "01 -- -- -- 01 06 05 00 02",
    "03": "01 -- -- -- -- 06 05 00 03",
    "04": "01 -- -- -- -- 06 05 00 04",
    "05": "01 -- -- -- -- -- -- -- --",
    "06": "01 -- -- -- -- -- -- -- --",
    "99": "01 -- -- -- -- 06 05 -- --",
}
DOCUMENT = Path(__file__).parents[3] / "docs/carrier.md"


def test_g10_moves_are_the_table():
    table = {state.value: " ".join(NEXT.get((state, event), "--") for event in LineEvent) for state in NwStatus}

    assert table == BY_HAND


@pytest.mark.parametrize("state", NwStatus)
@pytest.mark.parametrize("event", LineEvent)
def test_move_that_is_not_in_the_table_is_refused(state, event):
    if (state, event) in NEXT:
        assert lines.moved(state, event) is NEXT[state, event]
    else:
        with refused(lines.WrongState, match=f"has nwStatus {state}; {event.value} needs"):
            lines.moved(state, event)


def test_documented_moves_are_the_table():
    rows = re.findall(r"^\| `(\d\d)` [^|]*\|(.+)\|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    documented = {
        state: " ".join(cell.strip().strip("`") or "--" for cell in cells.split("|")) for state, cells in rows
    }

    assert documented == BY_HAND


@pytest.mark.parametrize(("now_ms", "holds"), [(999, True), (1000, False), (1001, False)])
def test_claim_holds_until_its_time(now_ms, holds):
    assert lines.Claim("request", 1000).holds(now_ms) is holds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("unpaid", "The carrier refused: unpaid"),
        ("a\r\nb\x00\tc\u202ed", "The carrier refused: a b c d"),
        ("x" * 200, "The carrier refused: " + "x" * 200),
        ("x" * 201, "The carrier refused: " + "x" * 200),
        ("\r\n", "The carrier refused and gave no reason."),
    ],
)
def test_carriers_words_are_one_short_line(words, said):
    assert sentence(lines.carrier_refused(words)) == said


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("010-1234 5678", "01012345678"),
        ("+82 10", "+8210"),
        ("0", "0"),
        ("", None),
        ("-", None),
        ("+", None),
        ("1+2", None),
        ("010a", None),
        ("٣", None),
    ],
)
def test_number_is_found_in_what_somebody_typed(typed, number):
    assert lines.number_of(typed) == number
