"""Messages between clients of an open namespace: routing, retained messages, Wills, sessions without connection."""

import pytest
from tests.support import exchange as exchanges
from tests.support import persistent_sessions
from tests.support.exchange import Exchange
from tests.support.exchanging import Box

from tripline.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)

KEEP = Connect("kept", clean_session=False, user_name="u")
CLEAN = Connect("kept", user_name="u")


@pytest.fixture
def exchange():
    return Exchange(in_flight=3)


@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("sent", [0, 1, 2])
def test_message_is_delivered_at_the_lower_of_both_qos(exchange, sent, granted):
    reader = Box(exchange)
    reader.subscribe(("conf/+", granted))

    Box(exchange).say(Publish("conf/a", b"x", sent, 9 if sent else 0))

    qos = min(sent, granted)
    assert reader.heard() == [Publish("conf/a", b"x", qos, 1 if qos else 0)]


def test_message_goes_to_those_who_asked_for_it_and_to_its_sender_too(exchange):
    wanting, other, sender = Box(exchange), Box(exchange), Box(exchange)
    wanting.subscribe(("conf/a", 0))
    other.subscribe(("conf/b", 0))
    sender.subscribe(("conf/#", 0))

    heard = sender.say(Publish("conf/a", b"x"))

    assert (wanting.heard(), other.heard(), heard) == ([Publish("conf/a", b"x")], [], [Publish("conf/a", b"x")])


