"""The families of pages, and the navigation to them.

Each family is a module beside this one that exports `handlers`. Not here: the families of REST (`api/families.py`).
"""

from typing import Any, Final

from tripline.portal import (
    account,
    account_list,
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
    health,
    import_drafts,
    import_rows,
    imports,
    line_list,
    lines,
    map_changes,
    maps,
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
    vehicles_chosen,
)

FAMILIES: Final = (
    account,
    account_list,
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
    health,
    import_drafts,
    import_rows,
    imports,
    line_list,
    lines,
    map_changes,
    maps,
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
    vehicles_chosen,
)

SECTIONS: Final[frame.Sections] = {
    "fleet": {
        "/fleet/vehicles": ("portal.vehicles.title", "truck"),
        "/fleet/sensors": ("portal.sensors.title", "cpu"),
        "/fleet/directors": ("portal.frame.directors", "user-cog"),
        "/fleet/drivers": ("portal.frame.drivers", "id-card"),
        "/fleet/companies": ("portal.companies.title", "building-2"),
    },
    "delegation": {"/delegation": ("portal.delegation.title", "waypoints")},
    "import": {"/import": ("portal.import.title", "upload")},
    "lines": {"/lines": ("portal.frame.lines", "card-sim")},
    "company": {"/company": ("portal.frame.company", "building-2"), "/pushes": ("portal.pushes.title", "send")},
    "admin": {
        "/admin/applications": ("portal.applications.title", "inbox"),
        "/admin/services": ("portal.frame.services", "server"),
        "/admin/accounts": ("portal.accounts.title", "users"),
        "/admin/maps": ("portal.maps.title", "map"),
        "/admin/health": ("portal.health.title", "activity"),
        "/admin/settings": ("portal.frame.settings", "settings"),
    },
}
"""The pages that the navigation leads to, by section: text and icon of each. The text of a section itself is
`portal.frame.` and its name."""

STATE: Final[dict[str, Any]] = {frame.PAGES: frame.pages_of(FAMILIES), frame.SECTIONS: SECTIONS}
"""What handlers of these families find in the state of their application, beside the rim."""
