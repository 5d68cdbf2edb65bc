"""JSON of share links: the requests and records of their makers, and what the page behind one gets."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tripline.domain.positions import Position
from tripline.domain.share_links import ShareLink
from tripline.domain.track_ends import Moment
from tripline.wire.rest.base import Id

_LINK: list[object] = [{"id": "5b0d9d10-c803-11ef-9d5c-6b1f6f2a4c11"}]
_ACCOUNT: list[object] = [{"id": "2a7c1e30-c801-11ef-9d5c-6b1f6f2a4c11"}]
_VEHICLE: list[object] = [{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}]


class NewShareLink(msgspec.Struct, rename="camel", kw_only=True):
    """A link to make."""

    hours: Annotated[int | None, Meta(description="how long it works, 1 to 720; absent: 24", examples=[24])] = None
    trail: Annotated[bool, Meta(description="show the way since the link was made", examples=[True])] = False
    number: Annotated[bool, Meta(description="show the number plate", examples=[False])] = False


class NewTripShareLink(msgspec.Struct, rename="camel", kw_only=True):
    """A link to make that shows a trip."""

    hours: Annotated[int | None, Meta(description="how long it works, 1 to 720; absent: 24", examples=[24])] = None
    whole: Annotated[bool, Meta(description="show the first and last 200 m, too", examples=[False])] = False
    number: Annotated[bool, Meta(description="show the number plate", examples=[False])] = False


class ShareLinkRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A share link."""

    id: Annotated[Id, Meta(description="id of the link", examples=_LINK)]
    created_time: Annotated[int, Meta(description="when it was made, epoch ms", examples=[1735689600000])]
    expires_time: Annotated[int, Meta(description="when it ends, epoch ms", examples=[1735776000000])]
    maker_id: Annotated[Id, Meta(description="who made it", examples=_ACCOUNT)]
    maker_name: Annotated[str, Meta(description="the maker's name", examples=["Kim"])]
    vehicle_id: Annotated[Id, Meta(description="id of the vehicle", examples=_VEHICLE)]
    vehicle_no: Annotated[str, Meta(description="the vehicle's number", examples=["12가3456"])]
    trip_id: Annotated[Id | None, Meta(description="the trip that it shows; null: the vehicle", examples=[None])]
    trip_start_time: Annotated[
        int | None, Meta(description="when that trip began, epoch ms; null: unknown, or no trip", examples=[None])
    ]
    trail: Annotated[bool, Meta(description="shows the vehicle's way since it was made", examples=[True])]
    whole: Annotated[bool, Meta(description="shows the first and last 200 m of the trip", examples=[False])]
    number: Annotated[bool, Meta(description="shows the number plate", examples=[False])]
    openings: Annotated[int, Meta(description="how often it was opened", examples=[3])]
    opened_time: Annotated[
        int | None, Meta(description="when it was opened last, epoch ms; null: never", examples=[1735693200000])
    ]
    url: Annotated[
        str | None,
        Meta(
            description="the address with its secret; only in the answer that makes the link",
            examples=["https://tripline.example/share/5b0d9d10-c803-11ef-9d5c-6b1f6f2a4c11#Zk0W"],
        ),
    ] = None


class ShareLinks(msgspec.Struct, rename="camel", kw_only=True):
    """The links of a company."""

    data: Annotated[list[ShareLinkRecord], Meta(description="the newest first; at most 200", examples=[[]])]


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
    return ShareLinkRecord(
        id=Id(link.id),
        created_time=link.created_ms,
        expires_time=link.expires_ms,
        maker_id=Id(link.maker_id),
        maker_name=link.maker_name,
        vehicle_id=Id(link.vehicle_id),
        vehicle_no=link.vehicle_no,
        trip_id=None if link.trip_id is None else Id(link.trip_id),
        trip_start_time=link.trip_start_ms,
        trail=link.shows.trail,
        whole=link.shows.whole,
        number=link.shows.number,
        openings=link.openings,
        opened_time=link.opened_ms,
        url=url,
    )


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
