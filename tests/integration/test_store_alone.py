"""A file that several processes use: for a moment one of them keeps the others from committing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select
from tests.support import stores

from tripline.store.database.sqlite import SqliteStore
from tripline.store.tables import secret


def keep(name: str) -> Callable[[Any], Any]:
    return lambda tx: tx.run(insert(secret).values(name=name, value=b""))


def kept(tx: Any) -> list[str]:
    return [row.name for row in tx.all(select(secret.c.name).order_by(secret.c.name))]


def played(folder: Path, play: Callable[[SqliteStore, SqliteStore], Awaitable[Any]]) -> Any:
    """What the play on two stores over one new file returns."""

    async def run() -> Any:
        path = stores.fresh_file(folder)
        both = SqliteStore(path), SqliteStore(path)
        try:
            return await play(*both)
        finally:
            for store in both:
                await store.close()

    return asyncio.run(run())


def test_what_was_read_alone_holds_for_the_next_write_and_then_others_go_on(tmp_path: Path) -> None:
    async def play(one: SqliteStore, other: SqliteStore) -> Any:
        async with one.alone():
            before = one.foreign_commits
            later = asyncio.create_task(other.write(keep("b")))
            read = await one.read(kept)
            written = await one.write(lambda tx: (kept(tx), keep("a")(tx), one.foreign_commits - before))
            await later
        return read, written[0], written[2], await one.read(kept)

    assert played(tmp_path, play) == ([], [], 0, ["a", "b"])


def test_what_another_process_committed_before_is_noticed_on_the_way_in(tmp_path: Path) -> None:
    async def play(one: SqliteStore, other: SqliteStore) -> Any:
        before = one.foreign_commits
        await other.write(keep("b"))
        async with one.alone():
            return one.foreign_commits - before, await one.read(kept)

    assert played(tmp_path, play) == (1, ["b"])


def test_other_write_of_the_same_process_ends_it_and_what_others_then_commit_is_noticed(tmp_path: Path) -> None:
    async def play(one: SqliteStore, other: SqliteStore) -> Any:
        async with one.alone():
            before = one.foreign_commits
            await one.write(keep("a"))
            await other.write(keep("b"))
            return await one.write(lambda tx: one.foreign_commits - before), await one.read(kept)

    assert played(tmp_path, play) == (1, ["a", "b"])
