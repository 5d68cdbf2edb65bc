"""Covers: the time that the samples of a trip cover, and the comparison that finds one drive recorded by two sensors.

A cover is spans of time without the gaps between them, so a sample with a wrong date does not make a trip a year long.
Free of numpy, so that its readers need not load the kernel.
"""

import itertools
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple


class Interval(NamedTuple):
    """A time without a gap, epoch ms."""

    begin_ms: int
    end_ms: int


Cover = tuple[Interval, ...]
"""Ascending spans that do not touch, each longer than nothing."""

MOST: Final = 1_000
"""Most spans in a cover; the shortest gaps of a trip with more are closed."""


def joined(spans: Iterable[Interval]) -> Cover:
    """The cover of these spans, which may overlap and come in any order."""
    found: list[Interval] = []
    for begin_ms, end_ms in sorted(spans):
        if found and begin_ms <= found[-1].end_ms:
            found[-1] = Interval(found[-1].begin_ms, max(found[-1].end_ms, end_ms))
        elif end_ms > begin_ms:
            found.append(Interval(begin_ms, end_ms))
    return tuple(_few(found))


def _few(spans: list[Interval]) -> list[Interval]:
    """The spans with the shortest gaps closed, until there are `MOST` of them."""
    if len(spans) <= MOST:
        return spans
    longest = sorted(range(1, len(spans)), key=lambda at: spans[at - 1].end_ms - spans[at].begin_ms)[: MOST - 1]
    cuts = [0, *sorted(longest), len(spans)]
    return [Interval(spans[first].begin_ms, spans[end - 1].end_ms) for first, end in itertools.pairwise(cuts)]


def lasting_ms(cover: Cover) -> int:
    """The total length of the spans."""
    return sum(end_ms - begin_ms for begin_ms, end_ms in cover)


def is_one_drive(one: Cover, other: Cover) -> bool:
    """True if the shared time is more than half of the shorter cover."""
    return 2 * _shared_ms(one, other) > min(lasting_ms(one), lasting_ms(other))


def _shared_ms(one: Cover, other: Cover) -> int:
    shared = here = there = 0
    while here < len(one) and there < len(other):
        (a_begin, a_end), (b_begin, b_end) = one[here], other[there]
        shared += max(min(a_end, b_end) - max(a_begin, b_begin), 0)
        if a_end < b_end:
            here += 1
        else:
            there += 1
    return shared


def written(cover: Cover) -> bytes:
    """The cover packed: two numbers of eight bytes a span."""
    return struct.pack(f"<{2 * len(cover)}q", *(at for span in cover for at in span))


def read(body: bytes) -> Cover:
    """Unpack a cover that `written` packed. Raises `struct.error` if it is truncated."""
    return tuple(map(Interval._make, struct.iter_unpack("<qq", body)))
