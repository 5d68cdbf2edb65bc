"""The lock of the folder of maps: one process changes it at a time. Also syncs its files to disk."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOCK: Final = ".lock"
_GLANCE_S: Final = 0.25
"""Longer than a check of the lock holds it."""


class NoAreaError(Exception):
    """An area is not there, or cannot be read or changed; the text is the one line to show."""


class BusyError(NoAreaError):
    """Another process is changing the folder of maps."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"Another command or server changes the maps in {folder} right now.")


@contextmanager
def changing(held: int) -> Iterator[None]:
    """Release the lock of the folder (`take`) at the end of the block; also one that the parent process handed down."""
    try:
        yield
    finally:
        # Unlock first: the parent process keeps the descriptor open until it sees this process end.
        fcntl.flock(held, fcntl.LOCK_UN)
        os.close(held)


def take(folder: Path) -> int:
    """The lock of the folder, a descriptor. Raises `BusyError`.

    It is the kernel's: it ends when one of the processes that have this descriptor open gives it back, or with the last
    of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + _GLANCE_S
    while not _taken(descriptor, fcntl.LOCK_EX):
        if time.monotonic() > until:
            os.close(descriptor)
            raise BusyError(folder)
        time.sleep(_GLANCE_S / 100)
    return descriptor


def is_changing(folder: Path) -> bool:
    """Return true while a process is changing the folder of maps."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return False  # only who may open it can hold it
    try:
        return not _taken(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Have a file's or folder's content on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
