"""The bounds of registration fields: lengths, forms, ranges, allowed words. A refusal names the field.

A field has the sender's name for it (`vehicleNo`), because the sentence is for the sender. Values are data: nothing in
them is interpreted, escaped or trimmed. Bounds follow spec/gaps G5, required fields spec/rest 8.5.

Not here: the fields of a record and their defaults (`companies`, `vehicles`, `sensors`, `people`); JSON types
(`wire/rest/bodies.py`).
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack, cast

from tripline.domain import ids, keys
from tripline.domain.refusals import BadParameter, Refusal, Word

T = TypeVar("T")
V = TypeVar("V")
Ts = TypeVarTuple("Ts")
TEXT_MAX: Final = 255
LONG_TEXT_MAX: Final = 4096
PORT_MAX: Final = 65535
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_FIRST_YEAR, _LAST_YEAR = 1970, 2099

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_PROSE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?![0-9])", re.IGNORECASE)
"""A scheme; does not match a host with a port."""
_WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+([/?#]\S*)?", re.IGNORECASE)
_INVISIBLE: Final = frozenset({"Cf", "Cn", "Co", "Zl", "Zp", "Zs"})
_FILLERS: Final = "\u115f\u1160\u3164\uffa0"
"""Letters by name, blank on the screen (Hangul)."""
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")


class TooLong(BadParameter):
    """A text has more characters than its field may hold."""

    code = "parameter.too_long"


class Unprintable(BadParameter):
    """A text holds NUL or another control character."""

    code = "parameter.unprintable"


class WrongForm(BadParameter):
    """A value does not have the form of its field."""

    code = "parameter.wrong_form"


class OutOfRange(BadParameter):
    """A number lies outside the range of its field."""

    code = "parameter.out_of_range"


class NotAllowed(BadParameter):
    """A word is not among the allowed values of its field."""

    code = "parameter.not_allowed"


class ReadOnly(BadParameter):
    """The request sets a read-only field to another value than the record shows."""

    code = "parameter.read_only"


class Writer(Word, Enum):
    """The writer of a field that is read-only for the caller."""

    PLATFORM = "the platform"
    CARRIER = "the carrier"


Rules = Mapping[str, tuple[Any, ...]]
"""By our name of a field: its check, and what that takes besides the published name and the value."""


@cache
def published(name: str) -> str:
    """The name that a field has over REST: `vehicle_no` is `vehicleNo`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


