"""Passwords that their owners choose."""

import pytest
from tests.support.refused import refused

from tripline.domain import passwords
from tripline.domain.fields import TooLong, Unprintable
from tripline.domain.passwords import PasswordTooShort
from tripline.domain.refusals import BadParameter


@pytest.mark.parametrize("password", ["12345678", "비밀번호여덟글자", " 2345678", "x" * 255])
def test_password_of_8_to_255_characters_is_taken_as_it_is(password: str) -> None:
    assert passwords.chosen("newPassword", password) == password


@pytest.mark.parametrize(
    ("password", "refusal"),
    [
        (None, BadParameter),
        ("", BadParameter),
        (" " * 8, BadParameter),
        ("1234567", PasswordTooShort),
        ("비밀번호", PasswordTooShort),
        ("x" * 256, TooLong),
        ("1234567\n", Unprintable),
    ],
)
def test_other_password_is_refused_by_name(password: str | None, refusal: type[BadParameter]) -> None:
    with refused(refusal, match="Parameter 'newPassword'"):
        passwords.chosen("newPassword", password)
