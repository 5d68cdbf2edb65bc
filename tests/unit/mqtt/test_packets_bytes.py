"""Every packet against the bytes the standard's figures give, both ways; and the bytes it forbids."""

import pytest

from tripline.mqtt import decode, encode, packets
from tripline.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    ProtocolError,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    UnsupportedProtocol,
    Will,
)

HEAD = b"\x00\x04MQTT\x04"
BYTES = [
    (Connect("c", user_name="u"), b"\x10\x10" + HEAD + b"\x82\x00\x3c\x00\x01c\x00\x01u"),
    (Connect("", keep_alive_s=0), b"\x10\x0c" + HEAD + b"\x02\x00\x00\x00\x00"),
    (
        Connect("c", False, 10, "u", b"", Will("w", b"x", 1, True)),
        b"\x10\x18" + HEAD + b"\xec\x00\x0a\x00\x01c\x00\x01w\x00\x01x\x00\x01u\x00\x00",
    ),
    (Connack(5), b"\x20\x02\x00\x05"),
    (Connack(0, True), b"\x20\x02\x01\x00"),
    (Publish("a/b", b"hi"), b"\x30\x07\x00\x03a/bhi"),
    (Publish("a", b"", 1, 10, True, True), b"\x3b\x05\x00\x01a\x00\x0a"),
    (Publish("a", b"x", 2, 65_535), b"\x34\x06\x00\x01a\xff\xffx"),
    (Puback(258), b"\x40\x02\x01\x02"),
    (Pubrec(1), b"\x50\x02\x00\x01"),
    (Pubrel(1), b"\x62\x02\x00\x01"),
    (Pubcomp(1), b"\x70\x02\x00\x01"),
    (Subscribe(10, (("a/b", 1), ("c/d", 2))), b"\x82\x0e\x00\x0a\x00\x03a/b\x01\x00\x03c/d\x02"),
    (Suback(10, (0, 2, 0x80)), b"\x90\x05\x00\x0a\x00\x02\x80"),
    (Unsubscribe(10, ("a/b", "c")), b"\xa2\x0a\x00\x0a\x00\x03a/b\x00\x01c"),
    (Unsuback(10), b"\xb0\x02\x00\x0a"),
    (Pingreq(), b"\xc0\x00"),
    (Pingresp(), b"\xd0\x00"),
    (Disconnect(), b"\xe0\x00"),
]


@pytest.mark.parametrize(("packet", "data"), BYTES, ids=lambda value: type(value).__name__)
def test_packet_becomes_the_standards_bytes_and_back(packet, data):
    assert encode.packet(packet) == data
    assert decode.PacketReader().receive(data) == [packet]


@pytest.mark.parametrize(
    ("length", "data"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (16_383, b"\xff\x7f"),
        (16_384, b"\x80\x80\x01"),
        (2_097_151, b"\xff\xff\x7f"),
        (2_097_152, b"\x80\x80\x80\x01"),
        (268_435_455, b"\xff\xff\xff\x7f"),
    ],
)
def test_remaining_length_has_the_digits_of_table_2_4(length, data):
    from tripline.mqtt import primitives

    assert primitives.remaining_length_bytes(length) == data
    assert primitives.remaining_length(data, 0) == (length, len(data))


@pytest.mark.parametrize(("digits", "fits"), [(3, True), (4, True), (5, False)])
def test_remaining_length_may_have_four_digits(digits, fits):
    data = b"\x82" + b"\x80" * (digits - 1) + b"\x00"

    if fits:
        with pytest.raises(ProtocolError, match=r"^(?!The remaining length)"):
            decode.PacketReader().receive(data)  # an empty SUBSCRIBE
    else:
        with pytest.raises(ProtocolError, match="more than four bytes"):
            decode.PacketReader().receive(data)


