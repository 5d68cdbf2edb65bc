"""The device listener over real sockets, with an intake that keeps frames in a list."""

import asyncio
import socket
import ssl

import pytest
from tests.support import certificates, waits
from tests.support.gateways import OTHER_USER, SENSORS, USER, Client, MemoryIntake, admit, listening

from tripline import metrics
from tripline.config import Devices
from tripline.gateway import newcomers
from tripline.gateway.listener import ADMISSIONS
from tripline.mqtt import encode, packets
from tripline.mqtt.inbound import LOT_PACKETS
from tripline.mqtt.packets import Connack, Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from tripline.ports.outages import Outage

TRE = "v1/sensors/me/tre"
SENSOR = SENSORS[USER]


@pytest.fixture(scope="module")
def anyio_backend():
    """The loop that the server uses."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("tls"))


async def test_publish_over_tls_reaches_the_intake_and_is_acknowledged(tls):
    intake = MemoryIntake()
    async with listening(intake) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())
        device = await Client.connected(address, tls.client_context())

        device.send(Publish(TRE, b"{}", 1, 7))

        assert await device.next() == Puback(7)
        assert intake.frames == [(SENSOR, TRE, b"{}")]
        await device.close()


async def test_c1_every_qos_is_accepted(tls):
    intake = MemoryIntake()
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))

        device.send(Publish(TRE, b"0"), Publish(TRE, b"1", 1, 1), Publish(TRE, b"2", 2, 2))
        answers = await device.take(2)
        device.send(Pubrel(2))

        assert [*answers, await device.next()] == [Puback(1), Pubrec(2), Pubcomp(2)]
        assert intake.frames == [(SENSOR, TRE, b"0"), (SENSOR, TRE, b"1"), (SENSOR, TRE, b"2")]
        await device.close()


async def test_c2_any_password_is_ignored():
    async with listening(MemoryIntake()) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        for password in (None, b"", b"anything"):
            device = await Client.connected(address, password=password)
            await device.close()


async def test_c3_h15_one_client_identifier_on_two_sensors_takes_nothing_over():
    intake = MemoryIntake()
    async with listening(intake) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        one = await Client.connected(address)
        other = await Client.connected(address, user_name=OTHER_USER)

        one.send(Publish(TRE, b"one", 1, 1))
        other.send(Publish(TRE, b"other", 1, 1))

        assert [await one.next(), await other.next()] == [Puback(1), Puback(1)]
        assert len(listener.roster) == 2
        await one.close()
        await other.close()


async def test_c3_second_session_of_a_sensor_ends_the_first():
    async with listening(MemoryIntake()) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        first = await Client.connected(address)

        second = await Client.connected(address)

        assert await first.next() is None
        second.send(packets.Pingreq())
        assert await second.next() == packets.Pingresp()
        assert len(listener.roster) == 1
        await first.close()
        await second.close()


@pytest.mark.parametrize(
    ("connect", "code"),
    [
        (Connect("c"), 4),
        (Connect("c", user_name=""), 4),
        (Connect("c", user_name="Z" * 20), 5),
        (Connect("", clean_session=False, user_name=USER), 2),
    ],
)
async def test_c4_connect_that_is_not_admitted_gets_its_code_and_is_closed(connect, code):
    async with listening(MemoryIntake()) as listener:
        device = await Client.open(await listener.start_plain("127.0.0.1", 0))

        device.send(connect)

        assert await device.take(2) == [Connack(code), None]
        assert len(listener.roster) == 0
        await device.close()


async def test_connect_while_the_store_is_away_gets_code_3():
    async def away(_user_name):
        raise Outage("away")

    async with listening(MemoryIntake(), admit=away) as listener:
        device = await Client.open(await listener.start_plain("127.0.0.1", 0))

        device.send(Connect("c", user_name=USER))

        assert await device.take(2) == [Connack(3), None]
        await device.close()


async def test_bug_in_admission_costs_one_connection_and_not_the_listener():
    async def broken(user_name):
        if user_name == OTHER_USER:
            raise ZeroDivisionError
        return await admit(user_name)

    async with listening(MemoryIntake(), admit=broken) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        unlucky = await Client.open(address)
        unlucky.send(Connect("c", user_name=OTHER_USER))
        assert await unlucky.next() is None

        device = await Client.connected(address)

        device.send(packets.Pingreq())
        assert await device.next() == packets.Pingresp()
        await unlucky.close()
        await device.close()


async def test_bug_while_offering_costs_one_connection_and_not_the_listener():
    class Broken(MemoryIntake):
        def offer(self, source, topic, body, received_ms, token):
            if body == b"bad":
                raise ZeroDivisionError
            super().offer(source, topic, body, received_ms, token)

    async with listening(Broken()) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        unlucky = await Client.connected(address)
        unlucky.send(Publish(TRE, b"bad", 1, 1))
        assert await unlucky.next() is None

        device = await Client.connected(address)
        device.send(Publish(TRE, b"good", 1, 1))

        assert await device.next() == Puback(1)
        await unlucky.close()
        await device.close()


async def test_packets_sent_behind_connect_wait_for_admission():
    gate = asyncio.Event()

    async def slowly(user_name):
        await gate.wait()
        return await admit(user_name)

    intake = MemoryIntake()
    async with listening(intake, admit=slowly) as listener:
        device = await Client.open(await listener.start_plain("127.0.0.1", 0))
        device.send(Connect("c", user_name=USER), Publish(TRE, b"early", 1, 5))

        gate.set()

        assert await device.take(2) == [Connack(0), Puback(5)]
        assert intake.frames == [(SENSOR, TRE, b"early")]
        await device.close()


async def test_admission_that_answers_after_the_device_left_leaves_no_session():
    asked, gate = asyncio.Event(), asyncio.Event()

    async def slowly(user_name):
        asked.set()
        await gate.wait()
        return await admit(user_name)

    async with listening(MemoryIntake(), admit=slowly) as listener:
        device = await Client.open(await listener.start_plain("127.0.0.1", 0))
        device.send(Connect("c", user_name=USER))
        await asked.wait()
        await listener.sweep(0)
        await listener.sweep(16)
        assert await device.next() is None

        gate.set()
        await asyncio.sleep(0)

        assert len(listener.roster) == 0
        await device.close()


@pytest.mark.parametrize("silence_s", [14.9, 15.0, 15.1])
async def test_connection_without_connect_is_closed_after_the_timeout(silence_s):
    async with listening(MemoryIntake()) as listener:
        device = await Client.open(await listener.start_plain("127.0.0.1", 0))
        await waits.until(lambda: listener.connections == 1)

        await listener.sweep(100.0)
        await listener.sweep(100.0 + silence_s)
        await asyncio.sleep(0.01)

        assert listener.connections == (0 if silence_s > 15 else 1)
        await device.close()


@pytest.mark.parametrize(("silence_s", "sessions"), [(29.0, 1), (30.0, 1), (31.0, 0)])
async def test_half_open_connection_is_closed_after_one_and_a_half_keep_alives(silence_s, sessions):
    async with listening(MemoryIntake()) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0), keep_alive_s=20)

        await listener.sweep(100.0)
        await listener.sweep(100.0 + silence_s)
        await asyncio.sleep(0.01)

        assert len(listener.roster) == sessions
        await device.close()


async def test_ping_keeps_a_session_alive():
    async with listening(MemoryIntake()) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0), keep_alive_s=20)
        await listener.sweep(100.0)
        device.send(packets.Pingreq())
        assert await device.next() == packets.Pingresp()

        await listener.sweep(131.0)
        await asyncio.sleep(0.01)

        assert len(listener.roster) == 1
        await device.close()


@pytest.mark.parametrize(("size", "kept"), [(4_095, True), (4_096, True), (4_097, False), (3_000_000, False)])
async def test_c5_publish_above_the_limit_is_acknowledged_and_refused_with_its_head(size, kept):
    intake = MemoryIntake()
    async with listening(intake, Devices(max_packet=4_096)) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        body = bytes(range(256)) * (size // 256 + 1)

        device.send(Publish(TRE, body[:size], 1, 3), Publish(TRE, b"next", 1, 4))

        assert await device.take(2) == [Puback(3), Puback(4)]
        taken = [(SENSOR, TRE, body[:size])] if kept else []
        assert intake.frames == [*taken, (SENSOR, TRE, b"next")]
        assert intake.refused == ([] if kept else [(SENSOR, TRE, body[:1_024], "too_large", size)])
        await device.close()


async def test_c5_foreign_topic_is_offered_and_acknowledged():
    intake = MemoryIntake()
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))

        device.send(Publish("someone/else", b"x", 1, 3))

        assert await device.next() == Puback(3)
        assert intake.frames == [(SENSOR, "someone/else", b"x")]
        await device.close()


async def test_c6_retained_publish_is_processed_once_and_not_kept():
    intake = MemoryIntake()
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        topic = "v1/sensors/me/rpc/request/1"

        device.send(
            Publish(topic, b"w", 1, 2, retain=True)
        )  # a topic that is heard for the first time goes another way
        assert await device.take(1) == [Puback(2)]
        device.send(Publish(topic, b"x", 1, 3, retain=True), packets.Subscribe(4, ((topic, 0),)), packets.Pingreq())

        assert await device.take(3) == [packets.Suback(4, (0,)), packets.Pingresp(), Puback(3)]
        assert intake.frames == [(SENSOR, topic, b"w"), (SENSOR, topic, b"x")]
        await device.close()


async def test_bytes_that_are_not_mqtt_close_one_connection():
    async with listening(MemoryIntake()) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        browser = await Client.open(address)
        browser.writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert await browser.next() is None

        device = await Client.connected(address)

        await browser.close()
        await device.close()


async def test_disconnect_closes_the_connection_and_leaves_the_roster():
    async with listening(MemoryIntake()) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))

        device.send(packets.Disconnect())

        assert await device.next() is None
        assert len(listener.roster) == 0
        await device.close()


async def test_nothing_is_acknowledged_before_it_is_settled():
    intake = MemoryIntake(settles=False)
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(Publish(TRE, b"1", 1, 1), Publish(TRE, b"2", 1, 2), packets.Pingreq())
        assert await device.next() == packets.Pingresp()

        intake.settle()

        assert await device.take(2) == [Puback(1), Puback(2)]
        await device.close()


async def test_outage_closes_the_connection_without_acknowledging():
    intake = MemoryIntake(settles=False)
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(Publish(TRE, b"1", 1, 1))
        await intake.until(1)

        intake.abandon()

        assert await device.next() is None
        await device.close()


async def test_connection_with_too_many_unacknowledged_frames_is_not_read_until_they_settle():
    intake = MemoryIntake(settles=False)
    async with listening(intake, Devices(max_unacknowledged=10)) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(*(Publish(TRE, b"%d" % i, 1, i) for i in range(1, 12)))
        await intake.until(11)
        device.send(packets.Pingreq())
        await device.writer.drain()
        await asyncio.sleep(0.05)
        assert device._packets.receive(b"") == []

        intake.settle()

        assert await device.take(12) == [*map(Puback, range(1, 12)), packets.Pingresp()]
        await device.close()


async def test_crowded_intake_stops_reading_even_at_qos_0_and_goes_on_afterwards():
    intake = MemoryIntake(settles=False, crowded=True)
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(Publish(TRE, b"1"))
        await asyncio.sleep(0.05)
        assert intake.frames == []

        intake.crowded = False
        await intake.until(1)

        assert intake.frames == [(SENSOR, TRE, b"1")]
        await device.close()


@pytest.mark.parametrize(("size", "crowded_out"), [(1_623, False), (1_624, False), (1_625, True)])
async def test_connections_that_are_not_admitted_hold_a_bounded_number_of_bytes_together(size, crowded_out):
    """A CONNECT may have 64 KiB and 15 s; on every connection that is more than a machine has."""
    long = encode.packet(Connect("c", user_name=USER, will=packets.Will("gone", bytes(2_000))))
    free = newcomers.FREE

    async with listening(MemoryIntake()) as listener:
        listener.newcomers.limit = 1_000
        address = await listener.start_plain("127.0.0.1", 0)
        small, large = await Client.open(address), await Client.open(address)
        large.writer.write(long[:size])
        await waits.until(lambda: listener.newcomers.held == size - free)
        small.writer.write(long[: free + 400])
        if crowded_out:
            assert await large.next() is None
        await waits.until(lambda: listener.newcomers.held == (400 if crowded_out else 400 + size - free))

        device = await Client.connected(address, user_name=OTHER_USER)
        device.send(packets.Pingreq())
        assert await device.next() == packets.Pingresp()
        listener.newcomers.limit = 5_000
        small.writer.write(long[free + 400 :])
        assert await small.next() == Connack(0)
        for each in (small, large, device):
            await each.close()
        await waits.until(lambda: listener.newcomers.held == 0)


async def test_many_unfinished_connects_of_one_address_crowd_out_no_longer_one_of_another():
    long = encode.packet(Connect("c", user_name=USER, will=packets.Will("gone", bytes(3_000))))

    async with listening(MemoryIntake()) as listener:
        listener.newcomers.limit = 6_000
        address = await listener.start_plain("127.0.0.1", 0)
        device = await Client.open(address, local="127.0.0.2")
        device.writer.write(long[:3_000])
        await waits.until(lambda: listener.newcomers.held > 1_900)
        flood = []
        for _ in range(10):
            flood.append(await Client.open(address))
            flood[-1].writer.write(long[:1_900])

        assert await flood[0].next() is None
        device.writer.write(long[3_000:])
        assert await device.next() == Connack(0)
        for each in (device, *flood):
            await each.close()


@pytest.mark.parametrize("unread", [2_046, 2_048])
async def test_answers_that_are_not_read_are_kept_up_to_the_bound(unread):
    """As many as fill the buffer alone: what the system takes on top is its own."""

    intake = MemoryIntake()
    async with listening(intake, Devices(write_buffer=4_096)) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.writer.transport.pause_reading()
        device.send(*[packets.Pingreq()] * unread, Publish(TRE, b"", 1, 1))
        await intake.until(1)
        device.writer.transport.resume_reading()

        assert (await device.take(unread + 1))[-1] == Puback(1)
        await device.close()


async def test_slow_reader_is_closed_when_its_answers_pile_up():
    bound = socket.create_server(("127.0.0.1", 0))
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # Accepted sockets inherit it.
    async with listening(MemoryIntake(), Devices(write_buffer=4_096)) as listener:
        device = await Client.connected(await listener.start_on(bound, None))
        device.writer.transport.pause_reading()

        device.writer.write(encode.packet(packets.Pingreq()) * 500_000)

        await waits.until(lambda: len(listener.roster) == 0)
        device.writer.transport.abort()


async def test_connection_that_cannot_be_closed_politely_is_closed_at_the_second_look():
    bound = socket.create_server(("127.0.0.1", 0))
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    async with listening(MemoryIntake(), Devices(write_buffer=20_000_000)) as listener:
        device = await Client.connected(await listener.start_on(bound, None))
        device.send(packets.Subscribe(1, (("v1/sensors/me/rpc/request/+", 0),)))
        assert await device.next() == packets.Suback(1, (0,))
        device.writer.transport.pause_reading()
        listener.roster.find(SENSOR).publish("v1/sensors/me/rpc/request/1", bytes(10_000_000), qos=0)

        device.writer.write(b"\x00\x00")
        await asyncio.sleep(0.05)
        assert listener.connections == 1
        await listener.sweep(1.0)
        await listener.sweep(2.0)

        await waits.until(lambda: listener.connections == 0)
        device.writer.transport.abort()


@pytest.mark.parametrize("frames", [9, 10])
async def test_connection_with_as_many_unacknowledged_frames_as_allowed_is_still_read(frames):
    async with listening(MemoryIntake(settles=False), Devices(max_unacknowledged=10)) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))

        device.send(*(Publish(TRE, b"", 1, i + 1) for i in range(frames)))
        await device.writer.drain()
        device.send(packets.Pingreq())

        assert await device.next() == packets.Pingresp()
        await device.close()


async def test_connection_above_the_maximum_is_closed_at_once():
    async with listening(MemoryIntake(), Devices(max_connections=1)) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        first = await Client.connected(address)

        second = await Client.open(address)

        assert await second.next() is None
        first.send(packets.Pingreq())
        assert await first.next() == packets.Pingresp()
        await first.close()
        await second.close()


@pytest.mark.parametrize("secure", [True, False])
async def test_connections_without_connect_of_one_address_leave_room_for_others(tls, secure):
    """Those that finished TLS and send no CONNECT would fill the listener for as long as they may be silent."""

    async with listening(MemoryIntake(), Devices(max_connections=4)) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context() if secure else None)
        client_side = tls.client_context() if secure else None
        silent = [await Client.open(address, client_side, local="127.0.0.2") for _ in range(6)]
        await waits.until(lambda: listener.connections == 4)

        first = await Client.connected(address, client_side)
        second = await Client.connected(address, client_side, user_name=OTHER_USER)

        for gone in silent[:4]:
            assert await gone.next() is None
        for device in (first, second):
            device.send(packets.Pingreq())
            assert await device.next() == packets.Pingresp()
        for each in (first, second, *silent):
            await each.close()


async def test_devices_behind_the_address_with_most_connections_stay_once_they_are_admitted():
    async with listening(MemoryIntake(), Devices(max_connections=3)) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        devices = [await Client.connected(address, user_name=each) for each in (USER, OTHER_USER)]
        stranger = await Client.open(address, local="127.0.0.2")

        newcomer = await Client.open(address)

        assert await stranger.next() is None
        for device in devices:
            device.send(packets.Pingreq())
            assert await device.next() == packets.Pingresp()
        for each in (*devices, stranger, newcomer):
            await each.close()


async def test_lookups_of_one_address_leave_a_turn_to_others():
    """Each look-up takes as long as the store needs; thousands from one address would all come before another's."""

    asked, gate = [], asyncio.Event()

    async def slow(user_name):
        asked.append(user_name)
        await gate.wait()
        return SENSORS.get(user_name)

    async with listening(MemoryIntake(), admit=slow) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        crowd = [await Client.open(address, local="127.0.0.2") for _ in range(ADMISSIONS + 40)]
        for number, each in enumerate(crowd):
            each.send(Connect("c", user_name=f"x{number}"))
        await waits.until(lambda: len(asked) == ADMISSIONS and len(listener._admissions) == 40)
        device = await Client.open(address)
        device.send(Connect("c", user_name=USER))
        await waits.until(lambda: len(listener._admissions) == 41)

        gate.set()

        assert await device.next() == Connack(0)
        assert asked.index(USER) < ADMISSIONS + 4
        for each in (device, *crowd):
            await each.close()


