"""The TLS shell between a socket and a connection, with OpenSSL's client on the other side and no socket at all."""

import asyncio
import contextlib
import functools
import ssl

import pytest
from prometheus_client import REGISTRY
from tests.support import certificates
from tests.support.clocks import SteppedLoop, stepped

from tripline.gateway.tls import MAX_CLIENT_HELLO, MAX_HELLO, RECORD, TlsListener, TlsShell
from tripline.gateway.turns import STEPS, Turns

SOON_S, LATER_S = 0.01, 60.0


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("tls"))


class Wire(asyncio.Transport):
    """The socket's transport: what the server sent and what was done to it."""

    def __init__(self):
        super().__init__()
        self.sent = bytearray()
        self.done = []
        self.gone = asyncio.Event()

    def write(self, data):
        self.sent += data

    def write_eof(self):
        self.done.append("eof")

    def resume_reading(self):
        self.done.append("read on")

    def close(self):
        self.done.append("closed")

    def abort(self):
        self.done.append("aborted")
        self.gone.set()


class Inner(asyncio.Protocol):
    """The connection within: what it was told."""

    def __init__(self):
        self.told = []

    def connection_made(self, transport):
        self.transport = transport
        self.told.append("made")

    def data_received(self, data):
        self.told.append(data)

    def connection_lost(self, exc):
        self.told.append("lost")


class Pair:
    """A shell and the client that talks to it."""

    def __init__(self, tls, *, handshake_s=LATER_S, shutdown_s=LATER_S, listener=None):
        self.wire, self.inner = Wire(), Inner()
        self.listener = listener or TlsListener(
            tls.server_context(),
            lambda: self.inner,
            Turns(asyncio.get_running_loop()),
            handshake_s=handshake_s,
            shutdown_s=shutdown_s,
        )
        self.shell = TlsShell(self.listener)
        self.shell.connection_made(self.wire)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = tls.client_context().wrap_bio(self._in, self._out, server_hostname="127.0.0.1")

    async def shake_hands(self):
        for _ in range(2):
            try:
                self.client.do_handshake()
            except ssl.SSLWantReadError:
                self.deliver()
                await asyncio.sleep(0)  # The turn of the handshake.
                self.deliver()
        self.deliver()
        await asyncio.sleep(0)
        self.deliver()
        return self

    def deliver(self, step=RECORD):
        """Carry what the client sent to the shell, in pieces, and the answer back."""
        sent = self._out.read()
        for at in range(0, len(sent), step):
            self.shell.data_received(sent[at : at + step])
        self._in.write(bytes(self.wire.sent))
        self.wire.sent.clear()


async def test_connection_is_made_only_once_the_handshake_is_done(tls):
    pair = Pair(tls)
    before = list(pair.inner.told)
    await pair.shake_hands()
    assert (before, pair.inner.told) == ([], ["made"])


@pytest.mark.parametrize("step", [1, 7, 16_000, 1_000_000])
async def test_bytes_cut_anywhere_on_the_wire_reach_the_connection_in_order(tls, step):
    pair = await Pair(tls).shake_hands()
    body = bytes(range(256)) * 200
    pair.client.write(body)
    pair.deliver(step)
    assert b"".join(pair.inner.told[1:]) == body


async def test_several_records_in_one_chunk_reach_the_connection_in_one_piece(tls):
    pair = await Pair(tls).shake_hands()
    for piece in (b"one ", b"two ", b"three"):
        pair.client.write(piece)
    pair.deliver()
    assert pair.inner.told == ["made", b"one two three"]


async def test_what_the_connection_writes_is_read_by_the_client(tls):
    pair = await Pair(tls).shake_hands()
    pair.shell.write(b"\x40\x02\x00\x01")
    pair.deliver()
    assert pair.client.read(100) == b"\x40\x02\x00\x01"


