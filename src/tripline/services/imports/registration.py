"""Bulk registration: the rows of a CSV file, each like one registration (spec/gaps H17), checked and then stored.

A file is read and checked outside any transaction, on a thread: every row by the rules of a single registration, names
against the rest of the file and against registered ones. Then rows are stored, by default all or none, in one
transaction that only inserts; if bad rows are to be skipped, rows are independent and stored a few hundred at a time,
so that devices hardly wait. If a name is registered between check and insert, that transaction is rolled back and its
rows are checked again: of two writers of one name, the first gets it and the other gets a refusal.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Any, Final

import msgspec

from tripline import cooperative
from tripline.domain import access
from tripline.domain.access import Actor
from tripline.domain.companies import Company
from tripline.domain.ids import RowNo, TimeIds
from tripline.domain.refusals import BadParameter, Conflict, Kind, Refusal
from tripline.services.fleet import companies, history
from tripline.services.imports import draft_rows
from tripline.services.imports.kinds import ImportKind, Key
from tripline.store import bulk
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import csv_files

ERRORS_TOLD: Final = 1_000
"""Most bad rows that are reported one by one; all are counted."""
CHUNK: Final = 250
"""Independent rows stored in one transaction: some 10 ms of the writer's time."""
ATTEMPTS: Final = 3
"""Most checks of the same rows while others register their names."""

_AT_A_STRETCH: Final = 64
"""Rows between two reports of progress."""

Progress = Callable[[str, int], None]
"""Called with the current step ("checked", "kept") and the number of rows so far."""


class TooManyRows(Refusal):
    """A file has more rows than one bulk registration takes."""

    code = "import.too_many_rows"
    kind = Kind.TOO_LARGE


class Contended(Conflict):
    """Others go on registering the names that are in the file."""

    code = "import.contended"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an import."""

    dry_run: bool = False
    """Check only."""
    skip_bad_rows: bool = False
    """Store the good rows; otherwise all rows or none."""
    encoding: csv_files.Encoding | None = None
    """The encoding that the sender named."""
    most_rows: int = 200_000


class BadRow(msgspec.Struct, frozen=True):
    """The reason a row cannot be registered; `number` as a spreadsheet shows it."""

    number: int
    refusal: Refusal


class Report(msgspec.Struct):
    """The result of an import."""

    dry_run: bool
    rows: int = 0
    created: int = 0
    bad: int = 0
    """Number of bad rows; the first `ERRORS_TOLD` of them, by number, are in `errors`."""
    errors: list[BadRow] = msgspec.field(default_factory=list)
    unknown_columns: Sequence[str] = ()
    encoding: csv_files.Encoding = csv_files.Encoding.UTF_8
    """Encoding of the file."""

    def complain(self, trouble: BadRow) -> None:
        self.bad += 1
        if len(self.errors) < ERRORS_TOLD:
            self.errors.append(trouble)


class _Good(msgspec.Struct, frozen=True):
    number: int
    registration: Any


class _Taken(Exception):  # noqa: N818  rolls the transaction back; never leaves this module
    """A name was registered between the check and the insert."""


async def run(
    store: Store,
    file: IO[bytes],
    *,
    actor: Actor,
    kind: ImportKind,
    order: Order,
    ids: TimeIds,
    now_ms: int,
    progress: Progress = lambda _what, _rows: None,
) -> Report:
    """Register the rows of the file for the actor's company, with the options of `order`.

    Raises `Forbidden`, `csv_files.BadFile`, `TooManyRows`, `Contended`; then no rows are stored, except earlier chunks
    if bad rows are skipped.
    """
    access.scope_of(actor, kind.action)
    company = await store.read(lambda tx: companies.own(tx, actor=actor))
    report = Report(dry_run=order.dry_run)
    checked = await asyncio.to_thread(_checked, file, kind, order, report, progress)
    good = await _free(store, company, kind, checked, report)
    if not order.dry_run and (order.skip_bad_rows or not report.bad):
        keeping = _Keeping(store, actor, company, kind, ids, now_ms, report)
        for part in _parts(good, CHUNK if order.skip_bad_rows else max(len(good), 1)):
            await keeping.keep(part, all_or_none=not order.skip_bad_rows)
            progress("kept", report.created)
    report.errors.sort(key=lambda bad: bad.number)
    return report


def _checked(file: IO[bytes], kind: ImportKind, order: Order, report: Report, progress: Progress) -> list[_Good]:
    """Rows that are valid by themselves and repeat no name of an earlier row."""
    table = csv_files.read(file, column_of=kind.sheet.column_of, encoding=order.encoding)
    missing = [name for name in kind.sheet.required if name not in table.columns]
    if missing:
        raise csv_files.BadFile("columns_missing", row=table.row, columns=", ".join(missing))
    report.unknown_columns, report.encoding = table.unknown(), table.encoding
    first_with: dict[Key, dict[str, int]] = {key: {} for key in kind.keys}
    good = []
    for line in cooperative.each(table.lines):
        report.rows += 1
        if report.rows > order.most_rows:
            raise TooManyRows(most=order.most_rows)
        if report.rows % _AT_A_STRETCH == 0:
            progress("checked", report.rows)
        try:
            registration = _registration(line.cells, table.columns, kind)
            _first_of_its_name(line.number, registration, first_with)
        except BadParameter as refusal:
            report.complain(BadRow(line.number, refusal))
        else:
            good.append(_Good(line.number, registration))
    progress("checked", report.rows)
    return good


def _registration(cells: Sequence[str], columns: Sequence[str | None], kind: ImportKind) -> Any:
    """The registration in a row. Raises `BadParameter` like a single registration."""
    if csv_files.has_surplus(cells, columns):
        raise BadParameter("cells")
    return draft_rows.registered(cells, columns, kind)


def _first_of_its_name(number: int, registration: Any, first_with: dict[Key, dict[str, int]]) -> None:
    """Note the row's names. Raises `BadParameter` if an earlier good row has one of them."""
    names = [key.name(registration) for key in first_with]
    for name, (key, rows) in zip(names, first_with.items(), strict=True):
        earlier = rows.get(name)
        if earlier is not None:
            raise BadParameter("repeated", field=key.column, row=earlier)
    for name, rows in zip(names, first_with.values(), strict=True):
        rows[name] = number


