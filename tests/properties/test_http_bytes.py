"""Any split of the bytes of HTTP requests gives the same answers, with and without offers of another protocol."""

import asyncio
import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.support.http_listeners import answered

from tripline.adapters.http.bounds import Bounds

OFFERS = [
    b"",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n",
    b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
    b"upgrade: foo/2\r\nUPGRADE: bar\r\nconnection: upgrade\r\n",
]
LAST = b"POST /x HTTP/1.1\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nlast"
LAST_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlast"
BODY = st.binary(max_size=30)


@st.composite
def _requests(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A request, and its body."""
    head = draw(st.sampled_from([b"GET", b"POST"])) + b" /x HTTP/1.1\r\nHost: x\r\n" + draw(st.sampled_from(OFFERS))
    framing = draw(st.sampled_from(["none", "length", "chunks"]))
    if framing == "none":
        return head + b"\r\n", b""
    if framing == "length":
        body = draw(BODY)
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
    chunks = draw(st.lists(BODY.filter(bool), max_size=3))
    trailer = draw(st.sampled_from([b"", b"T: x\r\n"]))
    framed = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n" + trailer + b"\r\n", b"".join(chunks)


@given(st.lists(_requests(), min_size=1, max_size=4), st.lists(st.integers(0, 2_000), max_size=8) | st.none())
def test_any_split_of_requests_gives_the_same_answers(requests, cuts):
    data = b"".join(request for request, _ in requests) + LAST
    places = range(len(data)) if cuts is None else sorted(cut % (len(data) + 1) for cut in cuts)
    pieces = [data[start:end] for start, end in itertools.pairwise([0, *places, len(data)])]

    answers = asyncio.run(answered(pieces))
    in_turns = asyncio.run(answered(pieces, bounds=Bounds(turn_s=0)))

    expected = [b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body) for _, body in requests]
    assert answers == b"".join(expected) + LAST_ANSWER
    assert in_turns == answers
