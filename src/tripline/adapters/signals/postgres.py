"""Signals between processes that share a PostgreSQL database: LISTEN and NOTIFY on one channel.

Listeners in this process are notified at once, as by `local.py`. Other processes follow a moment later: notifications
are batched into payloads on a separate connection, so neither the notifier nor a commit waits for one. An interrupted
or overloaded connection ends in a `SIGNAL_RESYNC` to every listener that may have missed something. A payload is at
most 8,000 bytes [PostgreSQL, NOTIFY].
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import psycopg

from tripline import observe
from tripline.adapters.signals.local import LocalSignals

CHANNEL: Final = "tripline"
LONGEST: Final = 7_900
"""Bytes of the notifications in one payload. A longer notification is sent to other processes as a resync."""
WAITING: Final = 10_000
"""Distinct notifications that may wait to be sent; more are replaced by a resync."""
GATHER_S: Final = 0.003
"""Pause between two payloads, in which more notifications come together."""
CONNECT_S: Final = 5
LOOK_S: Final = 5.0
"""Silence after which the connection is tested."""
ANSWER_S: Final = 5.0
_PAUSES_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
_OPTIONS: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 11_000,
    "application_name": "tripline signals",
    # Notifications are not durable state: a payload lost in a power cut does no harm.
    "options": "-c synchronous_commit=off",
}
_Notification = tuple[str, str]
_TROUBLE: Final = (psycopg.Error, OSError, TimeoutError)
_log = observe.logger("signals")


class PostgresSignals:
    """Implements `ports.signals.Signals`. Made on the event loop; `run` connects to other processes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._local = LocalSignals()
        self._loop = asyncio.get_running_loop()
        self._sender = secrets.token_hex(6)
        self._waiting: dict[_Notification, None] = {}
        self._lost = False
        """True if notifications to other processes were dropped before they were sent."""
        self._asked = asyncio.Event()
        self.listening = asyncio.Event()
        """Set while we receive from other processes."""

    def notify(self, subject: str, detail: str = "") -> None:
        self._local.notify(subject, detail)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._queue, (subject, detail))

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        self._local.subscribe(subject, listener)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._for_ever(self._listen))
                tasks.create_task(self._for_ever(self._send_on))
        finally:
            with contextlib.suppress(*_TROUBLE):
                async with asyncio.timeout(ANSWER_S), await self._connected() as connection:
                    await self._send(connection)

    def _queue(self, notification: _Notification) -> None:
        if _length(notification) > LONGEST:
            self._lost = True
        else:
            if len(self._waiting) >= WAITING:
                self._waiting.clear()
                self._lost = True
            self._waiting[notification] = None
        self._asked.set()

    async def _for_ever(self, work: Callable[[psycopg.AsyncConnection[Any]], Any]) -> None:
        """Do the work on a connection, and on another one when that breaks."""
        pause = 0
        while True:
            try:
                async with await self._connected() as connection:
                    pause = 0
                    await work(connection)
            except _TROUBLE as error:
                _log.warning("signal.away", reason=_reason(error))
            except Exception:  # noqa: BLE001  notifications end with the program, not before
                _log.exception("signal.failed", subject="")
            finally:
                if work == self._listen:
                    self.listening.clear()
            await asyncio.sleep(_PAUSES_S[min(pause, len(_PAUSES_S) - 1)])
            pause += 1

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        async with asyncio.timeout(CONNECT_S):
            return await psycopg.AsyncConnection.connect(self._url, autocommit=True, **_OPTIONS)

    async def _listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Deliver the notifications of other processes. A resync makes up for any that were missed before."""
        async with asyncio.timeout(ANSWER_S):
            await connection.execute(f"LISTEN {CHANNEL}")
        self.listening.set()
        self._local.notify(observe.SIGNAL_RESYNC)
        while True:
            async for received in connection.notifies(timeout=LOOK_S):
                self._hear(received.payload)
            async with asyncio.timeout(ANSWER_S):
                await connection.execute("SELECT 1")

    def _hear(self, payload: str) -> None:
        try:
            sender, told = msgspec.json.decode(payload, type=tuple[str, list[_Notification]])
        except (msgspec.DecodeError, UnicodeEncodeError):
            return  # not ours: any client of the database may send on this channel
        if sender != self._sender:
            for subject, detail in told:
                self._local.notify(subject, detail)

    async def _send_on(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._asked.wait()
            except TimeoutError:
                async with asyncio.timeout(ANSWER_S):
                    await connection.execute("SELECT 1")
                continue
            await self._send(connection)
            await asyncio.sleep(GATHER_S)

    async def _send(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Send the queue. Failed notifications stay queued; an interrupted payload may or may not have arrived."""
        self._asked.clear()
        waiting, self._waiting = self._waiting, {}
        lost, self._lost = self._lost, False
        told: list[_Notification] = [(observe.SIGNAL_RESYNC, "")] if lost else []
        try:
            async with asyncio.timeout(ANSWER_S):
                for payload in _payloads(self._sender, [*told, *waiting]):
                    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
        except BaseException:
            self._waiting = {**waiting, **self._waiting}
            self._lost |= lost
            self._asked.set()
            raise


def _payloads(sender: str, notifications: list[_Notification]) -> Iterator[str]:
    """The notifications in as few payloads as hold them, in order."""
    some: list[_Notification] = []
    size = 0
    for notification in notifications:
        length = _length(notification)
        if some and size + length > LONGEST:
            yield msgspec.json.encode((sender, some)).decode()
            some, size = [], 0
        some.append(notification)
        size += length
    if some:
        yield msgspec.json.encode((sender, some)).decode()


def _reason(error: BaseException) -> str:
    """The error in one line; it reveals at most host, port, database and user of the address."""
    if isinstance(error, TimeoutError):
        return "PostgreSQL does not answer."
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _length(notification: _Notification) -> int:
    """Bytes of the notification in a payload, its comma included."""
    return len(msgspec.json.encode(notification)) + 1
