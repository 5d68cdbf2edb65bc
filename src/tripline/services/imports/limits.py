"""Limits on import files, while they arrive and on disk, and the turns in which they are imported.

An import takes one core for some seconds and the memory of its rows. So one long import runs at a time, and one short
one beside it, which never waits behind a long one. Every bound is shared between operators, companies and accounts
(`services/shares.py`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from tripline import config
from tripline.domain.refusals import TryLater
from tripline.domain.shares import Held, Holder, Shares
from tripline.services.shares import End, Places, Turns
from tripline.wire import csv_files

COME_AGAIN_S: Final = 10
ARRIVING: Final = Shares.of(32)
"""Most files at the same time: arriving, waiting, or being imported."""
WHOLE_FILES: Final = 16
"""Bound on the bytes on disk, in files of the largest size."""
SHORT_BYTES: Final = 262_144
"""A file up to this size is a short import: some thousand rows, checked in about a tenth of a second."""
_MIB: Final = 1_048_576


class ManyImports(TryLater):
    """Too many files are being imported at this moment."""

    code = "import.busy"


class ImportLimits:
    """One for each process."""

    def __init__(self, settings: config.Rest) -> None:
        self.most_bytes = settings.import_mib * _MIB
        self.most_rows = settings.import_rows
        self.files = Places(ARRIVING)
        self.bytes = Places(Shares.of(WHOLE_FILES * self.most_bytes))
        """Bytes of the current files."""
        self.short, self.long = Turns(), Turns()
        self.downloads = Turns()
        """For writing blocks of bad rows: several computing threads would delay the event loop."""

    def opened(self, path: Path) -> IO[bytes]:
        """Open a file on this machine; the caller closes it. Raises `BadFile` if it is too large, or not a plain
        file."""
        if not path.is_file():
            raise csv_files.BadFile("irregular")
        if path.stat().st_size > self.most_bytes:
            raise csv_files.BadFile("large", most=self.most_bytes // _MIB)
        try:
            return path.open("rb")
        except OSError as error:
            raise csv_files.BadFile("unreadable", trouble=str(error.strerror)) from error

    @asynccontextmanager
    async def arrival(self, holder: Holder) -> AsyncIterator["Arrival"]:
        """Receive a file, which counts against the limits for the length of the block. Raises `ManyImports` if the
        holder's share is full, or if the file has to make room for another holder's."""
        async with self.files.place(
            holder,
            full=ManyImports("arriving", after_s=COME_AGAIN_S),
            gave_way=ManyImports("gave_way", after_s=COME_AGAIN_S),
        ) as file:
            spooled = self.bytes.enter(holder, file.item, size=0)
            assert spooled is not None, "nothing always fits"
            try:
                yield Arrival(self, file, spooled)
            finally:
                self.bytes.leave(spooled)


class Arrival:
    """A file being received or imported."""

    def __init__(self, limits: ImportLimits, file: Held[End], spooled: Held[End]) -> None:
        self._limits = limits
        self._file = file
        self._bytes = spooled

    def take(self, piece: int) -> None:
        """Count a piece of this many bytes. Raises `ManyImports`."""
        if not self._limits.bytes.grow(self._bytes, piece):
            raise ManyImports("bytes", after_s=COME_AGAIN_S)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the whole file may be imported; from then on it does not make room for others."""
        size = self._bytes.size
        turns = self._limits.short if size <= SHORT_BYTES else self._limits.long
        async with turns.turn(self._file.holder.operator, size=size):
            self._file.stays = self._bytes.stays = True
            yield
