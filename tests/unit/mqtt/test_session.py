"""The server's side of a connection, in bytes and events."""

import pytest

from tripline.mqtt import encode, events, packets
from tripline.mqtt.events import PUBACK_TOKEN, PUBREC_TOKEN, ConnectRequest, Delivered, Ended, Oversized
from tripline.mqtt.inbound import LOT_PACKETS, MAX_CONTROL, MAX_LENGTH
from tripline.mqtt.packets import Connack, Connect, ConnectCode, Puback, Pubcomp, Publish, Pubrec, Pubrel
from tripline.mqtt.session import MAX_HELD_SUBACKS, MAX_WAITING, Rules, ServerSession, State

REQUESTS = "v1/sensors/me/rpc/request/+"
TRE = "v1/sensors/me/tre"
CONNECT = Connect("box", user_name="u" * 20)


def fresh(**rules) -> ServerSession:
    return ServerSession(Rules(**{"max_body": 4_096, "may_subscribe": lambda wanted: wanted == REQUESTS} | rules))


def live(connect: Connect = CONNECT, **rules) -> ServerSession:
    session = fresh(**rules)
    session.receive(encode.packet(connect))
    session.admit()
    session.take_output()
    return session


def sent(*some: packets.Packet) -> bytes:
    return b"".join(map(encode.packet, some))


def broken(found: list[events.SessionEvent]) -> str:
    """The rule in the only event, a protocol error."""
    [ended] = found
    assert isinstance(ended, Ended)
    assert ended.reason == events.PROTOCOL_ERROR
    return ended.detail.rpartition("[")[2].rstrip("]")


def test_connect_is_asked_of_the_owner():
    session = fresh()

    assert session.receive(sent(CONNECT)) == [ConnectRequest("u" * 20)]
    assert session.take_output() == b""
    assert session.state is State.ASKED


def test_c7_admitted_client_gets_code_0_and_no_session_present():
    session = fresh()
    session.receive(sent(Connect("box", clean_session=False, user_name="u")))

    assert session.admit() == []
    assert session.take_output() == sent(Connack(0, False))


def test_refused_client_gets_its_code_and_is_not_heard_again():
    session = fresh()
    session.receive(sent(CONNECT))

    session.refuse(ConnectCode.NOT_AUTHORISED)

    assert session.take_output() == sent(Connack(5))
    assert session.receive(sent(Publish(TRE, b"x", 1, 1))) == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x10\x0c\x00\x04MQTT\x05\x02\x00\x00\x00\x00", 1),
        (b"\x10\x0e\x00\x06MQIsdp\x03\x02\x00\x00\x00\x00", 1),
        (sent(Connect("", clean_session=False, user_name="u")), 2),
        (sent(Connect("c")), 4),
        (sent(Connect("c", user_name="")), 4),
    ],
)
def test_connect_that_no_one_need_be_asked_about_is_refused(data, code):
    session = fresh()

    [ended] = session.receive(data)

    assert (ended.reason, session.take_output(), session.state) == (events.REFUSED, sent(Connack(code)), State.ENDED)


def test_empty_client_identifier_with_clean_session_is_accepted():
    connect = Connect("", user_name="u")

    assert fresh().receive(sent(connect)) == [ConnectRequest("u")]


def test_publish_before_connect_closes_connection():
    assert broken(fresh().receive(sent(Publish(TRE, b"")))) == "MQTT-3.1.0-1"


def test_first_byte_of_another_protocol_closes_connection_without_waiting_for_its_length():
    assert fresh().receive(b"") == []
    assert fresh().receive(b"\x10") == []
    assert broken(fresh().receive(b"GET / HTTP/1.1\r\n")) == "MQTT-3.1.0-1"


def test_second_connect_closes_connection():
    assert broken(live().receive(sent(CONNECT))) == "MQTT-3.1.0-2"


@pytest.mark.parametrize("packet", [Connack(0), packets.Pingresp(), packets.Suback(1, (0,)), Pubrec(1), Pubcomp(1)])
def test_packet_that_no_client_sends_closes_connection(packet):
    assert broken(live().receive(sent(packet))) == "MQTT-4.8.0-1"


def test_protocol_error_comes_once_and_after_the_frames_before_it():
    session = live()

    found = session.receive(sent(Publish(TRE, b"good")) + b"\x00\x00" + sent(Publish(TRE, b"late")))

    assert found[0] == [(TRE, b"good", 0)]
    assert broken(found[1:]) == "2.2.1"
    assert session.receive(b"\x00\x00") == []


def test_c8_will_is_accepted_and_says_nothing():
    will = Connect("c", user_name="u", will=packets.Will("gone", b"bye", 1))
    session = fresh()

    assert session.receive(sent(will)) == [ConnectRequest("u")]


