"""The queue of one receiver: order within sensors, rests, and its little memory."""

from tests.support.push_rows import DAY_MS, DELIVERED, FAILED, FIRST, GONE, NOW_MS, REFUSED, Outbox, row

from tripline.domain.ids import RowNo, SensorId
from tripline.services.push.queue import DOWN_AFTER, LOST_HOPE, UNPROVEN, WINDOW, Queue
from tripline.services.push.schedule import Outcome
from tripline.store.push.queue import Row


def test_message_of_a_sensor_waits_for_the_one_before_it():
    queue = Queue(patience_ms=DAY_MS)
    queue.reading()
    queue.admit([row(1, "a"), row(2, "a"), row(3, "b")], now_ms=NOW_MS)

    first, other = queue.take(NOW_MS), queue.take(NOW_MS)

    assert (first.no - FIRST, other.no - FIRST, queue.take(NOW_MS)) == (1, 3, None)
    queue.settle(first, DELIVERED, now_ms=NOW_MS)
    assert queue.take(NOW_MS).no - FIRST == 2


def test_message_that_fails_holds_up_its_sensor_alone():
    box = Outbox(row(0, "b"), row(1, "a"), row(2, "b"), row(3, "a"), row(4, "b"))

    assert box.drain(lambda each: FAILED if each.sensor_id == "a" else DELIVERED) == [0, 1, 2, 4]
    assert box.queue.due_ms(NOW_MS) == NOW_MS + 1_000
    box.now_ms += 999
    assert box.drain() == []
    box.now_ms += 1
    assert box.drain() == [1, 3]
    assert box.queue.due_ms(box.now_ms) is None


def test_message_that_is_given_up_does_not_block_the_ones_behind_it():
    box = Outbox(row(1), row(2), row(3))

    assert box.drain(lambda each: GONE if each.no == FIRST + 1 else DELIVERED) == [1, 2, 3]
    assert box.sent == [(1, GONE), (2, DELIVERED), (3, DELIVERED)]


def test_refused_message_is_tried_three_times_and_the_receiver_counts_as_there():
    box = Outbox(row(1), row(2))

    for pause_ms in (0, 1_000, 5_000):
        box.now_ms += pause_ms
        assert box.drain(lambda each: REFUSED if each.no == FIRST + 1 else DELIVERED)[0] == 1
    assert box.sent == [(1, REFUSED), (2, DELIVERED)]
    assert not box.queue.down


def test_receiver_that_fails_again_and_again_is_asked_one_message_at_a_time_with_rests():
    box = Outbox(*(row(place, f"s{place}") for place in range(20)))
    fails = lambda _: FAILED  # noqa: E731

    assert len(box.drain(fails)) == DOWN_AFTER
    assert box.queue.down
    assert box.queue.slots == 1
    gaps = []
    for _ in range(6):
        due_ms = box.queue.due_ms(box.now_ms)
        gaps.append(due_ms - box.now_ms)
        box.now_ms = due_ms
        taken = box.queue.take(box.now_ms)
        assert box.queue.take(box.now_ms) is None
        assert box.queue.due_ms(box.now_ms) is None
        box.queue.settle(taken, FAILED, now_ms=box.now_ms)
    assert gaps == [1_000, 5_000, 30_000, 30_000, 30_000, 30_000]


def test_single_message_to_a_dead_receiver_keeps_its_own_schedule():
    box = Outbox(row(1))
    ages = []
    for _ in range(5):
        ages.append(box.now_ms - NOW_MS)
        assert box.drain(lambda _: FAILED) == [1]
        box.now_ms = box.queue.due_ms(box.now_ms)

    assert ages == [0, 1_000, 6_000, 36_000, 336_000]


def test_one_success_makes_everything_due():
    box = Outbox(*(row(place, f"s{place % 4}") for place in range(40)))
    for _ in range(30):
        box.drain(lambda _: FAILED)
        box.now_ms = max(box.now_ms + 1, box.queue.due_ms(box.now_ms))

    places = box.drain()

    assert sorted(places) == list(range(40))
    for sensor in range(4):
        assert [place for place in places if place % 4 == sensor] == list(range(sensor, 40, 4))


