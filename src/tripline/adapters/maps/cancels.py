"""Cancelling the import of a folder of maps, from whichever process, on whichever machine that has the folder.

A mark in the folder names the area whose import is to end. Whoever works on that import looks for the mark and ends;
whoever takes the lock of the folder next deletes what the import left, then the mark. So a cancellation that is killed
on its way is carried through later.

Not here: what an import tells of itself and leaves (`imports.py`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tripline.adapters.maps import imports
from tripline.later import Later

if TYPE_CHECKING:
    from tripline.adapters.maps import files as map_files
else:
    map_files = Later("tripline.adapters.maps.files")

LOOK_S: Final = 0.2
"""How often somebody looks for the mark."""
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


def settle(folder: Path) -> str | None:
    """Leave nothing of an import that is to end; the area, if there was something left to end.

    For whoever holds the lock of the folder and does not work on an import yet. Raises `OSError`.
    """
    name = marked(folder)
    if name is None:
        return None
    found = imports.is_of(folder, name)
    if found:
        imports.clear(folder)
        map_files.clear(folder, name)
        imports.tell(folder, None)
    (folder / _MARK).unlink(missing_ok=True)
    return name if found else None


@contextmanager
def heeded(folder: Path, name: str, end: Callable[[], None] | None) -> Iterator[None]:
    """Calls `end`, on another thread, when the import of this area is to end, and never later than here.

    `end` ends this process. None: nobody ends this import.
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
