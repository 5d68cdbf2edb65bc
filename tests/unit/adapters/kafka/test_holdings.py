"""The partitions of a member, and how far its batches are stored, whatever comes and goes meanwhile."""

from tripline.adapters.kafka.holdings import Holdings
from tripline.ports.bus import BusMessage

A, B = ("t", 0), ("t", 1)


def messages(*places):
    return [BusMessage(topic, partition, offset, None, b"", 0) for (topic, partition), offset in places]


def given(holdings, *places):
    batch, rest = holdings.next(holdings.batch(messages(*places)), len(places))
    assert rest is None
    return batch


def test_batch_that_is_done_moves_each_partition_behind_its_last_message():
    holdings = Holdings()
    holdings.gain([A, B])
    batch = given(holdings, (A, 7), (B, 2), (A, 8))

    assert not holdings.idle
    assert holdings.done(batch) == {A: 9, B: 3}
    assert holdings.stored == {A: 9, B: 3}
    assert holdings.idle


def test_messages_of_partitions_that_it_has_not_are_in_no_batch():
    holdings = Holdings()
    holdings.gain([A])

    assert holdings.batch(messages((A, 1), (B, 1))).messages == messages((A, 1))


def test_later_batch_waits_for_the_earlier_one():
    holdings = Holdings()
    holdings.gain([A, B])
    first, second, third = given(holdings, (A, 1)), given(holdings, (A, 2), (B, 5)), given(holdings, (B, 6))

    assert holdings.done(second) == {}
    assert holdings.done(first) == {A: 3, B: 6}
    assert holdings.done(third) == {B: 7}


def test_batch_that_is_done_twice_moves_nothing_again():
    holdings = Holdings()
    holdings.gain([A])
    batch = given(holdings, (A, 1))

    assert holdings.done(batch) == {A: 2}
    assert holdings.done(batch) == {}


def test_lost_partition_is_neither_kept_nor_moved():
    holdings = Holdings()
    holdings.gain([A, B])
    batch = given(holdings, (A, 1), (B, 1))
    holdings.lose([A])

    kept = holdings.kept(batch)

    assert kept.messages == messages((B, 1))
    assert holdings.done(kept) == {B: 2}


def test_partition_that_went_and_came_back_is_another_one():
    holdings = Holdings()
    holdings.gain([A])
    batch = given(holdings, (A, 1))
    holdings.lose([A])
    holdings.gain([A])

    assert holdings.kept(batch).messages == []
    assert holdings.done(batch) == {}
    again = given(holdings, (A, 1))
    assert holdings.kept(again) is again
    assert holdings.done(again) == {A: 2}


def test_partitions_are_busy_until_their_batches_are_done():
    holdings = Holdings()
    holdings.gain([A, B])
    batch = given(holdings, (A, 1))

    assert (holdings.busy([A]), holdings.busy([B]), holdings.busy([A, B])) == (True, False, True)
    holdings.done(batch)
    assert not holdings.busy([A, B])


def test_member_that_was_thrown_out_has_nothing():
    holdings = Holdings()
    holdings.gain([A])
    batch = given(holdings, (A, 1))
    holdings.lose_all()

    assert (list(holdings.partitions), holdings.stored, holdings.idle) == ([], {}, True)
    assert holdings.done(batch) == {}


def test_batch_may_be_given_in_pieces_each_done_by_itself():
    holdings = Holdings()
    holdings.gain([A, B])
    ahead = holdings.batch(messages((A, 1), (B, 5), (A, 2), (A, 3)))

    first, rest = holdings.next(ahead, 2)
    second, nothing = holdings.next(rest, 2)

    assert (first.messages, second.messages, nothing) == (messages((A, 1), (B, 5)), messages((A, 2), (A, 3)), None)
    assert (holdings.done(first), holdings.done(second)) == ({A: 2, B: 6}, {A: 4})


def test_first_batch_of_a_partition_that_came_says_so_once():
    holdings = Holdings()
    holdings.gain([A])
    first, second = given(holdings, (A, 1)), given(holdings, (A, 2))
    holdings.gain([B])
    third, fourth = given(holdings, (A, 3)), given(holdings, (A, 4), (B, 1))

    assert [batch.came for batch in (first, second, third, fourth)] == [True, False, False, True]


def test_partition_that_is_leaving_is_in_no_further_batch_and_its_last_one_counts():
    holdings = Holdings()
    holdings.gain([A, B])
    under_way = given(holdings, (A, 1))
    ahead = holdings.batch(messages((A, 2), (B, 1)))
    holdings.leave([A])

    behind, _ = holdings.next(ahead, 10)

    assert behind.messages == messages((B, 1))
    assert holdings.busy([A])
    assert holdings.done(under_way) == {A: 2}
    assert not holdings.busy([A])
    holdings.lose([A])
    holdings.gain([A])
    assert given(holdings, (A, 2)).messages == messages((A, 2)), "it came back"


def test_what_is_skipped_is_in_no_further_batch_and_committed():
    holdings = Holdings()
    holdings.gain([A])
    under_way = given(holdings, (A, 1))
    ahead = holdings.batch(messages((A, 2), (A, 8), (A, 9)))

    assert holdings.skip({A: 9, B: 4}) == {A: 9}

    assert holdings.next(ahead, 10)[0].messages == messages((A, 9))
    assert holdings.done(under_way) == {A: 9}, "nobody goes back"


def test_messages_under_way_are_counted():
    holdings = Holdings()
    holdings.gain([A])
    batch = given(holdings, (A, 1), (A, 2))

    before = holdings.under_way
    holdings.done(batch)

    assert (before, holdings.under_way) == (2, 0)
