"""Cancelling the import of a folder of maps, from any process and any machine that shares the folder.

A mark in the folder names the area whose import is to end. The importing process polls for the mark and ends; the next
process that takes the lock of the folder deletes the remains of the import, then the mark. So an interrupted
cancellation is completed later.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tripline.adapters.maps import imports, locks
from tripline.later import Later

if TYPE_CHECKING:
    from tripline.adapters.maps import files as map_files
else:
    map_files = Later("tripline.adapters.maps.files")

LOOK_S: Final = 0.2
"""Interval of polling for the mark."""
_MARK: Final = ".cancel"


def mark(folder: Path, name: str) -> bool:
    """Have the import of this area end; False: there is none. Raises `OSError`."""
    if not imports.is_of(folder, name):
        return False
    imports.put(folder, _MARK, name.encode())
    return True


def marked(folder: Path) -> str | None:
    """The area whose import is to end. Cheap."""
    try:
        return (folder / _MARK).read_text()
    except OSError:
        return None


def take(folder: Path) -> int:
    """The lock of the folder (`locks.take`), once an interrupted cancellation is completed. Raises `BusyError`,
    `OSError`."""
    held = locks.take(folder)
    try:
        settle(folder)
    except BaseException:
        os.close(held)
        raise
    return held


def settle(folder: Path) -> str | None:
    """Remove a cancelled import; return its area if there was anything to remove.

    The caller holds the lock of the folder and has not started an import yet. Raises `OSError`.
    """
    name = marked(folder)
    if name is None:
        return None
    found = imports.is_of(folder, name)
    if found:
        imports.clear(folder)
        map_files.clear(folder, name)
        imports.write(folder, None)
    (folder / _MARK).unlink(missing_ok=True)
    return name if found else None


@contextmanager
def heeded(folder: Path, name: str, end: Callable[[], None] | None) -> Iterator[None]:
    """Call `end` on another thread when the import of this area is cancelled, at the latest on entry or exit.

    `end` ends this process. None: the import cannot be cancelled.
    """
    if end is None:
        yield
        return
    over, guard = threading.Event(), threading.Lock()

    def look() -> None:
        with guard:
            if not over.is_set() and marked(folder) == name:
                end()

    def watch() -> None:
        while not over.wait(LOOK_S):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        look()
        yield
        look()
    finally:
        with guard:
            over.set()
