"""Whose turn it is to import: one file after the other, and how large a file may be.

An import takes one core for some seconds and the memory of its rows; several at once would take them all from those who
only want a page. So one runs and a few wait; more are asked to come again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from tripline import config
from tripline.domain.refusals import TryLater
from tripline.wire import csv_files

WAITING: Final = 4
"""Imports that may wait for the one that runs."""
COME_AGAIN_S: Final = 10
_MIB: Final = 1_048_576


class ManyImports(TryLater):
    """Too many files are being imported at this moment."""

    code = "import.busy"


class ImportDesk:
    """One for each process."""

    def __init__(self, settings: config.Rest) -> None:
        self.most_bytes = settings.import_mib * _MIB
        self.most_rows = settings.import_rows
        self._turn = asyncio.Lock()
        self._here = 0

    def opened(self, path: Path) -> IO[bytes]:
        """A file on this machine, to be closed by the caller. Raises `BadFile`: too large, or no plain file."""
        if not path.is_file():
            raise csv_files.BadFile("The file must be a plain file: it is read more than once.")
        if path.stat().st_size > self.most_bytes:
            raise csv_files.BadFile(f"The file has more than {self.most_bytes // _MIB} MiB (setting rest.import_mib).")
        try:
            return path.open("rb")
        except OSError as error:
            raise csv_files.BadFile(f"The file cannot be read: {error.strerror}.") from error

    @asynccontextmanager
    async def place(self) -> AsyncIterator[asyncio.Lock]:
        """A place in the queue, to be taken before a file is received; the lock is held while it is imported.

        Raises `ManyImports`.
        """
        if self._here > WAITING:
            raise ManyImports("Too many files are being imported; send yours again later.", after_s=COME_AGAIN_S)
        self._here += 1
        try:
            yield self._turn
        finally:
            self._here -= 1
