"""Packets to bytes, for servers and clients.

`packet` encodes any packet; the functions below it are for callers that already have the values.
"""

from collections.abc import Callable
from typing import Any, Final

from tripline.mqtt import packets
from tripline.mqtt.packets import Packet
from tripline.mqtt.primitives import binary_bytes, number_bytes, remaining_length_bytes, text_bytes

PINGRESP: Final = b"\xd0\x00"
_PROTOCOL: Final = b"\x00\x04MQTT\x04"


def packet(value: Packet) -> bytes:
    """The bytes of any packet."""
    return _ENCODERS[type(value)](value)


def publish(topic: str, body: bytes, *, qos: int, packet_id: int = 0, retain: bool = False, dup: bool = False) -> bytes:
    """The bytes of a PUBLISH."""
    head = text_bytes(topic) + (number_bytes(packet_id) if qos else b"")
    return _frame(0x30 | dup << 3 | qos << 1 | retain, head + body)


def suback(packet_id: int, codes: tuple[int, ...]) -> bytes:
    """The bytes of a SUBACK: one code a filter, in the order of the SUBSCRIBE [MQTT-3.9.3-1]."""
    return _frame(0x90, number_bytes(packet_id) + bytes(codes))


def connack(code: int, *, session_present: bool = False) -> bytes:
    """The bytes of a CONNACK."""
    return bytes((0x20, 2, session_present, code))


def answer(first: int, packet_id: int) -> bytes:
    """The four bytes of PUBACK, PUBREC, PUBREL, PUBCOMP or UNSUBACK."""
    return bytes((first, 2, packet_id >> 8, packet_id & 0xFF))


def _frame(first: int, body: bytes) -> bytes:
    return bytes((first,)) + remaining_length_bytes(len(body)) + body


def _connect(value: packets.Connect) -> bytes:
    will = value.will
    flags = value.clean_session << 1 | (value.user_name is not None) << 7 | (value.password is not None) << 6
    body = text_bytes(value.client_id)
    if will is not None:
        flags |= 0x04 | will.qos << 3 | will.retain << 5
        body += text_bytes(will.topic) + binary_bytes(will.body)
    if value.user_name is not None:
        body += text_bytes(value.user_name)
    if value.password is not None:
        body += binary_bytes(value.password)
    return _frame(0x10, _PROTOCOL + bytes((flags,)) + number_bytes(value.keep_alive_s) + body)


def _publish(value: packets.Publish) -> bytes:
    return publish(
        value.topic, value.body, qos=value.qos, packet_id=value.packet_id, retain=value.retain, dup=value.dup
    )


def _subscribe(value: packets.Subscribe) -> bytes:
    wanted = b"".join(text_bytes(name) + bytes((qos,)) for name, qos in value.filters)
    return _frame(0x82, number_bytes(value.packet_id) + wanted)


def _unsubscribe(value: packets.Unsubscribe) -> bytes:
    return _frame(0xA2, number_bytes(value.packet_id) + b"".join(map(text_bytes, value.filters)))


_ENCODERS: Final[dict[type[Packet], Callable[[Any], bytes]]] = {
    packets.Connect: _connect,
    packets.Connack: lambda value: connack(value.code, session_present=value.session_present),
    packets.Publish: _publish,
    packets.Puback: lambda value: answer(0x40, value.packet_id),
    packets.Pubrec: lambda value: answer(0x50, value.packet_id),
    packets.Pubrel: lambda value: answer(0x62, value.packet_id),
    packets.Pubcomp: lambda value: answer(0x70, value.packet_id),
    packets.Subscribe: _subscribe,
    packets.Suback: lambda value: suback(value.packet_id, value.codes),
    packets.Unsubscribe: _unsubscribe,
    packets.Unsuback: lambda value: answer(0xB0, value.packet_id),
    packets.Pingreq: lambda _: b"\xc0\x00",
    packets.Pingresp: lambda _: PINGRESP,
    packets.Disconnect: lambda _: b"\xe0\x00",
}