def test_receiver_that_has_not_answered_yet_has_few_slots_and_afterwards_all():
    box = Outbox(row(1, "a"), row(2, "b"))

    assert box.queue.slots == UNPROVEN
    box.attempt()
    assert box.queue.slots > 100
    box.attempt(lambda _: FAILED)
    assert box.queue.slots == UNPROVEN


def test_rests_that_were_written_down_are_kept_until_the_receiver_answers():
    late_ms = NOW_MS + 3_600_000
    box = Outbox(row(1, "a", attempts=5, due_ms=late_ms), row(2, "a"), row(3, "b"))

    assert box.drain(lambda _: FAILED) == [3]
    box.now_ms += 1_000
    assert box.drain() == [3, 1, 2]


def test_poisoned_message_does_not_keep_the_rest_of_its_sensor_in_memory_nor_other_sensors_waiting():
    poison = [row(-1, "b0"), *(row(place, "a") for place in range(2_000))]
    others = [row(2_000 + place, f"b{place % 7}") for place in range(1_000)]
    box = Outbox(*poison, *others)

    sent = box.drain(lambda each: FAILED if each.no == FIRST else DELIVERED)

    assert sorted(sent) == [-1, 0, *range(2_000, 3_000)]
    assert box.read_rows <= 3_000 + WINDOW
    box.now_ms += 1_000
    assert box.drain() == list(range(2_000))


def test_backlog_of_a_receiver_that_is_down_is_not_read():
    box = Outbox(*(row(place, f"s{place}") for place in range(5_000)))
    box.drain(lambda _: FAILED)
    read = box.read_rows

    for _ in range(200):
        box.now_ms = max(box.now_ms, box.queue.due_ms(box.now_ms))
        box.queue.more()
        box.queue.anew()
        box.drain(lambda _: FAILED)

    assert read <= WINDOW
    assert box.read_rows == read


def test_messages_are_known_until_their_end_is_written_down():
    queue = Queue(patience_ms=DAY_MS)
    queue.reading()
    queue.admit([row(1)], now_ms=NOW_MS)
    queue.settle(queue.take(NOW_MS), DELIVERED, now_ms=NOW_MS)

    queue.anew()
    queue.reading()
    queue.forget([RowNo(FIRST + 1)])
    queue.admit([row(1)], now_ms=NOW_MS)

    assert queue.take(NOW_MS) is None
    assert queue.idle


def test_message_read_behind_one_that_was_left_out_waits_for_it():
    """While more is read the lane goes on: what was read begins too late, and is read again."""
    queue = Queue(patience_ms=DAY_MS)
    queue.reading()
    queue.admit([row(1), row(2)], now_ms=NOW_MS)
    queue.settle(queue.take(NOW_MS), FAILED, now_ms=NOW_MS)
    queue.more()
    assert queue.reading() == FIRST + 2
    queue.settle(queue.take(NOW_MS + 1_000), DELIVERED, now_ms=NOW_MS + 1_000)
    queue.admit([row(3)], now_ms=NOW_MS + 1_000)

    assert queue.take(NOW_MS + 1_000) is None
    assert queue.wants_more
    assert queue.reading() == FIRST + 1


def test_message_without_hope_takes_its_equals_with_it_only_while_the_receiver_is_down():
    queue = Queue(patience_ms=DAY_MS)
    queue.reading()
    queue.admit([row(1)], now_ms=NOW_MS)
    now_ms, hopes = NOW_MS, []
    while True:
        taken = queue.take(now_ms)
        due_ms = queue.settle(taken, FAILED, now_ms=now_ms)
        hopes.append(queue.hopeless(taken))
        if due_ms is None:
            break
        now_ms = due_ms

    assert hopes == [False] * (LOST_HOPE - 1) + [True] * (len(hopes) - LOST_HOPE + 1)


