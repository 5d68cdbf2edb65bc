"""The fleet: devices' connections, and changes that other processes must act on."""

from collections.abc import Callable

import msgspec

from tripline.domain.ids import SensorId
from tripline.http.context.base import Call
from tripline.services.barrier import Barrier
from tripline.services.nodes import Node


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for companies, vehicles and sensors."""

    node: Node
    """This process's entry among those that share the store."""
    heard_of: Callable[[SensorId], int | None]
    """Time of the latest packet of a device connected to this process; None: not connected here."""
    settling: Barrier
    """Waits until the other processes have acted on a change."""


def fleet_of(request: Call) -> Fleet:
    """Return the parts for the fleet."""
    fleet: Fleet = request.app.state["fleet"]
    return fleet
