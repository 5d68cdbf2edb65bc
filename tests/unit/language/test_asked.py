"""The language that `Accept-Language` asks for."""

import pytest

from tripline.language.asked import RANGES_MAX, asked
from tripline.language.catalogue import Language


@pytest.mark.parametrize(
    "header",
    ["ko", "KO-kr", "ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "en;q=0.5, ko;q=0.6", "fr, ko;q=0.1", "ko, en", "ko;q=1.000",
     "en;q=0, *;q=0.5", "de;q=2, ko", "ko , *", "en;q=0.3,ko;q=0.2,ko-KR;q=0.9", ",ko"],
)  # fmt: skip
def test_korean_is_asked_for(header):
    assert asked(header) is Language.KOREAN


@pytest.mark.parametrize(
    "header",
    [None, "", "en", "*", "fr", "fr;q=0.9, *;q=0.1", "en, ko", "ko;q=0.5, en;q=0.6", "ko;q=0", "ko;q=0, en;q=0",
     "kor", "ko;q=1.5", "ko;q=", "x" * 9, "ko;level=1", "ko;q=0.3, *;q=0.4", "en-GB, ko;q=0.9", "*, ko;q=0.5"],
)  # fmt: skip
def test_everything_else_is_english(header):
    assert asked(header) is Language.ENGLISH


def test_ranges_beyond_the_bound_are_not_read():
    assert asked("fr," * (RANGES_MAX - 1) + "ko") is Language.KOREAN
    assert asked("fr," * RANGES_MAX + "ko") is Language.ENGLISH
