"""Every list of the portal, by its noun."""

from typing import Any, Final

from tripline.portal.lists import (
    accounts,
    applications,
    companies,
    delegations,
    lines,
    messages,
    people,
    sensors,
    services,
    trips,
    vehicles,
)
from tripline.portal.lists.tables import Table

_LISTS: Final = (
    vehicles,
    trips,
    sensors,
    lines,
    people,
    delegations,
    messages,
    companies,
    services,
    accounts,
    applications,
)
TABLES: Final[dict[str, Table]] = {table.noun: table for each in _LISTS for table in each.TABLES}
handlers: Final[list[Any]] = [handler for each in _LISTS for handler in each.handlers]
