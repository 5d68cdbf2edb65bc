"""Covers of any spans are their time, with spans that overlap joined."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tripline.scoring import covers

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
