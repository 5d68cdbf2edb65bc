"""Beginnings of names in any letter case."""

import sys

import pytest

from tripline.store import prefixes
from tripline.store.prefixes import LAST


def test_every_character_is_a_form_of_what_its_lower_case_begins_with():
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    lowered = {character: character.lower()[0] for character in characters if character.lower() != character}

    assert [one for one, lower in lowered.items() if one not in prefixes.forms(lower)] == []


@pytest.mark.parametrize(
    ("search", "starts"),
    [
        ("12가3456", ["12가3456"]),
        ("홍길동", ["홍길동"]),
        ("S-1", ["S-1", "s-1"]),
        ("sn-09", ["SN-09", "Sn-09", "sN-09", "sn-09"]),
        ("abc", ["ABC", "ABc", "AbC", "Abc", "aBC", "aBc", "abC", "abc"]),
        ("ka", ["KA", "Ka", "kA", "ka", "\u212aA", "\u212aa"]),
        ("%_", ["%_"]),
    ],
)
def test_ranges_hold_the_forms_of_the_first_letters(search, starts):
    assert prefixes.ranges(search) == tuple((start, start + LAST) for start in starts)


def test_searches_with_ever_other_characters_fill_no_memory():
    for code in range(0x4E00, 0x4E00 + 2 * prefixes.KEPT):
        prefixes.ranges(chr(code))

    assert prefixes.forms.cache_info().currsize == prefixes.KEPT


@pytest.mark.parametrize(("search", "letters"), [("abcd", 4), ("abcde", 5), ("abcdef", 5)])
def test_ranges_are_never_more_than_their_most(search, letters):
    starts = [start for start, _ in prefixes.ranges(search)]

    assert {start.lower() for start in starts} == {search[:letters]}
    assert len(starts) == 2**letters <= prefixes.MOST
