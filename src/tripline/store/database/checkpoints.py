"""Carries SQLite's write-ahead log over into the database, beside the thread that writes.

Left to itself SQLite does this inside a commit, and every message of that commit waits until some thousand pages are
copied. Here a thread of its own copies them while the writer goes on; only the few pages that came meanwhile are copied
between two transactions of the writer, which lets the log begin anew.
"""

import math
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tripline import observe

EVERY_S: Final = 2.0
"""How often to look: at 10,000 microtrips a second of as many trips the log grows by some 80 MB in that time."""
SHORT_PAGES: Final = 256
"""So many pages (1 MiB) may be left to the writer's thread: under a millisecond or two."""
_log = observe.logger("store")
PASSES: Final = 4
"""Each pass leaves the pages written during it, a fraction of the pass before."""
PROMPT_S: Final = 0.1
"""A turn on the writer's thread that comes later came behind a long transaction, whose pages take another pass."""


def carry_over(driver: sqlite3.Connection) -> int:
    """Copy the log's present pages without waiting; return how many were added meanwhile or could not be copied yet."""
    # Every row is fetched: a statement left in progress forbids the connection's next commit.
    ((_, pages, carried),) = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    left: int = pages - carried
    return left


class Checkpoints:
    """The thread and its connection.

    `finish` copies the last pages on the writer's thread, between transactions, and returns True; it returns False and
    copies nothing if its turn comes later than after so many seconds.
    """

    def __init__(self, path: Path, *, every_s: float, finish: Callable[[float], bool]) -> None:
        self._driver = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
        self._every_s = every_s
        self._finish = finish
        self._written = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-checkpoints", daemon=True)
        self._thread.start()

    def written(self) -> None:
        """There is something to carry over."""
        self._written = True

    def close(self) -> None:
        """End the thread; SQLite copies the rest of the log when the last connection closes."""
        self._stop.set()
        self._thread.join()
        self._driver.close()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            if self._written:
                self._written = False
                try:
                    self._carry_over()
                except Exception as error:  # noqa: BLE001  without this thread the log would grow for ever
                    self._written = True
                    _log.warning("store.checkpoint_failed", reason=f"{type(error).__name__}: {error}")

    def _carry_over(self) -> None:
        for _ in range(PASSES):
            if carry_over(self._driver) <= SHORT_PAGES and self._finish(PROMPT_S):
                return
        self._finish(math.inf)
