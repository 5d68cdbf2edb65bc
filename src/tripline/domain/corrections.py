"""Correcting the driver of a past trip: the record, and the refusals.

A correction keeps the driver that the trip's messages name, so that withdrawing it restores that one.

Not here: who may correct (`domain/access.py`), rows (`store/trips/drivers.py`).
"""

from typing import Final

import msgspec

from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.refusals import Conflict, Kind, Refusal
from tripline.domain.trends import Sums


class TripDriver(msgspec.Struct, frozen=True, kw_only=True):
    """Who drove a trip."""

    trip_no: int
    trip_id: TripId
    company_id: CompanyId
    vehicle_id: VehicleId | None
    begun_ms: int
    """Start of the trip; its creation if it has none."""
    under_way: bool
    driver_id: UserId | None
    """None: unknown, or deleted."""
    recorded_id: UserId | None
    """The driver that the trip's messages name; the same as `driver_id` without a correction."""
    corrected_ms: int | None
    """Time of the correction; None: none is in force."""


class SeenDriver(msgspec.Struct, frozen=True):
    """The driver that a form was rendered with."""

    driver_id: UserId | None


class Totals(msgspec.Struct, frozen=True):
    """All scored trips of a person, before and after a correction; None: the actor may not read them."""

    user_id: UserId
    before: Sums | None
    after: Sums | None


class OwnTrip(Refusal):
    """Neither the former nor the new driver may correct the driver of a trip."""

    code = "driver.own"
    kind = Kind.PERMISSION


class UnderWay(Conflict):
    """The trip has not ended."""

    code = "driver.under_way"


class WithoutVehicle(Conflict):
    """The trip belongs to no vehicle, so no driver is permitted."""

    code = "driver.without_vehicle"


class CorrectedMeanwhile(Conflict):
    """Another request changed the trip's driver first."""

    code = "driver.corrected_meanwhile"


class NotCorrected(Conflict):
    """No correction is in force."""

    code = "driver.not_corrected"


REFUSALS: Final = (OwnTrip, UnderWay, WithoutVehicle)
"""Of every correction; withdrawing one and forms add theirs."""
