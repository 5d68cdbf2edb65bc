"""Every list of the portal, by its noun."""

from typing import Final

from tripline.portal.account_list import ACCOUNTS
from tripline.portal.application_list import APPLICATIONS
from tripline.portal.company_list import COMPANIES
from tripline.portal.delegation_list import GIVEN, RECEIVED
from tripline.portal.line_list import LINES
from tripline.portal.people_lists import DIRECTORS, DRIVERS
from tripline.portal.push_list import MESSAGES
from tripline.portal.sensor_list import SENSORS
from tripline.portal.service_list import SERVICES
from tripline.portal.tables import Table
from tripline.portal.vehicle_list import VEHICLES

TABLES: Final[dict[str, Table]] = {
    table.noun: table
    for table in (
        *(VEHICLES, SENSORS, LINES, DIRECTORS, DRIVERS, GIVEN, RECEIVED, MESSAGES),
        *(COMPANIES, SERVICES, ACCOUNTS, APPLICATIONS),
    )
}
