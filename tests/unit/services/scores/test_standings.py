"""Rankings that are kept for a minute: ranks, pages, and how much is kept."""

from hypothesis import given
from hypothesis import strategies as st

from tripline.services.scores.standings import LIFE_MS, OF_ITSELF, Ranking, Standings


def key(number):
    return "vehicle", "day", number, "company"


def ranking(members):
    return Ranking([(f"{number:04}", 1.0) for number in range(members)])


@given(st.dictionaries(st.text(max_size=3), st.sampled_from([0.0, 1.0, 1.5]), min_size=1), st.integers(1, 4))
def test_pages_of_a_ranking_go_through_all_subjects_once_the_best_first(badness, limit):
    ordered = sorted(badness.items(), key=lambda each: (each[1], each[0]))
    ranking, found, begin = Ranking(ordered), [], 0
    while page := ranking.places(begin, limit):
        found += page
        begin = ranking.behind(page[-1][0])

    ranks = [1 + sum(other < own for other in badness.values()) for _, own in ordered]
    assert found == [(*each, rank) for each, rank in zip(ordered, ranks, strict=True)]


def test_what_was_read_is_known_for_a_minute():
    known, read = Standings(1_000), ranking(1)
    known.keep(key(1), read, now_ms=5)

    assert known.of(key(1), now_ms=5 + LIFE_MS - 1) is read
    assert known.of(key(1), now_ms=5 + LIFE_MS) is None
    assert known.of(key(1), now_ms=4) is None
    assert known.of(key(2), now_ms=5) is None


def test_so_many_members_are_kept_and_what_was_read_first_is_forgotten():
    known = Standings(3 * OF_ITSELF + 10)
    for number in range(3):
        known.keep(key(number), ranking(0), now_ms=0)
    known.keep(key(0), ranking(10), now_ms=0)
    kept_all = [known.of(key(number), now_ms=0) is not None for number in range(4)]
    known.keep(key(3), ranking(0), now_ms=0)
    first_forgotten = [known.of(key(number), now_ms=0) is not None for number in range(4)]
    known.keep(key(4), ranking(1_000), now_ms=0)

    assert kept_all == [True, True, True, False]
    assert first_forgotten == [True, False, True, True]
    assert known.of(key(4), now_ms=0) is None
    assert known.of(key(3), now_ms=0) is not None
