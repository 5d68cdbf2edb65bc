"""Drafts of imports: the operations of their owners.

The code that opened the transaction sends `notifications.import_due()` after committing a draft that needs work.

Not here: receiving a file (`draft_arrivals.py`), rows and cells (`draft_pages.py`, `draft_edits.py`), the work on a
draft (`draft_worker.py`).
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
"""Permitted to every account that may import anything."""


def mine(tx: ReadTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Return the actor's draft. Raises `NotFound`, also if it has expired, or `Forbidden`."""
    draft = access.admitted(rows.find(tx, _scope(actor), draft_id, now_ms=now_ms), access.Thing.DRAFT)
    access.scope_of(actor, kind_of(draft).action)
    return draft


def listed(tx: ReadTx, *, actor: Actor, now_ms: int) -> list[Draft]:
    """The actor's drafts, newest first."""
    return rows.listed(tx, _scope(actor), now_ms=now_ms)


def state_of(tx: ReadTx, draft_id: DraftId) -> State | None:
    """State of a draft, after its owner was admitted; None: it was deleted."""
    return rows.state_of(tx, draft_id)


def kind_of(draft: Draft) -> ImportKind:
    """The kind of things that the draft registers."""
    return KINDS[draft.kind]


def match(tx: WriteTx, *, actor: Actor, draft_id: DraftId, columns: Sequence[str | None], now_ms: int) -> Draft:
    """Match each column of the file with a field or None, and begin checking all rows; return the draft.

    Raises `BadMatch`, `NotNow`.
    """
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    matched = with_columns(draft, columns)
    rows.change(tx, matched)
    return matched


def with_columns(draft: Draft, columns: Sequence[str | None]) -> Draft:
    """Return the draft with its columns matched, to be checked. Raises `BadMatch`, `NotNow`."""
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
    """Required fields without a matched column."""
    return [name for name in KINDS[kind].sheet.required if name not in columns]


def check(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Check all rows again, because other registrations may have been added meanwhile. Raises `NotNow`."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    draft.require_checked()
    again = checking(draft)
    rows.change(tx, again)
    return again


def checking(draft: Draft) -> Draft:
    """Return the draft waiting for a check of all its rows. Raises `NotNow`."""
    return _waiting(draft, DraftEvent.CHECK)


def commit(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Register the draft's good rows in the background: all at once, or none.

    Raises `NotNow`, `NothingGood`.
    """
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    committing = _waiting(draft, DraftEvent.COMMIT)
    if not draft.good:
        raise NothingGood()
    rows.change(tx, committing)
    return committing


def cancel(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Cancel the work on the draft, so that it registers nothing. Raises `NotNow` if it is too late."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    cancelled = replace(ended(draft, DraftEvent.CANCEL), note=Note.CANCELLED)
    rows.change(tx, cancelled)
    return cancelled


def ended(draft: Draft, event: DraftEvent) -> Draft:
    """Return the draft after its work ended with this event. Raises `NotNow`."""
    return replace(draft, state=draft.after(event), version=draft.version + 1, holder="", held_until_ms=0, done=0)


def throw_away(tx: WriteTx, *, actor: Actor, draft_id: DraftId, now_ms: int) -> Draft:
    """Delete the draft at once, in any state; its rows are deleted later."""
    draft = mine(tx, actor=actor, draft_id=draft_id, now_ms=now_ms)
    gone = replace(draft, expires_ms=0, holder="")
    rows.change(tx, gone)
    return gone


def _waiting(draft: Draft, event: DraftEvent) -> Draft:
    return replace(ended(draft, event), note=None)


def _scope(actor: Actor) -> Scope:
    return access.scope_of(actor, ANY_KIND)
