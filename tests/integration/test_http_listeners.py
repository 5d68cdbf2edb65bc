"""Strangers at an HTTP listener, before the application sees anything."""

import asyncio

import pytest
from tests.support.http_listeners import HEAD, NOW_MS, echo, endless, error_of, sending, with_listener

from tripline import metrics
from tripline.adapters.http.bounds import Bounds
from tripline.wire.rest.base import CAME_WHOLE


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="both lengths"),
        pytest.param(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345", id="two lengths"),
        pytest.param(HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="coding"),
        pytest.param(HEAD + b"Content-Length: -1\r\n\r\n", id="negative"),
        pytest.param(HEAD + b"X-Authorization : x\r\n\r\n", id="blank before colon"),
        pytest.param(HEAD + b"X-Authorization: x\r\n y\r\n\r\n", id="folded"),
        pytest.param(b"GET /x HTTP/1.1\nHost: x\n\n", id="LF"),
        pytest.param(b"NOTHING /x HTTP/1.1\r\nHost: x\r\n\r\n", id="method"),
        pytest.param(b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", id="path"),
        pytest.param("GET /vehicle?vehicleNo=12가3456 HTTP/1.1\r\nHost: x\r\n\r\n".encode(), id="number"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", id="TLS"),
    ],
)
def test_what_two_servers_might_read_differently_is_answered_400_and_closed(request_bytes: bytes) -> None:
    assert error_of(with_listener(Bounds(), sending(request_bytes))) == {
        "status": 400,
        "message": "This is no valid HTTP request; in an address all but ASCII must be percent-encoded.",
        "errorCode": 31,
        "timestamp": NOW_MS,
    }


def test_endless_header_is_refused_at_the_bound() -> None:
    answer = with_listener(Bounds(), endless(HEAD + b"X: ", b"a" * 50_000))

    assert not answer or error_of(answer)["errorCode"] == 31


@pytest.mark.parametrize(("length", "accepted"), [(999, True), (1000, True), (1001, False)])
def test_head_may_be_as_long_as_the_bound(length: int, accepted: bool) -> None:
    start = HEAD + b"Connection: close\r\nX: "
    filled = start + b"a" * (length - len(start) - 4)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(filled)
        await writer.drain()
        writer.write(b"\r\n\r\n")
        return await reader.read()

    answer = with_listener(Bounds(head_bytes=1000), talk)

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


def test_long_body_is_not_counted_as_head() -> None:
    body = b"b" * 300_000
    head = HEAD + b"Connection: close\r\nContent-Length: 300000\r\n\r\n"

    answer = with_listener(Bounds(head_bytes=1000), sending(head, body[:100_000], body[100_000:]))

    assert answer.endswith(body)


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET", HEAD, HEAD + b"Content-Length: 5\r\n\r\n", HEAD + b"Content-Length: 5\r\n\r\n1234"],
    ids=["nothing", "method", "headers", "no body", "half a body"],
)
def test_request_that_never_ends_is_given_up(begun: bytes) -> None:
    assert with_listener(Bounds(request_s=0.05), sending(begun)) == b""


def test_request_after_another_has_its_own_time() -> None:
    whole = HEAD + b"Content-Length: 1\r\n\r\n1"

    answer = with_listener(Bounds(request_s=0.05), sending(whole, HEAD))

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

    assert with_listener(Bounds(request_s=0.05), talk).count(b"HTTP/1.1 200 ") == 2


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
        await echo(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        heard = []
        for piece in pieces:
            writer.write(piece)
            heard += [await told.get() for _ in range(piece.count(b"\r\n\r\n"))]
        return bytes(heard)

    assert [bool(each) for each in with_listener(Bounds(), talk, telling)] == whole


def test_connections_are_counted_by_listener_while_they_are_open():
    counts = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: 1\r\n\r\nx")
        await reader.readuntil(b"\r\n\r\nx")
        counts.append(metrics.CONNECTIONS.labels("api")._value.get())
        writer.close()
        return b""

    before = metrics.CONNECTIONS.labels("api")._value.get()
    with_listener(Bounds(), talk)

    assert counts == [before + 1]
    assert metrics.CONNECTIONS.labels("api")._value.get() == before
