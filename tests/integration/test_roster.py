"""The roster and the presence it reports, over real sockets, whichever way a session ends."""

import asyncio
import contextlib
import socket
import ssl

import pytest
from tests.support import certificates, gateways, waits
from tests.support.gateways import OTHER_USER, SENSORS, USER, Client, MemoryIntake, MemoryPresence, admit, listening

from tripline.config import Devices
from tripline.gateway.connection import SUBACK_S
from tripline.mqtt import encode, packets
from tripline.mqtt.packets import Connack, Connect, Puback, Publish, Suback, Subscribe
from tripline.ports.devices import Delivery

SENSOR, OTHER = SENSORS[USER], SENSORS[OTHER_USER]
REQUESTS = "v1/sensors/me/rpc/request/"
TRE = "v1/sensors/me/tre"
CONNECT = Connect("box", user_name=USER, keep_alive_s=20)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def anyio_backend():
    """The loop that the server uses."""
    return "asyncio", {"use_uvloop": True}


class RawTls:
    """A TLS client in our hands: it may stop answering, or vanish with or without a word."""

    def __init__(self, tls):
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.client_context().wrap_bio(self._in, self._out, server_hostname="127.0.0.1")

    @classmethod
    async def connected(cls, tls, address, connect=CONNECT):
        self = cls(tls)
        self.reader, self.writer = await asyncio.open_connection(*address)
        await self._until(self._tls.do_handshake)
        self.say(encode.packet(connect))
        assert await self._until(lambda: self._tls.read(4)) == encode.packet(Connack(0))
        return self

    def say(self, data):
        self._tls.write(data)
        self.writer.write(self._out.read())

    def goodbye(self):
        """Close-notify, and the socket stays open."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        self.writer.write(self._out.read())

    def reset(self):
        """The socket closes with a reset."""
        self.writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
        )
        self.writer.transport.abort()

    async def _until(self, step):
        async with asyncio.timeout(gateways.WAIT_S):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    self.writer.write(self._out.read())
                    self._in.write(await self.reader.read(65_536))
                finally:
                    self.writer.write(self._out.read())


def endings():
    """Ways a session ends: what the test does, and the reason presence hears."""

    async def disconnect(listener, client):
        client.say(encode.packet(packets.Disconnect()))

    async def half_open(listener, client):
        await listener.sweep(100.0)
        await listener.sweep(130.1)

    async def goodbye(listener, client):
        client.goodbye()

    async def hang_up(listener, client):
        client.writer.close()

    async def reset(listener, client):
        client.reset()

    async def broken_tls(listener, client):
        client.writer.write(b"\x17\x03\x03\x00\x20" + bytes(32))

    async def broken_mqtt(listener, client):
        client.say(b"\x00\x00")

    async def credential(listener, client):
        listener.roster.drop(SENSOR, "credential_ended")

    async def drain(listener, client):
        await listener.drain(1)

    return [
        (disconnect, "disconnected"),
        (half_open, "silent"),
        (goodbye, "lost"),
        (hang_up, "lost"),
        (reset, "lost"),
        (broken_tls, "lost"),
        (broken_mqtt, "protocol_error"),
        (credential, "credential_ended"),
        (drain, "server_stopping"),
    ]


@pytest.mark.parametrize(("end", "reason"), endings(), ids=lambda value: getattr(value, "__name__", ""))
async def test_session_that_ends_is_told_once_with_its_reason(tls, end, reason):
    presence = MemoryPresence()
    async with listening(MemoryIntake(), presence=presence) as listener:
        client = await RawTls.connected(tls, await listener.start("127.0.0.1", 0, tls.server_context()))
        [(_, _, number)] = presence.told

        await end(listener, client)
        await waits.until(lambda: len(listener.roster) == 0)
        client.writer.transport.abort()
        await waits.until(lambda: listener.connections == 0)

        assert presence.told == [("connected", SENSOR, number), (reason, SENSOR, number)]
        assert await listener.roster.send(SENSOR, REQUESTS + "1", b"{}") is Delivery.NOT_CONNECTED


async def test_client_that_says_disconnect_and_keeps_its_socket_is_gone_at_once(tls):
    async with listening(MemoryIntake()) as listener:
        client = await RawTls.connected(tls, await listener.start("127.0.0.1", 0, tls.server_context()))
        client.say(encode.packet(packets.Disconnect()))
        await waits.until(lambda: len(listener.roster) == 0)

        assert listener.connections == 1
        client.writer.transport.abort()


@pytest.mark.parametrize("times", [1, 3])
async def test_take_over_tells_of_the_older_before_the_newer(tls, times):
    presence = MemoryPresence()
    async with listening(MemoryIntake(), presence=presence) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())
        clients = [await RawTls.connected(tls, address) for _ in range(times + 1)]
        await waits.until(lambda: listener.connections == 1)

        words = [word for word, _, _ in presence.told]
        numbers = [number for word, _, number in presence.told if word == "connected"]
        assert words == ["connected", *("taken_over", "connected") * times]
        assert numbers == sorted(set(numbers))
        for client in clients:
            client.writer.transport.abort()


async def test_two_connects_at_the_same_instant_leave_one_session():
    presence = MemoryPresence()
    async with listening(MemoryIntake(), presence=presence) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        clients = [await Client.open(address) for _ in range(8)]
        for client in clients:
            client.send(Connect("box", user_name=USER))
        await waits.until(lambda: listener.connections == 1)

        words = [word for word, _, _ in presence.told]
        assert words == ["connected", *("taken_over", "connected") * (len(words) // 2)]
        assert len(listener.roster) == 1
        for client in clients:
            await client.close()


async def test_connection_that_asked_first_and_is_admitted_last_does_not_take_over():
    gates = [asyncio.Event(), asyncio.Event()]
    asked = []

    async def in_turn(user_name):
        gate = gates[len(asked)]
        asked.append(user_name)
        await gate.wait()
        return await admit(user_name)

    presence = MemoryPresence()
    async with listening(MemoryIntake(), admit=in_turn, presence=presence) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        first, second = await Client.open(address), await Client.open(address)
        first.send(Connect("box", user_name=USER))
        await waits.until(lambda: len(asked) == 1)
        second.send(Connect("box", user_name=USER))
        await waits.until(lambda: len(asked) == 2)

        gates[1].set()
        assert await second.next() == Connack(0)
        gates[0].set()

        assert await first.next() is None
        second.send(packets.Pingreq())
        assert await second.next() == packets.Pingresp()
        assert [word for word, _, _ in presence.told] == ["connected"]
        await first.close()
        await second.close()


async def test_credential_that_ends_while_its_device_is_admitted_is_asked_about_again():
    asked, gate, known = asyncio.Event(), asyncio.Event(), {USER: SENSOR}

    async def slowly(user_name):
        found = known.get(user_name)
        asked.set()
        await gate.wait()
        return found

    presence = MemoryPresence()
    async with listening(MemoryIntake(), admit=slowly, presence=presence) as listener:
        client = await Client.open(await listener.start_plain("127.0.0.1", 0))
        client.send(Connect("box", user_name=USER))
        await asked.wait()

        known.clear()
        listener.roster.drop(SENSOR, "credential_ended")
        gate.set()

        assert await client.take(2) == [Connack(5), None]
        assert presence.told == []
        await client.close()


async def test_other_sensor_dropped_meanwhile_costs_no_second_question():
    asked, gate = [], asyncio.Event()

    async def slowly(user_name):
        asked.append(user_name)
        await gate.wait()
        return await admit(user_name)

    async with listening(MemoryIntake(), admit=slowly) as listener:
        client = await Client.open(await listener.start_plain("127.0.0.1", 0))
        client.send(Connect("box", user_name=USER))
        await waits.until(lambda: len(asked) == 1)
        listener.roster.drop(OTHER, "credential_ended")
        gate.set()

        assert await client.next() == Connack(0)
        assert asked == [USER]
        await client.close()


async def test_send_says_what_became_of_the_message():
    async with listening(MemoryIntake()) as listener:
        send = listener.roster.send
        before = await send(SENSOR, REQUESTS + "1", b"{}")
        client = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        without = await send(SENSOR, REQUESTS + "1", b"{}")
        client.send(Subscribe(1, ((REQUESTS + "+", 1),)))
        assert await client.next() == Suback(1, (1,))
        with_one = await send(SENSOR, REQUESTS + "1", b"{}")

        assert [before, without, with_one] == [
            Delivery.NOT_CONNECTED, Delivery.NOT_SUBSCRIBED, Delivery.SENT
        ]  # fmt: skip
        await client.close()


async def test_suback_leaves_once_every_process_can_call_the_device_and_nothing_else_waits_for_it():
    presence = MemoryPresence(holds=True)
    async with listening(MemoryIntake(), presence=presence) as listener:
        client = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        client.send(Subscribe(1, ((REQUESTS + "+", 1),)), packets.Pingreq(), Publish(TRE, b"{}", 1, 2))
        assert await client.take(2) == [packets.Pingresp(), Puback(2)]
        assert await listener.roster.send(SENSOR, REQUESTS + "1", b"{}") is Delivery.SENT
        assert await client.next() == Publish(REQUESTS + "1", b"{}", 1, 1)

        presence.store()
        assert await client.next() == Suback(1, (1,))
        client.send(Subscribe(3, ((REQUESTS + "+", 1),)))
        assert await client.next() == Suback(3, (1,))
        await client.close()


@pytest.mark.parametrize(("waited_s", "ends"), [(SUBACK_S, False), (SUBACK_S + 0.1, True)])
async def test_connection_whose_suback_waits_too_long_for_the_store_ends(waited_s, ends):
    presence = MemoryPresence(holds=True)
    async with listening(MemoryIntake(), presence=presence) as listener:
        client = await Client.connected(await listener.start_plain("127.0.0.1", 0), keep_alive_s=0)
        await listener.sweep(10.0)  # before it subscribed, the time does not run
        client.send(Subscribe(1, ((REQUESTS + "+", 1),)), packets.Pingreq())
        assert await client.next() == packets.Pingresp()
        await listener.sweep(1_000.0)
        await listener.sweep(1_000.0 + waited_s)
        presence.store()

        assert await client.next() == (None if ends else Suback(1, (1,)))
        assert presence.told[1:] == ([("store_away", SENSOR, presence.told[0][2])] if ends else [])
        await client.close()


async def test_device_that_never_sends_puback_gets_every_request():
    async with listening(MemoryIntake()) as listener:
        client = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        client.send(Subscribe(1, ((REQUESTS + "+", 1),)))
        assert await client.next() == Suback(1, (1,))

        for number in range(1, 101):
            assert await listener.roster.send(SENSOR, f"{REQUESTS}{number}", b"{}") is Delivery.SENT
            assert await client.next() == Publish(f"{REQUESTS}{number}", b"{}", 1, number)
        await client.close()


async def test_device_that_does_not_read_is_congested_then_closed_and_others_are_served():
    tls_listener = socket.create_server(("127.0.0.1", 0))
    tls_listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # Accepted sockets inherit it.
    intake, presence = MemoryIntake(), MemoryPresence()
    async with listening(intake, Devices(write_buffer=40_000), presence=presence) as listener:
        address = await listener.start_on(tls_listener, None)
        client = await Client.connected(address)
        other = await Client.connected(address, user_name=OTHER_USER)
        for each in (client, other):
            each.send(Subscribe(1, ((REQUESTS + "+", 1),)))
            assert await each.next() == Suback(1, (1,))
        client.writer.transport.pause_reading()

        for _ in range(10_000):
            given = await listener.roster.send(SENSOR, REQUESTS + "1", bytes(1_000))
            if given is not Delivery.SENT:
                break
            await asyncio.sleep(0)
        assert given is Delivery.CONGESTED
        assert listener.roster.find(SENSOR) is not None
        client.writer.write(encode.packet(packets.Pingreq()) * 500_000)
        await waits.until(lambda: listener.roster.find(SENSOR) is None)

        assert presence.told[-1][:2] == ("slow_reader", SENSOR)
        assert await listener.roster.send(OTHER, REQUESTS + "1", b"{}") is Delivery.SENT
        other.send(Publish("v1/sensors/me/tre", b"x", 1, 5))
        assert await other.take(2) == [Publish(REQUESTS + "1", b"{}", 1, 1), Puback(5)]
        client.writer.transport.abort()
        await other.close()


async def test_drain_closes_sockets_whose_handshake_is_not_done(tls):
    async with listening(MemoryIntake()) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())
        silent, begun = await Client.open(address), await Client.open(address)
        begun.writer.write(b"\x16\x03\x01\x02\x00")
        [tls_listener] = listener._listeners
        await waits.until(lambda: len(tls_listener.unfinished) == 2)

        await listener.drain(1)

        assert [await silent.next(), await begun.next()] == [None, None]
        await waits.until(lambda: not tls_listener.unfinished)
        await silent.close()
        await begun.close()


async def test_sockets_of_the_tls_listener_ask_for_peers_that_are_gone(tls):
    async with listening(MemoryIntake()) as listener:
        client = await RawTls.connected(tls, await listener.start("127.0.0.1", 0, tls.server_context()))
        accepted = listener.roster.find(SENSOR)._transport.get_extra_info("socket")

        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
        client.writer.transport.abort()
