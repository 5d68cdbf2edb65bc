"""JSON of scores that need attention. An addition to the interface."""

from typing import Annotated

import msgspec

from tripline.domain import attention
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id
from tripline.wire.rest.disputes import Dispute, dispute


class Falling(msgspec.Struct, frozen=True, rename="camel"):
    """A score that fell."""

    of: Annotated[str, about("vehicle or driver", "vehicle")]
    id: Annotated[Id, about("the vehicle or driver", examples.VEHICLE)]
    name: Annotated[str | None, about("number or name; null: hidden", "12가3456")]
    before: Annotated[float, about("score of the eight weeks before the last two", 91.2)]
    limit_known_before: Annotated[float, about("`limitKnown` of the trips in `before`, by distance", 0.9)]
    now: Annotated[float, about("score of the last two weeks", 78.4)]
    limit_known_now: Annotated[float, about("`limitKnown` of the trips in `now`", 0.8)]


class Harsh(msgspec.Struct, frozen=True, rename="camel"):
    """Harsh events far above those of the group."""

    of: Annotated[str, about("vehicle or driver", "driver")]
    id: Annotated[Id, about("the vehicle or driver", examples.VEHICLE)]
    name: Annotated[str | None, about("number or name; null: hidden", "Kim")]
    per100_km: Annotated[float, about("starts, accelerations, decelerations and stops for each 100 km", 31.0)]
    group_per100_km: Annotated[float, about("the same of all who drove lately", 9.5)]


class Unscored(msgspec.Struct, frozen=True, rename="camel"):
    """A vehicle whose newest trips have no score."""

    vehicle_id: Annotated[Id, about("the vehicle", examples.VEHICLE)]
    name: Annotated[str | None, about("its number", "12가3456")]
    count: Annotated[int, about("unusable trips among the newest ones", 7)]
    not_scored: Annotated[str, about("the most frequent reason", "sparse")]


class Attention(msgspec.Struct, frozen=True, rename="camel"):
    """What needs attention, in short lists."""

    falling: Annotated[list[Falling], about("the greatest fall first", [])]
    harsh: Annotated[list[Harsh], about("the greatest ratio first", [])]
    disputes: Annotated[list[Dispute], about("open disputes, the oldest first", [])]
    unscored: Annotated[list[Unscored], about("the most trips first", [])]


def record(found: attention.Attention) -> Attention:
    """The overview of scores as REST returns it."""
    return Attention(
        falling=[
            Falling(each.kind.value, Id(each.id), each.name, each.before, each.before_known, each.now, each.now_known)
            for each in found.falling
        ],
        harsh=[Harsh(each.kind.value, Id(each.id), each.name, each.rate, each.group) for each in found.harsh],
        disputes=[dispute(each) for each in found.waiting],
        unscored=[Unscored(Id(each.vehicle_id), each.name, each.trips, each.reason) for each in found.unscored],
    )
