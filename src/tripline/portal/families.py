"""The families of pages, and what the portal finds in the state of its application.

Each family is a module beside this one that exports `handlers`. Not here: the families of REST (`api/families.py`).
"""

from typing import Any, Final

from tripline.portal import (
    account,
    accounts,
    administrators,
    applications,
    apply,
    assignments,
    chains,
    companies,
    company_list,
    delegation,
    exports,
    frame,
    import_drafts,
    import_rows,
    imports,
    lines,
    mounting,
    passwords,
    people,
    people_lists,
    pushes,
    receivers,
    search,
    sensor_list,
    sensors,
    service_list,
    settings,
    sign_in,
    start,
    static,
    vehicle_list,
    vehicles,
)

FAMILIES: Final = (
    account,
    accounts,
    applications,
    administrators,
    apply,
    assignments,
    chains,
    companies,
    company_list,
    delegation,
    exports,
    import_drafts,
    import_rows,
    imports,
    lines,
    mounting,
    passwords,
    people,
    people_lists,
    pushes,
    receivers,
    search,
    sensor_list,
    sensors,
    service_list,
    settings,
    sign_in,
    start,
    static,
    vehicle_list,
    vehicles,
)

STATE: Final[dict[str, Any]] = {frame.PAGES: frame.pages_of(FAMILIES)}
"""What handlers of these families find in the state of their application, beside the rim."""