def test_overlapping_filters_give_one_message_at_the_highest_qos(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/#", 0), ("conf/+", 2), ("conf/a", 1))

    Box(exchange).say(Publish("conf/a", b"x", 2, 1))

    assert reader.heard() == [Publish("conf/a", b"x", 2, 1)]


def test_topics_that_begin_with_a_dollar_are_not_matched_by_leading_wildcards(exchange):
    all_of_it, by_name = Box(exchange), Box(exchange)
    all_of_it.subscribe(("#", 0), ("+/a", 0))
    by_name.subscribe(("$conf/+", 0))

    Box(exchange).say(Publish("$conf/a", b"x"))

    assert (all_of_it.heard(), by_name.heard()) == ([], [Publish("$conf/a", b"x")])


def test_qos_2_publish_sent_again_is_routed_once(exchange):
    reader, sender = Box(exchange), Box(exchange)
    reader.subscribe(("conf/a", 0))

    answers = sender.say(Publish("conf/a", b"x", 2, 7), Publish("conf/a", b"x", 2, 7, dup=True), Pubrel(7))

    assert sorted(map(str, answers)) == sorted(map(str, [Pubrec(7), Pubcomp(7)]))
    assert reader.heard() == [Publish("conf/a", b"x")]


def test_dup_of_the_sender_is_not_handed_on(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/a", 1))

    Box(exchange).say(Publish("conf/a", b"x", 1, 7, dup=True))

    assert reader.heard() == [Publish("conf/a", b"x", 1, 1, dup=False)]


def test_message_at_qos_2_to_a_client_goes_through_all_four_packets(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/a", 2))
    Box(exchange).say(Publish("conf/a", b"x", 2, 7))

    assert reader.heard() == [Publish("conf/a", b"x", 2, 1)]
    assert reader.say(Pubrec(1)) == [Pubrel(1)]
    assert reader.say(Pubrec(1)) == [Pubrel(1)]
    assert reader.say(Pubcomp(1)) == []


def test_messages_above_the_window_wait_in_order(exchange):
    reader, sender = Box(exchange), Box(exchange)
    reader.subscribe(("conf/a", 2))

    sender.say(*(Publish("conf/a", b"%d" % n, 1 + n % 2, n + 1) for n in range(5)))
    first = reader.heard()
    later = [reader.say(Puback(1)), reader.say(Pubrec(2)), reader.say(Pubcomp(2))]

    assert [(each.body, each.qos, each.packet_id) for each in first] == [(b"0", 1, 1), (b"1", 2, 2), (b"2", 1, 3)]
    assert later == [[Publish("conf/a", b"3", 2, 4)], [Pubrel(2)], [Publish("conf/a", b"4", 1, 5)]]


def test_unsubscribed_client_still_completes_what_was_begun(exchange):
    reader, sender = Box(exchange), Box(exchange)
    reader.subscribe(("conf/a", 2))
    sender.say(Publish("conf/a", b"begun", 2, 1))
    reader.heard()

    assert reader.say(Unsubscribe(5, ("conf/A", "conf/a"))) == [Unsuback(5)]
    sender.say(Publish("conf/a", b"late", 2, 2))

    assert reader.heard() == []
    assert reader.say(Pubrec(1)) == [Pubrel(1)]


def test_unsubscribing_another_spelling_takes_nothing_back(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/a", 0))

    reader.say(Unsubscribe(5, ("conf/A", "conf/+")))
    Box(exchange).say(Publish("conf/a", b"x"))

    assert reader.heard() == [Publish("conf/a", b"x")]


def test_retained_message_is_sent_to_a_new_subscription_with_the_flag_and_to_an_old_one_without(exchange):
    early, late = Box(exchange), Box(exchange)
    early.subscribe(("conf/#", 2))

    Box(exchange).say(Publish("conf/a", b"x", 1, 1, retain=True))

    assert early.heard() == [Publish("conf/a", b"x", 1, 1, retain=False)]
    assert late.subscribe(("conf/+", 2)) == [Publish("conf/a", b"x", 1, 1, retain=True)]


def test_retained_message_is_replaced_by_the_next_and_kept_by_one_without_the_flag(exchange):
    sender = Box(exchange)

    sender.say(
        Publish("conf/a", b"1", retain=True), Publish("conf/a", b"2", 2, 5, retain=True), Publish("conf/a", b"live")
    )

    assert Box(exchange).subscribe(("conf/a", 1)) == [Publish("conf/a", b"2", 1, 1, retain=True)]


def test_retained_message_at_qos_0_replaces_an_older_one(exchange):
    sender = Box(exchange)

    sender.say(Publish("conf/a", b"1", 2, 5, retain=True), Publish("conf/a", b"2", retain=True))

    assert Box(exchange).subscribe(("conf/a", 1)) == [Publish("conf/a", b"2", retain=True)]


def test_empty_retained_message_deletes_and_is_delivered_like_any_other(exchange):
    early, sender = Box(exchange), Box(exchange)
    early.subscribe(("conf/a", 0))

    sender.say(Publish("conf/a", b"x", retain=True), Publish("conf/a", b"", retain=True))

    assert early.heard() == [Publish("conf/a", b"x"), Publish("conf/a", b"")]
    assert Box(exchange).subscribe(("conf/a", 0)) == []


def test_same_filter_asked_for_again_sends_what_is_retained_again(exchange):
    reader = Box(exchange)
    Box(exchange).say(Publish("conf/a", b"x", 1, 1, retain=True))

    assert reader.subscribe(("conf/a", 0)) == [Publish("conf/a", b"x", retain=True)]
    assert reader.subscribe(("conf/a", 1)) == [Publish("conf/a", b"x", 1, 1, retain=True)]
    Box(exchange).say(Publish("conf/a", b"y", 1, 1))
    assert reader.heard() == [Publish("conf/a", b"y", 1, 2)]


def test_retained_message_outlives_the_session_of_its_sender(exchange):
    sender = Box(exchange)
    sender.say(Publish("conf/a", b"x", retain=True), Disconnect())

    assert Box(exchange).subscribe(("conf/a", 0)) == [Publish("conf/a", b"x", retain=True)]


@pytest.mark.parametrize(("number", "retained"), [(2, True), (3, True), (4, False)])
def test_topics_with_retained_messages_are_bounded(exchange, monkeypatch, number, retained):
    monkeypatch.setattr(exchanges, "MAX_RETAINED", 3)
    Box(exchange).say(*(Publish(f"conf/{n}", b"x", retain=True) for n in range(1, number + 1)))

    assert bool(Box(exchange).subscribe((f"conf/{number}", 0))) is retained


@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_will_is_published_when_the_connection_is_lost(exchange, qos, retain):
    reader = Box(exchange)
    reader.subscribe(("conf/will", 2))
    box = Box(exchange, Connect("c", user_name="u", will=Will("conf/will", b"gone", qos, retain)))

    box.lose()
    box.lose()

    assert reader.heard() == [Publish("conf/will", b"gone", qos, 1 if qos else 0)]
    assert bool(Box(exchange).subscribe(("conf/will", 0))) is retain


def test_will_is_published_after_a_protocol_error(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/will", 0))

    Box(exchange, Connect("c", user_name="u", will=Will("conf/will", b"gone"))).say(Connack(0))

    assert reader.heard() == [Publish("conf/will", b"gone")]


def test_will_is_not_published_after_disconnect_nor_without_one(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/#", 0))
    Box(exchange, Connect("c", user_name="u", will=Will("conf/will", b"gone"))).say(Disconnect())
    Box(exchange).lose()

    assert reader.heard() == []


def test_will_taken_back_by_disconnect_is_not_published_by_a_later_connection(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/#", 0))
    Box(exchange, Connect("c", False, user_name="u", will=Will("conf/will", b"gone"))).say(Disconnect())

    Box(exchange, Connect("c", False, user_name="u")).lose()

    assert reader.heard() == []


def test_session_that_was_left_is_present_and_keeps_its_subscriptions(exchange):
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 1))
    first.lose()

    second = Box(exchange, KEEP)
    Box(exchange).say(Publish("conf/a", b"x", 1, 1))

    assert (first.connack, second.connack) == (Connack(0, False), Connack(0, True))
    assert second.heard() == [Publish("conf/a", b"x", 1, 1)]


def test_session_is_kept_after_an_orderly_disconnect_too(exchange):
    Box(exchange, KEEP).say(Disconnect())

    assert Box(exchange, KEEP).connack == Connack(0, True)


def test_session_belongs_to_user_and_client_identifier(exchange):
    Box(exchange, KEEP).lose()

    assert Box(exchange, Connect("kept", False, user_name="v")).connack == Connack(0, False)
    assert Box(exchange, Connect("other", False, user_name="u")).connack == Connack(0, False)
    assert Box(exchange, KEEP).connack == Connack(0, True)


def test_clean_session_ends_the_one_that_was_left_and_leaves_none(exchange):
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 1))
    first.lose()
    Box(exchange).say(Publish("conf/a", b"x", 1, 1))

    clean = Box(exchange, CLEAN)
    assert (clean.connack, clean.resumed) == (Connack(0, False), [])
    clean.lose()

    assert Box(exchange, KEEP).connack == Connack(0, False)


def test_messages_wait_for_an_absent_client_in_order_at_qos_1_and_2(exchange):
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 2))
    first.lose()
    Box(exchange).say(*(Publish("conf/a", b"%d" % n, n % 3, n or 9) for n in range(5)))

    second = Box(exchange, KEEP)

    assert second.resumed == [
        Publish("conf/a", b"1", 1, 1), Publish("conf/a", b"2", 2, 2), Publish("conf/a", b"4", 1, 3)
    ]  # fmt: skip


def test_unanswered_messages_are_sent_again_with_dup_and_their_ids_in_order(exchange):
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 2))
    Box(exchange).say(
        Publish("conf/a", b"1", 1, 1), Publish("conf/a", b"2", 2, 2), Publish("conf/a", b"3", 2, 3),
        Publish("conf/a", b"4", 1, 4),
    )  # fmt: skip
    first.heard()
    first.say(Pubrec(3))
    first.lose()

    second = Box(exchange, KEEP)

    assert second.resumed == [
        Publish("conf/a", b"1", 1, 1, dup=True),
        Publish("conf/a", b"2", 2, 2, dup=True),
        Pubrel(3),
    ]
    assert second.say(Puback(1), Pubrec(2), Pubcomp(3)) == [Publish("conf/a", b"4", 1, 4), Pubrel(2)]
    assert second.say(Pubcomp(2), Puback(4)) == []
    second.lose()
    assert Box(exchange, KEEP).resumed == []