async def test_close_says_goodbye_and_waits_for_the_client(tls):
    pair = await Pair(tls).shake_hands()
    pair.shell.write(b"last words")
    pair.shell.close()
    pair.shell.close()
    pair.deliver()
    assert (pair.client.read(100), pair.client.read(100)) == (b"last words", b"")
    assert (pair.wire.done, pair.shell.is_closing()) == (["eof", "read on"], True)


async def test_close_that_the_client_does_not_answer_is_aborted_after_its_time(tls):
    pair = await Pair(tls, shutdown_s=SOON_S).shake_hands()
    pair.shell.close()
    await pair.wire.gone.wait()
    assert pair.wire.done == ["eof", "read on", "aborted"]


async def test_nothing_is_written_or_read_after_close(tls):
    pair = await Pair(tls).shake_hands()
    pair.shell.close()
    pair.wire.sent.clear()
    pair.client.write(b"late")
    pair.deliver()
    pair.shell.write(b"late")
    assert (pair.inner.told, bytes(pair.wire.sent)) == (["made"], b"")


async def test_goodbye_of_the_client_closes_after_what_it_said_before(tls):
    pair = await Pair(tls).shake_hands()
    pair.client.write(b"last words")
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    pair.deliver()
    assert (pair.inner.told, pair.wire.done) == (["made", b"last words"], ["eof", "read on"])


@pytest.mark.parametrize(("waited_s", "ends"), [(14.9, False), (15.0, True), (15.1, True)])
def test_handshake_that_is_not_finished_is_aborted_after_its_time(tls, waited_s, ends):
    async def scenario():
        pair = Pair(tls, handshake_s=15.0)
        await stepped().move(waited_s)
        assert (pair.wire.done, pair.inner.told) == (["aborted"] if ends else [], [])
        pair.shell.connection_lost(None)

    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        runner.run(scenario())


async def test_client_that_sends_its_hello_in_small_pieces_gains_no_time(tls):
    pair = Pair(tls, handshake_s=0.05)
    begun = asyncio.get_running_loop().time()
    pair.shell.data_received(b"\x16")
    while not pair.wire.gone.is_set():
        await asyncio.sleep(0.02)
        pair.shell.data_received(b"\x03")
    assert asyncio.get_running_loop().time() - begun < 1
    assert pair.wire.done == ["aborted"]


