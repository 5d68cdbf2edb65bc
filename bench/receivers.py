"""Customers' servers, all in one process: some that take what is pushed, some where nobody is, some that never answer.

python -m bench.receivers TAKING ABSENT MUTE    prints their addresses as one line of JSON; each line on standard input
is answered with one line of what was received since the last one: how many, how many ids twice, how many to the mute,
and how long each was under way (ms from when its id was made, sorted).

Keeps connections, reads heads and bodies by their length, answers 200 with an empty body. Not here: who pushes.
"""

import asyncio
import contextlib
import json
import re
import resource
import socket
import sys
import time
import uuid
from array import array
from typing import Final, cast

import uvloop

OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HEAD: Final = re.compile(rb"(?i)\r\ncontent-length:\s*(\d+)")
ID: Final = re.compile(rb"(?i)\r\nwebhook-id:\s*(\S+)")
UNIX_EPOCH: Final = 0x01B21DD213814000
"""Of a time-based UUID's clock, 100 ns (RFC 9562 6.1)."""


class Seen:
    """What came since it was asked last."""

    def __init__(self) -> None:
        self.ids: set[bytes] = set()
        self.taken = self.twice = self.mute = 0
        self.under_way_ms = array("d")

    def take(self, message_id: bytes) -> None:
        """A message that is answered with 200."""
        self.taken += 1
        self.twice += message_id in self.ids
        self.ids.add(message_id)
        made_ms = (uuid.UUID(message_id.decode()).time - UNIX_EPOCH) / 10_000
        self.under_way_ms.append(time.time_ns() / 1e6 - made_ms)

    def report(self) -> dict[str, object]:
        """What came, and begin anew (ids stay known)."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        told: dict[str, object] = {
            "taken": self.taken,
            "twice": self.twice,
            "mute": self.mute,
            "under_way_ms": [round(each, 1) for each in sorted(self.under_way_ms)],
            "cpu_s": own.ru_utime + own.ru_stime,
        }
        self.taken = self.twice = self.mute = 0
        self.under_way_ms = array("d")
        return told


class Peer(asyncio.Protocol):
    """A connection to one of them."""

    def __init__(self, seen: Seen, *, answers: bool) -> None:
        self._seen = seen
        self._answers = answers
        self._have = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody dials."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take every whole request."""
        self._have += data
        while (end := self._have.find(b"\r\n\r\n")) >= 0:
            length = HEAD.search(self._have, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._have) < whole:
                return
            self._request(self._have[:end])
            self._have = self._have[whole:]

    def _request(self, head: bytes) -> None:
        if not self._answers:
            self._seen.mute += 1
            return
        found = ID.search(head)
        assert found is not None
        self._seen.take(found[1])
        self._transport.write(OK)


async def serve(taking: int, absent: int, mute: int) -> None:
    """Run until standard input ends."""
    loop, seen = asyncio.get_running_loop(), Seen()
    addresses = []
    with contextlib.ExitStack() as opened:
        for number in range(taking + absent + mute):
            listener = opened.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))  # where nobody listens, the port is kept, and who dials is refused
            addresses.append(f"http://127.0.0.1:{listener.getsockname()[1]}/push")
            if not taking <= number < taking + absent:
                answers = number < taking
                await loop.create_server(lambda answers=answers: Peer(seen, answers=answers), sock=listener)  # type: ignore[misc]
        print(json.dumps(addresses), flush=True)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while await reader.readline():
            print(json.dumps(seen.report()), flush=True)


if __name__ == "__main__":
    uvloop.run(serve(*(int(each) for each in sys.argv[1:4])))
