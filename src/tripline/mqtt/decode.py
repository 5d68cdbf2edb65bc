"""Bytes to packets: the body of one packet, and a reader of packets from a stream cut anywhere.

`PacketReader` is for clients and tests. The server's session (`session.py`) parses chunks itself, because a publish
there must cost about a microsecond; a property test checks that both give the same results.
"""

from collections.abc import Callable
from typing import Final

from tripline.mqtt import filters, packets, primitives
from tripline.mqtt.packets import Kind, Packet, ProtocolError, UnsupportedProtocol
from tripline.mqtt.primitives import FieldReader

_FLAGS: Final = {Kind.PUBREL: 0b0010, Kind.SUBSCRIBE: 0b0010, Kind.UNSUBSCRIBE: 0b0010}
_LEVEL: Final = 4
_OLD_NAME: Final = "MQIsdp"
"""Protocol name of MQTT 3.1."""


def packet(first: int, body: bytes) -> Packet:
    """The packet with this first byte and body. Raises ProtocolError, or UnsupportedProtocol for a CONNECT."""
    try:
        kind = Kind(first >> 4)
    except ValueError:
        raise ProtocolError(f"Packet type {first >> 4} is reserved.", "2.2.1") from None
    if kind is Kind.PUBLISH:
        return _publish(first, body)
    if first & 0x0F != _FLAGS.get(kind, 0):
        raise ProtocolError(f"{kind.name} has the wrong flags.", "MQTT-2.2.2-2")
    reader = FieldReader(kind.name, body)
    decoded = _DECODERS[kind](reader)
    reader.end()
    return decoded


class PacketReader:
    """Packets from a stream of bytes, cut anywhere. Buffers at most one incomplete packet of `limit` bytes."""

    def __init__(self, *, limit: int = packets.MAX_REMAINING_LENGTH) -> None:
        self._limit = limit
        self._held = bytearray()
        self._needed = 0

    def receive(self, data: bytes) -> list[Packet]:
        """The packets completed by these bytes. Raises ProtocolError; discard the reader after that."""
        self._held += data
        if len(self._held) < self._needed:
            return []
        found: list[Packet] = []
        held = bytes(self._held)
        at = self._needed = 0
        while (frame := primitives.remaining_length(held, at + 1)) is not None:
            length, start = frame
            if length > self._limit:
                raise ProtocolError(f"A packet of {length} bytes is above the limit of {self._limit}.", "2.2.3")
            if start + length > len(held):
                self._needed = start + length - at
                break
            found.append(packet(held[at], held[start : start + length]))
            at = start + length
        del self._held[:at]
        return found


def _publish(first: int, body: bytes) -> packets.Publish:
    qos = first >> 1 & 0b11
    dup = bool(first & 0b1000)
    check_publish_flags(first)
    reader = FieldReader("PUBLISH", body)
    topic = primitives.checked_topic(reader.binary())
    packet_id = reader.packet_id() if qos else 0
    return packets.Publish(topic, reader.rest(), qos, packet_id, bool(first & 1), dup)


def check_publish_flags(first: int) -> None:
    """Refuse the flag combinations a PUBLISH must not have."""
    qos = first >> 1 & 0b11
    if qos == 0b11:
        raise ProtocolError("PUBLISH has both QoS bits set.", "MQTT-3.3.1-4")
    if qos == 0 and first & 0b1000:
        raise ProtocolError("PUBLISH at QoS 0 has the DUP flag.", "MQTT-3.3.1-2")


def _connect(reader: FieldReader) -> packets.Connect:
    _check_protocol(reader)
    flags = reader.byte()
    keep_alive_s = reader.number()
    has_user_name, has_password, retain, has_will = (bool(flags & bit) for bit in (0x80, 0x40, 0x20, 0x04))
    will_qos = flags >> 3 & 0b11
    if flags & 0x01:
        raise ProtocolError("CONNECT has its reserved flag set.", "MQTT-3.1.2-3")
    if not has_will and will_qos:
        raise ProtocolError("CONNECT has a will QoS without a will.", "MQTT-3.1.2-13")
    if will_qos == 0b11:
        raise ProtocolError("CONNECT asks for will QoS 3.", "MQTT-3.1.2-14")
    if not has_will and retain:
        raise ProtocolError("CONNECT has a will retain flag without a will.", "MQTT-3.1.2-15")
    if has_password and not has_user_name:
        raise ProtocolError("CONNECT has a password without a user name.", "MQTT-3.1.2-22")
    # [MQTT-3.1.3-1] the order of the fields after the flags.
    return packets.Connect(
        client_id=reader.text(),
        clean_session=bool(flags & 0x02),
        keep_alive_s=keep_alive_s,
        will=_will(reader, will_qos, retain) if has_will else None,
        user_name=reader.text() if has_user_name else None,
        password=reader.binary() if has_password else None,
    )


