"""The families of pages, and the navigation to them.

Each family is a module that exports `handlers`.
"""

from typing import Any, Final

from tripline.portal.account import account, apply, passwords, sign_in
from tripline.portal.admin import accounts, applications, health, map_changes, maps, settings
from tripline.portal.delegation import bulk, candidates, chains
from tripline.portal.driving import codes, handover, home
from tripline.portal.frame import navigation, start, static
from tripline.portal.imports import drafts, rows, uploads
from tripline.portal.lists import bulk_vehicles, exports, nouns, search
from tripline.portal.live import live_map, stream
from tripline.portal.pushes import pushes, receivers
from tripline.portal.records import assignments, companies, lines, mounting, people, sensors, trip_drivers, vehicles
from tripline.portal.scores import overview, policies, subjects
from tripline.portal.sharing import links, shared
from tripline.portal.trips import contests, trip_files, trip_page, vehicle_day

FAMILIES: Final = (
    account,
    apply,
    passwords,
    sign_in,
    accounts,
    applications,
    health,
    map_changes,
    maps,
    settings,
    bulk,
    candidates,
    chains,
    codes,
    handover,
    home,
    start,
    static,
    drafts,
    rows,
    uploads,
    bulk_vehicles,
    exports,
    nouns,
    search,
    live_map,
    stream,
    pushes,
    receivers,
    assignments,
    companies,
    lines,
    mounting,
    people,
    sensors,
    trip_drivers,
    vehicles,
    overview,
    policies,
    subjects,
    contests,
    trip_files,
    trip_page,
    vehicle_day,
    links,
    shared,
)

SECTIONS: Final[navigation.Sections] = {
    "drive": {navigation.DRIVE: ("portal.driving.title", "id-card")},
    "fleet": {
        "/fleet/vehicles": ("portal.vehicles.title", "truck"),
        "/fleet/sensors": ("portal.sensors.title", "cpu"),
        "/fleet/directors": ("portal.frame.directors", "user-cog"),
        "/fleet/drivers": ("portal.frame.drivers", "id-card"),
        "/fleet/companies": ("portal.companies.title", "building-2"),
        "/shares": ("portal.shares.title", "link"),
    },
    "map": {"/map": ("portal.live.title", "map")},
    "trips": {"/trips": ("portal.lists.trips.title", "route")},
    "scores": {
        "/scores": ("portal.scores.title", "gauge"),
        "/scores/policies": ("portal.policy.title", "shield-check"),
    },
    "delegation": {"/delegation": ("portal.delegation.title", "waypoints")},
    "import": {"/import": ("portal.import.title", "upload")},
    "lines": {"/lines": ("portal.frame.lines", "card-sim")},
    "company": {"/company": ("portal.frame.company", "building-2"), "/pushes": ("portal.pushes.title", "send")},
    "admin": {
        "/admin/applications": ("portal.lists.applications.title", "inbox"),
        "/admin/services": ("portal.frame.services", "server"),
        "/admin/accounts": ("portal.accounts.title", "users"),
        "/admin/maps": ("portal.maps.title", "map"),
        "/admin/health": ("portal.health.title", "activity"),
        "/admin/settings": ("portal.frame.settings", "settings"),
    },
}
"""The pages in the navigation, by section, each with its text and icon. The text of a section itself is `portal.frame.`
plus its name.
"""

STATE: Final[dict[str, Any]] = {navigation.PAGES: navigation.pages_of(FAMILIES), navigation.SECTIONS: SECTIONS}
