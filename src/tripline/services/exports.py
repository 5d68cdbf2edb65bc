"""Exports: all rows of a list as a file, made beside other work, a few thousand rows at a time.

An export begins as a row; any process that serves pages makes the file, and puts it into the store in pieces. So an
export continues after its owner leaves the page, every process shows its progress and serves its file, and a process
that dies costs a minute. Rows are read page by page by key, each page as its owner may see it then; the memory needed
does not depend on their number.

Not here: the rows and cells of a list (a `Book`, which the portal's lists implement).
"""

import asyncio
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol

import msgspec

from tripline import cooperative
from tripline.domain import exports
from tripline.domain.access import Actor
from tripline.domain.exports import Event, Export, Form, ManyExports, NotReady
from tripline.domain.ids import RecordId, TimeIds
from tripline.domain.refusals import NotFound, Refusal
from tripline.domain.shares import Rota
from tripline.later import Later
from tripline.observe import SIGNAL_EXPORT_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import shares
from tripline.services.notifications import Notification
from tripline.services.poll_loop import PollLoop
from tripline.store import exports as rows
from tripline.store.accounts import accounts
from tripline.store.listing.pages import Place
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import csv_files
from tripline.wire.csv_files import Cell

AT_ONCE: Final = 2_000
"""Rows of a page; reading them takes about 40 ms."""
LOOK_S: Final = 30.0
"""Interval between checks, without a notification, for abandoned and expired exports."""
FORGOTTEN_AT_ONCE: Final = 1
"""Files that one transaction deletes."""
TOGETHER: Final = 2
"""Exports that a process makes at a time, of two operators."""

log = logger("export")


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows of a list."""

    rows: Sequence[Sequence[Cell]]
    last: Place | None
    """Position of the next rows; None: there are no more."""


class Book(Protocol):
    """One list, as an export reads it. `question`: the stored query of the export's owner."""

    def heading(self, question: bytes) -> Sequence[str]:
        """Headings of the columns."""

    def count(self, tx: ReadTx, actor: Actor, question: bytes) -> int:
        """Number of rows. Raises refusals."""

    def sheet(self, tx: ReadTx, actor: Actor, question: bytes, *, after: Place | None, limit: int) -> Sheet:
        """The next rows after a position. Raises refusals."""


def begin(
    tx: WriteTx, *, actor: Actor, noun: str, form: Form, question: bytes, name: str, ids: TimeIds, now_ms: int
) -> tuple[Export, Notification]:
    """Begin an export; return it and the notification for after the commit. Raises `ManyExports`."""
    own = rows.of_account(tx, actor.user_id)
    if sum(each.state in exports.UNFINISHED for each in own) >= exports.OF_ACCOUNT:
        raise ManyExports("own", most=exports.OF_ACCOUNT)
    going = exports.SHARES.room(rows.held(tx), shares.holder(tx, actor))
    if going is None:
        raise ManyExports("all")
    for each in going:
        rows.give_way(tx, each.item)
    finished = [each.id for each in own if each.state not in exports.UNFINISHED]
    if surplus := finished[exports.KEPT - 1 :]:
        rows.forget(tx, surplus)
    new = Export(
        id=RecordId(ids.next(now_ms=now_ms)),
        account_id=actor.user_id,
        created_ms=now_ms,
        noun=noun,
        form=form,
        question=question,
        name=name,
        state=exports.State.WAITING,
        done=0,
        total=None,
        size=0,
        until_ms=now_ms + 24 * exports.KEPT_MS,
    )
    rows.insert_new(tx, new)
    return new, (SIGNAL_EXPORT_DUE, new.id)


def read(tx: ReadTx, *, actor: Actor, export_id: RecordId) -> Export:
    """The actor's own export. Raises `NotFound`, also for another's."""
    found = rows.find(tx, actor.user_id, export_id)
    if found is None:
        raise NotFound("export")
    return found


def own(tx: ReadTx, *, actor: Actor) -> Sequence[Export]:
    """The actor's exports, newest first."""
    return rows.of_account(tx, actor.user_id)


