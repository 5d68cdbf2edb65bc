"""Delegating many vehicles, or taking many back: what it would do, told beforehand, and the doing of it.

A vehicle that cannot be delegated or taken back is named with its refusal and stops none of the others. What is told
beforehand holds nothing: each vehicle is checked again when it is done.

Not here: what one delegation is and what ends with it (`delegations.py`).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId, SensorId, TimeIds, VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.services.fleet import delegations as single
from tripline.services.fleet.vehicles_of_many import Impossible, impossible
from tripline.store.fleet import rights
from tripline.store.fleet.rights import Held
from tripline.store.transactions import ReadTx, WriteTx

MOST: Final = 1_000
"""Vehicles that one request names."""
AT_ONCE: Final = 100
"""Vehicles in one transaction: it delays the commit of what devices send."""
_NONE: Final = Held(0, 0)


class Pair(NamedTuple):
    """A vehicle, and the company that it is to be delegated to or taken back from."""

    vehicle_id: VehicleId
    to_company_id: CompanyId


class Possible(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle that can be delegated or taken back, and what ends with that."""

    pair: Pair
    vehicle_no: str
    company_name: str
    directors: int = 0
    """Rights of delegated directors that end."""
    drivers: int = 0
    """Rights to drive that end."""
    driven: bool = False
    """Whether somebody drives it now who no longer will."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done."""

    possible: list[Possible]
    impossible: list[Impossible]

    @property
    def directors(self) -> int:
        """Rights of delegated directors that end in all."""
        return sum(each.directors for each in self.possible)

    @property
    def drivers(self) -> int:
        """Rights to drive that end in all."""
        return sum(each.drivers for each in self.possible)

    @property
    def driven(self) -> int:
        """Vehicles whose current driver no longer drives them."""
        return sum(each.driven for each in self.possible)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    pairs: list[Pair]
    impossible: list[Impossible]
    sensors: list[SensorId]
    """Of vehicles taken back: the caller tells the pipeline of each after the commit (`SIGNAL_SENSOR_CHANGED`)."""


_Look: TypeAlias = Callable[[ReadTx, Actor, Pair], Possible]


def chosen(pairs: Sequence[Pair]) -> list[Pair]:
    """Each pair once, in the order given. Raises `BadParameter` without any, or with more than `MOST`."""
    found = list(dict.fromkeys(pairs))
    if not found:
        raise BadParameter.missing("vehicleId")
    if len(found) > MOST:
        raise BadParameter("vehicles_many", field="vehicleId", most=MOST)
    return found


def preview_delegating(tx: ReadTx, *, actor: Actor, pairs: Sequence[Pair]) -> Preview:
    """What `delegate` would do. Raises `Forbidden` for a role that delegates nothing."""
    return _preview(tx, actor, pairs, _to_delegate)


def preview_taking_back(tx: ReadTx, *, actor: Actor, pairs: Sequence[Pair]) -> Preview:
    """What `take_back` would do. Raises `Forbidden` for a role that delegates nothing."""
    return _preview(tx, actor, pairs, _to_take_back)


def delegate(tx: WriteTx, *, actor: Actor, pairs: Sequence[Pair], ids: TimeIds, now_ms: int) -> Done:
    """Delegate the vehicles, at most `AT_ONCE` a call. Raises `Forbidden` for a role that delegates nothing."""
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    done = Done(pairs=[], impossible=[], sensors=[])
    for pair in pairs:
        try:
            single.delegate(
                tx,
                actor=actor,
                vehicle_id=pair.vehicle_id,
                to_company_id=pair.to_company_id,
                ids=ids,
                now_ms=now_ms,
            )
        except Refusal as refusal:  # nothing of it was written: every check comes before
            done.impossible.append(impossible(tx, actor=actor, vehicle_id=pair.vehicle_id, refusal=refusal))
        else:
            done.pairs.append(pair)
    return done


def take_back(tx: WriteTx, *, actor: Actor, pairs: Sequence[Pair], ids: TimeIds, now_ms: int) -> Done:
    """Take the vehicles back, at most `AT_ONCE` a call. Raises `Forbidden` for a role that delegates nothing."""
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    done = Done(pairs=[], impossible=[], sensors=[])
    for pair in pairs:
        try:
            sensors = single.take_back(
                tx,
                actor=actor,
                vehicle_id=pair.vehicle_id,
                to_company_id=pair.to_company_id,
                ids=ids,
                now_ms=now_ms,
            )
        except Refusal as refusal:  # as above
            done.impossible.append(impossible(tx, actor=actor, vehicle_id=pair.vehicle_id, refusal=refusal))
        else:
            done.pairs.append(pair)
            done.sensors.extend(sensors)
    return done


def _preview(tx: ReadTx, actor: Actor, pairs: Sequence[Pair], look: _Look) -> Preview:
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    found = Preview(possible=[], impossible=[])
    for pair in pairs:
        try:
            found.possible.append(look(tx, actor, pair))
        except Refusal as refusal:
            found.impossible.append(impossible(tx, actor=actor, vehicle_id=pair.vehicle_id, refusal=refusal))
    return found


def _to_delegate(tx: ReadTx, actor: Actor, pair: Pair) -> Possible:
    vehicle, receiver = single.delegable(tx, actor=actor, vehicle_id=pair.vehicle_id, to_company_id=pair.to_company_id)
    return Possible(pair=pair, vehicle_no=vehicle.vehicle_no, company_name=receiver.name)


def _to_take_back(tx: ReadTx, actor: Actor, pair: Pair) -> Possible:
    vehicle, receiver = single.revocable(tx, actor=actor, vehicle_id=pair.vehicle_id, to_company_id=pair.to_company_id)
    held = rights.counted(tx, vehicle.id).get(receiver.id, _NONE)
    return Possible(
        pair=pair,
        vehicle_no=vehicle.vehicle_no,
        company_name=receiver.name,
        directors=held.directors,
        drivers=held.drivers,
        driven=rights.is_driven_by(tx, vehicle.id, receiver.id),
    )
