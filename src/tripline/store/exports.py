"""Rows of exports and the pieces of their files.

A process that makes an export names itself in the row and renews its sign of life with every piece; another process
replaces a silent one. Its writes apply only while it owns the export.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Update, and_, delete, func, insert, or_, select, update

from tripline.domain.exports import KEPT_MS, NEXT, UNFINISHED, Event, Export, State
from tripline.domain.ids import RecordId, UserId
from tripline.domain.shares import Held, Holder
from tripline.store import records
from tripline.store.tables import account, company, export, export_piece
from tripline.store.transactions import ReadTx, WriteTx

SILENT_MS: Final = 60_000
"""After so long without a word another one makes the export anew."""
_FIELDS: Final = Export.__struct_fields__
_COLUMNS: Final = [export.c[name] for name in _FIELDS]


_export: Final = records.maker(Export)
_HOLDERS: Final = (
    select(
        export.c.id,
        func.coalesce(company.c.master_id, export.c.account_id).label("operator"),
        func.coalesce(company.c.id, export.c.account_id).label("company"),
        export.c.account_id,
    )
    .select_from(
        export.outerjoin(account, account.c.id == export.c.account_id).outerjoin(
            company, company.c.id == account.c.company_id
        )
    )
    .order_by(export.c.created_ms, export.c.id)
)
_UNFINISHED: Final = export.c.state.in_([state.value for state in UNFINISHED])


def find(tx: ReadTx, account_id: UserId, export_id: RecordId) -> Export | None:
    """The export of this account."""
    row = tx.one(select(*_COLUMNS).where(export.c.id == export_id, export.c.account_id == account_id))
    return None if row is None else _export(row)


def of_account(tx: ReadTx, account_id: UserId) -> list[Export]:
    """Every export of the account, the newest first; they are few."""
    of_account = select(*_COLUMNS).where(export.c.account_id == account_id)
    return [_export(row) for row in tx.all(of_account.order_by(export.c.created_ms.desc()))]


def unfinished(tx: ReadTx) -> int:
    """How many exports of everybody wait or are under way."""
    return tx.count(_UNFINISHED)


def held(tx: ReadTx) -> list[Held[RecordId]]:
    """The exports of everybody that wait or are under way, the oldest first."""
    return _held(tx.all(_HOLDERS.where(_UNFINISHED)))


def insert_new(tx: WriteTx, new: Export) -> None:
    """Keep a new export."""
    tx.run(insert(export), {name: getattr(new, name) for name in _FIELDS})


def waiting(tx: ReadTx, *, now_ms: int) -> list[Held[RecordId]]:
    """The exports that wait, or whose maker fell silent, the oldest first."""
    return _held(tx.all(_HOLDERS.where(_waiting(now_ms))))


def take(tx: WriteTx, export_id: RecordId, *, maker_id: str, now_ms: int) -> Export | None:
    """An export that waits: it is this maker's now, and its file is empty. None: another maker takes it."""
    to_take = select(*_COLUMNS).where(export.c.id == export_id, _waiting(now_ms))
    row = tx.one(to_take.with_for_update(skip_locked=True))
    if row is None:
        return None
    found = _export(row)
    tx.run(delete(export_piece).where(export_piece.c.export_id == found.id))
    taken = {"state": NEXT[found.state, Event.TAKE].value, "maker_id": maker_id, "heard_ms": now_ms}
    tx.run(update(export).where(export.c.id == found.id).values(**taken, done=0, size=0))
    return found


def add(
    tx: WriteTx, export_id: RecordId, *, maker_id: str, now_ms: int, done: int, pieces: list[tuple[int, bytes]]
) -> bool:
    """Keep pieces of the file and how many rows are in it by now; False: the export is not this maker's any more."""
    more = sum(len(body) for _, body in pieces)
    if not tx.run(_mine(export_id, maker_id).values(done=done, heard_ms=now_ms, size=export.c.size + more)):
        return False
    if pieces:
        tx.run(insert(export_piece), [{"export_id": export_id, "no": no, "body": body} for no, body in pieces])
    return True


def expect(tx: WriteTx, export_id: RecordId, *, maker_id: str, total: int) -> None:
    """Keep how many rows the export will have."""
    tx.run(_mine(export_id, maker_id).values(total=total))


def finish(tx: WriteTx, export_id: RecordId, *, maker_id: str, event: Event, now_ms: int) -> bool:
    """Mark the export as finished or failed; False if it no longer belongs to this process."""
    ended = _mine(export_id, maker_id).values(state=NEXT[State.RUNNING, event].value, until_ms=now_ms + KEPT_MS)
    return tx.run(ended) == 1


def cancel(tx: WriteTx, account_id: UserId, export_id: RecordId) -> None:
    """End an unfinished export of the account, and delete the pieces of its file."""
    _end(tx, State.CANCELLED, export.c.id == export_id, export.c.account_id == account_id)


def give_way(tx: WriteTx, export_id: RecordId) -> None:
    """End an unfinished export to make room for another, and delete the pieces of its file."""
    _end(tx, NEXT[State.WAITING, Event.GIVE_WAY], export.c.id == export_id)


def piece(tx: ReadTx, export_id: RecordId, no: int) -> bytes | None:
    """A piece of a file whose owner was let pass; None behind the last."""
    row = tx.one(select(export_piece.c.body).where(export_piece.c.export_id == export_id, export_piece.c.no == no))
    return None if row is None else bytes(row.body)


def forget(tx: WriteTx, export_ids: list[RecordId]) -> None:
    """Forget exports with their files."""
    tx.run(delete(export_piece).where(export_piece.c.export_id.in_(export_ids)))
    tx.run(delete(export).where(export.c.id.in_(export_ids)))


def old(tx: ReadTx, *, now_ms: int, limit: int) -> list[RecordId]:
    """Exports whose time is over."""
    rows = tx.all(select(export.c.id).where(export.c.until_ms < now_ms).limit(limit))
    return [RecordId(row.id) for row in rows]


def _end(tx: WriteTx, state: State, *which: ColumnElement[bool]) -> None:
    ended = tx.all(select(export.c.id).where(*which, _UNFINISHED))
    for row in ended:
        tx.run(update(export).where(export.c.id == row.id).values(state=state.value, size=0))
        tx.run(delete(export_piece).where(export_piece.c.export_id == row.id))


def _mine(export_id: RecordId, maker_id: str) -> Update:
    """Update an export only while this maker makes it."""
    running = export.c.state == State.RUNNING.value
    return update(export).where(export.c.id == export_id, export.c.maker_id == maker_id, running)


def _waiting(now_ms: int) -> ColumnElement[bool]:
    is_silent = and_(export.c.state == State.RUNNING.value, export.c.heard_ms < now_ms - SILENT_MS)
    return or_(export.c.state == State.WAITING.value, is_silent)


def _held(rows: Sequence[Any]) -> list[Held[RecordId]]:
    return [Held(RecordId(row.id), Holder(row.operator, row.company, row.account_id)) for row in rows]
