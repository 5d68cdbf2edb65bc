"""A customer's server on a thread of its own, for tests whose Tripline is another process."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tests.support import receivers

PATIENCE_S = 30


class Receiving:
    """A receiver, looked at from outside its thread."""

    def __init__(self, receiver: receivers.Receiver, loop: asyncio.AbstractEventLoop) -> None:
        self._receiver = receiver
        self._loop = loop

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._receiver.url

    @property
    def bodies(self) -> list[Any]:
        """What came so far, decoded, in order, repeats left out."""
        return list({request.id: request.json for request in reversed(self._receiver.requests)}.values())[::-1]

    def arrived(self, count: int) -> None:
        """Wait until so many requests came, about whatever."""
        waiting = self._receiver.until(count, timeout_s=PATIENCE_S)
        asyncio.run_coroutine_threadsafe(waiting, self._loop).result(PATIENCE_S + 5)

    def wait(self, count: int, *, sensor_id: str) -> list[Any]:
        """What came about a sensor, once so many messages did."""

        while True:
            came = len(self._receiver.requests)
            found = [body for body in self.bodies if body["sensorId"] == sensor_id]
            if len(found) >= count:
                return found
            waiting = self._receiver.until(came + 1, timeout_s=PATIENCE_S)
            asyncio.run_coroutine_threadsafe(waiting, self._loop).result(PATIENCE_S + 5)


@contextlib.contextmanager
def receiving(receiver: receivers.Receiver | None = None) -> Iterator[Receiving]:
    """A customer's server while the block runs; it answers 200 unless the receiver says otherwise."""
    loop = asyncio.new_event_loop()
    known = receiver or receivers.Receiver()
    opened, close = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with receivers.serving(known):
            opened.set()
            await close.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert opened.wait(PATIENCE_S)
        yield Receiving(known, loop)
    finally:
        loop.call_soon_threadsafe(close.set)
        thread.join()
        loop.close()
