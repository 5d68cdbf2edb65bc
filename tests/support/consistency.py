"""Invariants of the rows whatever happened: read beside a server, with SQL apart from the program's."""

from pathlib import Path
from typing import Any

from tests.support import stores

RULES = {
    "a vehicle's director is a director of its company": """
        SELECT id FROM vehicle WHERE director_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM account WHERE account.id = director_id AND account.company_id = vehicle.company_id
            AND authority = 'DIRECTOR')""",
    "who drives a vehicle is of a company that has it, or may drive it": """
        SELECT id FROM vehicle WHERE current_driver_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM account WHERE account.id = current_driver_id AND (
                account.company_id = vehicle.company_id
                OR EXISTS (SELECT 1 FROM vehicle_company AS delegation
                           WHERE delegation.vehicle_id = vehicle.id AND delegation.to_company_id =
    account.company_id)))""",
    "somebody drives one vehicle": """
        SELECT current_driver_id FROM vehicle WHERE current_driver_id IS NOT NULL
        GROUP BY current_driver_id HAVING count(*) > 1""",
    "a vehicle, a sensor and their company have one service type": """
        SELECT vehicle.id FROM vehicle JOIN company ON company.id = company_id
        WHERE vehicle.service_type <> company.service_type
        UNION SELECT sensor.id FROM sensor JOIN company ON company.id = company_id
        WHERE sensor.service_type <> company.service_type""",
    "a sensor is on a vehicle of its company": """
        SELECT sensor.id FROM sensor LEFT JOIN vehicle ON vehicle.id = vehicle_id
        WHERE vehicle_id IS NOT NULL AND sensor.company_id IS DISTINCT FROM vehicle.company_id""",
    "a sensor on no vehicle is deactivated": """
        SELECT id FROM sensor WHERE vehicle_id IS NULL AND status <> 'DEACTIVATED'""",
    "a delegation is the owner's, to a candidate": """
        SELECT delegation.id FROM vehicle_company AS delegation JOIN vehicle ON vehicle.id = delegation.vehicle_id
        WHERE delegation.from_company_id <> vehicle.company_id OR NOT automatic AND NOT EXISTS (
            SELECT 1 FROM company_relation AS relation WHERE relation.from_company_id = delegation.from_company_id
            AND relation.to_company_id = delegation.to_company_id)""",
    "a partner's vehicle is delegated to its operator": """
        SELECT vehicle.id FROM vehicle JOIN company ON company.id = company_id WHERE NOT master AND NOT EXISTS (
            SELECT 1 FROM vehicle_company AS delegation WHERE delegation.vehicle_id = vehicle.id AND automatic
            AND delegation.to_company_id = company.master_id)""",
    "a right is of a company that has the vehicle, and whose person has it": """
        SELECT held.id FROM vehicle_user AS held JOIN vehicle ON vehicle.id = held.vehicle_id
        JOIN account ON account.id = held.user_id
        WHERE held.company_id IS DISTINCT FROM account.company_id
        OR held.company_id <> vehicle.company_id AND NOT EXISTS (
            SELECT 1 FROM vehicle_company AS delegation
            WHERE delegation.vehicle_id = vehicle.id AND delegation.to_company_id = held.company_id)""",
    "a company has an administrator": """
        SELECT id FROM company WHERE NOT EXISTS (
            SELECT 1 FROM account WHERE account.company_id = company.id AND authority = 'COMPANY_ADMIN')""",
    "a company's operator is one of its service type": """
        SELECT company.id FROM company LEFT JOIN company AS operator ON operator.id = company.master_id
        WHERE NOT operator.master OR operator.service_type IS DISTINCT FROM company.service_type
        OR company.master AND company.master_id <> company.id""",
    "a line that is in use has a number": """
        SELECT sensor_id FROM carrier_line WHERE mdn IS NULL AND nw_status IN ('01', '02', '03', '04')""",
    "what is unique occurs once": """
        SELECT service_type FROM company WHERE master GROUP BY 1 HAVING count(*) > 1
        UNION ALL SELECT token_prefix FROM company GROUP BY 1 HAVING count(*) > 1
        UNION ALL SELECT vehicle_no FROM vehicle GROUP BY service_type, 1 HAVING count(*) > 1
        UNION ALL SELECT serial_no FROM sensor GROUP BY service_type, 1 HAVING count(*) > 1
        UNION ALL SELECT credentials_id FROM sensor WHERE credentials_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1
        UNION ALL SELECT lower(email) FROM account GROUP BY 1 HAVING count(*) > 1
        UNION ALL SELECT mdn FROM carrier_line WHERE mdn IS NOT NULL GROUP BY 1 HAVING count(*) > 1
        UNION ALL SELECT vehicle_id FROM vehicle_company GROUP BY 1, to_company_id HAVING count(*) > 1
        UNION ALL SELECT vehicle_id FROM vehicle_user GROUP BY 1, user_id, user_role HAVING count(*) > 1""",
}
"""Each statement finds the rows that break the rule."""
OF_SQLITE = {"a row names rows that are there": 'SELECT "table", rowid, parent FROM pragma_foreign_key_check()'}
"""What PostgreSQL itself sees to whatever is written."""


def broken(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rules that do not hold in the database of this data folder, with the rows that break them."""
    rules = RULES if stores.on_postgresql() else RULES | OF_SQLITE
    found = {rule: rows(data, statement) for rule, statement in rules.items()}
    return {rule: those for rule, those in found.items() if those}


def rows(data: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of the database in this data folder."""
    return stores.Database(data).rows(statement, *values)
