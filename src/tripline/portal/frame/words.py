"""Labels of fields, stored values in the visitor's language, and full stops.

Not here: history (`records/histories.py`), texts of one noun (its module and templates).
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

from tripline.domain import companies, delegations, pushes, vehicles
from tripline.domain.access import Authority
from tripline.language import catalogue
from tripline.portal.frame.visitors import Visitor

Stored: TypeAlias = companies.MessageTypes | bool | None
UNITS: Final = {name: field["unit"] for name, field in catalogue.of_fields().items() if "unit" in field}
VALUE: Final = "portal.value."
_DECIMALS: Final = {"mileage": 1}
"""Decimals of these numbers; all others are whole."""
_SHOWN_BELOW: Final = 1e15
"""A greater number is shown as typed: `1e308` has 309 digits."""
_COUNTS: Final = frozenset({"delegations", "driven", "managed", "people", "rights", "sensors", "vehicles"})
"""Fields of history with the count of affected records."""
_ZERO_IS_NONE: Final = frozenset({"displacement"})
"""Numbers whose 0 stands for a missing value."""
_ROLES: Final = (Authority.COMPANY_ADMIN, Authority.DIRECTOR, Authority.DRIVER)
_WORDS: Final = frozenset(
    {
        *vehicles.MISSION_TYPES,
        *vehicles.FUEL_TYPES,
        *vehicles.CATEGORIES,
        *(role.value for role in delegations.UserRole),
        *(role.value for role in _ROLES),
    }
)
"""Coded values, which have a text; all others are shown unchanged."""
_MESSAGES: Final = "notifyMsgType"
_MESSAGE: Final = "portal.pushes.type."
_CHOSEN: Final = frozenset({"missionType", "fuelType", "category", "userRole", "authority"})


def label(visitor: Visitor, field: str) -> str:
    """The label of the field."""
    return visitor.say(catalogue.FIELD + field)


def labels(fields: Iterable[str]) -> dict[str, str]:
    """The keys of the fields' labels, for refusals."""
    return {field: catalogue.FIELD + field for field in fields}


def value(visitor: Visitor, field: str, stored: Stored) -> str | None:
    """The field's value, formatted for reading, a number with its unit; None if empty."""
    stored = given(field, stored)
    if stored is None or stored == "":
        return None
    if isinstance(stored, bool):
        return visitor.say(VALUE + ("yes" if stored else "no"))
    if field in UNITS:
        return _measured(visitor, field, text(stored))
    if field in _COUNTS and isinstance(stored, int):
        return visitor.say(f"{VALUE}count.{field}", n=stored)
    if field in _CHOSEN and stored in _WORDS:
        return visitor.say(VALUE + str(stored))
    if field == _MESSAGES:
        return messages(visitor, pushes.selected(stored)) or text(stored)
    return text(stored)


def _measured(visitor: Visitor, field: str, typed: str) -> str:
    """The number with its unit; any other text unchanged."""
    try:
        number = float(typed)
    except ValueError:
        return typed
    if not abs(number) < _SHOWN_BELOW:
        return typed
    return visitor.say(VALUE + "with_unit", value=f"{number:,.{_DECIMALS.get(field, 0)}f}", unit=UNITS[field])


def given(field: str, stored: Stored) -> Stored:
    """The stored value, or None if it stands for a missing one."""
    return None if field in _ZERO_IS_NONE and stored in (0, "0") else stored


def messages(visitor: Visitor, numbers: Collection[int]) -> str:
    """The names of messages that these numbers of `notifyMsgType` select; an unknown number unchanged."""
    names = catalogue.of_portal(visitor.language)
    return ", ".join(names.get(f"{_MESSAGE}{number}", str(number)) for number in sorted(numbers))


def options(visitor: Visitor, values: Iterable[str]) -> list[tuple[str, str]]:
    """The choices of a list, as values and texts."""
    return [(each, visitor.say(VALUE + each)) for each in values]


def ended(text: str) -> str:
    """The text with a full stop."""
    return text if text.endswith(".") else f"{text}."


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return ended(text[:1].upper() + text[1:])


def text(stored: Stored) -> str:
    """A stored value as the text in a form; empty for None."""
    if stored is None:
        return ""
    if isinstance(stored, list):
        return ", ".join(str(each) for each in stored)
    if isinstance(stored, float) and stored == int(stored):
        return str(int(stored))
    return str(stored)
