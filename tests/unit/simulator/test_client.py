"""The light client of a simulated fleet: let in, refused, called, lost."""

import asyncio

import pytest

from tripline.mqtt import encode, packets
from tripline.mqtt.decode import PacketReader
from tripline.simulator.client import Connection, RefusedError

CONNECT = packets.Connect("c", user_name="token")
REQUESTS = "v1/devices/me/rpc/request/+"
SUBSCRIBE = packets.Subscribe(1, ((REQUESTS, 1),))


class Wire(asyncio.Transport):
    """Keeps what was written."""

    def __init__(self):
        super().__init__()
        self.written = bytearray()
        self.closing = False

    def write(self, data):
        self.written += data

    def is_closing(self):
        return self.closing

    def abort(self):
        self.closing = True


class Platform:
    """The other end of one connection."""

    def __init__(self):
        self.acknowledged = []
        self.published = []
        self.wire = Wire()
        self.connection = Connection(CONNECT, self.acknowledged.append, self.published.append)
        self.connection.connection_made(self.wire)

    def send(self, *sent):
        self.connection.data_received(b"".join(map(encode.packet, sent)))

    def lose(self):
        self.wire.closing = True
        self.connection.connection_lost(None)

    def heard(self):
        """What the device wrote since this was asked last."""
        found = PacketReader().receive(bytes(self.wire.written))
        self.wire.written.clear()
        return found

    async def ready(self):
        """Returns what `Connection.ready` does; a second is for ever."""
        async with asyncio.timeout(1):
            await self.connection.ready(REQUESTS)


@pytest.fixture
async def platform():
    made = Platform()
    yield made
    made.lose()


async def test_device_that_is_let_in_subscribes_and_is_ready_when_that_is_granted(platform):
    asked = platform.heard()
    platform.send(packets.Connack(0))
    waiting = asyncio.ensure_future(platform.ready())
    await asyncio.sleep(0)
    subscribed = platform.heard()
    platform.send(packets.Suback(1, (1,)))
    await waiting

    assert (asked, subscribed) == ([CONNECT], [SUBSCRIBE])


@pytest.mark.parametrize("code", [4, 5])
async def test_refused_token_is_of_no_use_later(platform, code):
    platform.send(packets.Connack(code))

    with pytest.raises(RefusedError, match=f"return code {code}"):
        await platform.ready()


async def test_platform_that_is_away_is_worth_another_try(platform):
    platform.send(packets.Connack(3))

    with pytest.raises(ConnectionRefusedError):
        await platform.ready()


async def test_connection_lost_while_it_waits_ends_the_wait(platform):
    platform.lose()

    with pytest.raises(ConnectionResetError):
        await platform.ready()


async def test_connection_lost_right_behind_the_admission_ends_the_wait(platform):
    platform.send(packets.Connack(0))
    platform.lose()

    with pytest.raises(ConnectionResetError):
        await platform.ready()


@pytest.mark.parametrize(("qos", "answers"), [(0, []), (1, [packets.Puback(7)])])
async def test_call_is_told_and_acknowledged_at_its_qos(platform, qos, answers):
    call = packets.Publish("v1/devices/me/rpc/request/1", b"{}", qos, 7 if qos else 0)

    platform.heard()
    platform.send(call)

    assert (platform.published, platform.heard()) == ([call], answers)


async def test_bytes_that_are_no_mqtt_end_the_connection(platform):
    platform.connection.data_received(b"\x00\x00")

    assert platform.wire.closing
