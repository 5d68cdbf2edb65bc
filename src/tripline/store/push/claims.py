"""Claims of receivers by sending processes on a shared store, to preserve each receiver's order.

A claim is a lease by the clock of the database; any process may take an expired one.
"""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import ARRAY, BigInteger, Text, bindparam, text

from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Channel
from tripline.store.push.queue import Key
from tripline.store.transactions import WriteTx

_NOW_MS: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::int8"
_KEYS: Final = "unnest(CAST(:companies AS text[]), CAST(:channels AS text[])) AS key (company_id, channel)"
_TYPES: Final = (
    bindparam("companies", type_=ARRAY(Text)),
    bindparam("channels", type_=ARRAY(Text)),
    bindparam("holder", type_=Text),
)
_LEASE: Final = bindparam("lease_ms", type_=BigInteger)
# In the order of keys, so that two who want the same ones do not wait for each other.
_TAKE: Final = text(
    "INSERT INTO push_claim AS held (company_id, channel, node_id, until_ms)"
    f" SELECT key.company_id, key.channel, :holder, {_NOW_MS} + :lease_ms FROM {_KEYS} ORDER BY 1, 2"
    " ON CONFLICT (company_id, channel) DO UPDATE SET node_id = excluded.node_id, until_ms = excluded.until_ms"
    f" WHERE held.node_id = excluded.node_id OR held.until_ms < {_NOW_MS}"
    " RETURNING company_id, channel"
).bindparams(*_TYPES, _LEASE)
_RENEW: Final = text(
    f"UPDATE push_claim SET until_ms = {_NOW_MS} + :lease_ms WHERE node_id = :holder AND (company_id, channel) IN"
    f" (SELECT key.company_id, key.channel FROM {_KEYS}) RETURNING company_id, channel"
).bindparams(*_TYPES, _LEASE)
_LEAVE: Final = text(
    "DELETE FROM push_claim WHERE node_id = :holder AND (company_id, channel) IN"
    f" (SELECT key.company_id, key.channel FROM {_KEYS})"
).bindparams(*_TYPES)


def take(tx: WriteTx, keys: Collection[Key], *, holder: str, lease_ms: int) -> set[Key]:
    """Claim the receivers that no other process sends to; return the claimed ones."""
    return _keys(tx.all(_TAKE, {**_values(keys, holder), "lease_ms": lease_ms}))


def renew(tx: WriteTx, keys: Collection[Key], *, holder: str, lease_ms: int) -> set[Key]:
    """Extend the holder's leases of these receivers; return those it still has."""
    return _keys(tx.all(_RENEW, {**_values(keys, holder), "lease_ms": lease_ms}))


def leave(tx: WriteTx, keys: Collection[Key], *, holder: str) -> None:
    """Let others send to these receivers."""
    tx.run(_LEAVE, _values(keys, holder))


def _values(keys: Collection[Key], holder: str) -> dict[str, Any]:
    ordered = sorted((company_id, channel.value) for company_id, channel in keys)
    return {
        "companies": [company_id for company_id, _ in ordered],
        "channels": [channel for _, channel in ordered],
        "holder": holder,
    }


def _keys(rows: Any) -> set[Key]:
    return {(CompanyId(company_id), Channel(channel)) for company_id, channel in rows}
