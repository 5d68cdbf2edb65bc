"""`tripline store`: operations on a whole store."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter
from rich.console import Console

from tripline.cli import base
from tripline.later import Later

if TYPE_CHECKING:
    from tripline.maintenance import store_copy
    from tripline.store.database.transfer import Progress
else:
    store_copy = Later("tripline.maintenance.store_copy")

_TOLD_EVERY: Final = 100_000
_ADDRESSES: Final = ("postgresql://", "postgres://")

store = App(
    name="store",
    help="The store as a whole.",
    help_format="plaintext",
    help_epilogue="Example: tripline store copy --from /srv/tripline --to postgresql://tripline@db.example/tripline",
)


@store.command(
    help_epilogue="Example: tripline store copy --from /srv/tripline --to postgresql://tripline@db.example/tripline"
)
def copy(
    *,
    source: Annotated[str, Parameter(name="--from", help="data folder, or postgresql://user@host/database")],
    target: Annotated[
        str | None,
        Parameter(name="--to", help="where to; empty, and of this version's schema (default: TRIPLINE_STORE_URL)"),
    ] = None,
) -> int:
    """Copy every row of a store into another one and compare both, row by row. Exits 1 when anything differs."""
    into = target or base.settings(None, {}).store.url
    if not _is_place(source) or not _is_place(into):
        base.complain("a store is a data folder, or postgresql://user@host/database.")
        return base.WRONG_USE
    if not into:
        base.complain("say where to copy: --to, or TRIPLINE_STORE_URL.")
        return base.WRONG_USE
    began = time.perf_counter()
    with _telling(Console(highlight=False)) as progress:
        copied = store_copy.copied(_place(source), _place(into), progress=progress)
    for each in copied.differences:
        base.line(base.printable(f"DIFFERS {each.table} {' '.join(map(str, each.key))}: {each.what}"))
    if copied.differences:
        base.complain("the copy is not the same as the source; nothing of it was kept.")
        return base.FAILED
    rows, took_s = sum(copied.rows.values()), time.perf_counter() - began
    base.line(f"copied and verified {len(copied.rows)} tables, {rows} rows, in {took_s:.1f} s")
    return base.OK


def _place(text: str) -> "store_copy.Place":
    return text if text.startswith(_ADDRESSES) else Path(text)


def _is_place(text: str) -> bool:
    """Return false for other addresses, which must not become the name of a folder with their password."""
    return text.startswith(_ADDRESSES) or "://" not in text


@contextmanager
def _telling(console: Console) -> "Iterator[Progress]":
    """Show progress: in place on a terminal, elsewhere a line for each table and each 100,000 rows."""
    speed = _Speed()
    if console.is_terminal:
        with console.status("") as status:
            yield lambda doing, table, rows: status.update(speed.text(doing, table, rows))
        return

    def tell(doing: str, table: str, rows: int) -> None:
        text = speed.text(doing, table, rows)
        if rows and (doing.endswith("ed") or rows % _TOLD_EVERY == 0):
            base.line(text)

    yield tell


class _Speed:
    """Rows per second, table by table."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def text(self, doing: str, table: str, rows: int) -> str:
        took_s = time.perf_counter() - self._began
        speed = f", {rows / took_s:,.0f} rows/s" if took_s > 1 else ""
        if doing.endswith("ed"):
            self._began = time.perf_counter()
        return f"{doing} {table}: {rows:,} rows{speed}"
