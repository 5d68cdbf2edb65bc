"""Connections to a database that tests use one after the other: a closed one is reset and used again.

New sessions were half of what the server took: each learns anew what tables there are. `DISCARD ALL` leaves nothing
of what was done in it: no setting, nothing prepared, no lock.
"""

import select
import threading
from typing import Any

import psycopg
from psycopg import pq
from psycopg._preparing import PrepareManager
from psycopg.adapt import AdaptersMap

from tripline.store.database import postgres

KEPT = 4
"""Of each database: one to write, one to read, one for batches, one to ask. A server has so many for all."""


class Sessions:
    """The sessions of one database that nobody uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Session] = []

    def connect(self, url: str) -> psycopg.Connection[Any]:
        """A connection as the store's own, which comes back when it is closed."""
        while (session := self._taken()) is not None:
            if session.is_well():
                return session
            session.end()
        made = postgres.connect(url, _Session)
        assert isinstance(made, _Session)
        made.home = self
        made.adapted = AdaptersMap(made.adapters)
        return made

    def pids(self) -> list[int]:
        """Processes of the server that serve the sessions."""
        with self._lock:
            return [session.info.backend_pid for session in self._idle]

    def close(self) -> None:
        """End every session."""
        while (session := self._taken()) is not None:
            session.end()

    def put(self, session: "_Session") -> None:
        """Keep a session until somebody needs one, unless there are enough."""
        with self._lock:
            if is_wanted := len(self._idle) < KEPT:
                self._idle.append(session)
        if not is_wanted:
            session.end()

    def _taken(self) -> "_Session | None":
        with self._lock:
            return self._idle.pop() if self._idle else None


class _Session(psycopg.Connection[Any]):
    """A connection that goes home when it is closed."""

    home: Sessions
    adapted: AdaptersMap
    """How values are written, before anybody changed it."""

    def close(self) -> None:
        if self.closed:
            return
        if not self.is_well() or self.pgconn.exec_(b"DISCARD ALL").status != pq.ExecStatus.COMMAND_OK:
            self.end()
            return
        self.pgconn.nonblocking = 0
        self._adapters = AdaptersMap(self.adapted)
        self._prepared = PrepareManager()
        self.home.put(self)

    def is_well(self) -> bool:
        """Whether it is connected, in no transaction, and the server has not said anything, which would be goodbye."""
        if self.closed or self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            return False
        waiting = select.poll()
        waiting.register(self.pgconn.socket, select.POLLIN)
        return not waiting.poll(0)

    def end(self) -> None:
        """Leave the server."""
        super().close()
