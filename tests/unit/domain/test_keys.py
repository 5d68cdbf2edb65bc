"""Keys: texts that look the same have one, texts that people can tell apart have not."""

import unicodedata

import pytest

from tripline.domain import keys


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("K2", "k2"),
        (" k 2\t", "k2"),
        ("K2\u200b", "k2"),
        ("\ufeffK2", "k2"),
        ("K\u00a02", "k2"),
        ("K\u00ad2", "k2"),
        ("\u202eK2\u202c", "k2"),
        ("K\u31642", "k2"),
        ("K\ufe0f2", "k2"),
        ("77라 1234", "77라1234"),
        (unicodedata.normalize("NFD", "77라1234"), "77라1234"),
        ("e\u200d\u0301", "\u00e9"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("SN-000001", "sn-000001"),
        ("Ａ", "ａ"),
        ("\u200b \u3164", ""),
        ("", ""),
    ],
)
def test_key_has_neither_case_nor_blanks_nor_invisible_characters(text, key):
    assert keys.key(text) == key


@pytest.mark.parametrize(("one", "other"), [("K2", "K-2"), ("12가3456", "12나3456"), ("A1", "А1"), ("１", "1")])
def test_texts_that_look_different_or_are_other_letters_have_keys_of_their_own(one, other):
    assert keys.key(one) != keys.key(other)


def test_composed_and_decomposed_forms_of_every_letter_have_one_key():
    for point in (*range(0x00C0, 0x0250), *range(0x0370, 0x0530), *range(0x1E00, 0x2000), *range(0xAC00, 0xD7A4, 7)):
        letter = f"1{chr(point)}2"
        assert keys.key(unicodedata.normalize("NFD", letter)) == keys.key(unicodedata.normalize("NFC", letter))


@pytest.mark.parametrize("text", ["\U0001d160" * 255, "ΐ" * 255])
def test_key_of_the_longest_text_fits_into_an_index(text):
    assert len(keys.key(text)) <= keys.LONGEST
    assert keys.key(text) == keys.key(f" {text}") != keys.key(text + "1")
