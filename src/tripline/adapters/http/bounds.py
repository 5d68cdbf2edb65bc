"""Bounds for peers of HTTP listeners: bytes sent, connections, unread answers (`docs/limits.md`); their log lines."""

from typing import Final

import msgspec

from tripline import observe

MIB: Final = 1_048_576

_log = observe.logger("http")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, numbers and times. Counts per address cover all listeners of the process."""

    connections: int = 2_048
    """Open connections of one listener."""
    local: int = 8
    """Open connections beyond them, of peers on this machine that ask about health. None behind a proxy, which may
    be on this machine itself."""
    address_connections: int = 512
    """Open connections of one address; behind a proxy: requests of one forwarded address at the same time."""
    behind_proxy: bool = False
    """True if `X-Forwarded-For` names the client of a request."""
    head_bytes: int = 16_384
    """Request line, headers, chunk sizes beyond 16 bytes a chunk, chunk extensions and trailers of one request."""
    headers: int = 100
    """Headers of one request, and as many trailers."""
    chunks: int = 256
    """Chunks of a request, of any size; further ones have `chunk_bytes` on average."""
    chunk_bytes: int = 64
    turn_s: float = 0.003
    """Time in one turn of the event loop for reading and beginning requests."""
    ahead: int = 16
    """Requests that wait on a connection for the answer to an earlier one."""
    request_s: float = 60.0
    """From the first byte of a request, or from the connection, to the last byte of the body; a long body has a second
    more for every `body_rate` bytes that came."""
    body_rate: int = 8_192
    quiet_s: float = 30.0
    """Longest time without a byte of a body that is read."""
    idle_s: float = 75.0
    """From an answer to the first byte of the next request."""
    linger_s: float = 10.0
    """How long the rest of a request is read and thrown away after its answer."""
    linger_bytes: int = 64 * MIB
    """How much of it."""
    deaf_bytes: int = MIB
    """Bytes that are thrown away behind the last request of a connection."""
    bodies: int = 32 * MIB
    """Bytes of requests' bodies in memory, until they are answered."""
    address_bodies: int = 8 * MIB
    answers: int = 48 * MIB
    """Bytes of long answers that peers have not read."""
    address_answers: int = 16 * MIB
    short_answer: int = 65_536
    """An answer of at most so many bytes is always sent."""
    stall_s: float = 30.0
    """How long an answer may make no progress."""
    look_s: float = 1.0
    """How often we check unread answers."""


def met(cause: str, *, limit: int, address: str) -> None:
    """Log that a peer met a bound."""
    _log.warning("http.limit", cause=cause, limit=limit, address=address)
