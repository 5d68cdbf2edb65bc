"""JSON of the driver of a past trip: the record, a preview, and the correction. An addition to the interface."""

from typing import Annotated

import msgspec

from tripline.domain.corrections import Totals, TripDriver
from tripline.domain.trends import Sums
from tripline.wire.described import about, example_of
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of


class DrivenSum(msgspec.Struct, frozen=True, rename="camel"):
    """All scored trips of a person."""

    count: Annotated[int, about("how many", 12)]
    dist: Annotated[int, about("their distance, m", 91234)]
    score: Annotated[float | None, about("score of all of them; null: none", 87.31)]
    limit_known: Annotated[float | None, about("`limitKnown` of these, by distance; null: no score", 0.9)]


_SUM = example_of(DrivenSum)


class DriverChange(msgspec.Struct, frozen=True, rename="camel"):
    """A person's scored trips before and after a correction."""

    driver_id: Annotated[Id, about("the former or the new driver", examples.PERSON)]
    before: Annotated[DrivenSum | None, about("now; null: the caller may not read this person's scores", _SUM)]
    after: Annotated[DrivenSum | None, about("with the correction; null as `before`", _SUM)]


class DriverOfTrip(msgspec.Struct, frozen=True, rename="camel"):
    """Who drove a past trip."""

    trip_id: Annotated[Id, about("id of the trip", examples.TRIP)]
    vehicle_id: Annotated[Id | None, about("id of its vehicle", examples.TRIP)]
    driver_id: Annotated[Id | None, about("who drove; null: unknown", examples.PERSON)]
    recorded_driver_id: Annotated[Id | None, about("the driver that its messages name; null: none", examples.PERSON)]
    corrected_time: Annotated[int | None, about("when the driver was corrected, epoch ms; null: not corrected", None)]
    changes: Annotated[
        list[DriverChange] | None, about("what the asked driver would change; null: none was asked", None)
    ] = None


class CorrectDriver(msgspec.Struct, rename="camel", kw_only=True):
    """The driver to give the trip."""

    driver_id: Annotated[
        str | None,
        about("id of a director or driver who may drive the vehicle", "2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11"),
    ] = None


def driver_of_trip(found: TripDriver, changes: list[Totals] | None = None) -> DriverOfTrip:
    """The record of a trip's driver."""
    told = [DriverChange(Id(each.user_id), _sum(each.before), _sum(each.after)) for each in changes or ()]
    recorded_id = None if found.recorded_id is None else Id(found.recorded_id)
    return record_of(DriverOfTrip, found, recorded_driver_id=recorded_id, changes=None if changes is None else told)


def _sum(found: Sums | None) -> DrivenSum | None:
    if found is None:
        return None
    score, limit_known = (found.score, found.limit_known) if found.trips else (None, None)
    return DrivenSum(found.trips, found.distance_m, score, limit_known)
