"""Conditional limits (`maxspeed:conditional`): those that hold on some days, at some times, for some vehicles.

What rests on anything else is left out: rain, weight, holidays, children, the sun. Nobody can tell from a position
whether it holds, and a wrong limit is worse than none.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tripline.roads import values

ALWAYS: Final = 0b1111111
DAY_MIN: Final = 1_440
MOST: Final = 16
"""Conditions of one tag that are read; no road has as many."""
_DAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_RULE: Final = re.compile(r"([^@;]+)@\s*(?:\(([^)]*)\)|([^;(]+))")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)
_DAY: Final = re.compile(rf"({'|'.join(_DAYS)})(?:\s*-\s*({'|'.join(_DAYS)}))?")
_SPAN: Final = re.compile(rf"{_DAY.pattern}|{_TIME.pattern}|[\s,]+", re.ASCII)


class Timed(NamedTuple):
    """A limit that holds on some days from one minute to another."""

    limit: values.Limit
    days: int = ALWAYS
    """Bit 0 is Monday."""
    begin_min: int = 0
    end_min: int = DAY_MIN
    """Not after `begin_min`: on the next day."""
    vehicle: str = ""
    """`hgv` or `bus`; empty: any."""

    def holds(self, weekday: int, minute: int) -> bool:
        """Whether it holds then; weekday 0 is Monday."""
        if self.begin_min < self.end_min:
            return bool(self.days >> weekday & 1) and self.begin_min <= minute < self.end_min
        # Over midnight: what begins on a day ends on the next.
        began = self.days >> weekday & 1 if minute >= self.begin_min else self.days >> (weekday - 1) % 7 & 1
        return bool(began) and (minute >= self.begin_min or minute < self.end_min)


def timed(text: str) -> list[Timed]:
    """The conditions of a value that can be told; the last that holds counts."""
    found: list[Timed] = []
    for rule in _RULE.finditer(text):
        limit = values.limit(rule[1].strip())
        if limit is not None:
            found.extend(_conditions(limit, (rule[2] or rule[3]).strip()))
    return found[:MOST]


def _conditions(limit: values.Limit, text: str) -> Iterator[Timed]:
    if text in ("hgv", "bus"):
        yield Timed(limit, vehicle=text)
        return
    for part in text.split(";"):
        yield from _hours(limit, part.strip())


def _hours(limit: values.Limit, text: str) -> Iterator[Timed]:
    """`Mo-Fr 07:00-17:00,19:00-20:00`; nothing when there is anything else in it."""
    at, days, times = 0, 0, []
    while at < len(text):
        found = _SPAN.match(text, at)
        if found is None:
            return
        at = found.end()
        if found[1]:
            days |= _run(_DAYS.index(found[1]), _DAYS.index(found[2] or found[1]))
        elif found[3]:
            begin, end = int(found[3]) * 60 + int(found[4]), int(found[5]) * 60 + int(found[6])
            if begin >= DAY_MIN or end > 2 * DAY_MIN:
                return
            times.append((begin, end if end <= DAY_MIN else end - DAY_MIN))
    if days or times:
        for begin, end in times or [(0, DAY_MIN)]:
            yield Timed(limit, days or ALWAYS, begin, end)


def _run(first: int, last: int) -> int:
    bits = 0
    while True:
        bits |= 1 << first
        if first == last:
            return bits
        first = (first + 1) % 7
