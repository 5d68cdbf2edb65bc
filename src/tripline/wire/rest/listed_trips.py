"""JSON of trips in lists by start, and of a vehicle's day; additions to the interface (spec/rest 10.8)."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from tripline.domain.listed_trips import ListedTrip, TripSums
from tripline.domain.vehicle_days import Drive, Ends, Point, VehicleDay
from tripline.wire.described import about, example_of
from tripline.wire.rest import examples, quality
from tripline.wire.rest.base import Id, record_of
from tripline.wire.rest.positions import PlaceName
from tripline.wire.rest.tracks import NO_FIX, SAMPLES, NoFix, Samples


class PlaceRecord(msgspec.Struct, frozen=True):
    """A position, degrees WGS84."""

    lat: Annotated[float, about("latitude", 37.5665)]
    lon: Annotated[float, about("longitude", 126.978)]
    name: PlaceName


_PLACE = example_of(PlaceRecord)


class ListedTripRecord(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A trip of a list by start."""

    id: Annotated[Id, about("id of the trip", examples.TRIP)]
    company_id: Annotated[Id, about("the company of its sensor", examples.COMPANY)]
    vehicle_id: Annotated[Id, about("the vehicle", examples.VEHICLE)]
    vehicle_no: Annotated[str | None, about("number of the vehicle", "12가3456")]
    user_id: Annotated[Id, about("who drove at the start; the placeholder when nobody was set", examples.PERSON)]
    start_ts: Annotated[int, about("start, epoch ms", 1735689600000)]
    end_ts: Annotated[int | None, about("end, epoch ms; null while the trip is open", 1735693800000)]
    begin_place: Annotated[PlaceRecord | None, about("where it began; null: no position", _PLACE)]
    end_place: Annotated[PlaceRecord | None, about("where it ended, or is now; null: no position", _PLACE)]
    state: Annotated[
        Literal["open", "ended", "scored", "unscored"],
        about("`ended`: it waits for its score; `unscored`: `notScored` says why", "scored"),
    ]
    not_scored: Annotated[str | None, about("why it has no score; null: it has one, or waits for it", "too_short")]
    score: Annotated[float | None, about("0 to 100; null: it has none", 93.4)]
    limit_known: Annotated[float | None, quality.LIMIT_KNOWN]
    harsh_known: Annotated[bool | None, quality.HARSH_KNOWN]
    distance: Annotated[float | None, about("metres, as judged, else as its trip message says; null: unknown", 49162.0)]
    driving: Annotated[float | None, about("driving time, seconds; null: no score", 4110.0)]
    accel: Annotated[int | None, about("sudden starts and accelerations; null: no score", 1)]
    de_accel: Annotated[int | None, about("sudden decelerations and stops; null: no score", 0)]
    over_speed: Annotated[int | None, about("samples above the limit with its tolerance; null: no score", 12)]
    disputed: Annotated[bool, about("whether a dispute of it is open", False)]


