"""Rows of relations between companies: to whom a company may lend its vehicles.

Not here: the loans (`loans.py`).
"""

from typing import Final

from sqlalchemy import bindparam, delete, or_

from tripline.domain.ids import CompanyId
from tripline.store.tables import company_relation
from tripline.store.transactions import WriteTx

_FORGET_COMPANY: Final = delete(company_relation).where(
    or_(
        company_relation.c.from_company_id == bindparam("company"),
        company_relation.c.to_company_id == bindparam("company"),
    )
)


def forget_company(tx: WriteTx, company_id: CompanyId) -> None:
    """End every relation of a company that is to be deleted, whose caller was let pass."""
    tx.run(_FORGET_COMPANY, {"company": company_id})
