"""Standings of many that are kept for a minute: percentiles, ranks, and how much is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripline.services.scores.standings import LIFE_MS, OF_ITSELF, Group, Lately, Ranking

BADNESS = st.lists(st.sampled_from([0.0, 1.0, 1.5, 7.0]), min_size=20, max_size=60)


def key(number):
    return "vehicle", "day", number, "taxi"


@given(BADNESS)
def test_percentile_counts_the_worse_and_half_of_the_equal(badness):
    group = Group(badness)

    for own in badness:
        worse, equal = sum(each > own for each in badness), badness.count(own)
        assert group.percentile(own) == 100 * (worse + equal / 2) / len(badness)


@pytest.mark.parametrize(("own", "expected"), [(-1.0, 97.5), (100.0, 2.5), (9.5, 52.5)])
def test_member_with_another_score_than_when_its_group_was_read_has_a_place_in_it(own, expected):
    assert Group([float(each) for each in range(20)]).percentile(own) == expected


def test_group_that_is_too_small_tells_no_percentile():
    assert Group([0.0] * 19).percentile(0.0) is None
    assert Group([]).percentile(0.0) is None


@given(st.dictionaries(st.text(max_size=3), st.sampled_from([0.0, 1.0, 1.5]), min_size=1), st.integers(1, 4))
def test_pages_of_a_ranking_go_through_all_subjects_once_the_best_first(badness, limit):
    ranking, found, begin = Ranking(badness), [], 0
    while page := ranking.places(begin, limit):
        found += page
        begin = ranking.behind(page[-1][0])

    expected = sorted(badness.items(), key=lambda each: (each[1], each[0]))
    ranks = [1 + sum(other < own for other in badness.values()) for _, own in expected]
    assert found == [(*each, rank) for each, rank in zip(expected, ranks, strict=True)]


def test_what_was_read_is_known_for_a_minute():
    lately = Lately(1_000)
    read = lately.keep(key(1), Group([1.0]), now_ms=5)

    assert lately.of(key(1), now_ms=5 + LIFE_MS - 1) is read
    assert lately.of(key(1), now_ms=5 + LIFE_MS) is None
    assert lately.of(key(1), now_ms=4) is None
    assert lately.of(key(2), now_ms=5) is None


def test_so_many_members_are_kept_and_what_was_read_first_is_forgotten():
    lately = Lately(3 * OF_ITSELF + 10)
    for number in range(3):
        lately.keep(key(number), Group([]), now_ms=0)
    lately.keep(key(0), Group([1.0] * 10), now_ms=0)
    kept_all = [lately.of(key(number), now_ms=0) is not None for number in range(4)]
    lately.keep(key(3), Group([]), now_ms=0)
    first_forgotten = [lately.of(key(number), now_ms=0) is not None for number in range(4)]
    lately.keep(key(4), Group([1.0] * 1_000), now_ms=0)

    assert kept_all == [True, True, True, False]
    assert first_forgotten == [True, False, True, True]
    assert lately.of(key(4), now_ms=0) is None
    assert lately.of(key(3), now_ms=0) is not None