def test_message_that_could_not_be_tried_is_due_again_and_one_that_vanished_is_not():
    queue = Queue(patience_ms=DAY_MS)
    queue.reading()
    queue.admit([row(1), row(2)], now_ms=NOW_MS)

    queue.put_back(queue.take(NOW_MS), due_ms=NOW_MS + 1_000)
    assert (queue.take(NOW_MS), queue.due_ms(NOW_MS)) == (None, NOW_MS + 1_000)
    queue.vanished(queue.take(NOW_MS + 1_000))

    assert queue.take(NOW_MS + 1_000).no == FIRST + 2


# Mute receivers (spec/push M1 to M3)


class Silent:
    """A queue whose messages are all in memory, over a receiver that says nothing."""

    def __init__(self, *rows):
        self.now_ms = NOW_MS
        self.queue = Queue(patience_ms=DAY_MS)
        self.admit(*rows)

    def admit(self, *rows):
        self.queue.more()
        self.queue.reading()
        self.queue.admit(rows, now_ms=self.now_ms)

    def take(self):
        return self.queue.take(self.now_ms)

    def unanswered(self, taken):
        """When it is due again, from now, and the places of what counts as delivered."""
        due_ms, unconfirmed = self.queue.unanswered(taken, now_ms=self.now_ms)
        return None if due_ms is None else due_ms - self.now_ms, [each.no - FIRST for each in unconfirmed]

    def become_mute(self):
        assert self.unanswered(self.take()) == (1_000, [])
        self.now_ms += 1_000
        return self.unanswered(self.take())


def test_m2_message_that_goes_unanswered_is_sent_once_more_and_then_counts_as_delivered():
    box = Silent(row(1), row(2), row(3))

    assert box.unanswered(box.take()) == (1_000, [])
    assert (box.take(), box.queue.mute) == (None, False)
    box.now_ms += 1_000
    assert box.unanswered(box.take()) == (None, [1])
    assert box.queue.mute
    assert not box.queue.down


def test_m2_each_message_to_a_mute_receiver_is_sent_once():
    box = Silent(row(1), row(2), row(3))
    box.become_mute()
    box.admit(row(2), row(3))

    assert [box.unanswered(box.take()) for _ in range(2)] == [(None, [2]), (None, [3])]
    assert box.take() is None


def test_m2_messages_that_went_unanswered_beside_the_first_count_with_it_and_are_not_sent_twice():
    box = Silent(row(1, "a"), row(2, "b"), row(3, "c"))
    first, *others = [box.take() for _ in range(3)]

    assert box.unanswered(first) == (1_000, [])
    assert [box.unanswered(each)[1] for each in others] == [[], []]
    box.now_ms += 60_000
    again = box.take()
    assert (again.no - FIRST, box.take()) == (1, None)
    assert box.unanswered(again) == (None, [1, 2, 3])


def test_m3_answer_to_the_second_attempt_makes_the_others_due_as_after_any_failure():
    box = Silent(row(1, "a"), row(2, "b"))
    first, other = box.take(), box.take()
    box.unanswered(first)
    box.unanswered(other)
    box.now_ms += 1_000

    assert box.queue.settle(box.take(), DELIVERED, now_ms=box.now_ms) is None
    assert not box.queue.mute
    assert box.take().no - FIRST == 2


def test_doubt_ends_with_a_connection_that_fails():
    box = Silent(row(1, "a"), row(2, "b"))
    first, other = box.take(), box.take()
    box.unanswered(first)
    box.unanswered(other)
    box.now_ms += 1_000

    box.queue.settle(box.take(), Outcome.LOST, now_ms=box.now_ms)
    assert not box.queue.mute
    assert box.take().no - FIRST == 2


def test_doubt_ends_with_its_message():
    box = Silent(row(1, "a"), row(2, "b"))
    first, other = box.take(), box.take()
    box.unanswered(first)
    box.unanswered(other)
    box.now_ms += 1_000

    box.queue.vanished(box.take())
    assert box.take().no - FIRST == 2


