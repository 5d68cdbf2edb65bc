"""Bounds of time at an HTTP listener: just before one everything goes on, from then on the peer is hung up on."""

import asyncio
import socket
import sys
import time

import pytest
from tests.support import netns
from tests.support.clocks import stepped
from tests.support.http_listeners import HEAD, echo, error_of, with_listener

from tripline.adapters.http.bounds import Bounds

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"POST /x HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\n12345"
LONG = HEAD + b"Connection: close\r\nContent-Length: 20000\r\n\r\n"


def around(bound_s: float) -> pytest.MarkDecorator:
    """Just before the bound, at it, and behind it."""
    return pytest.mark.parametrize(
        ("waited_s", "kept"), [(bound_s - 0.1, True), (bound_s, False), (bound_s + 0.1, False)], ids=str
    )


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, last: bytes) -> bytes:
    """What comes until the listener closes; nothing, when it had closed before."""
    try:
        writer.write(last)
        return await reader.read()
    except ConnectionError:
        return b""


@around(60.0)
@pytest.mark.parametrize("begun", [0, 3, 30, len(LAST) - 7], ids=str)
def test_request_has_its_time_to_arrive(begun: int, waited_s: float, kept: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(LAST[:begun])
        await stepped().move(waited_s)
        return await _answer(reader, writer, LAST[begun:])

    answer = with_listener(Bounds(), talk, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if kept else answer == b""


@around(30.0)
@pytest.mark.parametrize("came", [0, 4], ids=["head", "piece of the body"])
def test_body_without_a_byte_for_its_time_is_ended(came: int, waited_s: float, kept: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(LAST[:40])
        await stepped().move(20.0)
        writer.write(LAST[40 : len(LAST) - 5 + came])
        await stepped().move(waited_s)
        return await _answer(reader, writer, LAST[len(LAST) - 5 + came :])

    answer = with_listener(Bounds(), talk, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if kept else answer == b""


@around(62.0)
def test_body_has_a_second_more_for_every_8_kib(waited_s: float, kept: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(LONG + b"b" * 16_382)
        for late_s in (25.0, 25.0):
            await stepped().move(late_s)
            writer.write(b"b")
        await stepped().move(waited_s - 50.0)
        return await _answer(reader, writer, b"b" * (20_000 - 16_384))

    answer = with_listener(Bounds(), talk, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if kept else answer == b""


@around(75.0)
def test_connection_waits_for_its_next_request(waited_s: float, kept: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        await stepped().move(waited_s)
        return await _answer(reader, writer, LAST)

    answer = with_listener(Bounds(), talk, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if kept else answer == b""


@around(10.0)
def test_rest_of_an_answered_request_has_its_time(waited_s: float, kept: bool) -> None:
    async def hasty(scope, receive, send):
        if scope["method"] == "GET":
            await echo(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: 10\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await stepped().move(waited_s)
        return await _answer(reader, writer, b"b" * 10 + GET.replace(b"Host: x", b"Connection: close"))

    answer = with_listener(Bounds(), talk, hasty, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if kept else answer == b""


@around(2.0)
def test_peer_that_is_turned_away_has_its_time_to_ask(waited_s: float, kept: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        more, other = await asyncio.open_connection(*writer.get_extra_info("peername"))
        await stepped().move(waited_s)
        answer = await _answer(more, other, GET)
        other.close()
        return answer

    answer = with_listener(Bounds(address_connections=1), talk, steps=True)

    assert error_of(answer, 503)["errorCode"] == 2 if kept else answer == b""


@pytest.mark.deep
def test_peer_that_the_network_lost_is_hung_up_on_in_the_time_of_a_stalled_answer() -> None:
    netns.need("a reader of a stream that the network loses")
    stall_s = 2.0
    over = asyncio.Event()

    async def stream(_scope, receive, send):
        """Small pieces, as beats of the live map: they never fill the queue of the system."""
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            await send({"type": "http.response.body", "body": b"beat\n", "more_body": True})
            await asyncio.wait([gone], timeout=0.1)
        over.set()

    async def talk(*_own: object) -> float:
        host, port = listener.getsockname()
        script = (
            f"import socket; s = socket.create_connection(({host!r}, {port})); s.sendall({GET!r});\n"
            "while piece := s.recv(1000): print(piece, flush=True)"
        )
        reader = await asyncio.create_subprocess_exec(
            *space.inside, sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
        )
        assert reader.stdout is not None
        for _ in range(5):
            assert await reader.stdout.readline()
        space.cables[0].cut()
        lost = time.monotonic()
        await over.wait()
        took = time.monotonic() - lost
        reader.kill()
        await reader.wait()
        return took

    with netns.namespace() as space, socket.create_server((space.cables[0].here, 0)) as listener:
        took = with_listener(Bounds(stall_s=stall_s), talk, stream, listener=listener)

    assert stall_s - 0.5 < took < stall_s + 3
