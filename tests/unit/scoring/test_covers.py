"""Covers: spans that overlap become one, gaps cover nothing, and more than half of the shorter makes one drive."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import made_drives

from tripline.scoring import covers, kernel
from tripline.scoring.rules import Rules

EPOCH_MS = 1_735_689_600_000
SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda each: (each[0], each[0] + each[1])))


def instants(spans):
    return {at for begin, end in spans for at in range(begin, end)}


@given(SPANS)
def test_cover_is_the_time_of_its_spans(spans):
    cover = covers.joined(spans)

    assert instants(cover) == instants(spans)
    assert covers.lasting_ms(cover) == len(instants(spans))
    assert all(begin < end for begin, end in cover)
    assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(cover))
    assert covers.read(covers.written(cover)) == cover


@given(SPANS, SPANS)
def test_one_drive_is_more_than_half_of_the_shorter(one, other):
    shared = len(instants(one) & instants(other))
    expected = 2 * shared > min(len(instants(one)), len(instants(other)))

    assert covers.is_one_drive(covers.joined(one), covers.joined(other)) is expected


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