def test_m3_first_status_line_ends_the_state_and_nothing_is_sent_before_the_unconfirmed_are_in_line_again():
    for code in (DELIVERED, GONE, REFUSED, FAILED):
        box = Silent(row(1), row(2), row(3))
        box.become_mute()
        box.admit(row(2), row(3))
        box.queue.settle(box.take(), code, now_ms=box.now_ms)

        assert (box.queue.mute, box.queue.releasing) == (False, True)
        assert (box.take(), box.queue.due_ms(box.now_ms), box.queue.wants_more) == (None, None, False)
        box.queue.released()
        box.queue.reading()
        box.queue.admit([row(1, attempts=2), row(3)], now_ms=box.now_ms)
        assert box.take().no - FIRST == 1


def test_m3_success_before_older_messages_are_confirmed_is_unconfirmed_too():
    box = Silent(row(1), row(2), row(3))
    box.become_mute()
    box.admit(row(2), row(3))
    taken = box.take()

    assert box.queue.owed
    assert box.queue.early(taken, now_ms=box.now_ms).no - FIRST == 2
    assert (box.queue.mute, box.queue.releasing, box.queue.owed) == (False, True, True)
    box.queue.released()
    assert not box.queue.owed


def test_m3_success_counts_again_once_the_unconfirmed_are_in_line():
    box = Silent()
    box.queue.begin(mute=True, owed=False, hurried_ms=0)
    box.admit(row(1), row(2))

    assert not box.queue.owed
    box.unanswered(box.take())
    assert box.queue.owed


def test_m3_receiver_that_was_away_gets_its_oldest_unconfirmed_message_and_nothing_beside():
    box = Silent(row(1, "a"))
    box.become_mute()
    box.admit(row(2, "b"), row(3, "c"))
    box.queue.settle(box.take(), Outcome.LOST, now_ms=box.now_ms)

    assert (box.queue.sounding, box.queue.slots) == (True, 1)
    taken = box.take()
    assert (box.take(), box.queue.due_ms(box.now_ms)) == (None, None)
    box.queue.sounding = False
    box.queue.put_back(taken, due_ms=box.now_ms)
    assert box.unanswered(box.take()) == (None, [3])


def test_m3_status_line_on_a_connection_that_listened_ends_the_state():
    box = Silent(row(1))
    box.become_mute()

    box.queue.heard(box.now_ms, well=True)

    assert (box.queue.mute, box.queue.releasing) == (False, True)


def test_m3_request_under_way_when_the_state_ends_counts_as_unconfirmed_too():
    box = Silent(row(1), row(2, "b"))
    taken = box.take()
    box.become_mute()
    box.queue.heard(box.now_ms, well=True)

    assert box.unanswered(taken) == (None, [taken.no - FIRST])


def test_m3_reading_that_was_under_way_when_the_state_ended_is_thrown_away():
    box = Silent(row(1), row(2))
    box.become_mute()
    box.queue.more()
    box.queue.reading()
    box.queue.heard(box.now_ms, well=True)
    box.queue.released()
    box.queue.admit([row(2)], now_ms=box.now_ms)

    assert box.take() is None
    assert box.queue.reading() == 0


def test_message_sent_again_after_silence_has_its_full_time_but_no_second_prompt_attempt():
    later_ms = NOW_MS + 2 * DAY_MS
    box = Silent()
    box.now_ms = later_ms
    box.admit(Row(RowNo(FIRST + 1), "id", SensorId("a"), 2, later_ms, later_ms))

    assert box.unanswered(box.take()) == (30_000, [])


def test_message_whose_time_is_over_is_given_up_when_it_goes_unanswered():
    box = Silent(row(1), row(2))
    box.now_ms += DAY_MS

    assert box.unanswered(box.take()) == (None, [])
    assert not box.queue.mute


def test_state_that_was_written_down_holds_after_a_restart():
    box = Silent()
    box.queue.begin(mute=True, owed=True, hurried_ms=0)
    box.admit(row(1))

    assert box.unanswered(box.take()) == (None, [1])


def test_unconfirmed_of_another_address_wait_for_its_first_status_line():
    box = Silent()
    box.queue.begin(mute=False, owed=True, hurried_ms=0)
    box.admit(row(1))

    box.queue.settle(box.take(), DELIVERED, now_ms=box.now_ms)

    assert box.queue.releasing


