"""The write side of an HTTP connection: unread bytes, their progress, and a close that waits for it.

A transport for uvicorn, over the one of the socket. The system's own queue counts: a peer that reads slowly makes
progress there long before the event loop may write again.
"""

import asyncio
import contextlib
import fcntl
import socket
import struct
import termios
from collections.abc import Callable
from typing import Any, Final

from tripline.adapters.http.bounds import Bounds
from tripline.adapters.http.places import Place, Places

JOINED: Final = 65_536
"""Bytes of a body that are copied to leave in one piece with their head."""
MAKES_ROOM_S: Final = 1.0
"""Who took something within this time is left alone."""
_INT: Final = struct.Struct("i")


class Outlet(asyncio.Transport):
    """Writes at once, closes when everything is sent."""

    def __init__(
        self,
        transport: asyncio.Transport,
        address: str,
        answers: Places,
        unread: "dict[Outlet, None]",
        now: Callable[[], float],
    ) -> None:
        self._transport = transport
        self.address = address
        self._answers = answers
        self._unread = unread
        self._socket: socket.socket | None = transport.get_extra_info("socket")
        self._held: list[Place] = []
        self._asks = False
        """The next answer of this peer is looking for room."""
        self._key = 0
        self._closing = False
        self._is_head = False
        """True if the next write is the head of an answer."""
        self._head: bytes | bytearray | memoryview = b""
        """The head of an answer, until its body begins: both leave in one piece."""
        self._now = now
        self.since = 0.0
        """The time of the peer's last progress in reading unsent bytes."""
        transport.set_write_buffer_limits(high=65_536, low=0)

    def hold(self, address: str, size: int) -> bool:
        """Have room for a long answer until its peer has read it. False: there is none."""
        self._asks = True
        place = self._answers.take(address, size, self._give_way)
        self._asks = False
        if place is None:
            return False
        self._held.append(place)
        return True

    def look(self, now: float, bounds: Bounds) -> bool:
        """Record progress; true if there was none for too long."""
        size = self._transport.get_write_buffer_size()
        if not size:
            self.drained()
            return False
        key = size + self._queued()
        if key != self._key:
            self._key, self.since = key, now
        return now - self.since > bounds.stall_s

    def drained(self) -> None:
        self._unread.pop(self, None)
        self._release()
        if self._closing:
            self._transport.close()

    def lost(self) -> None:
        self._closing = False
        self.drained()

    def begin(self) -> None:
        """An answer begins: the next write is its head, and waits for the write after it."""
        self._is_head = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data or self._closing:
            return
        if self._is_head:
            self._is_head, self._head = False, data
            return
        if self._head:
            head, self._head = self._head, b""
            if len(data) <= JOINED:
                data = b"".join((head, data))
            else:
                self._transport.write(head)
        self._transport.write(data)
        if not self._transport.get_write_buffer_size():
            return
        if self not in self._unread:
            self._unread[self] = None
            self._key = 0
            self.since = self._now()

    def sent(self) -> None:
        """An answer was written to its end."""
        self._flush()
        if self._held and not self._transport.get_write_buffer_size():
            self.drained()

    def close(self) -> None:
        self._flush()
        self._closing = True
        if self._transport.get_write_buffer_size():
            self._transport.set_write_buffer_limits(high=0, low=0)  # so that we hear when all is sent
        else:
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        self._release()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._closing or self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def _flush(self) -> None:
        """Send a head that nothing followed."""
        if self._head:
            head, self._head = self._head, b""
            self.write(head)

    def _release(self) -> None:
        for place in self._held:
            place.leave()
        self._held.clear()

    def _give_way(self, gently: bool) -> bool:
        """Hang up, unless it is this peer that needs room; gently: unless it took something lately."""
        if self._asks or (gently and (self not in self._unread or self._now() - self.since <= MAKES_ROOM_S)):
            return False
        self.abort()
        return True

    def _queued(self) -> int:
        """Bytes that the system has and the peer has not confirmed."""
        if self._socket is None:
            return 0
        with contextlib.suppress(OSError):
            answer = fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, _INT.pack(0))
            return int(_INT.unpack(answer)[0])
        return 0
