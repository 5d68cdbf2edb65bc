"""Rows of the actions that a carrier sent: what was asked and what was answered, so that one sent twice is done once.

They belong to the carrier's account, which alone reads them, by the numbers it gave them; so there is no scope.
"""

from typing import Final

import msgspec
from sqlalchemy import bindparam, insert, select

from tripline.domain.ids import SensorId, UserId
from tripline.domain.line_actions import Outcome
from tripline.domain.lines import NwStatus
from tripline.domain.refusals import Kind
from tripline.store.tables import carrier_action
from tripline.store.transactions import Hot, ReadTx, WriteTx

_FIND: Final = Hot(
    select(carrier_action.c.content, carrier_action.c.outcome).where(
        carrier_action.c.account_id == bindparam("account"), carrier_action.c.action_id == bindparam("key")
    ),
    "account",
    "key",
)


class _Kept(msgspec.Struct, omit_defaults=True):
    """An outcome as it is kept: the kind of a refusal by its name."""

    sensor_id: str | None = None
    nw_status: str | None = None
    refused: str | None = None
    message: str | None = None


def find(tx: ReadTx, account_id: UserId, action_id: str) -> tuple[str, Outcome] | None:
    """The digest of what was asked and what came of it, or None when the account sent no action with this id."""
    rows = tx.hot(_FIND, account_id, action_id)
    if not rows:
        return None
    kept = msgspec.json.decode(rows[0][1], type=_Kept)
    return rows[0][0], Outcome(
        action_id=action_id,
        sensor_id=None if kept.sensor_id is None else SensorId(kept.sensor_id),
        nw_status=None if kept.nw_status is None else NwStatus(kept.nw_status),
        refused=None if kept.refused is None else Kind[kept.refused],
        message=kept.message,
    )


def add(tx: WriteTx, account_id: UserId, *, content: str, outcome: Outcome, now_ms: int) -> None:
    """Keep what came of an action that was not sent before."""
    kept = _Kept(
        sensor_id=outcome.sensor_id,
        nw_status=outcome.nw_status,
        refused=None if outcome.refused is None else outcome.refused.name,
        message=outcome.message,
    )
    row = {
        "account_id": account_id,
        "action_id": outcome.action_id,
        "created_ms": now_ms,
        "content": content,
        "outcome": msgspec.json.encode(kept),
    }
    tx.run(insert(carrier_action), row)
