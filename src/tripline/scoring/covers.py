"""Covers: the time that the samples of a trip cover, and whether two trips are one drive that two sensors saw.

A cover is spans of time without the gaps between them, so a sample with a wrong date makes no trip a year long. Free of
numpy, so that whoever reads it need not load the kernel. Not here: which trips are compared
(`services/scores/duplicates.py`).
"""

import itertools
import struct
from collections.abc import Iterable
from typing import Final

Cover = tuple[tuple[int, int], ...]
"""Ascending spans that do not touch, (begin, end) in epoch ms, each longer than nothing."""

MOST: Final = 1_000
"""Spans in a cover at most: what a trip with more gaps covers is told without its shortest ones."""


def joined(spans: Iterable[tuple[int, int]]) -> Cover:
    """The cover of these spans, which may overlap and come in any order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif end > begin:
            found.append((begin, end))
    return tuple(_few(found))


def _few(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans with the shortest gaps closed, until there are `MOST` of them."""
    if len(spans) <= MOST:
        return spans
    longest = sorted(range(1, len(spans)), key=lambda at: spans[at - 1][1] - spans[at][0])[: MOST - 1]
    cuts = [0, *sorted(longest), len(spans)]
    return [(spans[first][0], spans[end - 1][1]) for first, end in itertools.pairwise(cuts)]


def lasting_ms(cover: Cover) -> int:
    """How long the spans are together."""
    return sum(end - begin for begin, end in cover)


def is_one_drive(one: Cover, other: Cover) -> bool:
    """Whether both cover more than half of what the shorter one does."""
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
    """What was written. Raises `struct.error` when it is cut."""
    return tuple(struct.iter_unpack("<qq", body))
