"""Exports: all rows of a list as a file, made beside other work, a few thousand rows at a time.

An export is a row first; whichever process serves pages makes it, one at a time, and puts the file into the store in
pieces. So it goes on when its page is left, any process shows how far it is and hands the file out, and a process that
dies costs a minute. Rows are read page by page by key, each page as its owner may see it then; memory stays the same
however many they are.

Not here: which rows a list has and what stands in their cells: a `Book`, given by whoever knows lists (`portal/`).
"""

import asyncio
import io
import re
import string
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final, Protocol

import msgspec

from tripline import cooperative
from tripline.domain import exports
from tripline.domain.access import Actor
from tripline.domain.exports import Event, Export, Form, ManyExports, NotReady
from tripline.domain.ids import RecordId, TimeIds
from tripline.domain.refusals import NotFound, Refusal
from tripline.later import Later
from tripline.observe import SIGNAL_EXPORT_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services.hints import Hint
from tripline.services.rounds import Rounds
from tripline.store import exports as rows
from tripline.store.accounts import accounts
from tripline.store.browsing.turns import Place
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import csv_files
from tripline.wire.csv_files import Cell

if TYPE_CHECKING:
    import xlsxwriter
else:
    xlsxwriter = Later("xlsxwriter")

AT_ONCE: Final = 2_000
"""Rows of a page; reading them takes about 40 ms."""
PART: Final = 2**20
"""Bytes of a piece of a file."""
LOOK_S: Final = 30.0
"""How often to look unasked: for what other processes left, and for what is to be forgotten."""
FORGOTTEN_AT_ONCE: Final = 5

log = logger("export")


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows of a list."""

    rows: Sequence[Sequence[Cell]]
    last: Place | None
    """Where the next ones begin; None: there are no more."""


class Book(Protocol):
    """One list, as an export reads it. `question` is what the export's owner asked."""

    def heading(self, question: bytes) -> Sequence[str]:
        """What stands above each column."""

    def count(self, tx: ReadTx, actor: Actor, question: bytes) -> int:
        """How many rows there are. Raises refusals."""

    def sheet(self, tx: ReadTx, actor: Actor, question: bytes, *, after: Place | None, limit: int) -> Sheet:
        """So many rows behind the place. Raises refusals."""


def begin(
    tx: WriteTx,
    *,
    actor: Actor,
    noun: str,
    form: Form,
    question: bytes,
    name: str,
    ids: TimeIds,
    now_ms: int,
) -> tuple[Export, Hint]:
    """A new export of the actor, and the hint for after the commit. Raises `ManyExports`."""
    own = rows.of_account(tx, actor.user_id)
    if sum(each.state in exports.UNFINISHED for each in own) >= exports.OF_ACCOUNT:
        raise ManyExports("own", most=exports.OF_ACCOUNT)
    if rows.unfinished(tx) >= exports.OF_ALL:
        raise ManyExports("all")
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
    """The actor's exports, the newest first."""
    return rows.of_account(tx, actor.user_id)


def cancel(tx: WriteTx, *, actor: Actor, export_id: RecordId) -> Export:
    """The actor's export, which goes on no longer if it was under way. Raises `NotFound`."""
    read(tx, actor=actor, export_id=export_id)
    rows.cancel(tx, actor.user_id, export_id)
    return read(tx, actor=actor, export_id=export_id)


def piece(tx: ReadTx, *, actor: Actor, export_id: RecordId, no: int) -> bytes | None:
    """A piece of the file; None behind the last. Raises `NotFound` and `NotReady`."""
    if read(tx, actor=actor, export_id=export_id).state is not exports.State.DONE:
        raise NotReady()
    return rows.piece(tx, export_id, no)


class _GivenUpError(Exception):
    """The export is not this maker's any more: it was cancelled, or another one took it."""


