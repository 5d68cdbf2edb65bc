"""JSON of share links: the requests and records of their makers, and what the page behind one gets."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from tripline.domain.positions import Moment, Position
from tripline.domain.share_links import ShareLink
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, record_of

_LINK = {"id": "5b0d9d10-c803-11ef-9d5c-6b1f6f2a4c11"}


class NewShareLink(msgspec.Struct, rename="camel", kw_only=True):
    """A link to make."""

    hours: Annotated[int | None, about("how long it works, 1 to 720; absent: 24", 24)] = None
    trail: Annotated[bool, about("show the way since the link was made", True)] = False
    number: Annotated[bool, about("show the number plate", False)] = False


class NewTripShareLink(msgspec.Struct, rename="camel", kw_only=True):
    """A link to make that shows a trip."""

    hours: Annotated[int | None, about("how long it works, 1 to 720; absent: 24", 24)] = None
    whole: Annotated[bool, about("show the first and last 200 m, too", False)] = False
    number: Annotated[bool, about("show the number plate", False)] = False


class ShareLinkRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A share link."""

    id: Annotated[Id, about("id of the link", _LINK)]
    created_time: Annotated[int, about("when it was made, epoch ms", 1735689600000)]
    expires_time: Annotated[int, about("when it ends, epoch ms", 1735776000000)]
    maker_id: Annotated[Id, about("who made it", examples.PERSON)]
    maker_name: Annotated[str, about("the maker's name", "Kim")]
    vehicle_id: Annotated[Id, about("id of the vehicle", examples.VEHICLE)]
    vehicle_no: Annotated[str, about("the vehicle's number", "12가3456")]
    trip_id: Annotated[Id | None, about("the trip that it shows; null: the vehicle", None)]
    trip_start_time: Annotated[int | None, about("when that trip began, epoch ms; null: unknown, or no trip", None)]
    trail: Annotated[bool, about("shows the vehicle's way since it was made", True)]
    whole: Annotated[bool, about("shows the first and last 200 m of the trip", False)]
    number: Annotated[bool, about("shows the number plate", False)]
    openings: Annotated[int, about("how often it was opened", 3)]
    opened_time: Annotated[int | None, about("when it was opened last, epoch ms; null: never", 1735693200000)]
    url: Annotated[
        str | None,
        about(
            "the address with its secret; only in the answer that makes the link",
            "https://tripline.example/share/5b0d9d10-c803-11ef-9d5c-6b1f6f2a4c11#Zk0W",
        ),
    ] = None


class ShareLinks(msgspec.Struct, rename="camel", kw_only=True):
    """The links of a company."""

    data: Annotated[list[ShareLinkRecord], about("the newest first; at most 200", [])]


class SharedPoint(msgspec.Struct, kw_only=True):
    """A place on the way of a shared vehicle."""

    lat: float
    lon: float


class SharedPosition(msgspec.Struct, kw_only=True):
    """All that the page of a link shows of its vehicle; nulls where it has no position."""

    time: int | None
    """Time of the position, epoch ms."""
    lat: float | None
    lon: float | None
    heading: float | None
    """Degrees; null: unknown, or standing."""
    number: str | None
    """The number plate; null: not shown."""


class SharedThing(msgspec.Struct, kw_only=True):
    """The kind of thing that a link shows; its page reads this first."""

    shows: Literal["vehicle", "trip"]


class SharedTrip(msgspec.Struct, kw_only=True):
    """Every field that the page of a link shows of its trip."""

    begin: int | None
    """Time of the first point, epoch ms; null: no points."""
    end: int | None
    """Time of the last point, epoch ms."""
    number: str | None
    """The number plate; null: not shown."""
    whole: bool
    """False: the first and last 200 m are left out."""
    points: list[SharedPoint]
    """The track, by time."""


class SharedTrail(msgspec.Struct, kw_only=True):
    """The way since the link was made."""

    points: list[SharedPoint]


def record(link: ShareLink, *, url: str | None = None) -> ShareLinkRecord:
    """A link as JSON."""
    shows = link.shows
    return record_of(ShareLinkRecord, link, trail=shows.trail, whole=shows.whole, number=shows.number, url=url)


def shared_position(found: Position | None, *, number: str | None) -> SharedPosition:
    """A position as the page gets it."""
    if found is None:
        return SharedPosition(time=None, lat=None, lon=None, heading=None, number=number)
    return SharedPosition(time=found.time_ms, lat=found.lat, lon=found.lon, heading=found.heading_deg, number=number)


def shared_trip(moments: Sequence[Moment], *, number: str | None, whole: bool) -> SharedTrip:
    """The shown part of a trip as the page gets it."""
    return SharedTrip(
        begin=moments[0].time_ms if moments else None,
        end=moments[-1].time_ms if moments else None,
        number=number,
        whole=whole,
        points=[SharedPoint(lat=each.lat, lon=each.lon) for each in moments],
    )