def cancel(tx: WriteTx, *, actor: Actor, export_id: RecordId) -> Export:
    """Cancel the actor's export if it is unfinished, and return it. Raises `NotFound`."""
    read(tx, actor=actor, export_id=export_id)
    rows.cancel(tx, actor.user_id, export_id)
    return read(tx, actor=actor, export_id=export_id)


def piece(tx: ReadTx, *, actor: Actor, export_id: RecordId, no: int) -> bytes | None:
    """A piece of the file; None after the last. Raises `NotFound` and `NotReady`."""
    if read(tx, actor=actor, export_id=export_id).state is not exports.State.DONE:
        raise NotReady()
    return rows.piece(tx, export_id, no)


class _GivenUpError(Exception):
    """The export was cancelled, or another process took it over."""


class Exporter:
    """Makes exports, up to two at a time but one per operator; operators take turns.

    `books`: the lists by their nouns; `maker_id`: the name of this process.
    """

    def __init__(
        self, *, store: Store, signals: Signals, clock: Clock, maker_id: str, books: Mapping[str, Book]
    ) -> None:
        self._store = store
        self._clock = clock
        self._maker_id = maker_id
        self._books = books
        self._poll_loop = [PollLoop(signals, SIGNAL_EXPORT_DUE, look_s=LOOK_S) for _ in range(TOGETHER)]
        self._rota = Rota()
        self._making: set[str] = set()
        """The operators whose exports are under way."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in self._poll_loop:
                tasks.create_task(each.run(self.make_next, log=log, failed="export.failed"))

    async def make_next(self) -> int:
        """Make the next export and delete an expired one; return the number of both. Raises `Outage`."""
        now_ms = self._clock()
        gone = await self._store.read_short(lambda tx: rows.old(tx, now_ms=now_ms, limit=FORGOTTEN_AT_ONCE))
        if gone:
            await self._store.write(lambda tx: rows.forget(tx, gone))
        if not await self._store.read_short(rows.unfinished):
            return len(gone)
        taken, operator = await self._store.write(lambda tx: self._next(tx, now_ms))
        if taken is None:
            return len(gone)
        self._making.add(operator)
        try:
            await self._make(taken)
        except _GivenUpError:
            log.info("export.cancelled", noun=taken.noun)
        finally:
            self._making.discard(operator)
        return 1

    def _next(self, tx: WriteTx, now_ms: int) -> tuple[Export | None, str]:
        """Claim the next export for this process; return it and its operator."""
        waiting = [each for each in rows.waiting(tx, now_ms=now_ms) if each.holder.operator not in self._making]
        while waiting:
            following = self._rota.next(waiting, lambda each: (each.holder.operator, 0))
            taken = rows.take(tx, following.item, maker_id=self._maker_id, now_ms=now_ms)
            if taken is not None:
                return taken, following.holder.operator
            waiting.remove(following)
        return None, ""

    async def _make(self, taken: Export) -> None:
        try:
            done = await self._written(taken)
        except Refusal as refusal:
            log.info("export.refused", noun=taken.noun, code=refusal.code)
            await self._finish(taken, Event.FAIL)
            return
        except _GivenUpError:
            raise
        except Exception:
            await self._finish(taken, Event.FAIL)
            raise
        await self._finish(taken, Event.FINISH)
        log.info("export.done", noun=taken.noun, rows=done)

    async def _written(self, taken: Export) -> int:
        """Write the file into the store; return its number of rows."""
        book = self._books[taken.noun]
        total = await self._store.read(lambda tx: book.count(tx, self._owner(tx, taken), taken.question))
        await self._store.write(lambda tx: rows.expect(tx, taken.id, maker_id=self._maker_id, total=total))
        writer: Csv | Xlsx = Csv() if taken.form is Form.CSV else Xlsx()
        try:
            done, after, no, piece = 0, None, 0, writer.add([book.heading(taken.question)])
            while True:
                sheet = await self._store.read(
                    lambda tx, after=after: book.sheet(  # type: ignore[misc]
                        tx, self._owner(tx, taken), taken.question, after=after, limit=AT_ONCE
                    )
                )
                piece += await asyncio.to_thread(writer.add, sheet.rows)
                done, after = done + len(sheet.rows), sheet.last
                no += await self._add(taken, done, no, piece)
                if after is None:
                    break
                piece = b""
            while piece := await asyncio.to_thread(writer.rest):
                no += await self._add(taken, done, no, piece)
        finally:
            await asyncio.to_thread(writer.close)
        return done

    def _owner(self, tx: ReadTx, taken: Export) -> Actor:
        """The export's owner with current permissions. Raises `NotFound` if the account is deleted or disabled."""
        actor = accounts.actor(tx, taken.account_id)
        if actor is None:
            raise NotFound("account_gone")
        return actor

    async def _add(self, taken: Export, done: int, no: int, piece: bytes) -> int:
        """Store the piece `no` of the file unless it is empty, and the progress; return the number of pieces. Raises
        `_GivenUpError`."""
        pieces = [(no, piece)] if piece else []
        now_ms = self._clock()
        held = await self._store.write(
            lambda tx: rows.add(tx, taken.id, maker_id=self._maker_id, now_ms=now_ms, done=done, pieces=pieces)
        )
        if not held:
            raise _GivenUpError
        return len(pieces)

    async def _finish(self, taken: Export, event: Event) -> None:
        now_ms = self._clock()
        held = await self._store.write(
            lambda tx: rows.finish(tx, taken.id, maker_id=self._maker_id, event=event, now_ms=now_ms)
        )
        if not held:
            raise _GivenUpError