async def test_sockets_that_never_finish_tls_make_room_for_those_that_do(tls):
    """Else whoever opens sockets and says nothing takes the files of the whole process, REST included."""

    async with listening(MemoryIntake(), Devices(max_connections=3)) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())
        first = await Client.connected(address, tls.client_context())
        silent = [await Client.open(address) for _ in range(4)]

        assert await silent[0].next() is None
        assert await silent[1].next() is None
        second = await Client.connected(address, tls.client_context(), user_name=OTHER_USER)

        assert await silent[2].next() is None
        for device in (first, second):
            device.send(packets.Pingreq())
            assert await device.next() == packets.Pingresp()
        for each in (first, second, *silent):
            await each.close()


async def test_dropped_sensor_loses_its_session():
    async with listening(MemoryIntake()) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))

        listener.roster.drop(SENSOR, "sensor_deleted")

        assert await device.next() is None
        await device.close()


async def test_request_reaches_a_device_that_subscribed():
    async with listening(MemoryIntake()) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(packets.Subscribe(1, (("v1/sensors/me/rpc/request/+", 1), ("v1/sensors/me/#", 0))))
        assert await device.next() == packets.Suback(1, (1, 0x80))

        packet_id = listener.roster.find(SENSOR).publish("v1/sensors/me/rpc/request/9", b"{}", qos=1)

        assert packet_id == 1
        assert await device.next() == Publish("v1/sensors/me/rpc/request/9", b"{}", 1, 1)
        await device.close()


