"""Clients of an open namespace without sockets: sessions around one exchange, as the gateway joins them."""

from tests.support.exchange import Exchange
from tests.support.open_namespace import Granted, OpenSession, Routed
from tripline.mqtt import decode, encode, events, packets

CONNECT = packets.Connect("", user_name="u")


class Box:
    """One connection of a client; packets go in and come out whole."""

    def __init__(self, exchange: Exchange, connect: packets.Connect = CONNECT) -> None:
        self._exchange = exchange
        key = (connect.user_name or "", connect.client_id or str(id(self)))
        self.session = OpenSession(lambda connect: exchange.enter(self, key, connect, keeps_will=True))
        self.session.receive(encode.packet(connect))
        self._act(self.session.admit())
        [self.connack, *self.resumed] = self.heard()

    def deliver(self, message: packets.Publish) -> None:
        """A message of the exchange."""
        self.session.deliver(message)

    def say(self, *sent: packets.Packet) -> list[packets.Packet]:
        """Send packets; the answers so far."""
        self._act(self.session.receive(b"".join(map(encode.packet, sent))))
        return self.heard()

    def subscribe(self, *filters: tuple[str, int]) -> list[packets.Packet]:
        """Subscribe; what came behind the SUBACK."""
        [suback, *more] = self.say(packets.Subscribe(1, filters))
        assert suback == packets.Suback(1, tuple(qos for _, qos in filters))
        return more

    def heard(self) -> list[packets.Packet]:
        """What was sent to the client since it last listened."""
        return decode.PacketReader().receive(self.session.take_output())

    def lose(self) -> None:
        """The network goes."""
        self._exchange.leave(self, orderly=False)

    def _act(self, found: list[events.SessionEvent]) -> None:
        for event in found:
            if isinstance(event, Routed):
                self._exchange.publish(event.publish)
                if event.token:
                    self.session._output += self.session.settled([event.token])
            elif isinstance(event, Granted):
                self._exchange.subscribed(self, event.wanted, event.qos)
            elif isinstance(event, events.Ended):
                self._exchange.leave(self, orderly=event.reason == events.DISCONNECTED)
