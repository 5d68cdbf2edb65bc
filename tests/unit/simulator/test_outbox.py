"""The simulated outbox: waiting, under way, done."""

from tripline.simulator.outbox import Outbox, Tally


def test_outbox_without_trouble_sends_each_message_once_in_order() -> None:
    outbox = Outbox(3)

    sent = [outbox.sending(), outbox.sending(), outbox.sending()]
    for number in sent:
        outbox.acknowledged(number)

    assert sent == [0, 1, 2]
    assert outbox.next is None
    assert outbox.tally == Tally(3, sent=3, acknowledged=3, resent=0)
    assert outbox.tally.complete


def test_outbox_connection_lost_sends_again_in_order_only_what_was_not_acknowledged() -> None:
    outbox = Outbox(4)
    for _ in range(3):
        outbox.sending()
    outbox.acknowledged(1)

    outbox.connection_lost()

    assert [outbox.sending(), outbox.sending(), outbox.sending()] == [0, 2, 3]
    assert outbox.tally == Tally(4, sent=6, acknowledged=1, resent=2)


def test_outbox_empty_is_complete_at_once() -> None:
    outbox = Outbox(0)

    assert (outbox.next, outbox.tally.complete) == (None, True)
