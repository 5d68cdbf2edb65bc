"""The bounds of a password that its owner chooses.

Registrations over the published operations accept any non-empty password, because the interface sets no minimum and
programs rely on that (`domain/people.py`); this rule applies to passwords set on a form.
"""

from typing import Final

from tripline.domain import fields
from tripline.domain.refusals import BadParameter

SHORTEST: Final = 8
LONGEST: Final = fields.TEXT_MAX


class PasswordTooShort(BadParameter):
    """A chosen password has fewer than 8 characters."""

    code = "password.too_short"


class PasswordsDiffer(BadParameter):
    """The two passwords on a form are not the same."""

    code = "password.different"


def chosen(name: str, value: str | None) -> str:
    """A new password: 8 to 255 characters, not only blanks, no control characters."""
    password = fields.required(name, value)
    if len(password) < SHORTEST:
        raise PasswordTooShort(field=name, least=SHORTEST)
    return password
