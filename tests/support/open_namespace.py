"""A namespace in which everybody may subscribe to everything, and some topics are routed between clients.

The product's session, connection and listener, with what the product's own namespace does not allow: QoS 2 to clients,
retained messages, Wills, sessions that outlive their connection. Not here: who gets what (`exchange.py`).
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tests.support.exchange import Exchange
from tests.support.gateways import Listener
from tests.support.persistent_sessions import Lasting
from tripline.gateway.connection import Connection, Surroundings
from tripline.mqtt import encode, events, packets
from tripline.mqtt.events import SessionEvent
from tripline.mqtt.packets import ConnectCode, Publish
from tripline.mqtt.session import DEFAULT_IN_FLIGHT, Rules, ServerSession, State

RULES = Rules(max_body=262_144, may_subscribe=lambda _: True)


def routes(topic: str) -> bool:
    """Whether publishes on the topic go to other clients."""
    return topic.startswith(("conf/", "$conf/"))


class Routed(msgspec.Struct, frozen=True):
    """A publish on a topic that is routed between clients; `token` as in a frame."""

    publish: Publish
    token: int


class Granted(msgspec.Struct, frozen=True):
    """A filter was granted at this QoS."""

    wanted: str
    qos: int


class OpenSession(ServerSession):
    """A session that tells its owner of routed publishes and granted filters, and goes on over connections."""

    def __init__(
        self,
        enter: Callable[[packets.Connect], Lasting],
        *,
        rules: Rules = RULES,
        routes: Callable[[str], bool] = routes,
    ) -> None:
        """`enter`: the client's session, new or left by an earlier connection; asked once the client is admitted."""
        super().__init__(rules)
        self._join, self._routes = enter, routes
        self._granted: list[Granted] = []

    def deliver(self, message: Publish) -> None:
        """Send a routed message at the QoS it has, or let it wait for those before it."""
        if self.state is State.LIVE:
            self._output += self._outbound.deliver(message)

    def _accept(self) -> None:
        lasting = self._join(self._connect)
        self._outbound, self._held_ids = lasting, lasting.held_ids
        # [MQTT-3.2.2-2]
        self._output += encode.connack(ConnectCode.ACCEPTED, session_present=lasting.resumed) + lasting.again()

    def _learn(self, topic: str) -> None:
        if not self._routes(topic):  # The fast loop must not take what is routed.
            super()._learn(topic)

    def _take(self, publish: Publish, size: int, found: list[SessionEvent]) -> None:
        before = len(found)
        super()._take(publish, size, found)
        if self._routes(publish.topic) and len(found) > before and isinstance(found[-1], list):
            [(_, _, token)] = found[-1]
            found[-1] = Routed(publish, token)

    def _grant(self, wanted: str, qos: int) -> int | None:
        granted = super()._grant(wanted, qos)
        if granted is not None:
            self._granted.append(Granted(wanted, granted))
        return granted

    def _on_connect(self, connect: packets.Connect, found: list[SessionEvent]) -> None:
        self._connect = connect
        super()._on_connect(connect, found)

    def _on_subscribe(self, subscribe: packets.Subscribe, found: list[SessionEvent]) -> None:
        before = len(found)
        super()._on_subscribe(subscribe, found)
        found[before:before] = self._granted
        self._granted = []

    def _on_puback(self, puback: packets.Puback, found: list[SessionEvent]) -> None:
        super()._on_puback(puback, found)
        self._output += self._outbound.more()

    def _on_pubrec(self, pubrec: packets.Pubrec, _found: list[SessionEvent]) -> None:
        self._output += self._outbound.received(pubrec.packet_id)

    def _on_pubcomp(self, pubcomp: packets.Pubcomp, found: list[SessionEvent]) -> None:
        if self._outbound.completed(pubcomp.packet_id):
            found.append(events.Delivered(pubcomp.packet_id))
            self._output += self._outbound.more()

    _NEXT = ServerSession._NEXT | {
        (State.FRESH, packets.Connect): _on_connect,
        (State.LIVE, packets.Puback): _on_puback,
        (State.LIVE, packets.Pubrec): _on_pubrec,
        (State.LIVE, packets.Pubcomp): _on_pubcomp,
        (State.LIVE, packets.Subscribe): _on_subscribe,
    }


class OpenConnection(Connection):
    """A connection that is a member of an exchange."""

    def __init__(self, around: Surroundings, exchange: Exchange) -> None:
        super().__init__(around)
        self._exchange = exchange
        self._session = OpenSession(self._join, rules=around.rules)
        self._behind: list[tuple[int, int]] = []
        """Answers that wait for frames offered before them: how many, and the token."""

    def deliver(self, message: Publish) -> None:
        """Send a message of another client, or let it wait for those before it."""
        self._session.deliver(message)
        self._flush()

    def settled(self, tokens: list[int]) -> None:
        """Acknowledge what is committed, and what waited for it."""
        merged = self._with_behind(tokens)
        self.under_way += len(merged) - len(tokens)  # Only frames are under way.
        super().settled(merged)

    def _join(self, connect: packets.Connect) -> Lasting:
        keeps_will = connect.will is not None and routes(connect.will.topic)
        return self._exchange.enter(self, (self.sensor_id, connect.client_id), connect, keeps_will=keeps_will)

    def _leave(self) -> None:
        entered = self._entered
        super()._leave()
        if entered:
            self._exchange.leave(self, orderly=self._reason == events.DISCONNECTED)

    def _with_behind(self, tokens: list[int]) -> list[int]:
        """The tokens, and between them those whose turn comes with them [MQTT-4.6.0-2]."""
        behind: list[tuple[int, int]] = []
        merged: list[int] = []
        given = 0
        for before, token in self._behind:
            if before > len(tokens):
                behind.append((before - len(tokens), token))
            else:
                merged += tokens[given:before]
                merged.append(token)
                given = before
        self._behind = behind
        return merged + tokens[given:]

    def _on_routed(self, routed: Routed, _received_ms: int) -> None:
        self._exchange.publish(routed.publish)
        if routed.token:
            self._behind.append((self.under_way, routed.token))
            if not self.under_way:
                self.settled([])

    def _on_granted(self, granted: Granted, _received_ms: int) -> None:
        self._exchange.subscribed(self, granted.wanted, granted.qos)

    _ON = Connection._ON | {Routed: _on_routed, Granted: _on_granted}


class OpenListener(Listener):
    """A listener whose connections are members of one exchange."""

    def __init__(self, **parts: object) -> None:
        super().__init__(**parts)
        self._around = replace(self._around, rules=RULES)
        self._exchange = Exchange(in_flight=DEFAULT_IN_FLIGHT)

    def _connection(self) -> OpenConnection:
        return OpenConnection(self._around, self._exchange)
