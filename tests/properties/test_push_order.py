"""Whatever comes of attempts at a receiver, each sensor's messages stay in order and none is left."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.push_rows import DELIVERED, FAILED, GONE, REFUSED, Outbox, row


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