FORBIDDEN = [
    ("2.2.1", b"\x00\x00"),
    ("2.2.1", b"\xf0\x00"),
    ("2.2.3", b"\x40\xff\xff\xff\xff\x01"),
    ("2.2.3", b"\x40\x01\x00"),
    ("2.2.3", b"\x40\x03\x00\x01\x00"),
    ("2.2.3", b"\xc0\x01\x00"),
    ("MQTT-2.2.2-2", b"\xc1\x00"),
    ("MQTT-2.2.2-2", b"\x60\x02\x00\x01"),
    ("MQTT-2.2.2-2", b"\xa0\x05\x00\x01\x00\x01a"),
    ("MQTT-2.2.2-2", b"\xe1\x00"),
    ("MQTT-2.2.2-2", b"\x11\x0c" + HEAD + b"\x02\x00\x00\x00\x00"),
    ("MQTT-1.5.3-1", b"\x10\x0d" + HEAD + b"\x02\x00\x00\x00\x01\xff"),
    ("MQTT-1.5.3-1", b"\x10\x0f" + HEAD + b"\x82\x00\x00\x00\x00\x00\x01\xff"),
    ("MQTT-1.5.3-1", b"\x10\x11" + HEAD + b"\x06\x00\x00\x00\x00\x00\x01\xff\x00\x00"),
    ("MQTT-1.5.3-1", b"\x82\x06\x00\x01\x00\x01\xff\x00"),
    ("MQTT-1.5.3-1", b"\xa2\x05\x00\x01\x00\x01\xff"),
    ("2.2.3", b"\x10\x0c" + HEAD + b"\x82\x00\x00\x00\x00"),
    ("2.2.3", b"\x10\x0e" + HEAD + b"\xc2\x00\x00\x00\x00\x00\x00"),
    ("2.2.3", b"\x10\x0e" + HEAD + b"\x02\x00\x00\x00\x00\x00\x00"),
    ("2.2.3", b"\x10\x10" + HEAD + b"\x82\x00\x00\x00\x00\x00\x00\x00\x00"),
    ("2.2.3", b"\x10\x0c" + HEAD + b"\x06\x00\x00\x00\x00"),
    ("MQTT-4.7.3-1", b"\x10\x10" + HEAD + b"\x06\x00\x00\x00\x00\x00\x00\x00\x00"),
    ("MQTT-4.7.1-1", b"\x10\x11" + HEAD + b"\x06\x00\x00\x00\x00\x00\x01#\x00\x00"),
    ("MQTT-4.7.1-2", b"\x82\x07\x00\x01\x00\x02a#\x00"),
    ("MQTT-4.7.1-3", b"\xa2\x06\x00\x01\x00\x02a+"),
    ("MQTT-2.3.1-1", b"\x82\x06\x00\x00\x00\x01a\x00"),
    ("MQTT-2.3.1-1", b"\xa2\x05\x00\x00\x00\x01a"),
    ("MQTT-2.2.2-2", b"\x80\x06\x00\x01\x00\x01a\x00"),
    ("MQTT-2.3.1-1", b"\x40\x02\x00\x00"),
    ("MQTT-2.3.1-1", b"\x32\x05\x00\x01a\x00\x00"),
    ("MQTT-1.5.3-1", b"\x30\x03\x00\x01\xff"),
    ("MQTT-1.5.3-1", b"\x30\x05\x00\x03\xed\xa0\x80"),
    ("MQTT-1.5.3-2", b"\x30\x03\x00\x01\x00"),
    ("MQTT-4.7.3-1", b"\x30\x02\x00\x00"),
    ("MQTT-3.3.2-2", b"\x30\x05\x00\x03a/#"),
    ("MQTT-3.3.2-2", b"\x30\x05\x00\x03a/+"),
    ("2.2.3", b"\x30\x03\x00\x02a"),
    ("2.2.3", b"\x30\x01\x00"),
    ("MQTT-3.3.1-4", b"\x36\x05\x00\x01a\x00\x01"),
    ("MQTT-3.3.1-2", b"\x38\x03\x00\x01a"),
    ("MQTT-3.1.2-1", b"\x10\x0c\x00\x04HTTP\x04\x02\x00\x00\x00\x00"),
    ("MQTT-3.1.2-3", b"\x10\x0c" + HEAD + b"\x03\x00\x00\x00\x00"),
    ("MQTT-3.1.2-13", b"\x10\x0c" + HEAD + b"\x0a\x00\x00\x00\x00"),
    ("MQTT-3.1.2-14", b"\x10\x11" + HEAD + b"\x1e\x00\x00\x00\x00\x00\x01w\x00\x00"),
    ("MQTT-3.1.2-15", b"\x10\x0c" + HEAD + b"\x22\x00\x00\x00\x00"),
    ("MQTT-3.1.2-22", b"\x10\x0e" + HEAD + b"\x42\x00\x00\x00\x00\x00\x00"),
    ("3.2.2.1", b"\x20\x02\x02\x00"),
    ("MQTT-3-8.3-4", b"\x82\x06\x00\x01\x00\x01a\x03"),
    ("MQTT-3.8.3-3", b"\x82\x02\x00\x01"),
    ("MQTT-4.7.3-1", b"\x82\x05\x00\x01\x00\x00\x00"),
    ("MQTT-3.10.3-2", b"\xa2\x02\x00\x01"),
    ("MQTT-3.9.3-2", b"\x90\x03\x00\x01\x03"),
]


@pytest.mark.parametrize(("rule", "data"), FORBIDDEN)
def test_forbidden_bytes_name_the_broken_rule(rule, data):
    with pytest.raises(ProtocolError) as caught:
        decode.PacketReader().receive(data)

    assert caught.value.rule == rule


@pytest.mark.parametrize("head", [b"\x00\x04MQTT\x03", b"\x00\x04MQTT\x05", b"\x00\x06MQIsdp\x03"])
def test_connect_of_another_version_is_told_apart(head):
    with pytest.raises(UnsupportedProtocol):
        decode.packet(0x10, head + b"\x02\x00\x00\x00\x00anything")


@pytest.mark.parametrize(("size", "fits"), [(99, True), (100, True), (101, False)])
def test_reader_refuses_packets_above_its_limit(size, fits):
    data = encode.packet(Publish("a", bytes(size - 3)))
    reader = decode.PacketReader(limit=100)

    if fits:
        assert reader.receive(data) == [Publish("a", bytes(size - 3))]
    else:
        with pytest.raises(ProtocolError):
            reader.receive(data)


@pytest.mark.parametrize("topic", ["\ufeffa", "a\ufeff", "\u00e9", "e\u0301", " a ", "/", "a" * 65_535])
def test_topic_is_taken_as_it_is(topic):
    data = encode.packet(Publish(topic, b""))

    assert decode.PacketReader().receive(data) == [Publish(topic, b"")]


def test_encoder_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="65536"):
        encode.packet(Publish("a" * 65_536, b""))
    assert packets.SUBSCRIPTION_FAILED == 0x80