if TYPE_CHECKING:
    import xlsxwriter
else:
    xlsxwriter = Later("xlsxwriter")

PART: Final = 2**20
"""Bytes of a piece of a file."""


class Csv:
    """A CSV file in UTF-8 with a byte-order mark, safe from formulas in spreadsheets."""

    def __init__(self) -> None:
        self._write = csv_files.written

    def add(self, sheet: Sequence[Sequence[Cell]]) -> bytes:
        """The bytes of these rows."""
        write, self._write = self._write, csv_files.written_on
        return write(cooperative.each(sheet))

    def rest(self) -> bytes:
        """Nothing: `add` returned everything."""
        return b""

    def close(self) -> None:
        """Do nothing: no file is open."""


class Xlsx:
    """A workbook of one sheet, in a temporary folder; text stays text.

    XlsxWriter keeps one row in memory (`constant_memory`) and truncates rows and texts at the limits of a sheet.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tripline-export-")
        self._path = Path(self._folder.name) / "book.xlsx"
        self._book = xlsxwriter.Workbook(str(self._path), {"constant_memory": True, "tmpdir": self._folder.name})
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._at = 0
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        """A cancelled export closes the workbook while a thread may still write rows."""

    def add(self, sheet: Sequence[Sequence[Cell]]) -> bytes:
        """Nothing: the file begins when all rows are known."""
        with self._lock:
            for row, cells in enumerate(cooperative.each(sheet), self._at):
                for column, cell in enumerate(cells):
                    if isinstance(cell, str):
                        self._write_text(row, column, cell)
                    elif cell is not None:
                        self._sheet.write_number(row, column, cell)
            self._at += len(sheet)
        return b""

    def rest(self) -> bytes:
        """The next piece of the file, whose rows are complete; empty at its end."""
        with self._lock:
            if self._file is None:
                self._book.close()
                self._file = self._path.open("rb")
            return self._file.read(PART)

    def close(self) -> None:
        with self._lock, self._folder:
            if self._file is None:
                self._book.close()
            else:
                self._file.close()

    def _write_text(self, row: int, column: int, text: str) -> None:
        if text.startswith("<r>") and text.endswith("</r>"):
            # write_string would parse this as the XML of a rich text; as three runs it is escaped.
            self._sheet.write_rich_string(row, column, text[:1], text[1:2], text[2:])
        else:
            self._sheet.write_string(row, column, text)
