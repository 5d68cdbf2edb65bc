"""Carrier lines."""

import msgspec

from tripline.http.context.base import Call
from tripline.services.lines.batches import Batches
from tripline.services.lines.pauses import Unpauser


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for carrier lines."""

    carrier_actions: Batches
    unpauser: Unpauser


def lines_of(request: Call) -> Lines:
    """Return the parts for carrier lines."""
    lines: Lines = request.app.state["lines"]
    return lines