# Receivers that ask for a pause (`Retry-After`)


def test_pause_that_a_receiver_asks_for_holds_for_all_of_its_sensors_and_keeps_their_order():
    box = Outbox(row(1, "a"), row(2, "a"), row(3, "b"), row(4, "b"))
    box.read()
    first = box.queue.take(box.now_ms)

    assert box.queue.hold(first, now_ms=box.now_ms, pause_ms=600_000) == NOW_MS + 600_000
    assert box.queue.settle(first, FAILED, now_ms=box.now_ms) == NOW_MS + 600_000
    assert (box.queue.take(NOW_MS + 599_999), box.queue.due_ms(NOW_MS + 599_999)) == (None, NOW_MS + 600_000)
    box.now_ms += 600_000
    places = box.drain()
    assert [place for place in places if place < 3] == [1, 2]
    assert [place for place in places if place > 2] == [3, 4]


def test_pause_that_a_receiver_asks_for_ends_with_the_day_of_its_message():
    box = Outbox(row(1))
    box.now_ms += DAY_MS - 60_000
    box.read()
    taken = box.queue.take(box.now_ms)
    box.queue.hold(taken, now_ms=box.now_ms, pause_ms=3_600_000)

    assert box.queue.settle(taken, FAILED, now_ms=box.now_ms) == NOW_MS + DAY_MS
    assert box.queue.due_ms(box.now_ms) == NOW_MS + DAY_MS


def test_success_of_another_request_does_not_end_the_pause_and_a_request_of_somebody_does():
    box = Outbox(row(1, "a"), row(2, "b"), row(3, "b"))
    box.read()
    first, other = box.queue.take(box.now_ms), box.queue.take(box.now_ms)
    box.queue.hold(first, now_ms=box.now_ms, pause_ms=600_000)
    box.queue.settle(first, FAILED, now_ms=box.now_ms)
    box.queue.settle(other, DELIVERED, now_ms=box.now_ms)

    assert box.queue.take(box.now_ms + 1) is None
    box.queue.hurry(box.now_ms + 1, readdressed=False)
    assert box.queue.take(box.now_ms + 1) is not None


# Repaired receivers


def test_sensor_whose_messages_fail_again_and_again_holds_up_no_other_sensor():
    box = Outbox(*(row(place, "a") for place in range(5)))
    for _ in range(6):
        box.drain(lambda _: FAILED)
        box.now_ms = box.queue.due_ms(box.now_ms)
    box.now_ms -= 1
    box.rows.update({each.no: each for each in (row(10, "b"), row(11, "c"))})
    box.queue.more()

    assert not box.queue.down
    assert box.drain()[:2] == [10, 11]


def test_pauses_end_when_somebody_asks_for_it():
    box = Outbox(*(row(place, f"s{place % 6}") for place in range(24)))
    for _ in range(20):
        box.drain(lambda _: FAILED)
        box.now_ms = max(box.now_ms + 1, box.queue.due_ms(box.now_ms))
    box.now_ms -= 1
    assert box.drain() == []

    box.queue.hurry(box.now_ms, readdressed=False)

    assert sorted(box.drain()) == list(range(24))


def test_another_address_is_not_known_and_not_mute():
    box = Silent(row(1), row(2))
    box.become_mute()
    box.admit(row(2))

    box.queue.hurry(box.now_ms, readdressed=True)

    assert (box.queue.mute, box.queue.sounding, box.queue.slots) == (False, True, 1)
    box.queue.sounding = False
    assert box.queue.slots == UNPROVEN
    assert box.unanswered(box.take()) == (1_000, [])


def test_message_that_was_tried_before_pauses_ended_is_due_at_once_after_a_restart():
    box = Silent()
    box.queue.begin(mute=False, owed=False, hurried_ms=NOW_MS)
    box.now_ms += 60_000
    box.admit(row(1, "a", attempts=5, due_ms=NOW_MS + 3_000_000), row(2, "b", attempts=1, due_ms=box.now_ms + 500))

    assert [taken and taken.no - FIRST for taken in (box.take(), box.take())] == [1, None]