class Exporter:
    """Makes exports, one at a time. `books` are the lists by their nouns; `maker_id` names this process."""

    def __init__(
        self,
        *,
        store: Store,
        signals: Signals,
        clock: Clock,
        maker_id: str,
        books: Mapping[str, Book],
    ) -> None:
        self._store = store
        self._clock = clock
        self._maker_id = maker_id
        self._books = books
        self._rounds = Rounds(signals, SIGNAL_EXPORT_DUE, look_s=LOOK_S)

    async def run(self) -> None:
        """Make what waits, until cancelled. Trouble costs a pause."""
        await self._rounds.run(self.make_next, log=log, failed="export.failed")

    async def make_next(self) -> int:
        """Make the export that waits longest and forget some whose time is over; how many of both. Raises `Outage`."""
        now_ms = self._clock()
        gone = await self._store.read_short(lambda tx: rows.old(tx, now_ms=now_ms, limit=FORGOTTEN_AT_ONCE))
        if gone:
            await self._store.write(lambda tx: rows.forget(tx, gone))
        if not await self._store.read_short(rows.unfinished):
            return len(gone)
        taken = await self._store.write(lambda tx: rows.take(tx, maker_id=self._maker_id, now_ms=now_ms))
        if taken is None:
            return len(gone)
        try:
            await self._make(taken)
        except _GivenUpError:
            log.info("export.cancelled", noun=taken.noun)
        return 1

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
        """Put the file into the store; how many rows it has."""
        book = self._books[taken.noun]
        total = await self._store.read(lambda tx: book.count(tx, self._owner(tx, taken), taken.question))
        await self._store.write(lambda tx: rows.expect(tx, taken.id, maker_id=self._maker_id, total=total))
        writer: _Csv | _Xlsx = _Csv() if taken.form is Form.CSV else _Xlsx()
        with writer:
            writer.add([book.heading(taken.question)])
            done, after, no = 0, None, 0
            while True:
                sheet = await self._store.read(
                    lambda tx, after=after: book.sheet(  # type: ignore[misc]
                        tx, self._owner(tx, taken), taken.question, after=after, limit=AT_ONCE
                    )
                )
                await asyncio.to_thread(writer.add, sheet.rows)
                done, after = done + len(sheet.rows), sheet.last
                no += await self._add(taken, done, no, writer.ready())
                if after is None:
                    break
            await asyncio.to_thread(writer.end)
            while pieces := await asyncio.to_thread(writer.rest):
                no += await self._add(taken, done, no, pieces)
        return done

    def _owner(self, tx: ReadTx, taken: Export) -> Actor:
        """Who asked, as the account is now. Raises `NotFound` when it is gone or disabled."""
        actor = accounts.actor(tx, taken.account_id)
        if actor is None:
            raise NotFound("account_gone")
        return actor

    async def _add(self, taken: Export, done: int, no: int, pieces: Sequence[bytes]) -> int:
        """Keep pieces of the file from this number on, and how far it is; how many. Raises `_GivenUpError`."""
        numbered = list(enumerate(pieces, no))
        now_ms = self._clock()
        held = await self._store.write(
            lambda tx: rows.add(tx, taken.id, maker_id=self._maker_id, now_ms=now_ms, done=done, pieces=numbered)
        )
        if not held:
            raise _GivenUpError
        return len(numbered)

    async def _finish(self, taken: Export, event: Event) -> None:
        now_ms = self._clock()
        held = await self._store.write(
            lambda tx: rows.finish(tx, taken.id, maker_id=self._maker_id, event=event, now_ms=now_ms)
        )
        if not held:
            raise _GivenUpError


class _Csv:
    """A CSV file on its way, in UTF-8 with a byte-order mark, that no spreadsheet takes for formulas."""

    def __init__(self) -> None:
        self._write = csv_files.written
        self._ready: list[bytes] = []

    def __enter__(self) -> "_Csv":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def add(self, sheet: Sequence[Sequence[Cell]]) -> None:
        """Write these rows."""
        self._ready.append(self._write(cooperative.each(sheet)))
        self._write = csv_files.written_on

    def ready(self) -> list[bytes]:
        """What is written by now."""
        ready, self._ready = self._ready, []
        return [b"".join(ready)]

    def end(self) -> None:
        """There are no more rows."""

    def rest(self) -> list[bytes]:
        """Nothing: all was ready before."""
        return []


