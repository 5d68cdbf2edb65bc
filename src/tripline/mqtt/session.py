"""The server's side of one MQTT 3.1.1 connection: bytes in, events and answers out.

It does no I/O and reads no clock. Its owner (`gateway/connection.py`) passes received bytes in, acts on the events,
sends the bytes of `take_output`, and calls `settled` when publishes are durable: only then are they acknowledged.

The owner decides which filters are granted. A session is always clean: nothing outlives the connection, CONNACK
never reports "session present", and a Will is checked and forgotten. Splitting bytes into packets is in `inbound.py`.
The tests check this code against the rest of the standard with a subclass that routes topics between clients.
"""

import struct
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Final

import msgspec

from tripline.mqtt import decode, encode, events, packets
from tripline.mqtt.events import PUBACK_TOKEN, PUBREC_TOKEN, SessionEvent
from tripline.mqtt.exactly_once import HeldIds
from tripline.mqtt.inbound import HEAD, Inbound
from tripline.mqtt.outbound import Outbound
from tripline.mqtt.packets import ConnectCode, ProtocolError

MAX_WAITING: Final = 1_048_576
"""Most bytes that wait for the answer to CONNECT."""
MAX_HELD_SUBACKS: Final = 32_768
"""Most bytes of delayed SUBACKs: more than the longest SUBSCRIBE needs."""
DEFAULT_IN_FLIGHT: Final = 32
_GRACE: Final = 1.5
"""Keep-alive intervals of silence that end a session [MQTT-3.1.2-24]."""


class State(Enum):
    """The state of a session; the value completes an error's sentence."""

    FRESH = "before CONNECT"
    ASKED = "while CONNECT is being answered"
    LIVE = "in a live session"
    ENDED = "after the end"


class Rules(msgspec.Struct, frozen=True):
    """Limits and permissions from the owner, and data that its sessions share."""

    max_body: int
    may_subscribe: Callable[[str], bool]
    max_in_flight: int = DEFAULT_IN_FLIGHT
    """Our messages in flight to one client."""
    topics: dict[bytes, str] = msgspec.field(default_factory=dict)
    """Checked topic names."""