async def test_plain_text_instead_of_tls_is_closed_and_no_connection_is_made(tls):
    pair = Pair(tls)
    pair.shell.data_received(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00")
    await asyncio.sleep(0)
    pair.shell.connection_lost(None)
    assert (pair.wire.done, pair.inner.told) == (["closed"], [])


async def test_failed_handshake_is_counted_and_said_with_its_reason(tls, logged):
    before = failed_handshakes()
    plain = Pair(tls)
    plain.shell.data_received(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00")
    doubting = Pair(tls)
    doubting.client = ssl.create_default_context().wrap_bio(doubting._in, doubting._out, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError):
        await doubting.shake_hands()
    doubting.deliver()
    await asyncio.sleep(0)

    assert failed_handshakes() == before + 2
    assert [line["reason"] for line in logged()] == [
        "WRONG_VERSION_NUMBER",
        "TLSV1_ALERT_UNKNOWN_CA",
    ]


def failed_handshakes():
    return REGISTRY.get_sample_value("tripline_device_handshakes_failed_total")


async def test_broken_record_in_a_live_connection_closes_it(tls):
    pair = await Pair(tls).shake_hands()
    pair.shell.data_received(b"\x17\x03\x03\x00\x20" + bytes(32))
    pair.shell.connection_lost(None)
    await asyncio.sleep(0)
    assert (pair.wire.done, pair.inner.told) == (["closed"], ["made", "lost"])


async def test_connections_that_are_lost_together_end_a_few_at_a_turn(tls):
    context, turns, inners = tls.server_context(), Turns(asyncio.get_running_loop()), []

    def make():
        inners.append(Inner())
        return inners[-1]

    listener = TlsListener(context, make, turns, handshake_s=LATER_S, shutdown_s=LATER_S)
    pairs = [await Pair(tls, listener=listener).shake_hands() for _ in range(2 * STEPS + 1)]
    lost = []
    for pair in pairs:
        pair.shell.connection_lost(None)
    for _ in range(4):
        lost.append(sum(inner.told[-1] == "lost" for inner in inners))
        await asyncio.sleep(0)

    assert lost == [0, STEPS, 2 * STEPS, 2 * STEPS + 1]


async def test_step_that_fails_holds_up_no_other():
    loop, called, reported = asyncio.get_running_loop(), [], []
    loop.set_exception_handler(lambda _, told: reported.append(type(told["exception"])))
    turns = Turns(loop)
    turns.wait(lambda: 1 // 0)
    for number in range(STEPS):
        turns.wait(functools.partial(called.append, number))
    for _ in range(3):
        await asyncio.sleep(0)

    assert (called, reported) == (list(range(STEPS)), [ZeroDivisionError])


async def test_connections_of_a_listener_share_their_buffers_and_read_only_their_own(tls):
    one = await Pair(tls).shake_hands()
    one.listener.make = Inner
    other = Pair(tls, listener=one.listener)
    await other.shake_hands()
    other.inner = other.shell._inner
    for pair, body in ((one, b"one"), (other, b"other")):
        pair.client.write(body)
    half, rest = (sent := one._out.read())[:9], sent[9:]
    one.shell.data_received(half)
    other.deliver()
    one.shell.data_received(rest)
    assert (one.inner.told, other.inner.told) == (["made", b"one"], ["made", b"other"])


async def test_bytes_behind_a_broken_record_or_a_goodbye_reach_no_other_connection(tls):
    one = await Pair(tls).shake_hands()
    broken = Pair(tls, listener=one.listener)
    parting = Pair(tls, listener=one.listener)
    one.listener.make = Inner
    await broken.shake_hands()
    await parting.shake_hands()

    broken.shell.data_received(b"\x17\x03\x03\x00\x20" + bytes(500))
    with pytest.raises(ssl.SSLWantReadError):
        parting.client.unwrap()
    parting.shell.data_received(parting._out.read() + bytes(500))

    one.client.write(b"mine")
    one.deliver()
    assert one.inner.told == ["made", b"mine"]


@pytest.mark.parametrize(("size", "ends"), [(MAX_HELLO - 1, False), (MAX_HELLO, False), (MAX_HELLO + 1, True)])
async def test_hello_that_grows_beyond_all_bounds_before_its_turn_is_aborted(tls, size, ends):
    pair = Pair(tls)
    pair.shell.data_received(b"\x16")
    pair.shell.data_received(bytes(size - 1))
    assert (pair.wire.done == ["aborted"]) is ends


@pytest.mark.parametrize(
    ("announced", "ends"), [(MAX_CLIENT_HELLO - 1, False), (MAX_CLIENT_HELLO, False), (MAX_CLIENT_HELLO + 1, True)]
)
@pytest.mark.parametrize("before", [b"", b"\x14\x03\x03\x00\x01\x01"], ids=["first", "asked again"])
@pytest.mark.parametrize("step", [1, 1_000])
async def test_hello_that_announces_too_much_is_aborted(tls, announced, ends, before, step):
    """OpenSSL would take the memory at once, for nine bytes."""

    context = tls.server_context()
    context.set_ecdh_curve("secp521r1")  # which no client guesses: the server asks for another hello
    turns = Turns(asyncio.get_running_loop())
    listener = TlsListener(context, Inner, turns, handshake_s=LATER_S, shutdown_s=LATER_S)
    pair = Pair(tls, listener=listener)
    if before:
        with pytest.raises(ssl.SSLWantReadError):
            pair.client.do_handshake()
        pair.deliver()
        await asyncio.sleep(0)
    data = before + b"\x16\x03\x03\x00\x04\x01" + announced.to_bytes(3, "big")
    for at in range(0, len(data), step):
        pair.shell.data_received(data[at : at + step])
        await asyncio.sleep(0)
    assert (pair.wire.done == ["aborted"]) is ends
    pair.shell.connection_lost(None)


@pytest.mark.parametrize("step", [1, 7, 1_000])
async def test_client_that_is_asked_for_another_hello_gets_in(tls, step):
    context = tls.server_context()
    context.set_ecdh_curve("secp521r1")
    inner = Inner()
    turns = Turns(asyncio.get_running_loop())
    listener = TlsListener(context, lambda: inner, turns, handshake_s=LATER_S, shutdown_s=LATER_S)
    pair = Pair(tls, listener=listener)
    for _ in range(3):
        with contextlib.suppress(ssl.SSLWantReadError):
            pair.client.do_handshake()
        for _ in range(2):
            pair.deliver(step)
            await asyncio.sleep(0)
    assert inner.told == ["made"]


@pytest.mark.parametrize("cut", [1, 3, 20])
async def test_half_a_record_behind_the_handshake_waits_for_its_rest(tls, cut):
    pair = Pair(tls)
    with contextlib.suppress(ssl.SSLWantReadError):
        pair.client.do_handshake()
    pair.deliver()
    await asyncio.sleep(0)
    pair.deliver()
    pair.client.do_handshake()
    pair.client.write(b"early")
    sent = pair._out.read()
    pair.shell.data_received(sent[:-cut])
    await asyncio.sleep(0)
    made = list(pair.inner.told)
    pair.shell.data_received(sent[-cut:])
    assert (made, pair.inner.told) == (["made"], ["made", b"early"])


async def test_client_that_left_before_its_turn_costs_no_handshake(tls):
    pair = Pair(tls)
    pair.shell.data_received(b"\x16")
    pair.shell.connection_lost(None)
    await asyncio.sleep(0)
    assert pair.shell._tls is None


async def test_what_was_begun_goes_before_what_is_new():
    turns, done = Turns(asyncio.get_running_loop()), []
    for name, begun in (("new 1", False), ("new 2", False), ("begun 1", True), ("begun 2", True)):
        turns.wait(lambda name=name: done.append(name), begun=begun)
    await asyncio.sleep(0)
    assert done == ["begun 1", "begun 2", "new 1", "new 2"]


async def test_steps_are_done_in_order_and_a_few_in_each_turn_of_the_loop():
    turns, done = Turns(asyncio.get_running_loop()), []
    for number in range(2 * STEPS + 1):
        turns.wait(lambda number=number: done.append(number))
    seen = []
    for _ in range(4):
        await asyncio.sleep(0)
        seen.append(len(done))
    assert (seen, done) == ([STEPS, 2 * STEPS, 2 * STEPS + 1, 2 * STEPS + 1], list(range(2 * STEPS + 1)))


async def test_flood_of_one_address_delays_no_other_and_leaves_half_of_the_turns_to_the_oldest():
    turns, done = Turns(asyncio.get_running_loop()), []
    for number in range(100):
        turns.wait(functools.partial(done.append, f"flood {number}"), address="flood")
    for address in ("a", "b"):
        turns.wait(functools.partial(done.append, address), address=address)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert done == ["flood 0", "flood 1", "flood 2", "a", "flood 3", "b", "flood 4", "flood 5"]


async def test_fleet_behind_one_address_has_half_of_the_turns_however_many_addresses_wait():
    turns, done = Turns(asyncio.get_running_loop()), []
    for _ in range(40):
        turns.wait(functools.partial(done.append, "fleet"), address="fleet")
    for number in range(400):
        turns.wait(functools.partial(done.append, "other"), address=f"a{number}")
    for _ in range(20):
        await asyncio.sleep(0)
    assert done.count("fleet") == 40
