"""A namespace in which everybody may subscribe and conf/# is routed, over real sockets: our client, then foreign ones.

The product's namespace grants none of this. Not here: the same without sockets, case by case
(`tests/unit/mqtt/test_exchange.py`).
"""

import asyncio
import subprocess
from collections.abc import Callable

import paho.mqtt.client as paho
import pytest
import uvloop
from paho.mqtt.enums import CallbackAPIVersion
from tests.support import certificates, foreign, paho_clients, required, waits
from tests.support.gateways import OTHER_USER, SENSORS, USER, Client, MemoryIntake, listening
from tests.support.open_namespace import OpenListener

from tripline.mqtt import packets
from tripline.mqtt.packets import Connack, Connect, Disconnect, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Will

TRE = "v1/sensors/me/tre"
LIMIT_S = 20


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("tls"))


def run(scenario):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(scenario())


def open_listener(scenario, **more):
    """Run the scenario with a listener of the open namespace, and the address of its plain listener."""

    async def all_of_it():
        async with listening(more.get("intake") or MemoryIntake(), made=OpenListener) as listener:
            await scenario(listener, await listener.start_plain("127.0.0.1", 0))

    run(all_of_it)


async def subscribed(address, *filters, user_name=OTHER_USER, **connect):
    client = await Client.connected(address, user_name=user_name, **connect)
    client.send(packets.Subscribe(1, filters))
    assert await client.next() == Suback(1, tuple(qos for _, qos in filters))
    return client


def test_message_goes_from_client_to_client_at_qos_2_on_both_ways():
    async def scenario(_listener, address):
        reader = await subscribed(address, ("conf/#", 2))
        sender = await Client.connected(address)

        sender.send(Publish("conf/a", b"x", 2, 9))
        assert await sender.next() == Pubrec(9)
        sender.send(Pubrel(9))
        assert await sender.next() == Pubcomp(9)

        assert await reader.next() == Publish("conf/a", b"x", 2, 1)
        reader.send(Pubrec(1))
        assert await reader.next() == Pubrel(1)
        reader.send(Pubcomp(1), packets.Pingreq())
        assert await reader.next() == packets.Pingresp()
        await reader.close()
        await sender.close()

    open_listener(scenario)


def test_routed_publish_is_acknowledged_in_its_place_between_durable_ones():
    intake = MemoryIntake(settles=False)

    async def scenario(_listener, address):
        client = await Client.connected(address)
        client.send(
            Publish("conf/a", b"", 1, 1),
            Publish(TRE, b"", 1, 2),
            Publish("conf/a", b"", 1, 3),
            Publish("conf/a", b"", 2, 4),
            Publish(TRE, b"", 1, 5),
            Publish("conf/a", b"", 1, 6),
        )
        assert await client.next() == Puback(1)
        await intake.until(2)

        intake.settle()

        assert await client.take(5) == [Puback(2), Puback(3), Pubrec(4), Puback(5), Puback(6)]
        await client.close()

    open_listener(scenario, intake=intake)


def test_frames_that_settle_one_after_the_other_release_what_is_behind_each():
    intake = MemoryIntake(settles=False)

    async def scenario(_listener, address):
        client = await Client.connected(address)
        client.send(Publish(TRE, b"", 1, 1), Publish("conf/a", b"", 1, 2), packets.Pingreq())
        assert await client.next() == packets.Pingresp()
        client.send(Publish(TRE, b"", 1, 3), Publish("conf/a", b"", 1, 4), packets.Pingreq())
        assert await client.next() == packets.Pingresp()
        later, intake.waiting = intake.waiting[1:], intake.waiting[:1]

        intake.settle()
        assert await client.take(2) == [Puback(1), Puback(2)]
        intake.waiting = later
        intake.settle()

        assert await client.take(2) == [Puback(3), Puback(4)]
        await client.close()

    open_listener(scenario, intake=intake)


@pytest.mark.parametrize("ending", ["hang up", "silence", "protocol error", "take-over", "disconnect"])
def test_will_is_published_however_the_connection_is_lost_and_not_after_disconnect(ending):
    async def scenario(listener, address):
        reader = await subscribed(address, ("conf/will", 1), keep_alive_s=0)
        client = await Client.connected(address, keep_alive_s=20, will=Will("conf/will", b"gone", 1))

        match ending:
            case "hang up":
                await client.close()
            case "silence":
                await listener.sweep(100.0)
                await listener.sweep(130.1)
            case "protocol error":
                client.send(Connack(0))
            case "take-over":
                await (await Client.connected(address)).close()
            case "disconnect":
                client.send(Disconnect())
        await waits.until(lambda: SENSORS[USER] not in listener.roster._sessions)
        reader.send(packets.Pingreq())

        said = await reader.next()
        assert said == (packets.Pingresp() if ending == "disconnect" else Publish("conf/will", b"gone", 1, 1))
        await client.close()
        await reader.close()

    open_listener(scenario)