def test_publishes_become_frames_whose_token_is_the_answer():
    session = live()

    found = session.receive(sent(Publish(TRE, b"0"), Publish(TRE, b"1", 1, 258, dup=True), Publish(TRE, b"2", 2, 7)))

    frames = [frame for run in found for frame in run]
    assert frames == [(TRE, b"0", 0), (TRE, b"1", PUBACK_TOKEN | 258), (TRE, b"2", PUBREC_TOKEN | 7)]
    assert session.take_output() == b""
    assert session.settled([token for *_, token in frames if token]) == sent(Puback(258), Pubrec(7))


def test_acknowledgements_keep_the_order_given():
    assert live().settled([PUBACK_TOKEN | 3, PUBACK_TOKEN | 1, PUBACK_TOKEN | 2]) == sent(
        Puback(3), Puback(1), Puback(2)
    )


def test_qos_2_sent_again_before_its_pubrec_is_neither_taken_nor_answered_twice():
    session = live()
    session.receive(sent(Publish(TRE, b"x", 2, 7)))

    assert session.receive(sent(Publish(TRE, b"x", 2, 7, dup=True))) == []
    assert session.take_output() == b""


def test_qos_2_sent_again_after_its_pubrec_is_answered_again_and_not_taken():
    session = live()
    session.receive(sent(Publish(TRE, b"x", 2, 7)))
    session.settled([PUBREC_TOKEN | 7])

    assert session.receive(sent(Publish(TRE, b"x", 2, 7, dup=True))) == []
    assert session.take_output() == sent(Pubrec(7))


def test_qos_2_id_is_free_after_pubrel():
    session = live()
    session.receive(sent(Publish(TRE, b"x", 2, 7)))
    session.settled([PUBREC_TOKEN | 7])

    assert session.receive(sent(Pubrel(7))) == []
    assert session.take_output() == sent(Pubcomp(7))
    assert session.receive(sent(Publish(TRE, b"y", 2, 7))) == [[(TRE, b"y", PUBREC_TOKEN | 7)]]


def test_pubrel_of_an_unknown_id_is_answered():
    session = live()

    session.receive(sent(Pubrel(60_000)))

    assert session.take_output() == sent(Pubcomp(60_000))


@pytest.mark.parametrize("size", [4_095, 4_096])
def test_body_up_to_the_limit_is_a_frame(size):
    assert live().receive(sent(Publish(TRE, bytes(size), 1, 1))) == [[(TRE, bytes(size), PUBACK_TOKEN | 1)]]


def test_body_above_the_limit_keeps_its_head_and_the_session():
    session = live()
    body = bytes(range(256)) * 17

    found = session.receive(sent(Publish(TRE, body, 1, 1), Publish(TRE, b"next")))

    assert found == [Oversized(TRE, body[:1_024], len(body), PUBACK_TOKEN | 1), [(TRE, b"next", 0)]]


def test_body_above_the_limit_is_not_held_in_memory():
    session = live()
    data = sent(Publish(TRE, bytes(8_000_000), 1, 1))

    found = []
    for at in range(0, len(data), 65_536):
        found += session.receive(data[at : at + 65_536])
        assert len(session._held) <= 65_536

    assert found == [Oversized(TRE, bytes(1_024), 8_000_000, PUBACK_TOKEN | 1)]


@pytest.mark.parametrize(("length", "ends"), [(MAX_LENGTH - 1, False), (MAX_LENGTH, False), (MAX_LENGTH + 1, True)])
def test_remaining_length_above_16_mib_closes_connection_at_its_header(length, ends):
    found = live().receive(b"\x32" + packets_length(length))

    assert [broken(found)] == ["2.2.3"] if ends else found == []


@pytest.mark.parametrize(("length", "ends"), [(MAX_CONTROL - 1, False), (MAX_CONTROL, False), (MAX_CONTROL + 1, True)])
def test_control_packet_above_64_kib_closes_connection_at_its_header(length, ends):
    found = fresh().receive(b"\x10" + packets_length(length))

    assert [broken(found)] == ["2.2.3"] if ends else found == []


def packets_length(length: int) -> bytes:
    from tripline.mqtt import primitives

    return primitives.remaining_length_bytes(length)


def test_packets_behind_connect_wait_and_come_with_admission():
    session = fresh()
    assert session.receive(sent(CONNECT, Publish(TRE, b"1", 1, 1))) == [ConnectRequest("u" * 20)]
    assert session.receive(sent(Publish(TRE, b"2", 1, 2))[:-1]) == []

    assert session.admit() == [[(TRE, b"1", PUBACK_TOKEN | 1)]]
    assert session.receive(b"2") == [[(TRE, b"2", PUBACK_TOKEN | 2)]]


