"""References that several lists filter by."""

from typing import Final

from tripline.portal.lists.tables import Reference
from tripline.services.fleet import companies

COMPANY: Final = Reference(
    key="company", name=lambda tx, actor, filters: companies.read(tx, actor=actor, company_id=filters.company_id).name
)