def test_will_on_a_topic_that_is_not_routed_is_forgotten():
    async def scenario(listener, address):
        reader = await subscribed(address, ("#", 1))
        client = await Client.connected(address, will=Will("elsewhere", b"gone", 1))
        await client.close()
        await waits.until(lambda: len(listener.roster) == 1)
        reader.send(packets.Pingreq())

        assert await reader.next() == packets.Pingresp()
        await reader.close()

    open_listener(scenario)


def test_session_left_is_present_again_and_its_messages_come_with_dup_or_anew():
    async def scenario(listener, address):
        kept = {"clean_session": False, "user_name": OTHER_USER}
        first = await subscribed(address, ("conf/a", 1), **kept)
        sender = await Client.connected(address)
        sender.send(Publish("conf/a", b"1", 1, 1))
        assert await sender.next() == Puback(1)
        assert await first.next() == Publish("conf/a", b"1", 1, 1)
        await first.close()
        await waits.until(lambda: len(listener.roster) == 1)
        sender.send(Publish("conf/a", b"2", 1, 2))
        assert await sender.next() == Puback(2)

        second = await Client.open(address)
        second.send(Connect("a box", **kept))

        assert await second.take(3) == [
            Connack(0, True), Publish("conf/a", b"1", 1, 1, dup=True), Publish("conf/a", b"2", 1, 2)
        ]  # fmt: skip
        await second.close()
        await sender.close()

    open_listener(scenario)


def test_retained_message_comes_behind_the_suback():
    async def scenario(_listener, address):
        sender = await Client.connected(address)
        sender.send(Publish("conf/a", b"x", 1, 1, retain=True))
        assert await sender.next() == Puback(1)

        reader = await subscribed(address, ("conf/+", 0))

        assert await reader.next() == Publish("conf/a", b"x", retain=True)
        await reader.close()
        await sender.close()

    open_listener(scenario)


# Foreign clients, over TLS.


def against_open_listener(tls, talk: Callable[[foreign.Listener], object], rosters: list | None = None):
    """Run `talk(listener)` in a thread against an open namespace, whose roster is put into `rosters`."""

    async def scenario():
        async with listening(MemoryIntake(), made=OpenListener) as listener:
            host, port = await listener.start("127.0.0.1", 0, tls.server_context())
            if rosters is not None:
                rosters.append(listener.roster)
            async with asyncio.timeout(2 * LIMIT_S):
                return await asyncio.to_thread(talk, foreign.Listener(host, port, tls.ca))

    return run(scenario)


class Paho:
    """A paho client that keeps what it got."""

    def __init__(self, listener, user_name, *, clean=True, will=None, ack=True):
        self.got, self.present, self.granted = [], None, 0
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, f"paho-{user_name[0]}", clean, protocol=paho.MQTTv311, manual_ack=not ack
        )
        self.client.tls_set(str(listener.ca))
        self.client.username_pw_set(user_name)
        if will:
            self.client.will_set(*will)
        self.client.on_connect = self._on_connect
        self.client.on_message = lambda _c, _d, m: self.got.append((m.topic, m.payload, m.qos, m.retain, m.dup))
        self.client.on_subscribe = lambda *_: setattr(self, "granted", self.granted + 1)
        self.client.connect(listener.host, listener.port)
        self.client.loop_start()
        waits.seen(lambda: self.present is not None)

    def subscribe(self, *filters):
        before = self.granted
        self.client.subscribe(list(filters))
        waits.seen(lambda: self.granted > before)

    def publish(self, topic, body, qos, retain=False):
        self.client.publish(topic, body, qos, retain).wait_for_publish(LIMIT_S)

    def vanish(self):
        """The network goes, without a word."""
        paho_clients.stop(self.client)

    def end(self):
        self.client.disconnect()
        paho_clients.stop(self.client)

    def _on_connect(self, _client, _data, flags, _reason, _properties):
        self.present = flags.session_present


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_paho_to_paho_at_every_qos_with_overlapping_filters(tls, qos):
    def talk(listener):
        reader, sender = Paho(listener, OTHER_USER), Paho(listener, USER)
        reader.subscribe(("conf/#", 0), ("conf/+", 2))
        for number in range(50):
            sender.publish("conf/a", b"%d" % number, qos)
        waits.seen(lambda: len(reader.got) >= 50)
        sender.end()
        reader.end()
        return reader.got

    assert against_open_listener(tls, talk) == [("conf/a", b"%d" % number, qos, False, False) for number in range(50)]


