"""Delegate or take back many vehicles: preview, execution and undo.

A vehicle that cannot be delegated or taken back is listed with its refusal and does not stop the others. The preview
locks nothing: each vehicle is checked again during execution.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.history import Event
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds, VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.vehicles import ChangedSince
from tripline.services.fleet import delegations as single
from tripline.services.fleet.bulk_vehicles import Impossible, impossible
from tripline.store import reach
from tripline.store.fleet import history, rights
from tripline.store.fleet.rights import Held
from tripline.store.transactions import ReadTx, WriteTx

MOST: Final = 1_000
"""Vehicles that one request names."""
AT_ONCE: Final = 100
"""Vehicles in one transaction: it delays commits of device data."""
_NONE: Final = Held(0, 0)


class Pair(NamedTuple):
    """A vehicle, and the company that it is to be delegated to or taken back from."""

    vehicle_id: VehicleId
    to_company_id: CompanyId


class Possible(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle that can be delegated or taken back, and the rights that end with that."""

    pair: Pair
    vehicle_no: str
    company_name: str
    directors: int = 0
    """Rights of delegated directors that end."""
    drivers: int = 0
    """Rights to drive that end."""
    driven: bool = False
    """True if the vehicle loses its current driver."""

    @property
    def ends(self) -> bool:
        """True if anything ends besides the delegation."""
        return bool(self.directors or self.drivers or self.driven)


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """A preview of the operation."""

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


class Done(msgspec.Struct, kw_only=True):
    """The results of the operation so far."""

    pairs: list[Pair] = []
    impossible: list[Impossible] = []
    sensors: list[SensorId] = []
    """Sensors of vehicles taken back: the caller notifies the pipeline of each after the commit
    (`SIGNAL_SENSOR_CHANGED`)."""
    ended: int = 0
    """Number of rights and drivings ended besides the delegations, which an undo does not restore."""
    last: RowNo | None = None
    """Where undoing goes on; None: at its end, or nothing was undone."""

    def add(self, more: "Done") -> None:
        """Add the results of the next part."""
        self.pairs += more.pairs
        self.impossible += more.impossible
        self.sensors += more.sensors
        self.ended += more.ended
        self.last = more.last


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
    """Preview `delegate`. Raises `Forbidden` for a role that cannot delegate."""
    return _preview(tx, actor, pairs, _to_delegate)


def preview_taking_back(tx: ReadTx, *, actor: Actor, pairs: Sequence[Pair]) -> Preview:
    """Preview `take_back`. Raises `Forbidden` for a role that cannot delegate."""
    return _preview(tx, actor, pairs, _to_take_back)


def delegate(tx: WriteTx, *, actor: Actor, pairs: Sequence[Pair], ids: TimeIds, now_ms: int) -> Done:
    """Delegate the vehicles, at most `AT_ONCE` a call. Raises `Forbidden` for a role that delegates nothing."""
    return _each(tx, actor, pairs, partial(single.delegate, tx, actor=actor, ids=ids, now_ms=now_ms))


def take_back(tx: WriteTx, *, actor: Actor, pairs: Sequence[Pair], ids: TimeIds, now_ms: int) -> Done:
    """Take the vehicles back, at most `AT_ONCE` a call. Raises `Forbidden` for a role that delegates nothing."""
    return _each(tx, actor, pairs, partial(single.take_back, tx, actor=actor, ids=ids, now_ms=now_ms))


def _each(tx: WriteTx, actor: Actor, pairs: Sequence[Pair], act: Callable[..., object]) -> Done:
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    done = Done()
    with reach.together(tx):
        for pair in pairs:
            try:
                made = act(vehicle_id=pair.vehicle_id, to_company_id=pair.to_company_id)
            except Refusal as refusal:  # nothing of it was written: every check comes before
                done.impossible.append(impossible(tx, actor=actor, vehicle_id=pair.vehicle_id, refusal=refusal))
                continue
            done.pairs.append(pair)
            if isinstance(made, single.TakenBack):
                done.sensors.extend(made.sensors)
                done.ended += made.ended
    return done


def undo(
    tx: WriteTx, *, actor: Actor, event: Event, at_ms: int, after: RowNo | None = None, ids: TimeIds, now_ms: int
) -> Done:
    """Undo the actor's delegating or taking back (`event`) at this instant: at most `AT_ONCE` vehicles, after the place
    `after` where the previous call ended. Vehicles changed since are left as they are.

    Raises `Forbidden` for a role that cannot delegate.
    """
    access.scope_of(actor, Action.VEHICLE_DELEGATE)
    deeds = history.deeds(tx, actor.user_id, event, at_ms, after=after, limit=AT_ONCE)
    as_left, changed = [], []
    for deed in deeds:
        assert deed.to_company_id is not None
        pair = Pair(deed.vehicle_id, deed.to_company_id)
        try:
            _require_as_left(tx, actor, pair, event, changed_since=deed.changed_since)
        except Refusal as refusal:
            changed.append(impossible(tx, actor=actor, vehicle_id=pair.vehicle_id, refusal=refusal))
        else:
            as_left.append(pair)
    back = take_back if event is Event.DELEGATED else delegate
    done = back(tx, actor=actor, pairs=as_left, ids=ids, now_ms=now_ms)
    done.impossible[:0] = changed
    done.last = deeds[-1].no if len(deeds) == AT_ONCE else None
    return done


def _require_as_left(tx: ReadTx, actor: Actor, pair: Pair, event: Event, *, changed_since: bool) -> None:
    """Raise `ChangedSince` unless undoing the event leaves nothing else behind, and `NotFound` or `Forbidden`."""
    single.to_delegate(tx, actor=actor, vehicle_id=pair.vehicle_id)
    if changed_since:
        raise ChangedSince("again")
    if event is Event.DELEGATED and _to_take_back(tx, actor, pair).ends:
        raise ChangedSince("rights")


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