class ServerSession(Inbound):
    """One connection, from its first byte to its last."""

    __slots__ = ("_heard_at", "_held_ids", "_keep_alive_s", "_outbound", "_output", "_rules", "_state", "_subacks")

    def __init__(self, rules: Rules) -> None:
        super().__init__(max_body=rules.max_body, topics=rules.topics)
        self._rules = rules
        self._state = State.FRESH
        self._output = bytearray()
        self._held_ids: HeldIds | None = None
        self._outbound: Outbound | None = None
        self._subacks: bytearray | None = None
        """Delayed answers to SUBSCRIBE; None: answers are not delayed."""
        self._keep_alive_s = 0
        self._heard_at = 0.0

    @property
    def state(self) -> State:
        """The state of the session."""
        return self._state

    @property
    def held(self) -> int:
        """Received bytes that are not processed yet."""
        return len(self._held)

    @property
    def holds_subacks(self) -> bool:
        """True if an answer to a SUBSCRIBE is delayed."""
        return bool(self._subacks)

    def hold_subacks(self) -> None:
        """Delay answers to SUBSCRIBE until `release_subacks`. A subscription starts with its SUBSCRIBE (3.8.4)."""
        self._subacks = bytearray()

    def release_subacks(self) -> None:
        """Send the delayed answers, and answer immediately from now on."""
        if self._subacks is not None:
            self._output += self._subacks
            self._subacks = None

    def receive(self, data: bytes) -> list[SessionEvent]:
        """The events of these bytes, in order. Bytes that break the standard give one `Ended`, once."""
        found: list[SessionEvent] = []
        try:
            if self._reading:
                if self._held or self._skip:
                    data = self._resumed(data, found)
                self._walk(data, found)
            elif self._state is State.ASKED:
                self._wait(data, found)
        except ProtocolError as error:
            self._end(events.Ended(events.PROTOCOL_ERROR, str(error)), found)
        return found

    def take_output(self) -> bytes:
        """Take the bytes to be sent now."""
        if not self._output:
            return b""
        output = bytes(self._output)
        self._output.clear()
        return output

    def admit(self) -> list[SessionEvent]:
        """Accept the client; return the events of bytes that it sent meanwhile [MQTT-3.1.4-5]."""
        self._accept()
        self._enter(State.LIVE)
        # The time before CONNACK was ours, not the client's silence.
        self._heard = True
        # Bytes received while CONNECT was being answered are parsed now, in order.
        waiting = bytes(self._held)
        self._held.clear()
        return self.receive(waiting)

    def refuse(self, code: ConnectCode) -> None:
        """Refuse the client; the owner closes after sending [MQTT-3.2.2-5]."""
        self._output += encode.connack(code)
        self._enter(State.ENDED)

    def settled(self, tokens: list[int]) -> bytes:
        """The acknowledgements of durable publishes, in the order given [MQTT-4.6.0-2]."""
        if self._held_ids is not None:
            for token in tokens:
                if token >= PUBREC_TOKEN:
                    self._held_ids.record(token - PUBREC_TOKEN)
        if len(tokens) == 1:  # No format string: most devices wait for each answer.
            return tokens[0].to_bytes(4, "big")
        return struct.pack(f">{len(tokens)}I", *tokens)

    def publish(self, topic: str, body: bytes, *, qos: int) -> int | None:
        """Send a message at the QoS given (0 or 1), or a lower granted one.

        Returns its packet id (0 at QoS 0), or None if the client is not subscribed.
        """
        outbound = self._outbound
        granted = outbound.granted_qos(topic) if outbound else None
        if outbound is None or granted is None or self._state is not State.LIVE:
            return None
        packet_id, data = outbound.publish(topic, body, min(qos, granted))
        self._output += data
        return packet_id

    def is_subscribed(self, topic: str) -> bool:
        """True if a granted filter matches the topic."""
        return self._outbound is not None and self._outbound.granted_qos(topic) is not None

    def overdue(self, now: float) -> bool:
        """True if the client was silent too long at `now` (seconds of a steady clock).

        Silence is counted from the first call after the last whole packet: call it every second or so.
        """
        if self._heard:
            self._heard = False
            self._heard_at = now
        return 0 < self._keep_alive_s * _GRACE < now - self._heard_at

    def _accept(self) -> None:
        self._output += encode.connack(ConnectCode.ACCEPTED)  # [MQTT-3.2.2-3]

    def _enter(self, state: State) -> None:
        self._state = state
        self._live = state is State.LIVE
        self._reading = state in (State.FRESH, State.LIVE)

    def _end(self, ended: events.Ended, found: list[SessionEvent]) -> None:
        self._enter(State.ENDED)
        self._held.clear()
        found.append(ended)

    def _wait(self, data: bytes, found: list[SessionEvent]) -> None:
        self._held += data
        if len(self._held) > MAX_WAITING:
            self._end(events.Ended(events.FLOODED), found)

    def _packet(self, first: int, body: bytes, found: list[SessionEvent]) -> None:
        try:
            packet = decode.packet(first, body)
        except packets.UnsupportedProtocol as unsupported:
            self._not_this_protocol(str(unsupported), found)
            return
        act = self._NEXT.get((self._state, type(packet)))
        if act is None:
            raise _unexpected(self._state, packet)
        act(self, packet, found)

    def _not_this_protocol(self, detail: str, found: list[SessionEvent]) -> None:
        # The decoder checks the version before the session checks its state.
        if self._state is not State.FRESH:
            raise ProtocolError("A second CONNECT in one session.", "MQTT-3.1.0-2")
        self.refuse(ConnectCode.UNACCEPTABLE_PROTOCOL)  # [MQTT-3.1.2-2]
        self._end(events.Ended(events.REFUSED, detail), found)

    def _on_connect(self, connect: packets.Connect, found: list[SessionEvent]) -> None:
        if not connect.client_id and not connect.clean_session:
            self.refuse(ConnectCode.IDENTIFIER_REJECTED)  # [MQTT-3.1.3-8]
            self._end(events.Ended(events.REFUSED, "no client identifier"), found)
        elif not connect.user_name:
            self.refuse(ConnectCode.BAD_USER_NAME)
            self._end(events.Ended(events.REFUSED, "no user name"), found)
        else:
            self._keep_alive_s = connect.keep_alive_s
            self._enter(State.ASKED)
            found.append(events.ConnectRequest(connect.user_name))

    def _on_publish(self, publish: packets.Publish, found: list[SessionEvent]) -> None:
        self._take(publish, len(publish.body), found)

    def _take(self, publish: packets.Publish, size: int, found: list[SessionEvent]) -> None:
        token = PUBACK_TOKEN | publish.packet_id if publish.qos == 1 else 0
        if publish.qos == 2:
            if not self._is_new(publish.packet_id):
                return
            token = PUBREC_TOKEN | publish.packet_id
        if size > self._max_body:
            found.append(events.Oversized(publish.topic, publish.body[:HEAD], size, token))
        else:
            self._learn(publish.topic)
            found.append([(publish.topic, publish.body, token)])

    def _is_new(self, packet_id: int) -> bool:
        if self._held_ids is None:
            self._held_ids = HeldIds()
        new = self._held_ids.offer(packet_id)
        # Resent after it was stored: the PUBREC was lost. A publish that is not stored yet is answered with its batch.
        if not new and self._held_ids.recorded(packet_id):
            self._output += encode.answer(0x50, packet_id)
        return new

    def _on_pubrel(self, pubrel: packets.Pubrel, _found: list[SessionEvent]) -> None:
        if self._held_ids is not None:
            self._held_ids.release(pubrel.packet_id)
        self._output += encode.answer(0x70, pubrel.packet_id)  # [MQTT-4.3.3-2] also for an id we do not hold

    def _on_puback(self, puback: packets.Puback, found: list[SessionEvent]) -> None:
        if self._outbound is not None and self._outbound.acknowledged(puback.packet_id):
            found.append(events.Delivered(puback.packet_id))

    def _on_subscribe(self, subscribe: packets.Subscribe, found: list[SessionEvent]) -> None:
        codes: list[int] = []
        for wanted, qos in subscribe.filters:
            granted = self._grant(wanted, qos)
            codes.append(packets.SUBSCRIPTION_FAILED if granted is None else granted)
        suback = encode.suback(subscribe.packet_id, tuple(codes))
        if self._subacks is None:
            self._output += suback
            return
        self._subacks += suback
        if len(self._subacks) > MAX_HELD_SUBACKS:
            self._end(events.Ended(events.FLOODED), found)

    def _grant(self, wanted: str, qos: int) -> int | None:
        if not self._rules.may_subscribe(wanted):
            return None
        if self._outbound is None:
            self._outbound = Outbound(limit=self._rules.max_in_flight)
        return self._outbound.grant(wanted, qos)

    def _on_unsubscribe(self, unsubscribe: packets.Unsubscribe, _found: list[SessionEvent]) -> None:
        for wanted in unsubscribe.filters:
            if self._outbound is not None:
                self._outbound.withdraw(wanted)
        self._output += encode.answer(0xB0, unsubscribe.packet_id)  # [MQTT-3.10.4-5] whether or not one matched

    def _on_pingreq(self, _pingreq: packets.Pingreq, _found: list[SessionEvent]) -> None:
        self._output += encode.PINGRESP  # [MQTT-3.12.4-1]

    def _on_disconnect(self, _disconnect: packets.Disconnect, found: list[SessionEvent]) -> None:
        self._end(events.Ended(events.DISCONNECTED), found)

    _NEXT: ClassVar[dict[tuple[State, type], Callable[["ServerSession", Any, list[SessionEvent]], None]]] = {
        (State.FRESH, packets.Connect): _on_connect,
        (State.LIVE, packets.Publish): _on_publish,
        (State.LIVE, packets.Pubrel): _on_pubrel,
        (State.LIVE, packets.Puback): _on_puback,
        (State.LIVE, packets.Subscribe): _on_subscribe,
        (State.LIVE, packets.Unsubscribe): _on_unsubscribe,
        (State.LIVE, packets.Pingreq): _on_pingreq,
        (State.LIVE, packets.Disconnect): _on_disconnect,
    }
    """The handler of each packet by state; a missing pair ends the session."""


def _unexpected(state: State, packet: packets.Packet) -> ProtocolError:
    if isinstance(packet, packets.Connect):
        return ProtocolError("A second CONNECT in one session.", "MQTT-3.1.0-2")
    return ProtocolError(f"{type(packet).__name__.upper()} from a client {state.value}.", "MQTT-4.8.0-1")