def test_paho_gets_retained_messages_and_a_will(tls):
    def talk(listener):
        reader = Paho(listener, OTHER_USER)
        first = Paho(listener, USER, will=("conf/will", b"gone", 2, True))
        first.publish("conf/kept", b"x", 1, True)
        first.publish("conf/deleted", b"y", 1, True)
        first.publish("conf/deleted", b"", 1, True)
        reader.subscribe(("conf/#", 2))
        waits.seen(lambda: len(reader.got) == 1)
        first.vanish()
        waits.seen(lambda: len(reader.got) == 2)
        reader.end()
        return reader.got

    assert against_open_listener(tls, talk) == [
        ("conf/kept", b"x", 1, True, False),
        ("conf/will", b"gone", 2, False, False),
    ]


def test_paho_resumes_its_session_and_is_sent_again_what_it_did_not_acknowledge(tls):
    rosters = []

    def talk(listener):
        first, sender = Paho(listener, OTHER_USER, clean=False, ack=False), Paho(listener, USER)
        first.subscribe(("conf/a", 1))
        sender.publish("conf/a", b"1", 1)
        waits.seen(lambda: len(first.got) == 1)
        first.vanish()
        waits.seen(lambda: len(rosters[0]) == 1)
        sender.publish("conf/a", b"2", 2)
        second = Paho(listener, OTHER_USER, clean=False)
        waits.seen(lambda: len(second.got) == 2)
        second.end()
        third = Paho(listener, OTHER_USER, clean=False)
        third.end()
        sender.end()
        return first.present, second.present, second.got, third.got

    assert against_open_listener(tls, talk, rosters) == (
        False,
        True,
        [("conf/a", b"1", 1, False, True), ("conf/a", b"2", 1, False, False)],
        [],
    )


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mosquitto_sub_gets_retained_and_live_messages_of_mosquitto_pub(tls, qos):
    required.need("mosquitto_sub", "mosquitto_sub over an open namespace")

    def talk(listener):
        def publish(topic, body, *more):
            command = foreign.mosquitto_command(
                "mosquitto_pub", listener, USER, "-t", topic, "-m", body, "-q", str(qos), *more
            )
            subprocess.run(command, check=True, timeout=LIMIT_S)

        publish("conf/kept", "x", "-r")
        command = foreign.mosquitto_command(
            "mosquitto_sub", listener, OTHER_USER, "-t", "conf/#", "-q", str(qos), "-C", "3", "-F", "%t %p %q %r"
        )
        said = []
        with foreign.listening_to(command, said.append) as process:
            waits.seen(lambda: len(said) == 1)
            publish("conf/a", "1")
            publish("conf/b", "2", "-r")
            process.wait(LIMIT_S)
        return b"".join(said)

    assert against_open_listener(tls, talk).decode() == f"conf/kept x {qos} 1\nconf/a 1 {qos} 0\nconf/b 2 {qos} 0\n"


def test_mosquitto_sub_gets_in_a_kept_session_what_came_meanwhile(tls):
    required.need("mosquitto_sub", "mosquitto_sub over an open namespace")

    def talk(listener):
        def command(*more):
            return foreign.mosquitto_command(
                "mosquitto_sub", listener, OTHER_USER, "-i", "kept", "-c", "-t", "conf/#", "-q", "2", *more
            )

        subprocess.run(command("-E"), check=True, timeout=LIMIT_S)
        for body in ("1", "2", "3"):
            publish = ("-t", "conf/a", "-m", body, "-q", "2")
            subprocess.run(
                foreign.mosquitto_command("mosquitto_pub", listener, USER, *publish), check=True, timeout=LIMIT_S
            )
        return subprocess.run(command("-C", "3"), capture_output=True, check=True, timeout=LIMIT_S).stdout

    assert against_open_listener(tls, talk) == b"1\n2\n3\n"
