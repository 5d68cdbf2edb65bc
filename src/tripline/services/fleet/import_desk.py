"""Lets one import run at a time, and bounds the size of its file.

An import takes one core for some seconds and the memory of its rows; several at once would take them all from those who
only want a page. So one runs and a few wait; more are asked to come again. A file that is still on its way takes no
such place, however slow it is: it counts among those that arrive, of its account, of its company and of all.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Final

from tripline import config
from tripline.domain.refusals import TryLater
from tripline.wire import csv_files

WAITING: Final = 4
"""Imports that may wait for the one that runs."""
COME_AGAIN_S: Final = 10
OF_ACCOUNT: Final = 8
OF_COMPANY: Final = 16
OF_ALL: Final = 32
"""Files that may arrive at the same time."""
WHOLE_FILES: Final = 16
"""As many of the largest files as these may be on disk together, arriving or waiting."""
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
        self.most_spooled = WHOLE_FILES * self.most_bytes
        self.spooled = 0
        """Bytes of files that arrive or wait."""
        self._arriving: defaultdict[str, int] = defaultdict(int)
        self._all = 0

    def opened(self, path: Path) -> IO[bytes]:
        """A file on this machine, to be closed by the caller. Raises `BadFile`: too large, or no plain file."""
        if not path.is_file():
            raise csv_files.BadFile("irregular")
        if path.stat().st_size > self.most_bytes:
            raise csv_files.BadFile("large", most=self.most_bytes // _MIB)
        try:
            return path.open("rb")
        except OSError as error:
            raise csv_files.BadFile("unreadable", trouble=str(error.strerror)) from error

    @contextmanager
    def arrival(self, *, account: str, company: str) -> Iterator[Callable[[int], None]]:
        """Let a file arrive, and be there until the end; to be called with the size of each piece.

        Raises `ManyImports` when too many arrive, or too many bytes are there.
        """
        if self._arriving[account] >= OF_ACCOUNT or self._arriving[company] >= OF_COMPANY or self._all >= OF_ALL:
            raise ManyImports("arriving", after_s=COME_AGAIN_S)
        size = 0

        def take(piece: int) -> None:
            nonlocal size
            if self.spooled + piece > self.most_spooled:
                raise ManyImports("bytes", after_s=COME_AGAIN_S)
            self.spooled += piece
            size += piece

        for each in (account, company):
            self._arriving[each] += 1
        self._all += 1
        try:
            yield take
        finally:
            self._all -= 1
            for each in (account, company):
                self._arriving[each] -= 1
                if not self._arriving[each]:
                    del self._arriving[each]
            self.spooled -= size

    @asynccontextmanager
    async def place(self) -> AsyncIterator[asyncio.Lock]:
        """A place in the queue, to be taken when the file is here; the lock is held while it is imported.

        Raises `ManyImports`.
        """
        if self._here > WAITING:
            raise ManyImports("files", after_s=COME_AGAIN_S)
        self._here += 1
        try:
            yield self._turn
        finally:
            self._here -= 1
