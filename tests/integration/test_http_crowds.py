"""Connections that find no place at an HTTP listener, and answers that nobody reads."""

import asyncio
import contextlib
import functools
import socket
import time

import pytest
from tests.support import certificates, http_listeners, waits
from tests.support.clocks import stepped
from tests.support.http_listeners import HEAD, NOW_MS, echo, error_of, sending, with_listener

from tripline import app
from tripline.adapters.http.bounds import Bounds
from tripline.adapters.http.entrance import Entrance
from tripline.adapters.http.listeners import HttpListeners
from tripline.adapters.http.outlet import Outlet
from tripline.adapters.http.places import Places


def _places(total: int, share: int) -> Places:
    return Places("answers", total, share)


GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = HEAD + b"Content-Length: 5\r\n\r\n1234"
BUSY = {
    "status": 503,
    "message": "Too much is open from this address or in all; end connections and requests, or try again later.",
    "errorCode": 2,
    "timestamp": NOW_MS,
}


def _logged(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The first line of each cause: the log samples them."""
    lines: list[dict[str, object]] = []

    class Log:
        def warning(self, event: str, **values: object) -> None:
            if values["cause"] not in {line["cause"] for line in lines}:
                lines.append({"event": event, **values})

    monkeypatch.setattr("tripline.adapters.http.bounds._log", Log())
    return lines


async def _ask(address: tuple[str, int], source: str = "127.0.0.1", request: bytes = GET) -> bytes:
    """The beginning of the answer on a new connection, which is closed."""
    reader, writer = await asyncio.open_connection(*address, local_addr=(source, 0))
    writer.write(request)
    try:
        return await reader.read(65_536)
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("bounds", "sources", "cause"),
    [
        (Bounds(connections=9, address_connections=3), "1111", "address_connections"),
        (Bounds(connections=3, address_connections=9, local=0), "1111", "connections"),
        (Bounds(connections=3, address_connections=9, local=0), "1234", "connections"),
        (Bounds(connections=2, address_connections=9, local=1), "1234", "connections"),
    ],
    ids=["address", "listener full of one", "listener", "listener with a place for this machine"],
)
def test_connection_beyond_the_bound_is_answered_503(bounds, sources, cause, monkeypatch):
    lines = _logged(monkeypatch)
    release, begun = asyncio.Event(), []

    async def waiting(scope, receive, send):
        begun.append(scope)
        if len(begun) <= 3:
            await release.wait()
        await echo(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        writer.write(GET)
        held = []
        for number in range(1, 4):  # up to the bound, all of them busy
            await waits.until(lambda number=number: len(begun) >= number)
            if number < 3:
                held.append(await asyncio.open_connection(*address, local_addr=(f"127.0.0.{sources[number]}", 0)))
                held[-1][1].write(GET)
        answers_later = [reader, *(other for other, _ in held)]
        refused = await _ask(address, f"127.0.0.{sources[3]}")
        assert error_of(refused, 503) == BUSY
        assert b"retry-after: 1\r\n" in refused
        if cause == "address_connections":
            assert (await _ask(address, "127.0.0.2")).startswith(b"HTTP/1.1 200 ")
        release.set()
        answers = [await each.readuntil(b"\r\n\r\n") for each in answers_later]
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
        held[0][1].close()
        while not (await _ask(address)).startswith(b"HTTP/1.1 200 "):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for _, other in held:
            other.close()

    with_listener(bounds, talk, waiting)

    assert [(line["event"], line["cause"]) for line in lines] == [("http.limit", cause)]
    assert lines[0]["limit"] == (bounds.connections if cause == "connections" else 3)
    assert lines[0]["address"] == "127.0.0.3" if bounds.local == 1 else f"127.0.0.{sources[3]}"


async def _opened(
    address: tuple[str, int], source: str, request: bytes
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection from there that has sent this."""
    opened = await asyncio.open_connection(*address, local_addr=(source, 0))
    opened[1].write(request)
    await asyncio.sleep(0.05)
    return opened


async def _waits(scope, receive, send):
    """Answer `/x` at once and `/wait` never, until its client has gone."""
    if scope["path"] == "/wait":
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await echo(scope, receive, send)


WAIT = GET.replace(b"/x", b"/wait")


@pytest.mark.parametrize("held", [WAIT, HALF, GET], ids=["busy", "half a request", "idle"])
def test_at_a_full_listener_the_address_with_most_connections_gives_up_its_longest(held, monkeypatch):
    lines = _logged(monkeypatch)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bytes, list[bool]]:
        address = writer.get_extra_info("peername")
        writer.write(GET)  # served before all others, and alone
        await reader.readuntil(b"\r\n\r\n")
        heavy = [await _opened(address, "127.0.0.3", held) for _ in range(3)]

        answer = await _ask(address, "127.0.0.2")

        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_read_all(heavy[0][0]), 1)
        ended = [each.at_eof() or each.exception() is not None for each, _ in heavy]
        writer.write(GET)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for _, each in heavy:
            each.close()
        return answer, ended

    answer, ended = with_listener(Bounds(connections=4, local=0), talk, _waits)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert ended == [True, False, False]
    assert [(line["cause"], line["address"]) for line in lines] == [("connections", "127.0.0.3")]


