"""Values at the edges of what numbers, dates and texts hold, and the names of values that handlers read of a request.

Each table has one value past each edge: of 32 and 64 bits, of a double, of the 4,300 digits that Python reads as an
integer, of `datetime` (years 1 to 9999), of JavaScript's `Date` (year 275760) and PostgreSQL's `timestamp`
(year 294276), and characters that a database cannot store.
"""

import base64
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from litestar import Request
from litestar.datastructures import MultiDict

from tripline.http import operations
from tripline.portal.frame.forms import Form

_YEAR_1_MS: Final = -62_135_596_800_000
_YEAR_10000_MS: Final = 253_402_300_800_000
NUMBERS: Final = (
    *(sign * at for bits in (31, 32, 53, 63, 64) for at in (2**bits - 1, 2**bits) for sign in (1, -1)),
    *(-(2**63) - 1, 10**30, -(10**30), 10**4_299, -1, 0, 10**11 - 1, 10**11),
    *(_YEAR_1_MS - 1, _YEAR_1_MS, _YEAR_10000_MS - 1, _YEAR_10000_MS, _YEAR_10000_MS // 1_000, _YEAR_1_MS // 1_000),
    *(8_640_000_000_000_000, 8_640_000_000_000_001, 9_224_318_016_000_000),
)
"""Whole numbers."""
NUMERALS: Final = (
    *map(str, NUMBERS),
    "1" + "0" * 4_300,
    "1e308",
    "-1e308",
    "5e-324",
    "1e400",
    "-1e400",
    "0.5",
    "-0.0",
)
WORDS: Final = ("NaN", "Infinity", "-Infinity", "0x7fffffffffffffff", "１２", "٣", "²", "+1", "1_000")
DATES: Final = (
    *("0000-01-01", "9999-12-31", "10000-01-01", "275760-09-13", "294277-01-01", "2024-02-30"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-12:00", "-4714-11-24T00:00:00Z"),
)
TEXTS: Final = ("a\x00b", "\U0010ffff", "\uffff", "'", "%", "[", "{", "a" * 5_000)
_OFTEN: Final = (2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, _YEAR_10000_MS - 1, _YEAR_10000_MS)
FEW_NUMERALS: Final = (*map(str, _OFTEN), "1" + "0" * 4_300, "1e308", "-1e400", "0.5")
"""Numbers for places of which there are very many."""
FEW: Final = (*FEW_NUMERALS, "NaN", "１２", "9999-12-31", "0000-01-01", "a\x00b", "\uffff", "a" * 5_000)
"""Values of an address or a form, for places of which there are very many."""
QUERY: Final = (*NUMERALS, *WORDS, *DATES, *TEXTS)
"""Values of an address or a form."""
LITERALS: Final = (*FEW_NUMERALS, *map(json.dumps, FEW))
"""Values of a JSON object, as JSON writes them."""
NOT_JSON: Final = ("NaN", "Infinity", '"\\ud800"', '"a\\udfff"')
"""Values that no JSON object holds."""


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


CURSORS: Final = (
    *(_cursor(f'[{number},"a"]') for number in (-(2**63), 2**63 - 1, 2**63, 2**64, 10**30, "0.5", "1e400")),
    *(_cursor(json.dumps(place)) for text in ("a\x00b", "\uffff", "a") for place in ([text, "a"], [1, text])),
    *map(_cursor, ('["\\ud800","a"]', '[1,"\\ud800"]', "[null,null]", '["a","b","c"]')),
)
"""Places in lists, as pages write them into addresses."""


class Read:
    """The names of values that handlers read, by operation."""

    def __init__(self) -> None:
        self.of_query: defaultdict[str, set[str]] = defaultdict(set)
        self.of_form: defaultdict[str, set[str]] = defaultdict(set)


class _Noted(MultiDict[Any]):
    """The values of a query; notes the names that are read."""

    def __init__(self, values: Any, names: set[str]) -> None:
        super().__init__(values)
        self._names = names

    def get(self, key: Any, default: Any = None) -> Any:
        self._names.add(key)
        return super().get(key, default)

    def getall(self, key: Any, default: Any = ()) -> Any:
        self._names.add(key)
        return super().getall(key, default)


@contextmanager
def reading() -> Iterator[Read]:
    """Note what handlers read of requests."""
    noted, now = Read(), ""
    plain = Request.query_params
    reads = {name: getattr(Form, name) for name in ("secret", "many")}

    def query_params(request: Any) -> Any:
        nonlocal now
        now = operations.of_request(request).name
        return _Noted(plain.fget(request).multi_items(), noted.of_query[now])  # type: ignore[attr-defined]

    def noting(read: Any) -> Any:
        def of_form(form: Form, name: str) -> Any:
            noted.of_form[now].add(name)
            return read(form, name)

        return of_form

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Request, "query_params", property(query_params))
        for name, read in reads.items():
            patch.setattr(Form, name, noting(read))
        yield noted
