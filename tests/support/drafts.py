"""Drafts of imports in the test's process: files in, work done, verdicts out."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support import rest
from tests.support.rest import Login, Rest
from tripline.domain.import_drafts import Draft, RowState
from tripline.language import catalogue
from tripline.services.imports import draft_edits, draft_pages, drafts
from tripline.services.imports import kinds as import_kinds
from tripline.services.imports.draft_edits import Edit
from tripline.services.imports.draft_pages import RowPage, RowView
from tripline.services.imports.draft_worker import DraftWorker
from tripline.services.nodes import Node
from tripline.store.transactions import Store


@dataclass
class Office:
    """An account at work on its drafts."""

    app: Rest
    login: Login

    def worker(self, store: Store | None = None) -> DraftWorker:
        """A process that works on drafts."""
        node = Node(store=self.app.store, ids=self.app.ids, name="here:2", roles="worker")
        return DraftWorker(
            store=store or self.app.store,
            ids=self.app.ids,
            signals=self.app.signals,
            clock=lambda: self.app.now_ms,
            node=node,
        )

    async def work(self) -> None:
        """Work until nothing waits."""
        worker = self.worker()
        while await worker.work():
            pass

    async def upload(self, content: bytes, kind: str = "vehicles", most_rows: int = 200_000) -> Draft:
        """The draft of a file."""
        draft, _ = await drafts.receive(
            self.app.store,
            io.BytesIO(content),
            actor=self.login.actor,
            kind=import_kinds.KINDS[kind],
            name="file.csv",
            most_rows=most_rows,
            ids=self.app.ids,
            clock=lambda: self.app.now_ms,
        )
        return draft

    async def checked(self, content: bytes, kind: str = "vehicles") -> Draft:
        """The draft of a file, with a verdict on every row."""
        draft = await self.upload(content, kind)
        await self.work()
        return await self.read(draft)

    async def read(self, draft: Draft) -> Draft:
        """The draft as it is now."""
        return await self.app.store.read(lambda tx: drafts.mine(tx, draft_id=draft.id, **self._asking))

    async def page(self, draft: Draft, state: RowState | None = None, limit: int = 50, **ends: int) -> RowPage:
        """Rows of the draft."""
        return await self.app.store.read(
            lambda tx: draft_pages.page(tx, draft_id=draft.id, state=state, limit=limit, **ends, **self._asking)
        )

    async def rows(self, draft: Draft) -> list[tuple[int, str, list[tuple[str | None, str]]]]:
        """Number, verdict, and the fields at fault with their sentences, of the first rows."""
        return [told(row) for row in (await self.page(draft, limit=200)).rows]

    async def edit(
        self, draft: Draft, number: int, cells: Mapping[int, str] | None = None, *, skip: bool | None = None
    ) -> Draft:
        """The draft with a row changed."""
        edit = Edit(number, cells or {}, skip)
        return await self.app.store.write(lambda tx: draft_edits.edit(tx, draft_id=draft.id, edit=edit, **self._asking))

    async def does(self, draft: Draft, what: Any, **values: Any) -> Any:
        """The answer to one of the changes of `drafts`."""
        return await self.app.store.write(lambda tx: what(tx, draft_id=draft.id, **values, **self._asking))

    @property
    def _asking(self) -> dict[str, Any]:
        return {"actor": self.login.actor, "now_ms": self.app.now_ms}


async def office(app: Rest) -> Office:
    """The administrator of a new operator at work."""
    return Office(app, await rest.administrator(app))


def told(row: RowView) -> tuple[int, str, list[tuple[str | None, str]]]:
    """Number, verdict, and the fields at fault with their sentences."""
    return row.number, row.state.name, [(each.field, catalogue.sentence(each)) for each in row.refusals]


def vehicles(count: int, *, first: int = 0) -> bytes:
    """A file of so many good vehicles."""
    lines = (f"{number:06d},Hyundai,{number + 1}\n" for number in range(first, first + count))
    return ("vehicleNo,vendor,mileage\n" + "".join(lines)).encode()
