"""Rows of carrier actions with their requests and outcomes, so that a repeated action is done once.

They belong to the carrier's account, which alone reads them, by its own action numbers; so there is no scope.
"""

from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, insert, select

from tripline.domain.ids import SensorId, UserId
from tripline.domain.line_actions import Outcome
from tripline.domain.lines import NwStatus
from tripline.domain.refusals import Refusal, Value, Word, class_of
from tripline.store.tables import carrier_action
from tripline.store.transactions import Hot, ReadTx, WriteTx


class _Refused(msgspec.Struct, omit_defaults=True):
    """A refusal as stored: a word as an object of one key, alternatives as an array."""

    code: str
    case: str = ""
    field: str | None = None
    values: dict[str, Any] = {}


class _StoredOutcome(msgspec.Struct, omit_defaults=True):
    sensor_id: str | None = None
    nw_status: str | None = None
    refusal: _Refused | None = None


def find(tx: ReadTx, account_id: UserId, action_id: str) -> tuple[str, Outcome] | None:
    """Return the digest of the request and its outcome, or None if the account sent no action with this id."""
    rows = tx.hot(_FIND, account_id, action_id)
    if not rows:
        return None
    content, outcome = rows[0]
    kept = msgspec.json.decode(outcome, type=_StoredOutcome)
    return content, Outcome(
        action_id=action_id,
        sensor_id=None if kept.sensor_id is None else SensorId(kept.sensor_id),
        nw_status=None if kept.nw_status is None else NwStatus(kept.nw_status),
        refused=None if kept.refusal is None else _refusal(kept.refusal),
    )


def add(tx: WriteTx, account_id: UserId, *, content: str, outcome: Outcome, now_ms: int) -> None:
    """Store the outcome of a new action."""
    kept = _StoredOutcome(
        sensor_id=outcome.sensor_id,
        nw_status=outcome.nw_status,
        refusal=None if outcome.refused is None else _kept_refusal(outcome.refused),
    )
    row = {
        "account_id": account_id,
        "action_id": outcome.action_id,
        "created_ms": now_ms,
        "content": content,
        "outcome": msgspec.json.encode(kept),
    }
    tx.run(insert(carrier_action), row)


_FIND: Final = Hot(
    select(carrier_action.c.content, carrier_action.c.outcome).where(
        carrier_action.c.account_id == bindparam("account"), carrier_action.c.action_id == bindparam("action")
    ),
    "account",
    "action",
)


def _refusal(kept: _Refused) -> Refusal:
    known = class_of(kept.code)
    assert known is not None, kept.code
    values = {name: _value(value) for name, value in kept.values.items()}
    return known(kept.case, field=kept.field, **values)


def _kept_refusal(refusal: Refusal) -> _Refused:
    values = {name: _kept_value(value) for name, value in refusal.values.items()}
    return _Refused(refusal.code, refusal.case, refusal.field, values)


def _kept_value(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_kept_value(each) for each in value]
    return {"word": str.__str__(value)} if isinstance(value, Word) else value


def _value(kept: Any) -> Any:
    if isinstance(kept, list):
        return tuple(_value(each) for each in kept)
    return Word(kept["word"]) if isinstance(kept, dict) else kept
