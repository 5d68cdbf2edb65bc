"""Columns and filters of the portal's lists. Each is declared once: for the page, for the file and for the store.

Not here: the markup of each kind of column (`templates/lists/list.html`).
"""

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from operator import attrgetter
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from tripline.domain import instants
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame.visitors import Visitor
from tripline.portal.frame.words import VALUE
from tripline.wire.csv_files import Cell

_HIDING: Final = frozenset({"middle", "wide", "widest"})
"""Classes that hide a column in a narrow window."""


class Words(NamedTuple):
    """Language and time zone of a list."""

    language: Language
    zone: ZoneInfo

    def say(self, name: str) -> str:
        return catalogue.text(name, self.language)

    def time(self, at_ms: int | None) -> str | None:
        """Return an instant in the service's time zone, in a format for spreadsheets."""
        return None if at_ms is None else f"{instants.local(at_ms, self.zone):%Y-%m-%d %H:%M:%S}"


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter with a few values."""

    key: str
    values: Mapping[str, Any]
    """The store's value for each value of the query."""
    field: str = ""
    """Field of the store's filters; by default the key."""
    usual: str | None = None
    """Default of a filter whose values are tabs: one of them is always selected."""

    def texts(self, words: Words) -> dict[Any, str]:
        """Return the text of each of the store's values."""
        return {value: words.say(f"portal.lists.filter.{self.key}.{name}") for name, value in self.values.items()}


def each_of(values: type[Enum]) -> dict[str, Any]:
    """The values of a filter, taken from an enumeration."""
    return {each.value: each for each in values}


class Kind(StrEnum):
    """How a page displays the values of a column, and a file writes them."""

    TEXT = "text"
    CLIP = "clip"
    """A text that is cut to one line where room is short."""
    CODE = "code"
    """A text as `CLIP`, with more room."""
    ADDRESS = "address"
    CHOICE = "choice"
    """The text of a filter's value; a badge if it has a colour."""
    WORD = "word"
    """A coded value, shown by its text (`portal.value.`) if it has one; raw in a file."""
    AGO = "ago"
    """An instant as the time since then."""
    DATE = "date"
    NUMBER = "number"
    WHOLE = "whole"
    """A number without separators and decimals; nothing for 0."""
    KM = "km"
    SPEED = "speed"
    SIZE = "size"
    """A count of the row's records, which the page loads afterwards."""
    OWN = "own"
    """The page calls the column's macro in `templates/lists/cells.html`."""

    @property
    def is_number(self) -> bool:
        return self in _NUMBERS


_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.WHOLE, Kind.KM, Kind.SPEED, Kind.SIZE})
_TIMES: Final = frozenset({Kind.AGO, Kind.DATE})


class Around(NamedTuple):
    """Context of the link in a cell, besides its row."""

    visitor: Visitor
    here: Callable[..., str]
    """Address of the list's first page with changed query parameters."""
    is_open: Callable[[str], bool]
    """True if the visitor's role may open the page at this path."""


class Column(msgspec.Struct, frozen=True):
    """A column of a list."""

    key: str
    kind: Kind
    of: str | Callable[[Any, Words], Cell] = ""
    """Field of the row, or function that returns the value; by default the field named as the key."""
    order: str | None = None
    """The sort order that the column offers."""
    shown: bool = True
    look: str = ""
    to: Callable[[Any, Around], str | None] | None = None
    """Returns the address of the link around a value."""
    choice: Filter | None = None
    """The filter whose texts the column shows (`Kind.CHOICE`)."""
    colours: Mapping[str, str] = {}
    """The class of the badge, by value of the filter; values without one are left out of the page."""
    dash: bool = False
    """A missing value is displayed as a dash that is read out."""
    elsewhere: tuple[str, str] | None = None
    """A field, and the text shown for a missing value while this field has one."""
    macro: str = ""

    def look_when(self, *, picked: bool) -> str:
        """The classes of the cells; a picked column is never hidden."""
        look = f"number {self.look}" if self.kind.is_number else self.look
        return " ".join(each for each in look.split() if not (picked and each in _HIDING))

    def reader(self, words: Words) -> Callable[[Any], Any]:
        """Return a function that reads the value of a row."""
        of = self.of or self.key
        return attrgetter(of) if isinstance(of, str) else lambda row: of(row, words)

    def shower(self, words: Words) -> Callable[[Any], Any]:
        """Return a function that reads the value that a page displays; of a choice the class of the badge and the text,
        or None.
        """
        read = self.reader(words)
        if self.choice is not None:
            texts = self.choice.texts(words)
            shown = {
                value: (self.colours.get(name), texts[value])
                for name, value in self.choice.values.items()
                if not self.colours or name in self.colours
            }
            return lambda row: shown.get(read(row))
        if self.kind is Kind.WORD:
            known = catalogue.of_portal(words.language)
            return lambda row: known.get(f"{VALUE}{read(row)}", read(row))
        return read

    def writer(self, words: Words) -> Callable[[Any], Cell]:
        """Return a function that makes a row's cell in a file."""
        read = self.reader(words)
        if self.kind in _TIMES:
            return lambda row: words.time(read(row))
        if self.choice is not None:
            texts = self.choice.texts(words)
            return lambda row: texts[read(row)]
        return read
