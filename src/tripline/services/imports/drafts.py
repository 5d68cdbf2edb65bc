"""Drafts of imports: what their owners do with them.

Whoever opened the transaction tells `notifications.import_due()` after a commit that leaves a draft to be worked on.

Not here: how a file becomes a draft (`draft_arrivals.py`), rows and cells (`draft_pages.py`, `draft_edits.py`), the
work on a draft (`draft_worker.py`).
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope
from tripline.domain.import_drafts import BadMatch, Draft, DraftEvent, DraftId, Note, NothingGood, State
from tripline.services.imports.kinds import KINDS, ImportKind
from tripline.store.fleet import import_drafts as rows
from tripline.store.transactions import ReadTx, WriteTx

ANY_KIND: Final = Action.VEHICLE_CREATE
"""What everybody may do who may import anything."""


def mine(tx: ReadTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """The actor's draft. Raises `NotFound`, also for one that has expired, or `Forbidden`."""
    draft = access.admitted(rows.find(tx, _scope(actor), draft_id, now_ms=now_ms), access.Thing.DRAFT)
    access.scope_of(actor, kind_of(draft).action)
    return draft


def listed(tx: ReadTx, *, actor: Actor, now_ms: int) -> list[Draft]:
    """The actor's drafts, the newest first."""
    return rows.listed(tx, _scope(actor), now_ms=now_ms)


def state_of(tx: ReadTx, draft_id: DraftId) -> State | None:
    """Where a draft stands that its owner was let pass to; None when it is gone."""
    return rows.state_of(tx, draft_id)


def kind_of(draft: Draft) -> ImportKind:
    """What the draft's rows register."""
    return KINDS[draft.kind]


def match(tx: WriteTx, *, actor: Actor, draft_id: DraftId, columns: Sequence[str | None], now_ms: int) -> Draft:
    """The draft with its columns matched: for each column of the file a field, or None. All rows are checked then.

    Raises `BadMatch`, `NotNow`.
    """
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    matched = with_columns(draft, columns)
    rows.change(tx, matched)
    return matched


def with_columns(draft: Draft, columns: Sequence[str | None]) -> Draft:
    """The draft with its columns matched, to be checked. Raises `BadMatch`, `NotNow`."""
    sheet = kind_of(draft).sheet
    if len(columns) != len(draft.header) or any(column not in sheet.columns for column in columns if column):
        raise BadMatch("columns")
    used = [column for column in columns if column]
    twice = sorted({column for column in used if used.count(column) > 1})
    if twice:
        raise BadMatch("twice", field=twice[0])
    missing = missing_of(draft.kind, columns)
    if missing:
        raise BadMatch("missing", field=missing[0])
    return checking(replace(draft, columns=tuple(columns)))


def missing_of(kind: str, columns: Sequence[str | None]) -> list[str]:
    """The required fields that no column is matched with."""
    return [name for name in KINDS[kind].sheet.required if name not in columns]


def check(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """The draft, whose rows are all checked anew: a dry run, for others register things meanwhile. Raises `NotNow`."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_checked()
    again = checking(draft)
    rows.change(tx, again)
    return again


def checking(draft: Draft) -> Draft:
    """The draft waiting for all its rows to be checked. Raises `NotNow`."""
    return _waiting(draft, DraftEvent.CHECK)


def commit(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """The draft, whose good rows are registered in the background: all at once, or none.

    Raises `NotNow`, `NothingGood`.
    """
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    committing = _waiting(draft, DraftEvent.COMMIT)
    if not draft.good:
        raise NothingGood()
    rows.change(tx, committing)
    return committing


def cancel(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """The draft, on which nobody works any more: nothing of it is registered. Raises `NotNow` when it was too late."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    cancelled = replace(ended(draft, DraftEvent.CANCEL), note=Note.CANCELLED)
    rows.change(tx, cancelled)
    return cancelled


def ended(draft: Draft, event: DraftEvent) -> Draft:
    """The draft after work on it ended in this way. Raises `NotNow`."""
    return replace(draft, state=draft.after(event), version=draft.version + 1, holder="", held_until_ms=0, done=0)


def throw_away(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """The draft, which is gone from now on, whatever is done with it. Its rows go when it is swept."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    gone = replace(draft, expires_ms=0, holder="")
    rows.change(tx, gone)
    return gone


def _waiting(draft: Draft, event: DraftEvent) -> Draft:
    return replace(ended(draft, event), note=None)


def _scope(actor: Actor) -> Scope:
    return access.scope_of(actor, ANY_KIND)
