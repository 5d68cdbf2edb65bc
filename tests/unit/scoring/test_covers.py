"""Covers: spans that overlap become one, gaps cover nothing, and more than half of the shorter makes one drive."""

import pytest
from tests.support import made_drives

from tripline.scoring import covers, kernel
from tripline.scoring.rules import Rules

EPOCH_MS = 1_735_689_600_000


def test_exactly_half_of_the_shorter_is_no_one_drive():
    assert not covers.is_one_drive(((0, 10),), ((5, 100),))
    assert covers.is_one_drive(((0, 10),), ((4, 100),))


def test_too_many_spans_become_as_many_as_are_kept_with_the_shortest_gaps_closed():
    gap = [3 + (at * 7919) % covers.MOST for at in range(covers.MOST)]
    spans, at = [(0, 1)], 1
    for each in gap:
        spans.append((at + each, at + each + 1))
        at += each + 1

    cover = covers.joined(spans)

    assert len(cover) == covers.MOST
    assert covers.lasting_ms(cover) == len(spans) + min(gap)


@pytest.mark.parametrize(
    ("t", "spans"),
    [
        (range(5), [(0, 4)]),
        ([0, 1, 2, 32, 33], [(0, 33)]),
        ([0, 1, 2, 33, 34], [(0, 2), (33, 34)]),
        ([0, 1, 2, 90], [(0, 2), (90, 90)]),
        ([7], [(7, 7)]),
    ],
)
def test_spans_of_a_drive_end_at_gaps_above_thirty_seconds(t, spans):
    other = {"t": [0, 1, 100, 101], "speed": [50.0] * 4}
    found = kernel.findings(made_drives.drives(other, {"t": t, "speed": [50.0] * len(t)}, other), Rules()).spans

    own = found.trip == 1
    assert [
        ((begin - EPOCH_MS) // 1_000, (end - EPOCH_MS) // 1_000)
        for begin, end in zip(found.begin_ms[own].tolist(), found.end_ms[own].tolist(), strict=True)
    ] == spans


def test_clock_that_is_set_back_makes_two_spans_of_its_two_stretches():
    """Each stretch covers its own time; a year between them is covered by neither."""
    year = 31_536_000
    t = [*range(30), *(second - year for second in range(30, 60))]
    lat = [36 + second * 0.00025 for second in range(60)]
    found = kernel.findings(made_drives.drives({"t": t, "lat": lat, "speed": [100.0] * 60}), Rules()).spans

    cover = covers.joined(zip(found.begin_ms.tolist(), found.end_ms.tolist(), strict=True))
    assert covers.lasting_ms(cover) == 58_000
