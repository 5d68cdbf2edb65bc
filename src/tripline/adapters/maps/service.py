"""Maps for their administrator (`ports.maps.MapKeeper`): list, remove, upload and import.

A folder of maps receives or imports one file at a time, among all processes: the upload takes the lock of the folder
and hands it down to the importing process.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from tripline import observe
from tripline.adapters.maps import cancels, imports, locks, process
from tripline.adapters.maps.imports import Recorder
from tripline.domain.maps import (
    BadMapFile,
    ImportCancelled,
    ImportState,
    ImportStep,
    KnownMap,
    MapImport,
    Maps,
    MapsBusy,
    NothingToContinue,
    Standing,
)
from tripline.domain.refusals import NotFound
from tripline.later import Later
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage

if TYPE_CHECKING:
    from tripline.adapters.maps import files as map_files
else:
    map_files = Later("tripline.adapters.maps.files")

_HEAD_BYTES: Final = 64
_PBF: Final = b"OSMHeader"
"""Every map file has these bytes near its beginning."""
_SUFFIX: Final = ".osm.pbf"
_PART: Final = ".part"
_ENDS_S: Final = 30.0
"""How long a cancelled import may take to end: longer than its longest interval without a check."""
_log = observe.logger("map")


class _Order(NamedTuple):
    record: MapImport
    held: int
    """The lock of the folder."""


class MapService:
    """Implements `ports.maps.MapKeeper`. One for each process."""

    def __init__(self, folder: Path, *, most_bytes: int, clock: Clock) -> None:
        self._folder = folder.absolute()
        self.most_bytes = most_bytes
        self._clock = clock
        self._orders: asyncio.Queue[_Order] = asyncio.Queue()

    async def maps(self) -> Maps:
        return await asyncio.to_thread(self._maps)

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self._remove, name)

    @contextlib.asynccontextmanager
    async def arrival(self, name: str, *, country: str) -> AsyncIterator["Arrival"]:
        arriving = Arrival(self._folder, name, country, self._clock, self._orders.put_nowait)
        try:
            async with _ended_by(arriving.is_cancelled):
                with _written():
                    yield arriving
        finally:
            arriving.end()

    async def go_on(self, name: str) -> Standing:
        order = await asyncio.to_thread(self._again, name)
        self._orders.put_nowait(order)
        return _running(order)

    async def cancel(self, name: str) -> None:
        with _written():
            is_marked = await asyncio.to_thread(cancels.mark, self._folder, name)
        if not is_marked or not await self._settled(name):
            raise NotFound("map_import", name=name)

    async def run(self) -> None:
        """Import uploaded files until cancelled; first complete an interrupted cancellation."""
        name = await asyncio.to_thread(cancels.marked, self._folder)
        if name is not None:
            with contextlib.suppress(MapsBusy, Outage):
                await self._settled(name)
        while True:
            record, held = await self._orders.get()
            try:
                ended = await process.run(self._folder, record, held=held)
            except OSError as error:
                ended = process.Ended(-1, str(error))
            finally:
                # Only now: the mark stays in place until the lock is released.
                is_cancelled = cancels.marked(self._folder) == record.name
                os.close(held)
            if not ended.code:
                _log.info("map.imported", map=record.name)
            elif not is_cancelled:  # the cancelling request logs it
                _log.warning("map.import_ended", map=record.name, code=ended.code, error=ended.said)

    def _maps(self) -> Maps:
        known = []
        for each in map_files.described(self._folder):
            error = map_files.fault(self._folder, each)
            area = None if isinstance(each, map_files.LostAreaError) else each
            known.append(KnownMap(name=each.name, area=area, lost=None if error is None else error.why))
        return Maps(known, imports.standing(self._folder))

    async def _settled(self, name: str) -> bool:
        """Wait until a cancelled import is cleaned up; true if there was anything to clean up."""
        try:
            async with asyncio.timeout(_ENDS_S):
                while True:
                    if (done := await asyncio.to_thread(self._settle, name)) is not None:
                        return done
                    await asyncio.sleep(cancels.LOOK_S)
        except TimeoutError as error:
            raise MapsBusy from error

    def _settle(self, name: str) -> bool | None:
        """As `_settled`, without waiting; None while another process holds the lock."""
        try:
            with _written(), locks.changing(locks.take(self._folder)):
                if cancels.marked(self._folder) != name:
                    return True  # another process was faster
                found = cancels.settle(self._folder) == name
        except locks.BusyError:
            if cancels.marked(self._folder) != name:
                return True
            return None if imports.is_of(self._folder, name) else False
        if found:
            _log.info("map.import_cancelled", map=name)
        return found

    def _remove(self, name: str) -> None:
        if not map_files.is_known(self._folder, name):
            raise NotFound("map", name=name)
        try:
            with locks.changing(_lock(self._folder)), _written():
                map_files.remove(self._folder, name)
        except locks.NoAreaError as error:
            raise NotFound("map", name=name) from error
        _log.info("map.removed", map=name)

    def _again(self, name: str) -> _Order:
        if not imports.is_of(self._folder, name):
            raise NothingToContinue(name=name)
        with _written(), contextlib.ExitStack() as opened:
            held = _lock(self._folder)
            opened.callback(os.close, held)
            record = imports.read(self._folder)
            if record is None or record.name != name or not imports.has_file(record):
                raise NothingToContinue(name=name)
            order = _Order(
                Recorder(self._folder, replace(record, reason=None, bad_file=False), self._clock).record, held
            )
            opened.pop_all()
            return order


class Arrival:
    """A file on its way."""

    def __init__(
        self, folder: Path, name: str, country: str, clock: Callable[[], int], ready: Callable[[_Order], None]
    ) -> None:
        self._folder = folder
        self._whole = folder / imports.UPLOADS / f"{name}{_SUFFIX}"
        self._part = self._whole.with_name(self._whole.name + _PART)
        now_ms = clock()
        self._about = MapImport(
            name=name, country=country, file=str(self._whole), begun_ms=now_ms, told_ms=now_ms, step=ImportStep.UPLOAD
        )
        self._clock = clock
        self._ready = ready
        self._head = b""
        self._size = 0
        self._file: IO[bytes] | None = None
        self._held: int | None = None
        self._recorder: Recorder | None = None
        self._before: MapImport | None = None
        self._order: _Order | None = None
        self._guard = threading.Lock()
        """A thread goes on when who waits for it does not."""
        self._is_over = False

    def is_cancelled(self) -> bool:
        return self._recorder is not None and cancels.marked(self._folder) == self._about.name

    async def write(self, piece: bytes) -> None:
        """Store a piece. Raises `BadMapFile` if it is not a map file, `MapsBusy`, `OSError`."""
        if self._file is None:
            self._head += piece
            if len(self._head) < _HEAD_BYTES:
                return
            self._check()
            piece = self._head
        await asyncio.to_thread(self._write, piece)

    async def finish(self) -> Standing:
        if self._file is None:
            self._check()
            await asyncio.to_thread(self._write, self._head)
        return _running(await asyncio.to_thread(self._finish))

    def end(self) -> None:
        """Queue the finished file for import; otherwise delete everything."""
        with self._guard:
            self._is_over = True
            if self._order is not None:
                self._ready(self._order)
            self._leave()

    def _leave(self) -> None:
        is_cancelled = self.is_cancelled()
        if self._file is not None:
            self._file.close()
            self._part.unlink(missing_ok=True)
        if self._recorder is not None:
            imports.write(self._folder, self._before)
        if is_cancelled:
            cancels.settle(self._folder)
            _log.info("map.import_cancelled", map=self._about.name)
        if self._held is not None:
            os.close(self._held)

    def _check(self) -> None:
        if not self._head:
            raise BadMapFile("empty")
        if _PBF not in self._head[:_HEAD_BYTES]:
            raise BadMapFile("foreign")

    def _write(self, piece: bytes) -> None:
        with self._guard:
            if self._is_over:
                return
            if self._file is None:
                self._held = _lock(self._folder)
                self._before = imports.read(self._folder)
                self._recorder = Recorder(self._folder, self._about, self._clock)
                self._part.parent.mkdir(exist_ok=True)
                self._file = self._part.open("wb")
            assert self._recorder is not None
            self._file.write(piece)
            self._size += len(piece)
            self._recorder.count(self._size)

    def _finish(self) -> _Order:
        with self._guard:
            assert not self._is_over
            assert self._file is not None
            assert self._recorder is not None
            assert self._held is not None
            self._file.close()
            locks.sync(self._part)
            imports.clear(self._folder, keep={self._part})
            self._part.replace(self._whole)
            locks.sync(self._whole.parent)
            self._recorder.step(ImportStep.ROADS)
            self._order = _Order(self._recorder.record, self._held)
            self._file = self._recorder = self._held = None
            return self._order


@contextlib.asynccontextmanager
async def _ended_by(is_over: Callable[[], bool]) -> AsyncIterator[None]:
    """Cancel the body once `is_over` returns true. Raises `ImportCancelled`."""
    loop = asyncio.get_running_loop()
    next_look: asyncio.TimerHandle

    def look() -> None:
        nonlocal next_look
        if is_over():
            scope.reschedule(loop.time())
        else:
            next_look = loop.call_later(cancels.LOOK_S, look)

    next_look = loop.call_later(cancels.LOOK_S, look)
    try:
        async with asyncio.timeout(None) as scope:
            yield
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise ImportCancelled from error
    finally:
        next_look.cancel()


@contextlib.contextmanager
def _written() -> Iterator[None]:
    """Turns a failed write into an outage."""
    try:
        yield
    except OSError as error:
        raise Outage(f"The folder of maps cannot be written: {error.strerror}.") from error


def _running(order: _Order) -> Standing:
    return Standing(record=order.record, stage=ImportState.RUNNING, can_continue=False)


def _lock(folder: Path) -> int:
    try:
        with _written():
            return cancels.take(folder)
    except locks.BusyError as error:
        raise MapsBusy from error