class Checks:
    """Validates one record and collects the refusals of all its fields."""

    def __init__(self) -> None:
        self._refusals: list[Refusal] = []

    def __call__(self, check: Callable[[str, V, Unpack[Ts]], T], name: str, value: V, *more: *Ts) -> T:
        """Return the check's result; None after noting its refusal."""
        try:
            return check(name, value, *more)
        except BadParameter as refusal:
            self._refusals.append(refusal)
            return cast(T, None)

    def record(self, rules: Rules, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked fields of a record; a missing value counts as None."""
        assert sent.keys() <= rules.keys(), sent.keys() - rules.keys()
        return {name: self(check, published(name), sent.get(name), *more) for name, (check, *more) in rules.items()}

    def refuse(self, refusal: BadParameter) -> None:
        """Note a refusal from a check made elsewhere."""
        self._refusals.append(refusal)

    def whole(self, rules: Callable[..., T], values: Mapping[str, Any]) -> T:
        """Return the result of a whole record's rules; None after noting their refusals. Fields that were refused
        before keep their first refusal."""
        try:
            return rules(**values)
        except BadParameter as refusal:
            known = {each.field for each in self._refusals}
            self._refusals += [each for each in (refusal, *refusal.others) if each.field not in known]
            return cast(T, None)

    def end(self) -> None:
        """Raise the first refusal, with the others attached; return when there is none."""
        if self._refusals:
            first, *others = self._refusals
            first.others = tuple(others)
            raise first


def checked(rules: Rules, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record when all are valid; else raise the `BadParameter` of the first invalid one, with
    the others attached."""
    checks = Checks()
    found = checks.record(rules, sent)
    checks.end()
    return found


def read_only(name: str, *, writer: Writer = Writer.PLATFORM) -> ReadOnly:
    """The refusal of a field that the caller may not write."""
    return ReadOnly("writer", field=name, writer=writer)


def text(name: str, value: str | None) -> str | None:
    """An optional line of text: at most 255 characters, none of them a control character."""
    return _printable(name, value, TEXT_MAX, _CONTROL)


def long_text(name: str, value: str | None) -> str | None:
    """Optional prose: at most 4096 characters; tabs and line ends are the only control characters."""
    return _printable(name, value, LONG_TEXT_MAX, _CONTROL_IN_PROSE)


def prose(name: str, value: str | None) -> str:
    """Required prose: something besides blanks, at most 4096 characters."""
    checked = long_text(name, value)
    if checked is None or not checked.strip():
        raise BadParameter.missing(name)
    return checked


def required(name: str, value: str | None) -> str:
    """A line of text that must hold something besides blanks."""
    checked = text(name, value)
    if checked is None or not checked.strip():
        raise BadParameter.missing(name)
    return checked


def number(name: str, value: str | None) -> str:
    """A required number of a vehicle or serial number of a sensor: something visible."""
    checked = required(name, value)
    if not keys.key(checked):
        raise BadParameter.missing(name)
    return checked


def uuid(name: str, value: str) -> str:
    """The canonical form of an id in either letter case."""
    known = ids.canonical(value)
    if known is None:
        raise BadParameter("uuid", field=name)
    return known


def email(name: str, value: str | None) -> str:
    """A required e-mail address: one `@` with text on both sides, no blanks, no invisible characters."""
    checked = required(name, value)
    if not _EMAIL.fullmatch(checked) or (not checked.isascii() and any(map(_is_invisible, checked))):
        raise WrongForm("email", field=name)
    if len(compared(checked)) > TEXT_MAX:
        raise TooLong("in_full", field=name, most=TEXT_MAX)
    return checked


def optional_email(name: str, value: str | None) -> str | None:
    """An e-mail address or nothing; an empty text comes back as sent (spec/rest 8.6)."""
    return email(name, value) if value else value


def compared(text: str) -> str:
    """The form in which two names are compared: one letter case, one of the ways to write the same letters (NFKC).

    `é` may be one character or two, `Ａ` is a wide `A`; one letter may be up to 18 when it is written in full.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def web_address(name: str, value: str | None) -> str | None:
    """An optional address of a server: a bare host, or with a scheme, which is then http or https. Never fetched."""
    checked = text(name, value)
    if checked is not None and _SCHEME.match(checked.lstrip()) and not _WEB_ADDRESS.fullmatch(checked):
        raise WrongForm("web_address", field=name)
    return checked


def one_of(name: str, value: str | None, allowed: Collection[str]) -> str | None:
    """An optional word from a list; None for an empty text, which forms send for no choice."""
    if not value:
        return None
    if value not in allowed:
        raise NotAllowed(field=name, allowed=", ".join(allowed))
    return value


def port(name: str, value: int | None) -> int | None:
    """An optional port number, 1 to 65535."""
    if value is not None and not 1 <= value <= PORT_MAX:
        raise OutOfRange("between", field=name, least=1, most=PORT_MAX)
    return value


def amount(name: str, value: float | None, most: int) -> float:
    """A number from 0 to `most`; 0 when it was not sent."""
    if value is None:
        return 0.0
    if not 0 <= value <= most:
        raise OutOfRange("amount", field=name, most=most)
    return value


def day(name: str, text: str) -> int:
    """Return a day written YYYY-MM-DD, from 1970 to 2099, as days since 1970-01-01."""
    try:
        date = dt.date.fromisoformat(text)
    except ValueError as error:
        raise BadParameter("time", field=name) from error
    if text != date.isoformat() or not _FIRST_YEAR <= date.year <= _LAST_YEAR:
        raise BadParameter("time", field=name)
    return date.toordinal() - _EPOCH


def _is_invisible(character: str) -> bool:
    """True for a character that does not change how a text looks: zero width, direction marks, fillers."""
    return unicodedata.category(character) in _INVISIBLE or character in _FILLERS


def _printable(name: str, value: str | None, longest: int, control: re.Pattern[str]) -> str | None:
    if value is None:
        return None
    if len(value) > longest:
        raise TooLong("characters", field=name, most=longest)
    if control.search(value):
        raise Unprintable(field=name)
    return value
