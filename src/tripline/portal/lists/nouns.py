"""Every list of the portal, by its noun."""

from typing import Final

from tripline.portal.lists.accounts import ACCOUNTS
from tripline.portal.lists.applications import APPLICATIONS
from tripline.portal.lists.companies import COMPANIES
from tripline.portal.lists.delegations import GIVEN, RECEIVED
from tripline.portal.lists.lines import LINES
from tripline.portal.lists.messages import MESSAGES
from tripline.portal.lists.people import DIRECTORS, DRIVERS
from tripline.portal.lists.sensors import SENSORS
from tripline.portal.lists.services import SERVICES
from tripline.portal.lists.tables import Table
from tripline.portal.lists.vehicles import VEHICLES

TABLES: Final[dict[str, Table]] = {
    table.noun: table
    for table in (
        *(VEHICLES, SENSORS, LINES, DIRECTORS, DRIVERS, GIVEN, RECEIVED, MESSAGES),
        *(COMPANIES, SERVICES, ACCOUNTS, APPLICATIONS),
    )
}