@pytest.mark.parametrize(("size", "ends"), [(MAX_WAITING - 1, False), (MAX_WAITING, False), (MAX_WAITING + 1, True)])
def test_too_much_behind_connect_ends_the_session(size, ends):
    session = fresh()
    session.receive(sent(CONNECT))

    assert session.receive(bytes(size)) == ([Ended(events.FLOODED)] if ends else [])


def test_c9_request_filter_is_granted_at_qos_1_at_most_and_others_fail():
    session = live()

    found = session.receive(sent(packets.Subscribe(9, ((REQUESTS, 2), ("#", 0), ("v1/sensors/me/tre", 1)))))

    assert found == []
    assert session.take_output() == sent(packets.Suback(9, (1, 0x80, 0x80)))


@pytest.mark.parametrize(("filters", "codes"), [(15, (0,) * 15), (16, (0,) * 16), (17, (0,) * 16 + (0x80,))])
def test_session_holds_sixteen_filters_and_fails_more(filters, codes):
    session = live(may_subscribe=lambda _: True)

    session.receive(sent(packets.Subscribe(1, tuple((f"t/{n}", 0) for n in range(filters)))))
    first = session.take_output()
    session.receive(sent(packets.Subscribe(2, (("t/0", 1),))))

    assert first == sent(packets.Suback(1, codes))
    assert session.take_output() == sent(packets.Suback(2, (1,)))


def test_suback_that_is_held_back_leaves_with_its_release_and_the_subscription_holds_before():
    session = live()
    session.hold_subacks()
    session.receive(sent(packets.Subscribe(1, ((REQUESTS, 1),)), packets.Pingreq(), packets.Subscribe(2, (("#", 0),))))
    before, held = session.take_output(), session.holds_subacks
    number = session.publish("v1/sensors/me/rpc/request/1", b"", qos=1)
    called = session.take_output()

    session.release_subacks()
    after = session.take_output()
    session.receive(sent(packets.Subscribe(3, ((REQUESTS, 1),))))

    assert (before, held, number) == (sent(packets.Pingresp()), True, 1)
    assert called == sent(Publish("v1/sensors/me/rpc/request/1", b"", 1, 1))
    assert after == sent(packets.Suback(1, (1,)), packets.Suback(2, (0x80,)))
    assert (session.take_output(), session.holds_subacks) == (sent(packets.Suback(3, (1,))), False)


