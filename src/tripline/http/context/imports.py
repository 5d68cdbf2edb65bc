"""Bulk imports."""

from tripline.http.context.base import Call
from tripline.services.imports.limits import ImportLimits


def imports_of(request: Call) -> ImportLimits:
    """Return the limits of imports."""
    imports: ImportLimits = request.app.state["imports"]
    return imports
