"""Sessions that outlive a connection: messages that wait, and messages to send again.

Follows sections 4.3 and 4.4 of the standard. The product has none: its sessions end with their connection.
"""

from collections import deque
from typing import Final

from tripline.mqtt import encode, exactly_once
from tripline.mqtt.exactly_once import HeldIds
from tripline.mqtt.outbound import Outbound
from tripline.mqtt.packets import Publish

MAX_QUEUED: Final = 1_000
"""Messages that wait for one client; further ones are not delivered to it."""
PUBACK_MISSING: Final = 1
PUBREC_MISSING: Final = 2
PUBCOMP_MISSING: Final = 3


class KeptIds(HeldIds):
    """Packet ids of QoS 2 publishes of a client, over its connections."""

    def forget_unanswered(self) -> None:
        """On a new connection: what was handed on and never answered is taken anew when it is sent again."""
        offered, free = bytes((exactly_once._OFFERED,)), bytes((exactly_once._FREE,))
        self._states = self._states.replace(offered, free)


class Lasting(Outbound):
    """Subscriptions, messages under way and waiting, and packet ids of the client's QoS 2 publishes."""

    _HIGHEST = 2

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)
        self._in_flight: dict[int, int] = {}
        """Packet id -> what is missing, oldest first."""
        self._messages: dict[int, Publish] = {}
        self._queue: deque[Publish] = deque()
        self.held_ids = KeptIds()
        self.resumed = False
        """Whether a connection before this one left it."""

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
            out += self._begin(self._queue.popleft())
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
        if self._in_flight.get(packet_id) != PUBACK_MISSING:
            return False
        del self._in_flight[packet_id], self._messages[packet_id]
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

    def _begin(self, message: Publish) -> bytes:
        packet_id = self._next_id()
        self._in_flight[packet_id] = PUBACK_MISSING if message.qos == 1 else PUBREC_MISSING
        self._messages[packet_id] = message
        return encode.publish(message.topic, message.body, qos=message.qos, packet_id=packet_id, retain=message.retain)