async def test_drain_acknowledges_what_was_offered_and_accepts_no_one():
    intake = MemoryIntake(settles=False)
    async with listening(intake) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        device = await Client.connected(address)
        device.send(Publish(TRE, b"1", 1, 1))
        await intake.until(1)

        asyncio.get_running_loop().call_later(0.02, intake.settle)
        await listener.drain(5)

        assert await device.take(2) == [Puback(1), None]
        with pytest.raises(ConnectionError):
            await Client.open(address)
        await device.close()


async def test_drain_gives_up_on_what_is_not_settled_in_time():
    intake = MemoryIntake(settles=False)
    async with listening(intake) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(Publish(TRE, b"1", 1, 1))
        await intake.until(1)

        await listener.drain(0.02)

        assert await device.next() is None
        assert listener.connections == 0
        await device.close()


async def test_tls_client_that_does_not_trust_the_certificate_leaves_no_connection(tls):
    async with listening(MemoryIntake()) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())

        with pytest.raises(ssl.SSLCertVerificationError):
            await Client.open(address, ssl.create_default_context())

        device = await Client.connected(address, tls.client_context())
        assert len(listener.roster) == 1
        await device.close()


async def test_connection_that_never_begins_tls_is_closed_after_the_timeout(tls):
    async with listening(MemoryIntake(), Devices(connect_timeout_s=0.1)) as listener:
        silent = await Client.open(await listener.start("127.0.0.1", 0, tls.server_context()))

        assert await silent.next() is None
        await silent.close()