def test_pubrels_go_again_in_the_order_of_the_pubrecs(exchange):
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 2))
    Box(exchange).say(*(Publish("conf/a", b"x", 2, n) for n in (1, 2, 3)))
    first.heard()
    assert first.say(Pubrec(2), Pubrec(3), Pubrec(1)) == [Pubrel(2), Pubrel(3), Pubrel(1)]
    first.lose()

    assert Box(exchange, KEEP).resumed == [Pubrel(2), Pubrel(3), Pubrel(1)]


def test_qos_2_id_of_a_client_is_held_over_connections(exchange):
    reader = Box(exchange)
    reader.subscribe(("conf/a", 0))
    sender = Box(exchange, KEEP)
    sender.say(Publish("conf/a", b"x", 2, 7))
    sender.lose()

    again = Box(exchange, KEEP)

    assert again.say(Publish("conf/a", b"x", 2, 7, dup=True)) == [Pubrec(7)]
    assert again.say(Pubrel(7)) == [Pubcomp(7)]
    assert reader.heard() == [Publish("conf/a", b"x")]


@pytest.mark.parametrize("count", [4, 5, 6])
def test_messages_that_wait_are_bounded(exchange, monkeypatch, count):
    monkeypatch.setattr(persistent_sessions, "MAX_QUEUED", 5)
    first = Box(exchange, KEEP)
    first.subscribe(("conf/a", 1))
    first.lose()
    Box(exchange).say(*(Publish("conf/a", b"%d" % n, 1, n) for n in range(1, count + 1)))

    second = Box(exchange, KEEP)
    bodies = [each.body for each in second.resumed]
    while more := second.say(*(Puback(n) for n in range(1, 9))):
        bodies += [each.body for each in more]

    assert bodies == [b"%d" % n for n in range(1, min(count, 5) + 1)]


def test_of_too_many_absent_clients_the_one_absent_longest_is_forgotten(exchange, monkeypatch):
    monkeypatch.setattr(exchanges, "MAX_KEPT", 2)
    for name in "abc":
        Box(exchange, Connect(name, False, user_name="u")).lose()

    present = [Box(exchange, Connect(name, False, user_name="u")).connack.session_present for name in "bca"]

    assert present == [True, True, False]


def test_filters_of_one_packet_are_answered_in_order_in_one_suback(exchange):
    box = Box(exchange)

    assert box.say(Subscribe(4, (("conf/a", 2), ("conf/b", 0), ("conf/+/c", 1)))) == [Suback(4, (2, 0, 1))]


def test_client_lost_while_a_message_goes_to_it_gets_the_message_once(exchange):
    class Lost(Box):
        """As a connection that is closed because it does not read."""

        def deliver(self, message):
            super().deliver(message)
            self.lose()

    Lost(exchange, KEEP).subscribe(("conf/a", 1))

    Box(exchange).say(Publish("conf/a", b"x", 1, 1))

    assert Box(exchange, KEEP).resumed == [Publish("conf/a", b"x", 1, 1, dup=True)]
