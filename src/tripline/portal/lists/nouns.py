"""Every list of the portal, by its noun."""

from typing import Final

from tripline.http import operations
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
    table_pages,
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
TABLES: Final[dict[str, Table]] = {
    table.noun: table for each in _LISTS for table in vars(each).values() if isinstance(table, Table)
}
_OWN: Final = operations.handlers_of(_LISTS)
_TAKEN: Final = {operations.of_handler(each).path for each in _OWN}
_GENERAL: Final = [handler for table in TABLES.values() for handler in table_pages.handlers(table)]
handlers: Final = [*_OWN, *(each for each in _GENERAL if operations.of_handler(each).path not in _TAKEN)]
"""Those of each list, unless its module declares a page of its own at the same path."""
