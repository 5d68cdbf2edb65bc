"""Phrases as one text, with what stands between them in each language."""

import pytest

from tripline.language.catalogue import Language
from tripline.language.phrases import phrase, said, verbatim


@pytest.mark.parametrize(
    ("language", "text"),
    [(Language.ENGLISH, "One; two, three: four; five."), (Language.KOREAN, "One. two, three: four. five.")],
)
def test_phrases_are_joined_by_semicolons_in_english_alone(language, text):
    joints = {"One": "; ", "two": "; ", "three": ", ", "four": ": ", "five.": "; "}

    assert said([phrase("verbatim", joint=joint, text=word) for word, joint in joints.items()], language) == text


@pytest.mark.parametrize("joint", ["; ", ", "])
def test_korean_sentence_that_has_ended_is_followed_by_the_next(joint):
    both = (verbatim("하나입니다."), phrase("verbatim", joint=joint, text="둘입니다."))

    assert said(both, Language.KOREAN) == "하나입니다. 둘입니다."