async def test_connections_of_devices_are_counted_while_they_are_open(tls):
    def count():
        (sample,) = [each for each in metrics.CONNECTIONS.collect()[0].samples if each.labels["listener"] == "device"]
        return sample.value

    async with listening(MemoryIntake()) as listener:
        address = await listener.start("127.0.0.1", 0, tls.server_context())
        assert count() == 0
        silent = await asyncio.open_connection(*address)  # has not begun its handshake
        device = await Client.connected(address, tls.client_context())
        assert count() == 2
        silent[1].close()
        await device.close()
        await waits.until(lambda: count() == 0)


async def test_quarter_of_a_mebibyte_of_small_packets_is_answered_in_turn_with_others():
    """Walked in one go they would hold the loop for half a second."""

    intake = MemoryIntake()
    async with listening(intake) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        busy = await Client.connected(address)
        other = await Client.connected(address, user_name=OTHER_USER)
        [connection] = [each for each in listener._connections if each.sensor_id == SENSOR]
        connection.data_received(encode.packet(packets.Pingreq()) * 10_000)
        connection.data_received(encode.packet(Publish(TRE, b"last", 1, 9)))
        other.send(Publish(TRE, b"x", 1, 5))
        assert await other.next() == Puback(5)
        assert intake.frames == [(SENSORS[OTHER_USER], TRE, b"x")]

        answers = await busy.take(10_001)

        assert answers == [packets.Pingresp()] * 10_000 + [Puback(9)]
        for each in (busy, other):
            await each.close()