async def _free(
    store: Store, company: Company, kind: ImportKind, good: Sequence[_Good], report: Report
) -> Sequence[_Good]:
    """Rows with unregistered names; the others are added to the report."""
    free: list[_Good] = []
    for part in _parts(good, CHUNK):
        clashes = await store.read(lambda tx, part=part: _clashes(tx, company, kind, part))  # type: ignore[misc]
        for row, refusal in zip(part, clashes, strict=True):
            if refusal is None:
                free.append(row)
            else:
                report.complain(BadRow(row.number, refusal))
    return free


def _clashes(tx: ReadTx, company: Company, kind: ImportKind, rows: Sequence[_Good]) -> list[Refusal | None]:
    """The refusal of each row, or None."""
    registrations = [row.registration for row in rows]
    taken = draft_rows.taken(tx, company.service_type, kind, registrations)
    return [draft_rows.clash(each, kind, taken) for each in registrations]


class _Keeping(msgspec.Struct):
    store: Store
    actor: Actor
    company: Company
    kind: ImportKind
    ids: TimeIds
    now_ms: int
    report: Report
    entry_no: RowNo | None = None
    """Number of the single history entry, once a part is stored."""

    async def keep(self, rows: Sequence[_Good], *, all_or_none: bool) -> None:
        """Store the rows in one transaction; the report gets their number, and rows whose names were registered
        meanwhile.

        If independent rows keep colliding with other writers, split the batch: a single row shows at once if its name
        is registered.
        """
        for _ in range(ATTEMPTS):
            try:
                async with bulk.staged(self.store, self._prepared(rows)) as insert:
                    await self.store.write(partial(self._insert, insert=insert, count=len(rows)))
            except _Taken:
                rows = await _free(self.store, self.company, self.kind, rows, self.report)
                if not rows or (all_or_none and self.report.bad):
                    return
            else:
                self.report.created += len(rows)
                return
        if len(rows) > 1 and not all_or_none:
            for part in _parts(rows, (len(rows) + 1) // 2):
                await self.keep(part, all_or_none=False)
            return
        raise Contended()

    def _prepared(self, rows: Sequence[_Good]) -> Iterator[list[bulk.Rows]]:
        registrations = [row.registration for row in rows]
        return self.kind.prepared(
            registrations, actor=self.actor, company=self.company, ids=self.ids, now_ms=self.now_ms
        )

    def _insert(self, tx: WriteTx, insert: Callable[[WriteTx], bool], count: int) -> None:
        companies.own(tx, actor=self.actor)  # it may have been deleted since
        if not insert(tx):
            raise _Taken
        self.entry_no = history.note_import(
            tx,
            self.actor,
            self.kind.event,
            company=self.company,
            count=self.report.created + count,
            no=self.entry_no,
            ids=self.ids,
            now_ms=self.now_ms,
        )


def _parts(rows: Sequence[_Good], size: int) -> Iterator[Sequence[_Good]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
