"""Bounds of what a peer may send to an HTTP listener: framing, trailers, pipelines, idle connections, upgrades."""

import asyncio
import itertools

import pytest
from tests.support.clocks import stepped
from tests.support.http_listeners import CHUNKED, HEAD, echo, endless, error_of, sending, with_listener

from tripline.adapters.http.bounds import Bounds

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"Connection: close\r\n"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (CHUNKED + b"1\r\nx\r\n0\r\nT: ", b"a" * 50_000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"T: a\r\n" * 8_000),
        (CHUNKED + b"1;", b"e" * 50_000),
        (CHUNKED, b"0" * 50_000),
        (b"GET /", b"a" * 50_000),
        (HEAD, b"X: y\r\n" * 8_000),
    ],
    ids=["one trailer", "many trailers", "chunk extension", "zeros of a chunk size", "request line", "headers"],
)
def test_endless_bytes_around_a_body_are_refused_at_the_bound(start, piece):
    answer = with_listener(Bounds(), endless(start, piece, most=2_000_000))

    assert not answer or error_of(answer)["errorCode"] == 31


@pytest.mark.parametrize(("length", "accepted"), [(999, True), (1000, True), (1001, False)])
@pytest.mark.parametrize("pieces", [1, 2], ids=["one piece", "two pieces"])
def test_trailers_count_with_the_head_up_to_the_bound(length, accepted, pieces):
    head = HEAD + LAST + b"Transfer-Encoding: chunked\r\n\r\n"
    body, end = b"1\r\nx\r\n", b"0\r\n"
    free = 16 * 2 - len(body) - len(end) + 1  # 16 bytes a chunk, and the byte of the body, are not counted
    trailer = b"T: " + b"a" * (length - len(head) + free - 7) + b"\r\n\r\n"
    whole = head + body + end + trailer
    cut = len(head) if pieces == 2 else len(whole)

    answer = with_listener(Bounds(head_bytes=1000), sending(whole[:cut], whole[cut:]))

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


@pytest.mark.parametrize(("length", "accepted"), [(999, True), (1000, True), (1001, False)])
@pytest.mark.parametrize(
    ("before", "filling", "behind"), [(b"", b"0", b"1"), (b"1;", b"e", b"")], ids=["zeros of a size", "extension"]
)
def test_bytes_around_chunks_count_with_the_head_up_to_the_bound(before, filling, behind, length, accepted):
    head = HEAD + LAST + b"Transfer-Encoding: chunked\r\n\r\n"
    size = before + filling * (length - len(head) - len(before))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(head)
        writer.write(size)
        await stepped().move(0)
        writer.write(behind + b"\r\nx\r\n0\r\n\r\n")
        return await reader.read()

    answer = with_listener(Bounds(head_bytes=1000), talk, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


@pytest.mark.parametrize(("trailers", "accepted"), [(99, True), (100, True), (101, False)])
def test_request_has_at_most_so_many_trailers(trailers, accepted):
    end = b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: y\r\n" * trailers + b"\r\n"

    answer = with_listener(Bounds(headers=100), sending(HEAD + end))

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("chunks", "size", "accepted"),
    [
        (255, 1, True),
        (256, 1, True),
        (257, 1, True),
        (259, 1, True),
        (260, 1, False),
        (480, 30, True),
        (481, 30, False),
        (2_000, 64, True),
    ],
)
@pytest.mark.parametrize("pieces", [1, 7], ids=["one piece", "pieces"])
def test_chunks_of_a_body_have_a_mean_size(chunks, size, accepted, pieces):
    chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
    body = chunk * chunks + b"0\r\n\r\n"
    cuts = [len(body) * number // pieces for number in range(pieces + 1)]

    head = HEAD + LAST + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = with_listener(Bounds(), sending(head, *(body[start:end] for start, end in itertools.pairwise(cuts))))

    if accepted:
        assert answer.endswith(b"x" * chunks * size)
    else:
        assert (
            error_of(answer)["message"] == "The body comes in too many small chunks; send chunks of 64 bytes or more."
        )


def test_trailer_is_no_header_of_the_request():
    seen = []

    async def telling(scope, receive, send):
        seen.extend(scope["headers"])
        await echo(scope, receive, send)

    body = b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Authorization: stolen\r\n\r\n"
    with_listener(Bounds(), sending(HEAD + LAST + body), telling)

    assert [name for name, _ in seen] == [b"host", b"connection", b"transfer-encoding"]


def test_refused_request_is_not_carried_out():
    called = []

    async def telling(scope, receive, send):
        called.append(scope["path"])
        await echo(scope, receive, send)

    request = CHUNKED + b"0\r\nT: " + b"a" * 2_000 + b"\r\n\r\n"
    answer = with_listener(Bounds(head_bytes=1_000), sending(request), telling)

    assert error_of(answer)["errorCode"] == 31
    assert called == []


@pytest.mark.parametrize(("headers", "accepted"), [(99, True), (100, True), (101, False)])
def test_request_has_at_most_so_many_headers(headers, accepted):
    request = b"GET /x HTTP/1.1\r\nConnection: close\r\n" + b"X: y\r\n" * (headers - 1) + b"\r\n"

    answer = with_listener(Bounds(headers=100), sending(request))

    assert answer.startswith(b"HTTP/1.1 200 " if accepted else b"HTTP/1.1 400 ")


@pytest.mark.parametrize(("requests", "answers"), [(3, 3), (4, 4), (5, 4), (5_000, 4)])
def test_requests_sent_ahead_are_answered_up_to_the_bound(requests, answers):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET * requests)
        received = b""
        while received.count(b"HTTP/1.1 200 ") < answers:
            received += await reader.read(65_536)
        if requests > answers:
            received += await reader.read()
        return received

    received = with_listener(Bounds(ahead=3), talk)

    assert received.count(b"HTTP/1.1 200 ") == answers
    assert received.count(b"HTTP/1.1 ") == answers
    assert (b"connection: close" in received) is (requests > answers)