def _will(reader: FieldReader, qos: int, retain: bool) -> packets.Will:
    topic = reader.text()
    primitives.check_topic("CONNECT", topic, "MQTT-4.7.1-1")
    return packets.Will(topic, reader.binary(), qos, retain)


def _check_protocol(reader: FieldReader) -> None:
    name = reader.text()
    level = reader.byte()
    if name == "MQTT" and level == _LEVEL:
        return
    if name in ("MQTT", _OLD_NAME):
        reader.rest()
        raise UnsupportedProtocol(f"{name} level {level} is not MQTT 3.1.1.")
    raise ProtocolError("CONNECT names another protocol.", "MQTT-3.1.2-1")


def _connack(reader: FieldReader) -> packets.Connack:
    flags, code = reader.byte(), reader.byte()
    if flags > 1:
        raise ProtocolError("CONNACK has reserved flags set.", "3.2.2.1")
    return packets.Connack(code, bool(flags))


def _subscribe(reader: FieldReader) -> packets.Subscribe:
    packet_id = reader.packet_id()
    filters: list[tuple[str, int]] = []
    while not reader.exhausted:
        wanted, qos = _filter("SUBSCRIBE", reader), reader.byte()
        if qos > 2:
            raise ProtocolError("SUBSCRIBE asks for a QoS above 2.", "MQTT-3-8.3-4")
        filters.append((wanted, qos))
    if not filters:
        raise ProtocolError("SUBSCRIBE has no filter.", "MQTT-3.8.3-3")
    return packets.Subscribe(packet_id, tuple(filters))


def _unsubscribe(reader: FieldReader) -> packets.Unsubscribe:
    packet_id = reader.packet_id()
    filters: list[str] = []
    while not reader.exhausted:
        filters.append(_filter("UNSUBSCRIBE", reader))
    if not filters:
        raise ProtocolError("UNSUBSCRIBE has no filter.", "MQTT-3.10.3-2")
    return packets.Unsubscribe(packet_id, tuple(filters))


def _filter(name: str, reader: FieldReader) -> str:
    wanted = reader.text()
    fault = filters.fault(wanted)
    if fault is not None:
        raise ProtocolError(f"{name} has a filter that {fault[0]}.", fault[1])
    return wanted


def _suback(reader: FieldReader) -> packets.Suback:
    packet_id, codes = reader.packet_id(), tuple(reader.rest())
    if any(code > 2 and code != packets.SUBSCRIPTION_FAILED for code in codes):
        raise ProtocolError("SUBACK has a reserved return code.", "MQTT-3.9.3-2")
    return packets.Suback(packet_id, codes)


_DECODERS: Final[dict[Kind, Callable[[FieldReader], Packet]]] = {
    Kind.CONNECT: _connect,
    Kind.CONNACK: _connack,
    Kind.PUBACK: lambda reader: packets.Puback(reader.packet_id()),
    Kind.PUBREC: lambda reader: packets.Pubrec(reader.packet_id()),
    Kind.PUBREL: lambda reader: packets.Pubrel(reader.packet_id()),
    Kind.PUBCOMP: lambda reader: packets.Pubcomp(reader.packet_id()),
    Kind.SUBSCRIBE: _subscribe,
    Kind.SUBACK: _suback,
    Kind.UNSUBSCRIBE: _unsubscribe,
    Kind.UNSUBACK: lambda reader: packets.Unsuback(reader.packet_id()),
    Kind.PINGREQ: lambda _: packets.Pingreq(),
    Kind.PINGRESP: lambda _: packets.Pingresp(),
    Kind.DISCONNECT: lambda _: packets.Disconnect(),
}
