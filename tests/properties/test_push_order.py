"""Each sensor's messages stay in order and none is left, whatever comes of attempts at a receiver and in what order."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.push_rows import DELIVERED, FAILED, GONE, REFUSED, Outbox, Silence, row

from tripline.services.push.schedule import Outcome


@settings(max_examples=60)
@given(
    sensors=st.lists(st.integers(0, 5), min_size=1, max_size=60),
    outcomes=st.lists(st.sampled_from([DELIVERED, DELIVERED, REFUSED, FAILED, GONE]), max_size=200),
    late=st.integers(0, 30),
)
def test_whatever_comes_of_attempts_each_sensor_is_in_order_and_nothing_is_left(sensors, outcomes, late):
    rows = [row(place, f"s{sensor}") for place, sensor in enumerate(sensors)]
    box = Outbox(*rows[late:]) if late < len(rows) else Outbox(*rows)
    pending = list(outcomes)
    for _ in range(2_000):
        if box.attempt(lambda _: pending.pop() if pending else DELIVERED) is None:
            due_ms = box.queue.due_ms(box.now_ms)
            if due_ms is None:
                break
            box.now_ms = max(box.now_ms, due_ms)

    assert box.rows == {}
    for sensor in set(sensors):
        places = [place for place, _ in box.sent if sensors[place] == sensor]
        assert places == sorted(places)


ENDS = st.tuples(
    st.just("end"),
    st.integers(0, 9),
    st.sampled_from([DELIVERED, Outcome.UNANSWERED, Outcome.UNANSWERED, FAILED, Outcome.LOST]),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 2)),
    st.tuples(st.just("take")),
    ENDS,
    ENDS,
    st.tuples(st.just("hear")),
    st.tuples(st.just("wait"), st.sampled_from([1, 1_000, 60_000])),
    st.tuples(st.just("readdress")),
    st.tuples(st.just("restart")),
)


FALLS_SILENT = [("put", 0), ("end", 0, Outcome.UNANSWERED), ("wait", 1_000), ("end", 0, Outcome.UNANSWERED)]


@settings(max_examples=100)
@given(before=st.sampled_from([[], FALLS_SILENT]), steps=st.lists(STEPS, max_size=120))
def test_whenever_a_receiver_is_silent_the_first_confirmed_delivery_of_each_message_is_in_order(before, steps):
    box = Silence()
    for name, *values in before + steps:
        if name == "wait":
            box.now_ms += values[0]
        elif name == "readdress":
            box.queue.hurry(box.now_ms, readdressed=True)
        else:
            getattr(box, name)(*values)
        box.take()
    for _ in range(3_000):
        if not (box.waiting or box.unconfirmed):
            break
        box.now_ms += 60_000
        box.take()
        box.end(0, DELIVERED)
        if box.unconfirmed and not box.under_way and not box.waiting:
            box.put(9)  # only an answer ends the silence

    for sensor in {sensor for sensor, _ in box.confirmed}:
        places = [place for each, place in box.confirmed if each == sensor]
        assert places == sorted(set(places))
    assert len(box.confirmed) == box.places