def test_behind_a_proxy_the_forwarded_address_with_most_requests_gives_one_up():
    def of(path: str, address: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nX-Forwarded-For: {address}\r\n\r\n".encode()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bytes, bytes]:
        address = writer.get_extra_info("peername")
        writer.write(of("/wait", "198.51.100.7"))  # first, and alone
        held = [await _opened(address, "127.0.0.1", of("/wait", "198.51.100.1")) for _ in range(3)]

        answer = await _ask(address, request=of("/x", "198.51.100.2"))

        ended = await asyncio.wait_for(_read_all(held[0][0]), 5)
        assert not any(each.at_eof() for each in (reader, held[1][0], held[2][0]))
        for _, each in held:
            each.close()
        return answer, ended

    answer, ended = with_listener(Bounds(connections=4, behind_proxy=True), talk, _waits)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert ended == b""


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET", HEAD, HALF, GET, GET + HALF],
    ids=["nothing", "method", "headers", "half a body", "served", "served, then half a body"],
)
def test_at_a_full_listener_who_was_served_nothing_for_longest_gives_way(begun):
    release = asyncio.Event()

    async def waiting(scope, receive, send):
        if scope["path"] == "/wait":
            await release.wait()
        await echo(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        writer.write(GET.replace(b"/x", b"/wait"))  # busy, and here for longest
        longest, first = await asyncio.open_connection(*address)
        first.write(begun)
        await stepped().move(1.0)
        later, second = await asyncio.open_connection(*address)
        second.write(GET)
        await later.readuntil(b"\r\n\r\n")
        await stepped().move(1.0)

        assert (await _ask(address)).startswith(b"HTTP/1.1 200 ")

        left = await _read_all(longest)
        assert left.startswith(b"HTTP/1.1 200 ") is begun.startswith(GET)
        second.write(GET)
        assert (await later.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        release.set()
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for each in (first, second):
            each.close()

    with_listener(Bounds(connections=3, local=0), talk, waiting, steps=True)


async def test_handshake_that_is_not_finished_gives_way_at_a_full_listener(tmp_path):
    tls = certificates.make(tmp_path)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        shell = functools.partial(app._inside_tls, tls.server_context())
        bounds = Bounds(connections=2, local=0)
        listeners = HttpListeners(echo, {"api": listening}, tls=shell, clock=lambda: NOW_MS, bounds=bounds)
        serving = asyncio.ensure_future(listeners.serve())
        await listeners.opened.wait()
        longest, first = await asyncio.open_connection(*address)
        _, second = await asyncio.open_connection(*address)

        reader, writer = await asyncio.open_connection(*address, ssl=tls.client_context())
        writer.write(GET)
        answer = await reader.readuntil(b"\r\n\r\n")

        assert await _read_all(longest) == b""
        for each in (first, second, writer):
            each.close()
        listeners.stop()
        await serving
        found = answer

    assert found.startswith(b"HTTP/1.1 200 ")


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


class _From(asyncio.Transport):
    """The socket of a peer with this address."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1)})
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize("behind_proxy", [False, True])
@pytest.mark.parametrize(
    ("address", "admitted"), [("127.0.0.1", 4), ("::1", 4), ("::ffff:127.0.0.1", 4), ("192.0.2.1", 2), ("", 2)]
)
def test_at_a_listener_full_of_busy_peers_some_of_this_machine_come_in(address, admitted, behind_proxy):
    bounds = Bounds(connections=2, local=2, behind_proxy=behind_proxy)
    listener = http_listeners.listener(bounds)

    came = [_From(address) for _ in range(5)]
    for each in came:
        entrance = Entrance(listener)
        entrance.connection_made(each)
        if entrance.place is not None:
            entrance.place.work()

    assert [each.aborted for each in came].count(False) == (2 if behind_proxy else admitted)
    assert listener.of_address.taken == (0 if behind_proxy else admitted)


def test_turned_away_peers_that_say_nothing_are_bounded_too():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        silent = [await asyncio.open_connection(*address) for _ in range(70)]
        ended = [asyncio.ensure_future(each.read()) for each, _ in silent]
        done, waiting = await asyncio.wait(ended, timeout=10, return_when=asyncio.ALL_COMPLETED)
        assert len(done) == 70, len(waiting)
        for _, each in silent:
            each.close()

    with_listener(Bounds(address_connections=1), talk)


@pytest.mark.parametrize(("peers", "answered"), [(1, 1), (2, 2), (3, 2), (4, 2)])
def test_so_many_peers_may_wait_for_their_refusal(peers, answered, monkeypatch):
    monkeypatch.setattr("tripline.adapters.http.entrance.LOBBY", 2)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[bytes]:
        waiting = [await asyncio.open_connection(*writer.get_extra_info("peername")) for _ in range(peers)]
        answers = []
        await stepped().move(0)  # the longest in the lobby makes room
        for more, other in waiting:
            other.write(GET)
            try:
                answers.append(await more.read())
            except ConnectionError:
                answers.append(b"")
            other.close()
        return answers

    answers = with_listener(Bounds(address_connections=1), talk, steps=True)

    assert answers[: peers - answered] == [b""] * (peers - answered)
    assert [error_of(each, 503) for each in answers[peers - answered :]] == [BUSY] * answered


def test_behind_a_proxy_requests_of_a_forwarded_address_are_counted():
    release = asyncio.Event()
    begun: list[bytes] = []

    async def waiting(scope, receive, send):
        begun.append(scope["path"])
        if scope["path"] == "/wait":
            await release.wait()
        await echo(scope, receive, send)

    def of(path: str, address: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9, {address}\r\n\r\n".encode()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        held = [await asyncio.open_connection(*address) for _ in range(2)]
        for _, each in held:
            each.write(of("/wait", "198.51.100.1"))
        await waits.until(lambda: len(begun) >= 2)
        writer.write(of("/x", "198.51.100.1"))
        refused = await reader.readuntil(b"}")
        assert error_of(refused, 503) == BUSY
        writer.write(of("/x", "198.51.100.2"))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        release.set()
        for each, _ in held:
            assert (await each.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(of("/x", "198.51.100.1"))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for _, each in held:
            each.close()

    with_listener(Bounds(address_connections=2, behind_proxy=True), talk, waiting)


@pytest.mark.parametrize(("size", "status"), [(1_999, 200), (2_000, 200), (2_001, 503)])
@pytest.mark.parametrize(
    ("source", "bounds"),
    [("127.0.0.1", Bounds(address_bodies=2_000)), ("127.0.0.2", Bounds(bodies=2_000))],
    ids=["of an address", "of all"],
)
def test_bodies_are_bounded_together(source, bounds, size, status):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        address = writer.get_extra_info("peername")
        half, other = await asyncio.open_connection(*address)
        other.write(HEAD + b"Content-Length: 1001\r\n\r\n" + b"a" * 1_000)
        await asyncio.sleep(0.05)
        answer = await _ask(
            address, source, HEAD + b"Content-Length: %d\r\n\r\n" % (size - 1_000) + b"b" * (size - 1_000)
        )
        other.write(b"a")
        assert (await half.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        other.close()
        assert (await _ask(address, request=HEAD + b"Content-Length: 1500\r\n\r\n" + b"c" * 1_500)).startswith(
            b"HTTP/1.1 200 "
        )
        return answer

    answer = with_listener(bounds, talk)

    assert answer.startswith(b"HTTP/1.1 %d " % status)


def test_unfinished_bodies_of_some_addresses_make_room_for_others(monkeypatch):
    lines = _logged(monkeypatch)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[bytes]:
        address = writer.get_extra_info("peername")
        half = HEAD + b"Content-Length: 1001\r\n\r\n" + b"a" * 1_000
        held = [await _opened(address, f"127.0.0.{2 + number % 5}", half) for number in range(10)]

        answer = await _ask(address, request=HEAD + b"Content-Length: 9\r\n\r\n" + b"b" * 9)

        for _, each in held[1:]:
            each.write(b"a")
        answers = [answer, *[await asyncio.wait_for(each.readuntil(b"\r\n\r\n"), 5) for each, _ in held]]
        for _, each in held:
            each.close()
        return answers

    answer, first, *others = with_listener(Bounds(bodies=10_000, address_bodies=2_500), talk)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert first.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in first
    assert all(each.startswith(b"HTTP/1.1 200 ") for each in others)
    assert [(line["cause"], line["limit"], line["address"]) for line in lines] == [("bodies", 10_000, "127.0.0.2")]


def _answering(size: int, pieces: int = 1):
    async def app(scope, receive, send):
        headers = [(b"content-length", b"%d" % (size * pieces))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(pieces):
            more = number < pieces - 1
            await send({"type": "http.response.body", "body": b"x" * size, "more_body": more})

    return app


async def _narrow_reader(address: tuple[str, int]) -> socket.socket:
    """A connection that takes little beyond what it reads."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.setblocking(False)
    await asyncio.get_running_loop().sock_connect(peer, address)
    return peer


async def _read_to_end(peer: socket.socket, pause_s: float = 0.0) -> int:
    loop, got = asyncio.get_running_loop(), 0
    while True:
        try:
            piece = await loop.sock_recv(peer, 65_536)
        except ConnectionError:
            return got
        if not piece:
            return got
        got += len(piece)
        await asyncio.sleep(pause_s)


def test_answer_without_progress_is_ended(monkeypatch):
    lines = _logged(monkeypatch)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        address = writer.get_extra_info("peername")
        with await _narrow_reader(address) as peer:
            await asyncio.get_running_loop().sock_sendall(peer, GET)
            await waits.until(lambda: lines)
            return await _read_to_end(peer)

    assert with_listener(Bounds(stall_s=0.3, look_s=0.05), talk, _answering(8_000_000)) < 8_000_000
    assert [line["cause"] for line in lines] == ["stalled_answer"]


@pytest.mark.parametrize(("waited_s", "stalled"), [(29.9, False), (30.0, False), (30.1, True)])
def test_answer_may_stand_still_for_its_time(waited_s, stalled):
    class Full(asyncio.Transport):
        def get_write_buffer_size(self) -> int:
            return 1_000

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            pass

    outlet = Outlet(Full(), "127.0.0.1", _places(1, 1), {}, lambda: 0.0)

    assert outlet.look(100.0, Bounds()) is False
    assert outlet.look(100.0 + waited_s, Bounds()) is stalled


class _Written(asyncio.Transport):
    """Keeps each piece that is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.pieces.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


def _outlet() -> tuple[Outlet, _Written]:
    written = _Written()
    outlet = Outlet(written, "127.0.0.1", _places(1, 1), {}, lambda: 0.0)
    outlet.begin()
    outlet.write(b"head")
    return outlet, written


@pytest.mark.parametrize(("size", "pieces"), [(1, 1), (65_535, 1), (65_536, 1), (65_537, 2)])
def test_head_leaves_with_its_body(size, pieces):
    outlet, written = _outlet()
    assert written.pieces == []

    outlet.write(b"b" * size)
    outlet.write(b"more")

    assert len(written.pieces) == pieces + 1
    assert b"".join(written.pieces) == b"head" + b"b" * size + b"more"


@pytest.mark.parametrize("end", ["sent", "close"])
def test_head_without_a_body_leaves_at_the_end_of_its_answer(end):
    outlet, written = _outlet()

    getattr(outlet, end)()

    assert written.pieces == [b"head"]
    assert written.closed == (end == "close")


@pytest.mark.parametrize(("size", "status"), [(65_535, 200), (65_536, 200), (65_537, 503)])
def test_short_answer_is_sent_whatever_is_unread(size, status):
    answer = with_listener(Bounds(answers=0), sending(GET.replace(b"Host: x", b"Connection: close")), _answering(size))

    assert answer.startswith(b"HTTP/1.1 %d " % status)


def test_answer_that_makes_progress_may_take_long():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, float]:
        address = writer.get_extra_info("peername")
        began = time.monotonic()
        with await _narrow_reader(address) as peer:
            loop, got = asyncio.get_running_loop(), 0
            await loop.sock_sendall(peer, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            while piece := await loop.sock_recv(peer, 8_192):
                got += len(piece)
                if time.monotonic() - began < 2.0:
                    await asyncio.sleep(0.05)
            return got, time.monotonic() - began

    got, took = with_listener(Bounds(stall_s=0.5, look_s=0.05), talk, _answering(4_000_000))

    assert got > 4_000_000
    assert took > 4 * 0.5


def test_stream_of_events_that_is_silent_is_not_ended():
    async def events(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await asyncio.sleep(1.0)
        await send({"type": "http.response.body", "body": b"data: 2\n\n", "more_body": False})

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        first = await reader.readuntil(b"data: 1\n\n")
        return first + await reader.readuntil(b"data: 2\n\n")

    bounds = Bounds(stall_s=0.2, look_s=0.05, idle_s=0.2, request_s=0.2)
    assert with_listener(bounds, talk, events).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("readers", "refused"), [(1, 0), (2, 0), (3, 1)])
@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(address_answers=8_000_000, answers=100_000_000, look_s=0.05),
        Bounds(address_answers=100_000_000, answers=8_000_000, look_s=0.05),
    ],
    ids=["of an address", "of all"],
)
def test_long_answers_are_bounded_until_they_are_read(bounds, readers, refused, monkeypatch):
    monkeypatch.setattr("tripline.adapters.http.outlet.MAKES_ROOM_S", 60.0)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        address = writer.get_extra_info("peername")
        loop = asyncio.get_running_loop()
        peers, turned_away = [], 0
        for _ in range(readers):
            peers.append(await _narrow_reader(address))
            await loop.sock_sendall(peers[-1], GET)
            turned_away += (await loop.sock_recv(peers[-1], 13)).startswith(b"HTTP/1.1 503 ")
        assert (await _ask(address, "127.0.0.2")).startswith(b"HTTP/1.1 200 ")
        for peer in peers:
            peer.close()
        while not (await _ask(address)).startswith(b"HTTP/1.1 200 "):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return turned_away

    assert with_listener(bounds, talk, _answering(4_000_000)) == refused


def test_peers_that_read_slowly_make_room_for_an_address_that_holds_less():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        address = writer.get_extra_info("peername")
        loop = asyncio.get_running_loop()
        slow = [await _narrow_reader(address) for _ in range(2)]
        for peer in slow:
            await loop.sock_sendall(peer, GET)
        reading = [asyncio.ensure_future(_read_to_end(peer, 0.05)) for peer in slow]
        await asyncio.sleep(0.2)
        answer = await _ask(address, "127.0.0.2")
        assert await reading[0] < 4_000_000
        assert not reading[1].done()
        reading[1].cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        for peer in slow:
            peer.close()
        return answer

    bounds = Bounds(address_answers=8_000_000, answers=8_000_000, look_s=0.05)
    assert with_listener(bounds, talk, _answering(4_000_000)).startswith(b"HTTP/1.1 200 ")


def test_peer_that_takes_nothing_makes_room_for_others(monkeypatch):
    monkeypatch.setattr("tripline.adapters.http.outlet.MAKES_ROOM_S", 0.2)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        address = writer.get_extra_info("peername")
        with await _narrow_reader(address) as idle:
            await asyncio.get_running_loop().sock_sendall(idle, GET)
            while not (await _ask(address, "127.0.0.2")).startswith(b"HTTP/1.1 200 "):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            return await _read_to_end(idle)

    bounds = Bounds(address_answers=8_000_000, answers=8_000_000, look_s=0.05)
    assert with_listener(bounds, talk, _answering(4_100_000)) < 4_100_000
