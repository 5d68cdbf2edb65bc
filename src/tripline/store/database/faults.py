"""The database errors that mean a store cannot be used, and those that a store has met lately.

An error that none of the functions here knows is a bug: a violated constraint between rows, a wrong statement. It must
never look like an outage, or one message would be tried for ever; and an outage must never look like a bug, or the
message that met it would be set aside and acknowledged.

Result codes of SQLite: https://sqlite.org/rescode.html. Not here: errors of PostgreSQL (`postgres_threads.py`).
"""

import math
import sqlite3
import time
from collections.abc import Callable
from typing import Final

from tripline import observe
from tripline.ports.outages import Fault, StoreOutage

_SQLITE: Final = {
    sqlite3.SQLITE_PERM: Fault.AWAY,
    sqlite3.SQLITE_BUSY: Fault.AWAY,
    sqlite3.SQLITE_LOCKED: Fault.AWAY,
    sqlite3.SQLITE_NOMEM: Fault.AWAY,
    sqlite3.SQLITE_INTERRUPT: Fault.AWAY,
    sqlite3.SQLITE_CANTOPEN: Fault.AWAY,
    sqlite3.SQLITE_PROTOCOL: Fault.AWAY,
    sqlite3.SQLITE_NOLFS: Fault.AWAY,
    sqlite3.SQLITE_READONLY: Fault.READ_ONLY,
    sqlite3.SQLITE_IOERR: Fault.DISK,
    sqlite3.SQLITE_FULL: Fault.FULL,
    sqlite3.SQLITE_CORRUPT: Fault.DAMAGED,
    sqlite3.SQLITE_FORMAT: Fault.DAMAGED,
    sqlite3.SQLITE_NOTADB: Fault.DAMAGED,
}
"""By primary result code; the extended ones have it in their last byte."""
_SQLITE_TEXTS: Final = ("no such table", "malformed database schema", "Could not decode to UTF-8")
"""Beginnings of errors without a code of their own: our tables and texts are not as we wrote them."""
_SENTENCES: Final = {
    Fault.AWAY: "The store cannot be used",
    Fault.FULL: "The store's disk is full",
    Fault.READ_ONLY: "The store is read-only",
    Fault.DISK: "The store's disk cannot be read or written",
    Fault.DAMAGED: "The store is damaged",
}
_HELD_S: Final = {Fault.AWAY: 0, Fault.FULL: 10, Fault.READ_ONLY: 10, Fault.DISK: 60, Fault.DAMAGED: 600}
"""How long after a fault commits have to succeed before it counts as over: a small one may succeed on a full disk, and
one of another table on a damaged file."""


def of_sqlite(error: BaseException) -> StoreOutage | None:
    """The outage that the driver's error means; None: it is a bug."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", None)
    fault = None if code is None else _SQLITE.get(code & 0xFF)
    if fault is None and str(error).startswith(_SQLITE_TEXTS):
        fault = Fault.DAMAGED
    return None if fault is None else outage(fault, error)


def outage(fault: Fault, error: object) -> StoreOutage:
    """An outage in the words of the error's first line."""
    lines = str(error).strip().splitlines()
    said = lines[0] if lines else type(error).__name__
    return StoreOutage(fault, f"{_SENTENCES[fault]}: {said}")


class Troubles:
    """The latest error of a store. Its threads report it; any code may read it."""

    def __init__(self, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._stopwatch = stopwatch
        self._met: StoreOutage | None = None
        self._met_at = 0.0
        self._committed_at = -math.inf

    @property
    def present(self) -> StoreOutage | None:
        """The present trouble; None if none is known."""
        return self._met

    @property
    def since_commit_s(self) -> float:
        """How long ago a transaction that writes succeeded."""
        return self._stopwatch() - self._committed_at

    def meet(self, outage: StoreOutage) -> StoreOutage:
        """A transaction failed with this; gives it back to be raised."""
        self._met_at = self._stopwatch()
        met = self._met
        if met is None or met.fault is not Fault.DAMAGED or outage.fault is Fault.DAMAGED:
            self._met = outage
        return outage

    def committed(self) -> None:
        """A transaction that writes succeeded."""
        self._committed_at = self._stopwatch()
        met = self._met
        if met is not None and self._committed_at - self._met_at >= _HELD_S[met.fault]:
            self.mended()

    def mended(self) -> None:
        """The store works again."""
        self._met = None
        observe.say_anew()
