"""The families of REST operations, and the sources of their documentation.

Each family is a module beside this one. Not here: the application that serves them
(`http/application.py`).
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
from tripline.api.documents.openapi import Document

FAMILIES: Final = (
    docs,
    health,
    auth,
    sessions,
    passwords,
    applications,
    companies,
    administrators,
    vehicles,
    assignments,
    sensors,
    mounting,
    rpc,
    users,
    trips_of_people,
    trips,
    trip_lists,
    positions,
    base_map,
    scores,
    explanations,
    tracks,
    trends,
    policies,
    rescorings,
    disputes,
    trip_drivers,
    share_links,
    candidates,
    delegations,
    rights,
    history,
    carrier,
    pushes,
    imports,
    maps,
)

STATE: Final[dict[str, Any]] = {"document": Document(FAMILIES)}
"""State of the application for handlers of these families, beside their contexts."""