class ListedTripsLink(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Query of the next page of trips by start."""

    limit: Annotated[int, about("items on a page", 20)]
    start_time: Annotated[int, about("started from this time on, epoch ms", 1735084800000)]
    end_time: Annotated[int, about("started up to this time, epoch ms", 1735689600000)]
    asc_order: Annotated[bool, about("as asked for: true: oldest first", False)]
    id_offset: Annotated[
        str | None,
        about(
            "id of the last item of this page; null: the bounds say where to continue",
            "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11",
        ),
    ]
    state: Annotated[str | None, about("as asked for", None)]
    not_scored: Annotated[str | None, about("as asked for", None)]
    min_score: Annotated[float | None, about("as asked for", None)]
    max_score: Annotated[float | None, about("as asked for", 75.0)]
    disputed: Annotated[bool | None, about("as asked for", None)]
    over_limit: Annotated[bool | None, about("as asked for", True)]


_TRIP = example_of(ListedTripRecord) | {"notScored": None}


class ListedTrips(msgspec.Struct, frozen=True, rename="camel"):
    """A page of trips by start; with filters it may be shorter than asked for, and still have more behind it."""

    data: Annotated[list[ListedTripRecord], about("newest first, unless asked otherwise", [_TRIP])]
    next_page_link: Annotated[ListedTripsLink | None, about("values of the query; null: nothing follows")]
    has_next: Annotated[bool, about("whether more may follow", False)]


class DayItemRecord(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A drive or a stop of a day; times may lie outside of the day."""

    kind: Annotated[Literal["drive", "stop"], about("drive or stop", "drive")]
    begin_ts: Annotated[int, about("start of the trip, or arrival, epoch ms", 1735689600000)]
    end_ts: Annotated[int | None, about("end of the trip, or departure, epoch ms; null: not yet", 1735693800000)]
    place: Annotated[PlaceRecord | None, about("of a stop: where; null: a drive, or unknown", None)]
    distance: Annotated[float | None, about("metres of the drive on this day; null: a stop, or unknown", 49162.0)]
    trip: Annotated[ListedTripRecord | None, about("of a drive: the whole trip; null: a stop", _TRIP)]


class VehicleDayRecord(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The drives and stops of one vehicle on one day."""

    vehicle_id: Annotated[Id, about("the vehicle", examples.VEHICLE)]
    date: Annotated[str, about("the day, time zone of the service", "2025-01-01")]
    start_time: Annotated[int, about("when it begins, epoch ms", 1735657200000)]
    end_time: Annotated[int, about("when the next one begins, epoch ms", 1735743600000)]
    distance: Annotated[float, about("metres driven on the day, where known", 49162.0)]
    driving: Annotated[float, about("seconds in trips on the day", 4200.0)]
    idling: Annotated[
        float | None, about("of these, seconds of idling; null: more than 200,000 samples to read", 420.0)
    ]
    previous_ts: Annotated[
        int | None, about("start of the last trip before the day, epoch ms; null: none", 1735650000000)
    ]
    next_ts: Annotated[int | None, about("start of the first trip behind the day, epoch ms; null: none", 1735750000000)]
    score: Annotated[float | None, about("of the trips that began on the day, driven as one; null: none has one", 93.4)]
    limit_known: Annotated[float | None, about("`limitKnown` of these trips, by distance; null: no score", 0.9)]
    items: Annotated[list[DayItemRecord], about("by time", [example_of(DayItemRecord)])]


class VehicleDayTrack(msgspec.Struct, frozen=True, rename="camel"):
    """Where a vehicle went on one day, and how fast."""

    count: Annotated[int, about("usable samples of the day, before thinning", 3600)]
    samples: Annotated[Samples, SAMPLES]
    no_fix: Annotated[list[NoFix], NO_FIX]


class TripSumsRecord(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Sums of trips by start."""

    trips: Annotated[int, about("trips, without duplicates and watched parking", 12)]
    distance: Annotated[float, about("metres, where known", 49162.0)]
    driving: Annotated[float, about("seconds from start to end, of trips that ended", 4200.0)]
    scored: Annotated[int, about("how many of them have a score", 11)]
    score: Annotated[float | None, about("of these, driven as one; null: none has one", 93.4)]
    limit_known: Annotated[float | None, about("`limitKnown` of these, by distance; null: no score", 0.9)]


def sums_record(sums: TripSums) -> TripSumsRecord:
    """The record of sums."""
    return TripSumsRecord(
        trips=sums.trips,
        distance=sums.distance_m,
        driving=sums.duration_ms / 1_000,
        scored=0 if sums.score is None else sums.score.trips,
        score=None if sums.score is None else sums.score.score,
        limit_known=None if sums.score is None else sums.score.limit_known,
    )


def place_record(point: Point | None, names: Mapping[Point, str]) -> PlaceRecord | None:
    """The record of a position; `names`: the words for positions."""
    return None if point is None else PlaceRecord(point.lat, point.lon, names.get(point))


def listed_trip_record(trip: ListedTrip, ends: Ends | None, names: Mapping[Point, str]) -> ListedTripRecord:
    """The record of a trip with its ends."""
    return record_of(
        ListedTripRecord,
        trip,
        begin_place=None if ends is None else place_record(ends.begin, names),
        end_place=None if ends is None else place_record(ends.end, names),
        distance=trip.distance_m,
        driving=None if trip.driving_ms is None else trip.driving_ms / 1_000,
    )


def vehicle_day_record(day: VehicleDay, names: Mapping[Point, str]) -> VehicleDayRecord:
    """The record of a day."""
    return VehicleDayRecord(
        vehicle_id=Id(day.vehicle_id),
        date=day.date,
        start_time=day.begin_ms,
        end_time=day.end_ms,
        distance=day.distance_m,
        driving=day.driving_ms / 1_000,
        idling=None if day.idle_ms is None else day.idle_ms / 1_000,
        previous_ts=day.previous_ms,
        next_ts=day.next_ms,
        score=None if day.score is None else day.score.score,
        limit_known=None if day.score is None else day.score.limit_known,
        items=[
            DayItemRecord(
                kind="drive",
                begin_ts=each.trip.start_ms,
                end_ts=each.trip.end_ms,
                place=None,
                distance=each.distance_m,
                trip=listed_trip_record(each.trip, day.ends.get(each.trip.no), names),
            )
            if isinstance(each, Drive)
            else DayItemRecord(
                kind="stop",
                begin_ts=each.arrived_ms,
                end_ts=each.left_ms,
                place=place_record(each.place, names),
                distance=None,
                trip=None,
            )
            for each in day.items
        ],
    )
