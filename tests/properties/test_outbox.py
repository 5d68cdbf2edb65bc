"""Whatever happens to the connection, every message is acknowledged once."""

from hypothesis import given
from hypothesis import strategies as st

from tripline.simulator.outbox import Outbox


@given(total=st.integers(1, 30), steps=st.lists(st.integers(0, 2), max_size=200))
def test_outbox_whatever_happens_every_message_is_acknowledged_once_and_never_sent_after(
    total: int, steps: list[int]
) -> None:
    outbox, under_way, done = Outbox(total), list[int](), list[int]()
    for step in [*steps, 2, *[0] * total, *[1] * total]:
        if step == 0 and outbox.next is not None:
            number = outbox.sending()
            assert number not in done
            under_way.append(number)
        elif step == 1 and under_way:
            done.append(under_way.pop(0))
            outbox.acknowledged(done[-1])
        elif step == 2:
            outbox.connection_lost()
            under_way.clear()
        assert outbox.under_way == len(under_way)

    assert sorted(done) == list(range(total))
    assert outbox.tally.sent - outbox.tally.resent == total