@pytest.mark.parametrize("unacknowledged", [1, 10_000])
async def test_bytes_that_were_left_wait_for_acknowledgements_too(unacknowledged):
    intake = MemoryIntake(settles=False)
    async with listening(intake, Devices(max_unacknowledged=unacknowledged)) as listener:
        device = await Client.connected(await listener.start_plain("127.0.0.1", 0))
        device.send(*(Publish(TRE, b"", 2, number) for number in range(1, 1_001)))
        if unacknowledged == 1:
            await intake.until(LOT_PACKETS)
            await asyncio.sleep(0.05)
            assert len(intake.frames) == LOT_PACKETS
            intake.settles = True
            intake.settle()

        await intake.until(1_000)

        intake.settle()
        assert await device.take(1_000) == [Pubrec(number) for number in range(1, 1_001)]
        await device.close()


async def test_wrong_token_that_is_sent_again_waits_and_right_ones_of_the_address_do_not():
    """A box with a wrong token dials as fast as it is answered, and a fleet stands behind the same address."""

    asked = []

    async def noted(user_name):
        asked.append(user_name)
        return SENSORS.get(user_name)

    async with listening(MemoryIntake(), admit=noted) as listener:
        address = await listener.start_plain("127.0.0.1", 0)
        for number in range(60):
            stranger = await Client.open(address)
            stranger.send(Connect("c", user_name=f"wrong {number % 2}"))
            if number < 2:
                assert await stranger.next() == Connack(5)
            await stranger.close()
        await asyncio.sleep(0.1)
        assert len(asked) == 2

        device = await Client.connected(address)

        assert asked[2:] == [USER]
        box = await Client.open(address)
        begun = asyncio.get_running_loop().time()
        box.send(Connect("c", user_name="wrong 0"))
        assert await box.next() == Connack(5)
        assert 0.4 < asyncio.get_running_loop().time() - begun < 3
        await box.close()
        await device.close()
