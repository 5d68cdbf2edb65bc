"""Messages between clients: who gets what, what is retained, sessions of absent clients, Wills. No I/O.

The product routes nothing between clients. With this exchange (`open_namespace.py`) the conformance tests hold the code
of a connection to the whole standard. A message is handed over once for each client, at
the highest QoS granted to it [MQTT-3.3.5-1]. Everything is in memory and bounded: a server that ends forgets it, as the
standard allows for what is not stored.
"""

from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from tests.support.persistent_sessions import Lasting
from tripline.mqtt.filters import matches
from tripline.mqtt.packets import Connect, Publish, Will

MAX_KEPT: Final = 1_000
"""Sessions of absent clients; of more, the one absent longest is forgotten."""
MAX_RETAINED: Final = 1_000
"""Topics with a retained message; a message on a further topic is delivered, and not retained."""


Key: TypeAlias = tuple[str, str]
"""Who a session belongs to: user and client identifier."""


class Member(Protocol):
    """A connection with a live session."""

    def deliver(self, message: Publish) -> None:
        """Send the message at its QoS, or queue it."""


class _Entry(msgspec.Struct):
    key: Key
    session: Lasting
    clean: bool
    will: Will | None


class Exchange:
    """The clients of one namespace, there and absent."""

    def __init__(self, *, in_flight: int) -> None:
        self._in_flight = in_flight
        self._members: dict[Member, _Entry] = {}
        self._absent: dict[Key, Lasting] = {}
        self._retained: dict[str, Publish] = {}

    def enter(self, member: Member, key: Key, connect: Connect, *, keeps_will: bool) -> Lasting:
        """The session of a client that connects: the one it left, if there is one and it wants no clean one."""
        left = self._absent.pop(key, None)
        session = None if connect.clean_session else left  # [MQTT-3.1.2-6] a clean one ends what was there.
        if session is None:
            session = Lasting(limit=self._in_flight)
        else:
            session.resumed = True
        will = connect.will if keeps_will else None
        self._members[member] = _Entry(key, session, connect.clean_session, will)
        return session

    def leave(self, member: Member, *, orderly: bool) -> None:
        """The connection ended; `orderly` when the client said DISCONNECT, which takes its Will back."""
        entry = self._members.pop(member, None)
        if entry is None:
            return
        if not entry.clean:
            self._absent[entry.key] = entry.session
            if len(self._absent) > MAX_KEPT:
                del self._absent[next(iter(self._absent))]
        if entry.will is not None and not orderly:  # [MQTT-3.1.2-8] [MQTT-3.1.2-10]
            will = entry.will
            self.publish(Publish(will.topic, will.body, will.qos, retain=will.retain))

    def publish(self, message: Publish) -> None:
        """Hand the message to every client that subscribed, and retain it if it asks for that."""
        if message.retain:
            self._retain(message)
        # A member may be lost by being told; its session has the message then, and is not among the absent here.
        members, absent = list(self._members.items()), list(self._absent.values())
        # [MQTT-3.3.1-9] no RETAIN on what goes to a subscription that is there already.
        for member, entry in members:
            qos = entry.session.granted_qos(message.topic)
            if qos is not None:
                member.deliver(_copy(message, qos))
        for session in absent:
            qos = session.granted_qos(message.topic)
            if qos is not None:
                session.keep(_copy(message, qos))

    def subscribed(self, member: Member, wanted: str, qos: int) -> None:
        """Send what is retained to a client that was granted this filter, anew or again [MQTT-3.3.1-6]."""
        for message in [each for topic, each in self._retained.items() if matches(wanted, topic)]:
            member.deliver(_copy(message, qos, retain=True))

    def _retain(self, message: Publish) -> None:
        if not message.body:
            self._retained.pop(message.topic, None)  # [MQTT-3.3.1-10] [MQTT-3.3.1-11]
        elif message.topic in self._retained or len(self._retained) < MAX_RETAINED:
            self._retained[message.topic] = message


def _copy(message: Publish, granted: int, *, retain: bool = False) -> Publish:
    """The message as one client gets it [MQTT-3.8.4-6]; DUP is not handed on [MQTT-3.3.1-3]."""
    return replace(message, qos=min(message.qos, granted), packet_id=0, retain=retain, dup=False)
