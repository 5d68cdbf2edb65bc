"""JSON of scores that need attention. An addition to the interface."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain import attention
from tripline.wire.rest.base import Id
from tripline.wire.rest.disputes import Dispute, dispute

_MEMBER: list[object] = [{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}]


class Falling(msgspec.Struct, frozen=True, rename="camel"):
    """A score that fell."""

    of: Annotated[str, Meta(description="vehicle or driver", examples=["vehicle"])]
    id: Annotated[Id, Meta(description="the vehicle or driver", examples=_MEMBER)]
    name: Annotated[str | None, Meta(description="number or name; null: hidden", examples=["12가3456"])]
    before: Annotated[float, Meta(description="score of the eight weeks before the last two", examples=[91.2])]
    limit_known_before: Annotated[
        float, Meta(description="`limitKnown` of the trips in `before`, by distance", examples=[0.9])
    ]
    now: Annotated[float, Meta(description="score of the last two weeks", examples=[78.4])]
    limit_known_now: Annotated[float, Meta(description="`limitKnown` of the trips in `now`", examples=[0.8])]


class Harsh(msgspec.Struct, frozen=True, rename="camel"):
    """Harsh events far above those of the group."""

    of: Annotated[str, Meta(description="vehicle or driver", examples=["driver"])]
    id: Annotated[Id, Meta(description="the vehicle or driver", examples=_MEMBER)]
    name: Annotated[str | None, Meta(description="number or name; null: hidden", examples=["Kim"])]
    per100_km: Annotated[
        float, Meta(description="starts, accelerations, decelerations and stops for each 100 km", examples=[31.0])
    ]
    group_per100_km: Annotated[float, Meta(description="the same of all who drove lately", examples=[9.5])]


class Unscored(msgspec.Struct, frozen=True, rename="camel"):
    """A vehicle whose newest trips have no score."""

    vehicle_id: Annotated[Id, Meta(description="the vehicle", examples=_MEMBER)]
    name: Annotated[str | None, Meta(description="its number", examples=["12가3456"])]
    count: Annotated[int, Meta(description="unusable trips among the newest ones", examples=[7])]
    not_scored: Annotated[str, Meta(description="the most frequent reason", examples=["sparse"])]


class Attention(msgspec.Struct, frozen=True, rename="camel"):
    """What needs attention, in short lists."""

    falling: Annotated[list[Falling], Meta(description="the greatest fall first", examples=[[]])]
    harsh: Annotated[list[Harsh], Meta(description="the greatest ratio first", examples=[[]])]
    disputes: Annotated[list[Dispute], Meta(description="open disputes, the oldest first", examples=[[]])]
    unscored: Annotated[list[Unscored], Meta(description="the most trips first", examples=[[]])]


def record(found: attention.Attention) -> Attention:
    """The overview of scores as REST returns it."""
    return Attention(
        falling=[
            Falling(
                *(each.kind.value, Id(each.id), each.name),
                *(each.before, each.before_known, each.now, each.now_known),
            )
            for each in found.falling
        ],
        harsh=[Harsh(each.kind.value, Id(each.id), each.name, each.rate, each.group) for each in found.harsh],
        disputes=[dispute(each) for each in found.waiting],
        unscored=[Unscored(Id(each.vehicle_id), each.name, each.trips, each.reason) for each in found.unscored],
    )