def test_unreadable_request_behind_another_does_not_take_its_answer():
    answer = with_listener(Bounds(), sending(GET + b"NOTHING\r\n\r\n"))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("idle", [b"", b"\r\n"], ids=["silent", "empty line"])
def test_connection_without_a_next_request_is_closed(idle):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.write(idle)
        return answer + await reader.read()

    assert with_listener(Bounds(idle_s=0.1), talk).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
    ids=["connect", "close"],
)
def test_bytes_behind_a_last_request_are_bounded(request_bytes):
    async def slow(scope, receive, send):
        await asyncio.sleep(0.2)
        await echo({**scope}, receive, send)

    answer = with_listener(Bounds(), endless(request_bytes, b"a" * 50_000, most=20_000_000), slow)

    assert not answer or answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 "))


@pytest.mark.parametrize("offer", [b"websocket", b"h2c"])
def test_frames_of_another_protocol_that_was_offered_are_refused(offer):
    request = b"GET /x HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: " + offer + b"\r\n\r\n"

    answer = with_listener(Bounds(), endless(request, b"\x81\x05" * 25_000, most=20_000_000))

    assert not answer or answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 "))


def test_http_2_without_an_offer_is_refused():
    answer = with_listener(Bounds(), sending(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))

    assert error_of(answer)["errorCode"] == 31


@pytest.mark.parametrize(("length", "accepted"), [(999, True), (1000, True), (1001, False)])
@pytest.mark.parametrize("before", [b"", GET], ids=["first", "behind another"])
def test_head_that_offers_another_protocol_may_be_as_long_as_the_bound(before, length, accepted):
    start = HEAD + b"Connection: upgrade, close\r\nUpgrade: h2c\r\nX: "
    filled = start + b"a" * (length - len(start) - 4) + b"\r\n\r\n"

    answer = with_listener(Bounds(head_bytes=1000), sending(before + filled))

    assert answer.count(b"HTTP/1.1 200 ") == accepted + bool(before)


@pytest.mark.parametrize(("behind", "answered"), [(999, True), (1000, True), (1001, False)])
def test_so_many_bytes_may_come_behind_a_last_request(behind, answered):
    release = asyncio.Event()

    async def waiting(scope, receive, send):
        await release.wait()
        await echo(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET.replace(b"Host: x\r\n", LAST))
        await stepped().move(0)
        writer.write(b"a" * behind)
        await stepped().move(0)
        release.set()
        try:
            return await reader.read()
        except ConnectionError:
            return b""

    answer = with_listener(Bounds(deaf_bytes=1000), talk, waiting, steps=True)

    assert answer.startswith(b"HTTP/1.1 200 ") if answered else answer == b""


@pytest.mark.parametrize(("rest", "kept"), [(199_999, True), (200_000, True), (200_001, False)])
def test_rest_of_an_answered_request_is_read_for_a_while(rest, kept):
    async def hasty(scope, receive, send):
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % rest)
        received = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"b" * rest)
        if kept:
            writer.write(GET)
            return received + await reader.readuntil(b"\r\n\r\n")
        return received + await reader.read()

    assert with_listener(Bounds(linger_bytes=200_000), talk, hasty).count(b"HTTP/1.1 413 ") == (2 if kept else 1)


def test_rest_of_an_answered_request_that_never_comes_is_not_waited_for():
    async def hasty(scope, receive, send):
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    answer = with_listener(Bounds(linger_s=0.1), sending(HEAD + b"Content-Length: 10\r\n\r\n"), hasty)

    assert answer.startswith(b"HTTP/1.1 413 ")
