"""Turns of the event loop, shared between the connections of all HTTP listeners.

In one turn, reading and beginning requests takes at most `turn_s` and one step; the rest waits, and devices are served
in between. Waiting steps of known addresses come first, and every fourth is a stranger's. Addresses take turns, however
many connections they have.
"""

import asyncio
import functools
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from uvicorn.protocols.http.flow_control import FlowControl

from tripline.domain.shares import KnownFirst

SLICE: Final = 65_536
"""Bytes that are read at once."""

Step: TypeAlias = Callable[[], None]


class Turns:
    """Does steps at once while the present turn has time, else in a later one, in order of the addresses."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turn_s: float, is_known: Callable[[str], bool]) -> None:
        self._loop = loop
        self._turn_s = turn_s
        self._is_known = is_known
        self._spent_s = 0.0
        self._waiting: KnownFirst[tuple[Step, float]] = KnownFirst()
        """Steps and their costs."""
        self._called = False

    def take(self, address: str, step: Step, *, costs_s: float = 0.0) -> bool:
        """Do the step of the address; False: it waits. `costs_s`: work that follows it, beside its own time."""
        if not self._called:
            self._called = True
            self._loop.call_soon(self._turn)
        if self._waiting or self._spent_s >= self._turn_s:
            self._waiting.group(is_known=self._is_known(address)).add(address, (step, costs_s))
            return False
        self._do(step, costs_s)
        return True

    def _turn(self) -> None:
        """A new turn of the loop: others were served."""
        self._spent_s = 0.0
        try:
            while self._waiting:
                self._do(*self._waiting.next())
                if self._spent_s >= self._turn_s:
                    break
        finally:
            self._called = bool(self._waiting or self._spent_s)
            if self._called:
                self._loop.call_soon(self._turn)

    def _do(self, step: Step, costs_s: float) -> None:
        began = time.perf_counter()
        try:
            step()
        finally:
            self._spent_s += time.perf_counter() - began + costs_s


class Slices:
    """Bytes that arrived on a connection, given to `read` slice by slice in its turns; meanwhile nothing more is read
    from the socket."""

    def __init__(
        self, turns: Turns, transport: asyncio.Transport, flow: FlowControl, read: Callable[[bytes], None]
    ) -> None:
        self._turns = turns
        self._transport = transport
        self._flow = flow
        self._read = read
        self._waiting: deque[bytes] = deque()
        self._paused = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, address: str, data: bytes) -> None:
        is_turn_taken = bool(self._waiting)
        if len(data) <= SLICE:
            self._waiting.append(data)
        else:
            self._waiting.extend(data[at : at + SLICE] for at in range(0, len(data), SLICE))
        if not is_turn_taken:
            self._take_turn(address)

    def clear(self) -> None:
        self._waiting.clear()

    def _take_turn(self, address: str) -> None:
        if not self._turns.take(address, functools.partial(self._next, address)) and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _next(self, address: str) -> None:
        if self._waiting:
            self._read(self._waiting.popleft())
        if self._waiting:
            self._take_turn(address)
        elif self._paused:
            self._paused = False
            if not (self._flow.read_paused or self._transport.is_closing()):
                self._transport.resume_reading()