class _Xlsx:
    """A workbook of one sheet on its way, in a file of its own that has no name; text stays text.

    XlsxWriter makes everything but the rows: its own take 65 µs for one of six texts, ours 18.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed at the end of the block around it
        self._book = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(_empty_book()) as empty:
            for name in empty.namelist():
                if name != _SHEET:
                    self._book.writestr(name, empty.read(name))
            head, self._tail = empty.read(_SHEET).split(_ROWS)
        self._sheet = self._book.open(_SHEET, "w", force_zip64=True)
        self._sheet.write(head.replace(_SIZE, b"") + b"<sheetData>")
        self._at = 0

    def __enter__(self) -> "_Xlsx":
        return self

    def __exit__(self, *_: object) -> None:
        self._sheet.close()
        self._book.close()
        self._file.close()

    def add(self, sheet: Sequence[Sequence[Cell]]) -> None:
        """Write these rows, as far as a sheet has room."""
        fitting = sheet[: _ROWS_MAX - self._at]
        rows = [_row(number, cells) for number, cells in enumerate(cooperative.each(fitting), self._at + 1)]
        self._sheet.write("".join(rows).encode())
        self._at += len(fitting)

    def ready(self) -> list[bytes]:
        """Nothing, before the end."""
        return []

    def end(self) -> None:
        """There are no more rows: put the workbook together."""
        self._sheet.write(b"</sheetData>" + self._tail)
        self._sheet.close()
        self._book.close()
        self._file.seek(0)

    def rest(self) -> list[bytes]:
        """The next piece of the file."""
        piece = self._file.read(PART)
        return [piece] if piece else []


_SHEET: Final = "xl/worksheets/sheet1.xml"
_ROWS: Final = b"<sheetData/>"
_SIZE: Final = b'<dimension ref="A1"/>'
"""How large XlsxWriter finds the sheet without rows; readers do without it."""
_ROWS_MAX: Final = 1_048_576
"""Of a sheet (ECMA-376, and Excel's own limit), as the number of characters of a text."""
_TEXT_MAX: Final = 32_767
_MARKED: Final = re.compile("[&<>\x00-\x08\x0b-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
"""What XML takes for its own or does not take, and what looks like our way around that (ECMA-376, ST_Xstring)."""
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_COLUMNS: Final = tuple(a + b for a in ("", *string.ascii_uppercase) for b in string.ascii_uppercase)
"""Names of columns: A to Z, AA to ZZ."""


def _empty_book() -> IO[bytes]:
    """A workbook with one sheet, whose first row stays in sight."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    book.add_worksheet().freeze_panes(1, 0)
    book.close()
    return file


def _row(number: int, cells: Sequence[Cell]) -> str:
    """A row as XML (ECMA-376, 18.3.1.73)."""
    written = [
        f'<c r="{name}{number}" t="inlineStr"><is><t xml:space="preserve">{_text(cell)}</t></is></c>'
        if isinstance(cell, str)
        else f'<c r="{name}{number}"><v>{cell!r}</v></c>'
        for name, cell in zip(_COLUMNS, cells, strict=False)
        if cell is not None
    ]
    return f'<row r="{number}">{"".join(written)}</row>'


def _text(text: str) -> str:
    return _MARKED.sub(_unmarked, text[:_TEXT_MAX])


def _unmarked(found: re.Match[str]) -> str:
    marked = found[0]
    if len(marked) > 1:
        return f"_x005F{marked}"
    return _ENTITIES.get(marked) or f"_x{ord(marked):04X}_"
