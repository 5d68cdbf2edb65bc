"""The families of REST operations, and the sources of their documentation.

Each family is a module beside this one.
"""

from typing import Any, Final

from tripline.api import (
    administrators,
    applications,
    assignments,
    auth,
    base_map,
    candidates,
    carrier,
    companies,
    delegations,
    disputes,
    docs,
    explanations,
    health,
    history,
    imports,
    maps,
    mounting,
    passwords,
    policies,
    positions,
    pushes,
    rescorings,
    rights,
    rpc,
    scores,
    sensors,
    sessions,
    share_links,
    tracks,
    trends,
    trip_drivers,
    trip_lists,
    trips,
    trips_of_people,
    users,
    vehicles,
)
from tripline.api.documents.openapi import Document, Headings

HEADINGS: Final[Headings] = {
    "Accounts": (
        "Logging in, sessions, passwords, applications for a service account.",
        (auth, sessions, passwords, applications),
    ),
    "Companies": ("Operators, partners and their administrators.", (companies, administrators)),
    "People": ("Directors and drivers.", (users, trips_of_people)),
    "Vehicles": ("Vehicles, who manages and drives them.", (vehicles, assignments)),
    "Sensors": ("Sensors, and the vehicles they are mounted on.", (sensors, mounting)),
    "Calls": ("Calls to devices, their acknowledgements and results.", (rpc,)),
    "Positions": ("Where vehicles are now, and links that show it without an account.", (positions, share_links)),
    "Maps": (
        "The base map: its tiles, and the style that draws them. Importing, listing and removing maps.",
        (base_map, maps),
    ),
    "Trips": ("Trips, microtrips and device events.", (trips, trip_lists)),
    "Analytics": (
        "Driving scores with explanations, tracks and trends, GPS events, scoring policies, scoring anew, disputes.",
        (scores, explanations, tracks, trends, policies, rescorings, disputes, trip_drivers),
    ),
    "Delegation": ("Vehicles delegated to companies, rights of people on vehicles.", (candidates, delegations, rights)),
    "History": ("Changes, with their authors and times.", (history,)),
    "Pushes": ("Messages to a company's own server: waiting and parked ones, and their secret.", (pushes,)),
    "Bulk registration": ("Many vehicles or sensors from one CSV file.", (imports,)),
    "Carrier lines": ("Telephone lines of devices.", (carrier,)),
    "Documentation": ("This document.", (docs,)),
    "Machine": ("For the operator of this machine, from the machine itself.", (health,)),
}
FAMILIES: Final = tuple(family for _, families in HEADINGS.values() for family in families)

STATE: Final[dict[str, Any]] = {"document": Document(HEADINGS)}
"""State of the application for handlers of these families, beside their contexts."""
