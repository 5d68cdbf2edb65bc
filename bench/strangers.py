"""Strangers at an HTTP listener: as many connections as one address may have, each of them a nuisance in one way.

    python -m bench.strangers ATTACK HOST:PORT SECONDS CONNECTIONS

Whoever is hung up on comes again after a fifth of a second. Prints JSON: connections made, bytes sent, statuses.
"""

import asyncio
import json
import os
import socket
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

AGAIN_S: Final = 0.2
PIECE: Final = 16_384
_POST: Final = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\n"


@dataclass(frozen=True, slots=True)
class Attack:
    """What is sent at once, what again and again, with which pause; and whether answers are read."""

    start: bytes
    again: bytes = b""
    pause_s: float = 0.0
    reads: bool = True


ATTACKS: Final = {
    "trailers": Attack(_POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nT: ", b"a" * PIECE),
    "chunks": Attack(_POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * (PIECE // 6)),
    "requests": Attack(b"GET /x HTTP/1.1\r\n\r\n" * 16, b"GET /x HTTP/1.1\r\n\r\n" * 16, 0.02, reads=False),
    "heads": Attack(b"GET /api/docs HTTP/1.1\r\n" + b"X: y\r\n" * 90 + b"Y: " + b"a" * 15_000, b"a", 5.0),
    "bodies": Attack(_POST + b"Content-Length: 1048576\r\n\r\n" + b"[" * 1_048_575),
    "readers": Attack(b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 8, reads=False),
    "halves": Attack(b"GET /api/docs HTTP/1.1\r\nHo", b"s", 10.0),
}


@dataclass(slots=True)
class Seen:
    """What came of it."""

    connections: int = 0
    sent: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


async def _be(attack: Attack, address: tuple[str, int], until: float, seen: Seen) -> None:
    loop = asyncio.get_running_loop()
    while (left := until - loop.time()) > 0:
        with socket.socket() as peer:
            peer.setblocking(False)
            if not attack.reads:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            try:
                async with asyncio.timeout(left):
                    await loop.sock_connect(peer, address)
                    seen.connections += 1
                    await _talk(attack, peer, seen)
            except (OSError, TimeoutError):
                pass
        await asyncio.sleep(AGAIN_S)


async def _talk(attack: Attack, peer: socket.socket, seen: Seen) -> None:
    loop = asyncio.get_running_loop()
    answer = asyncio.ensure_future(loop.sock_recv(peer, 12)) if attack.reads else None
    try:
        await loop.sock_sendall(peer, attack.start)
        seen.sent += len(attack.start)
        while answer is None or not answer.done():
            if attack.again:
                await loop.sock_sendall(peer, attack.again)
                seen.sent += len(attack.again)
            await asyncio.sleep(attack.pause_s if attack.again else 0.1)
    finally:
        if answer is not None:
            if answer.done() and answer.exception() is None:
                seen.statuses[answer.result()[9:12].decode("latin-1") or "closed"] += 1
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)


async def attacked(name: str, address: tuple[str, int], seconds: float, connections: int) -> Seen:
    """Attack for some seconds."""
    seen, until = Seen(), asyncio.get_running_loop().time() + seconds
    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(_be(ATTACKS[name], address, until, seen))
    return seen


def main() -> None:
    """Attack, and print what came of it."""
    os.nice(10)
    name, where, seconds, connections = sys.argv[1:]
    host, _, port = where.rpartition(":")
    seen = asyncio.run(attacked(name, (host, int(port)), float(seconds), int(connections)))
    print(json.dumps({"connections": seen.connections, "sent": seen.sent, "statuses": seen.statuses}))


if __name__ == "__main__":
    main()
