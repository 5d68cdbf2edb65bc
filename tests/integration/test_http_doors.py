"""What strangers may do to an HTTP door before the application sees anything."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tripline import observe
from tripline.adapters.http_uvicorn import Bounds, HttpDoors
from tripline.wire.rest import CAME_WHOLE

NOW_MS = 1_760_000_000_000
HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\n"


async def _echo(scope, receive, send):
    """Answers with the body; what was not sent whole is not answered."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def _with_door(
    bounds: Bounds, talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]], app: Any = _echo
) -> bytes:
    async def play() -> bytes:
        door = socket.create_server(("127.0.0.1", 0))
        doors = HttpDoors(app, {"api": door}, tls=None, clock=lambda: NOW_MS, bounds=bounds)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(doors.run())
            await doors.opened()
            reader, writer = await asyncio.open_connection(*door.getsockname())
            answer = await asyncio.wait_for(talk(reader, writer), 20)
            writer.close()
            doors.stop()
            await serving
        return answer

    return asyncio.run(play())


def _sending(*chunks: bytes):
    """Send chunks one by one, then read until the door closes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        return await reader.read()

    return talk


def _error(answer: bytes) -> dict[str, object]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json;charset=UTF-8" in head
    record: dict[str, object] = json.loads(body)
    return record


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"X-Authorization : x\r\n\r\n",
        HEAD + b"X-Authorization: x\r\n y\r\n\r\n",
        b"GET /x HTTP/1.1\nHost: x\n\n",
        b"NOTHING /x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /vehicle?vehicleNo=12가3456 HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
    ],
    ids=[
        "both lengths",
        "two lengths",
        "coding",
        "negative",
        "blank before colon",
        "folded",
        "LF",
        "method",
        "path",
        "number",
        "TLS",
    ],
)
def test_what_two_servers_might_read_differently_is_answered_400_and_closed(request_bytes: bytes) -> None:
    assert _error(_with_door(Bounds(), _sending(request_bytes))) == {
        "status": 400,
        "message": "This is no valid HTTP request; in an address all but ASCII must be percent-encoded.",
        "errorCode": 31,
        "timestamp": NOW_MS,
    }


def test_endless_header_is_refused_at_the_bound() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"X: ")
        answer = asyncio.ensure_future(reader.read())
        sent = 0
        while not answer.done() and sent < 50_000_000:
            writer.write(b"a" * 50_000)
            sent += 50_000
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0)
        assert sent < 50_000_000
        try:
            return await answer
        except ConnectionError:
            return b""

    answer = _with_door(Bounds(), talk)
    assert not answer or _error(answer)["errorCode"] == 31


@pytest.mark.parametrize(("length", "accepted"), [(999, True), (1000, True), (1001, False)])
def test_head_may_be_as_long_as_the_bound(length: int, accepted: bool) -> None:
    start = HEAD + b"Connection: close\r\nX: "
    filled = start + b"a" * (length - len(start))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(filled)
        await writer.drain()
        if accepted:
            writer.write(b"\r\n\r\n")
        return await reader.read()

    answer = _with_door(Bounds(head_bytes=1000), talk)

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


def test_long_body_is_not_counted_as_head() -> None:
    body = b"b" * 300_000
    head = HEAD + b"Connection: close\r\nContent-Length: 300000\r\n\r\n"

    answer = _with_door(Bounds(head_bytes=1000), _sending(head, body[:100_000], body[100_000:]))

    assert answer.endswith(body)


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET", HEAD, HEAD + b"Content-Length: 5\r\n\r\n", HEAD + b"Content-Length: 5\r\n\r\n1234"],
    ids=["nothing", "method", "headers", "no body", "half a body"],
)
def test_request_that_never_ends_is_given_up(begun: bytes) -> None:
    assert _with_door(Bounds(request_s=0.05), _sending(begun)) == b""


def test_request_after_another_has_its_own_time() -> None:
    whole = HEAD + b"Content-Length: 1\r\n\r\n1"

    answer = _with_door(Bounds(request_s=0.05), _sending(whole, HEAD))

    assert answer.startswith(b"HTTP/1.1 200 ")


def test_connection_that_waits_between_requests_is_kept() -> None:
    whole = HEAD + b"Content-Length: 1\r\n\r\n1"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        answers = b""
        for _ in range(2):
            writer.write(whole)
            answers += await reader.readuntil(b"\r\n\r\n1")
            try:
                answers += await asyncio.wait_for(reader.read(1), 0.15)
            except TimeoutError:
                continue
        return answers

    assert _with_door(Bounds(request_s=0.05), talk).count(b"HTTP/1.1 200 ") == 2


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([HEAD + b"Content-Length: 1\r\n\r\n1"], [True]),
        ([HEAD + b"\r\n"], [True]),
        ([HEAD, b"Content-Length: 1\r\n\r\n1"], [True]),
        ([HEAD + b"Content-Length: 1\r\n\r\n", b"1"], [False]),
        ([HEAD + b"Content-Length: 2\r\n\r\n1", b"2"], [False]),
        ([HEAD + b"Content-Length: 1\r\n\r\n", b"1" + HEAD + b"\r\n"], [False, True]),
        ([HEAD + b"\r\n" + HEAD + b"Content-Length: 1\r\n\r\n", b"1"], [True, False]),
    ],
    ids=["one piece", "no body", "head in two", "body later", "half later", "then whole", "after whole"],
)
def test_application_is_told_of_a_body_that_came_with_its_head(pieces: list[bytes], whole: list[bool]) -> None:
    told: asyncio.Queue[bool] = asyncio.Queue()

    async def telling(scope, receive, send):
        told.put_nowait(CAME_WHOLE in scope.get("extensions", {}))
        await _echo(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        heard = []
        for piece in pieces:
            writer.write(piece)
            heard += [await told.get() for _ in range(piece.count(b"\r\n\r\n"))]
        return bytes(heard)

    assert [bool(each) for each in _with_door(Bounds(), talk, telling)] == whole


def test_connections_are_counted_by_door_while_they_are_open():
    counts = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: 1\r\n\r\nx")
        await reader.readuntil(b"\r\n\r\nx")
        counts.append(observe.CONNECTIONS.labels("api")._value.get())
        writer.close()
        return b""

    before = observe.CONNECTIONS.labels("api")._value.get()
    _with_door(Bounds(), talk)

    assert counts == [before + 1]
    assert observe.CONNECTIONS.labels("api")._value.get() == before
