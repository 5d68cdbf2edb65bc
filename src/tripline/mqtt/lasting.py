"""What the server sends in a session that may outlive its connection: messages that wait, and those to be sent again.

Only namespaces whose topics are routed between clients have such sessions (`exchange.py`). Follows sections 4.3 and
4.4 of the standard.
"""

from collections import deque
from typing import Final

from tripline.mqtt import encode
from tripline.mqtt.exactly_once import HeldIds
from tripline.mqtt.outbound import PUBACK_MISSING, PUBCOMP_MISSING, PUBREC_MISSING, Outbound
from tripline.mqtt.packets import Publish

MAX_QUEUED: Final = 1_000
"""Messages that wait for one client; further ones are not delivered to it."""
HIGHEST: Final = 2


class Lasting(Outbound):
    """Subscriptions, messages under way and waiting, and packet ids of the client's QoS 2 publishes."""

    __slots__ = ("_messages", "_queue", "held_ids", "resumed")

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)
        self._messages: dict[int, Publish] = {}
        self._queue: deque[Publish] = deque()
        self.held_ids = HeldIds()
        self.resumed = False
        """Whether a connection before this one left it."""

    def grant(self, wanted: str, qos: int, *, highest: int = HIGHEST) -> int | None:
        """The QoS granted, or None when the session holds too many filters already."""
        return super().grant(wanted, qos, highest=highest)

    def publish(self, topic: str, body: bytes, qos: int) -> tuple[int, bytes] | None:
        """Packet id (0 at QoS 0) and bytes of a new publish; None when too many wait for their acknowledgement."""
        if not qos:
            return super().publish(topic, body, qos)
        if len(self._in_flight) >= self._limit:
            return None
        return self._begin(Publish(topic, body, qos))

    def deliver(self, message: Publish) -> bytes:
        """What is to be sent now for this message; at QoS 1 and 2 it may have to wait for others."""
        if not message.qos:
            return encode.packet(message)
        self.keep(message)
        return self.more()

    def keep(self, message: Publish) -> None:
        """Let the message wait; one at QoS 0 does not."""
        if message.qos and len(self._queue) < MAX_QUEUED:
            self._queue.append(message)

    def more(self) -> bytes:
        """What may be sent now of what waits, in order [MQTT-4.6.0-6]."""
        out = b""
        while self._queue and len(self._in_flight) < self._limit:
            out += self._begin(self._queue.popleft())[1]
        return out

    def again(self) -> bytes:
        """What is sent on a new connection: everything unanswered in its order, then what waits [MQTT-4.4.0-1]."""
        self.held_ids.forget_unanswered()
        out = b""
        for packet_id, missing in self._in_flight.items():
            if missing == PUBCOMP_MISSING:
                out += encode.answer(0x62, packet_id)
            else:
                message = self._messages[packet_id]
                # [MQTT-3.3.1-1] DUP says so.
                out += encode.publish(
                    message.topic, message.body, qos=message.qos, packet_id=packet_id, retain=message.retain, dup=True
                )
        return out + self.more()

    def acknowledged(self, packet_id: int) -> bool:
        """Whether the PUBACK answers something under way."""
        if not super().acknowledged(packet_id):
            return False
        del self._messages[packet_id]
        return True

    def received(self, packet_id: int) -> bytes:
        """The answer to PUBREC [MQTT-4.3.3-1]: PUBREL, also for an id that we do not know or released already."""
        if self._in_flight.get(packet_id) == PUBREC_MISSING:
            del self._messages[packet_id]
            del self._in_flight[packet_id]
            # [MQTT-4.6.0-4] PUBRELs go out, and go out again, in the order of the PUBRECs.
            self._in_flight[packet_id] = PUBCOMP_MISSING
        return encode.answer(0x62, packet_id)

    def completed(self, packet_id: int) -> bool:
        """Whether the PUBCOMP ends something under way."""
        if self._in_flight.get(packet_id) != PUBCOMP_MISSING:
            return False
        del self._in_flight[packet_id]
        return True

    def _begin(self, message: Publish) -> tuple[int, bytes]:
        packet_id = self._next_id()
        self._in_flight[packet_id] = PUBACK_MISSING if message.qos == 1 else PUBREC_MISSING
        self._messages[packet_id] = message
        data = encode.publish(message.topic, message.body, qos=message.qos, packet_id=packet_id, retain=message.retain)
        return packet_id, data
