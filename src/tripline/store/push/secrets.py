"""Rows of the secrets that sign pushed messages: one per company, made on first use."""

from typing import Final

import msgspec
from sqlalchemy import insert, select

from tripline.domain.ids import CompanyId
from tripline.store.tables import push_secret
from tripline.store.transactions import ReadTx, WriteTx

_SECRET: Final = push_secret.c
COLUMNS: Final = (_SECRET.created_ms, _SECRET.secret, _SECRET.former, _SECRET.former_until_ms)
"""In the order of `Secret`."""


class Secret(msgspec.Struct, frozen=True):
    """The signing secret, and the previous one with the end of its use."""

    created_ms: int
    secret: bytes
    former: bytes | None
    former_until_ms: int | None

    def valid(self, now_ms: int) -> tuple[bytes, ...]:
        """Return the secrets that sign at this instant, the current one first."""
        if self.former is None or self.former_until_ms is None or now_ms >= self.former_until_ms:
            return (self.secret,)
        return self.secret, self.former


def find(tx: ReadTx, company_id: CompanyId) -> Secret | None:
    """A company's secret; the caller checked permission."""
    row = tx.one(select(*COLUMNS).where(_SECRET.company_id == company_id))
    return None if row is None else Secret(**row._mapping)


def put(tx: WriteTx, company_id: CompanyId, secret: Secret) -> None:
    """Replace a company's secret; the caller checked permission."""
    remove(tx, company_id)
    tx.run(insert(push_secret), {"company_id": company_id, **msgspec.structs.asdict(secret)})


def remove(tx: WriteTx, company_id: CompanyId) -> None:
    """Forget a company's secret."""
    tx.run(push_secret.delete().where(_SECRET.company_id == company_id))
