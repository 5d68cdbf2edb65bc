"""The vehicle and the driver of a sensor at an instant, by its changes since (spec/device-messages 4.7, gaps H9).

Not here: reading the changes from history (`store/ingest/mountings.py`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from tripline.domain.ids import UserId, VehicleId


class Change(NamedTuple):
    """A sensor was mounted on a vehicle or taken off it; a person began to drive a vehicle, or ended."""

    at_ms: int
    id: str | None
    """The vehicle or person; None: deleted."""
    begins: bool


class Owner(NamedTuple):
    """Vehicle and driver of a trip."""

    vehicle_id: VehicleId | None
    driver_id: UserId | None


class Drivers(NamedTuple):
    """The drivers of a vehicle."""

    now: UserId | None
    changes: Sequence[Change]


class Past(msgspec.Struct, frozen=True):
    """The changes of a sensor, oldest first."""

    vehicle_id: VehicleId | None
    """The present one."""
    changes: Sequence[Change]
    drivers: Mapping[str | None, Drivers]
    """Of each of its vehicles that was not deleted."""

    @property
    def vehicle_ids(self) -> set[VehicleId]:
        """Its vehicles that were not deleted."""
        return {VehicleId(each) for each in self.drivers if each is not None}

    @property
    def driver_ids(self) -> set[UserId]:
        """The earlier drivers of these vehicles."""
        changes = (change for drivers in self.drivers.values() for change in drivers.changes)
        return {UserId(change.id) for change in changes if change.id is not None}

    def owner(self, at_ms: float) -> Owner:
        """Return vehicle and driver at the instant; none of a deleted vehicle (H16)."""
        vehicle_id = _at(self.changes, at_ms, self.vehicle_id)
        drivers = self.drivers.get(vehicle_id)
        if drivers is None:
            return Owner(None, None)
        return Owner(vehicle_id, _at(drivers.changes, at_ms, drivers.now))  # type: ignore[arg-type]  # ids of its kinds


def _at(changes: Sequence[Change], at_ms: float, now: str | None) -> str | None:
    """The vehicle or person at the instant. Before the first known change: the one that it ended, else the present
    one."""
    last = None
    for change in changes:
        if change.at_ms > at_ms:
            break
        last = change
    if last is not None:
        return last.id if last.begins else None
    return changes[0].id if changes and not changes[0].begins else now