@pytest.mark.parametrize(("more", "ends"), [(-1, False), (0, False), (1, True)])
def test_too_many_subacks_held_back_end_the_session(more, ends):
    session = live()
    session.hold_subacks()
    of_one = len(sent(packets.Suback(1, (0x80,))))
    session.receive(sent(packets.Subscribe(1, (("#", 0),))) * (MAX_HELD_SUBACKS // of_one - 1))
    while session.more:
        session.receive(b"")
    left = MAX_HELD_SUBACKS - of_one * (MAX_HELD_SUBACKS // of_one - 1) - (of_one - 1) + more

    found = session.receive(sent(packets.Subscribe(2, (("#", 0),) * left)))

    assert found == ([Ended(events.FLOODED)] if ends else [])


def test_unsubscribe_is_always_answered_and_ends_delivery():
    session = live()
    session.receive(sent(packets.Subscribe(1, ((REQUESTS, 1),))))
    session.receive(sent(packets.Unsubscribe(2, (REQUESTS, "never/asked"))))
    session.take_output()

    session.receive(sent(packets.Unsubscribe(3, ("x",))))

    assert session.take_output() == sent(packets.Unsuback(3))
    assert session.publish("v1/sensors/me/rpc/request/1", b"", qos=1) is None


def test_message_to_the_client_is_delivered_when_acknowledged():
    session = live()
    session.receive(sent(packets.Subscribe(1, ((REQUESTS, 1),))))
    session.take_output()

    assert session.publish("v1/sensors/me/rpc/request/5", b"{}", qos=1) == 1
    assert session.take_output() == sent(Publish("v1/sensors/me/rpc/request/5", b"{}", 1, 1))
    assert session.receive(sent(Puback(1))) == [Delivered(1)]
    assert session.receive(sent(Puback(1))) == []


def test_message_to_the_client_goes_at_the_lower_qos_when_that_was_granted():
    session = live()
    session.receive(sent(packets.Subscribe(1, ((REQUESTS, 0),))))
    session.take_output()

    assert session.publish("v1/sensors/me/rpc/request/5", b"{}", qos=1) == 0
    assert session.take_output() == sent(Publish("v1/sensors/me/rpc/request/5", b"{}", qos=0))


def test_message_without_subscription_is_not_sent():
    session = live()

    assert session.publish("v1/sensors/me/rpc/request/5", b"{}", qos=1) is None
    assert session.take_output() == b""


def test_messages_under_way_are_bounded_and_the_oldest_is_given_up():
    session = live(max_in_flight=3)
    session.receive(sent(packets.Subscribe(1, ((REQUESTS, 1),))))

    given = [session.publish("v1/sensors/me/rpc/request/5", b"", qos=1) for _ in range(4)]

    assert given == [1, 2, 3, 4]
    assert session.receive(sent(Puback(1), Puback(2), Puback(4))) == [Delivered(2), Delivered(4)]


def test_ping_is_answered_and_disconnect_ends():
    session = live()

    assert session.receive(sent(packets.Pingreq(), packets.Disconnect(), packets.Pingreq())) == [
        Ended(events.DISCONNECTED)
    ]
    assert session.take_output() == sent(packets.Pingresp())


@pytest.mark.parametrize(("silence_s", "overdue"), [(29.9, False), (30.0, False), (30.1, True)])
def test_silence_of_one_and_a_half_keep_alives_is_too_long(silence_s, overdue):
    session = live(Connect("c", keep_alive_s=20, user_name="u"))
    session.overdue(1_000.0)

    assert session.overdue(1_000.0 + silence_s) is overdue


def test_keep_alive_0_is_never_overdue():
    session = live(Connect("c", keep_alive_s=0, user_name="u"))
    session.overdue(1_000.0)

    assert session.overdue(1e9) is False


def test_half_a_packet_is_silence():
    session = live(Connect("c", keep_alive_s=20, user_name="u"))
    session.overdue(1_000.0)
    session.receive(b"\x32")

    assert session.overdue(1_031.0) is True


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("MQTT-2.3.1-1", b"\x32\x06\x00\x01a\x00\x00x"),
        ("MQTT-2.3.1-1", b"\x34\x06\x00\x01a\x00\x00x"),
        ("MQTT-3.3.1-4", b"\x36\x06\x00\x01a\x00\x01x"),
        ("MQTT-3.3.1-2", b"\x38\x04\x00\x01ax"),
        ("2.2.3", b"\x32\x04\x00\x01a\x01"),
        ("2.2.3", b"\x32\x04\x00\x09a\x01"),
    ],
)
def test_forbidden_publish_on_a_known_topic_closes_connection(rule, data):
    session = live()
    assert session.receive(sent(Publish("a", b"known", 1, 1))) == [[("a", b"known", PUBACK_TOKEN | 1)]]

    assert broken(session.receive(data + sent(Publish("a", b"next")))) == rule


@pytest.mark.parametrize(
    "client_id", ["a", "0123456789abcdefghijklm", "ABCDEFGHIJKLMNOPQRSTUVW", "x" * 200, "a box/한국"]
)
def test_client_identifier_of_any_form_is_accepted(client_id):
    assert fresh().receive(sent(Connect(client_id, user_name="u"))) == [ConnectRequest("u")]


def test_connect_that_breaks_the_standard_gets_no_connack():
    session = fresh()

    broken(session.receive(b"\x10\x0c\x00\x04MQTT\x04\x03\x00\x00\x00\x00"))

    assert session.take_output() == b""


def test_packet_id_is_free_again_once_its_publish_is_acknowledged():
    session = live()

    for body in (b"1", b"2"):
        assert session.receive(sent(Publish(TRE, body, 1, 7))) == [[(TRE, body, PUBACK_TOKEN | 7)]]
        assert session.settled([PUBACK_TOKEN | 7]) == sent(Puback(7))


@pytest.mark.parametrize(
    ("packet", "count", "lots"),
    [
        (packets.Pingreq(), LOT_PACKETS, 1),
        (packets.Pingreq(), LOT_PACKETS + 1, 2),
        (packets.Publish("t", b"", 2, 1), LOT_PACKETS * 3, 3),
        (packets.Publish("t", bytes(1_000)), 32, 1),
        (packets.Publish("t", bytes(1_000)), 100, 4),
    ],
)
def test_bytes_are_walked_in_lots(packet, count, lots):
    """A quarter of a mebibyte of PINGREQ takes 0.4 s."""
    session = live()
    session.receive(sent(packets.Publish("t", b"")))
    found = [session.receive(sent(packet) * count)]
    while session.more:
        found.append(session.receive(b""))

    frames = [sum(map(len, each)) for each in found]
    assert len(found) == lots
    if isinstance(packet, packets.Pingreq):
        assert session.take_output() == sent(packets.Pingresp()) * count
    elif packet.qos == 0:
        assert (sum(frames), max(frames)) == (count, min(count, 33))
    assert session.held == 0


def test_bytes_that_come_before_the_next_lot_are_walked_behind_it():
    session = live()
    session.receive(sent(packets.Pingreq()) * (LOT_PACKETS + 1) + sent(packets.Publish("t", b"1")))
    found = session.receive(sent(packets.Publish("t", b"2")))

    assert [body for frames in found for _, body, _ in frames] == [b"1", b"2"]
    assert session.take_output() == sent(packets.Pingresp()) * (LOT_PACKETS + 1)
