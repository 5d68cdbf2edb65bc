"""The messages of one simulated device, in order: drives with events, parking and cut connections, made one by one.

Pure: the same for the same seed; it neither sends nor waits. A drive of a black box is followed by its parking record.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tripline.simulator import incidents, motion, roads
from tripline.simulator.drafts import Cut, Draft, Kind, Message, Step
from tripline.simulator.habits import HABITS, Habit
from tripline.simulator.motion import Moment
from tripline.simulator.payloads import PARKING, TRIP_NUMBER, Instruments, Journey, Payload
from tripline.simulator.roads import Leg, Place
from tripline.simulator.styles import STYLES
from tripline.wire import topics

if TYPE_CHECKING:
    from tripline.simulator.network import Network

STAGGER_S: Final = 10.0
"""Vehicles start at random within this time."""
_PARKED_EVERY_S: Final = 30.0
_OWN_TIMES: Final = frozenset({"clt", "stt", "edt", "unpt", "pt", "tm", "tim"})


class Journeys(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of every vehicle. Times in seconds of the fleet's clock."""

    trips: int = 1
    duration_s: float = 600.0
    pause_s: float = 120.0
    """Between drives, and after the last one."""
    period_s: float = 2.0
    """Between samples."""
    aggregate: int = 1
    events_per_hour: float = 6.0
    reconnects: int = 0
    """Connections lost in each drive."""
    around: Place = (37.5665, 126.978)
    routes: Sequence[Sequence[Leg]] = ()
    """Recorded routes."""
    maps: Sequence["Network"] = ()
    """Roads to drive on without recorded routes; if both are empty, roads are made up."""

    @property
    def length_s(self) -> float:
        """Time from the earliest possible message of any vehicle to the last."""
        return STAGGER_S + self.trips * (self.duration_s + self.pause_s)


class Character(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a vehicle: its number in the fleet (from 1) and its properties."""

    number: int
    device: str
    style: str
    plate: str
    habit: str | None = None
    packed: bool = False
    """It sends MessagePack."""
    seed: int = 0

    def chance(self) -> random.Random:
        """The vehicle's own random numbers, the same for the same seed."""
        return random.Random(f"{self.seed}/{self.number}/{self.plate}")  # noqa: S311  a drive, not a secret


def steps(
    character: Character, journeys: Journeys, *, base_ms: int, halted: Callable[[], bool] = lambda: False
) -> Iterator[Step]:
    """Every message and every cut of the vehicle. `base_ms`: epoch time of second 0 of the fleet's clock.

    When `halted` returns true, the current drive ends immediately, with its trip message, and is the last.
    """
    return _Device(character, journeys, base_ms, halted).steps()


class _Device:
    def __init__(self, character: Character, journeys: Journeys, base_ms: int, halted: Callable[[], bool]) -> None:
        self._who = character
        self._plan = journeys
        self._base_ms = base_ms
        self._halted = halted
        self._rng = character.chance()
        self._box = Instruments(character.device, self._rng, character.plate)
        self._habit: Habit | None = HABITS[character.habit] if character.habit else None
        self._number = 0
        # Like a counter that survives restarts: no number repeats on drives of about the same time, which would be one.
        self._tid = base_ms % 1_000_000_000

    def steps(self) -> Iterator[Step]:
        start_s = self._rng.uniform(0, STAGGER_S)
        for number in range(self._plan.trips):
            ending = self._rng.uniform(0.3, 0.7) if self._unplugs and number == self._plan.trips - 1 else None
            yield from self._round(start_s, ending)
            if ending is not None or self._halted():
                return
            start_s += self._plan.duration_s + self._plan.pause_s

    @property
    def _unplugs(self) -> bool:
        return self._habit is not None and self._habit.unplugged

    def _round(self, start_s: float, ending: float | None) -> Iterator[Step]:
        """One drive from `start_s` on; the plug is pulled after the share `ending` of it."""
        self._tid += 1
        plan = self._plan
        cuts = sorted(start_s + self._rng.random() * plan.duration_s for _ in range(plan.reconnects))
        first = last = None
        highest = 0.0
        waiting: list[Payload] = []
        for moment in motion.drive(
            self._rng, STYLES[self._who.style], self._legs(), seconds=plan.duration_s, period_s=plan.period_s
        ):
            at_s = start_s + moment.at_s
            if ending is not None and moment.at_s >= ending * plan.duration_s:
                yield Cut(due_s=at_s, tidy=False, away_s=0, for_good=True)
                return
            while cuts and cuts[0] <= at_s:
                yield Cut(due_s=cuts.pop(0), tidy=self._rng.random() < 0.5, away_s=self._rng.uniform(0.05, 1))
            first, last, highest = first or moment, moment, max(highest, moment.speed_kmh)
            waiting.append(self._box.sample(self._tid, self._ms(at_s), moment))
            if len(waiting) >= plan.aggregate:
                yield from self._microtrip(at_s, waiting)
                waiting = []
            if self._rng.random() < plan.events_per_hour * plan.period_s / 3_600:
                yield from self._event(at_s, moment)
            if self._halted():
                break
        assert first is not None
        assert last is not None
        if self._halted() and last.distance_m == 0:
            return
        end_s = start_s + last.at_s
        if waiting:
            yield from self._microtrip(end_s, waiting)
        yield from self._trip(start_s, end_s, first, last, highest)
        if self._who.device == "BLACKBOX" and not self._halted():
            yield from self._parking(end_s, start_s + plan.duration_s + plan.pause_s, last)

    def _legs(self) -> Iterator[Leg]:
        plan = self._plan
        if plan.routes:
            return iter(self._rng.choice(plan.routes))
        if plan.maps:
            return self._rng.choice(plan.maps).legs(self._rng)
        return roads.made_up(self._rng, plan.around)

    def _microtrip(self, at_s: float, items: list[Payload]) -> Iterator[Message]:
        content = items if self._plan.aggregate > 1 else items[0]
        return self._message(at_s, Kind.MICROTRIP, TRIP_NUMBER[self._who.device] + 1, content)

    def _trip(self, start_s: float, end_s: float, first: Moment, last: Moment, highest: float) -> Iterator[Message]:
        journey = Journey(
            tid=self._tid,
            start_ms=self._ms(start_s),
            end_ms=self._ms(end_s),
            first=first,
            last=last,
            highest_kmh=highest,
        )
        return self._message(end_s, Kind.TRIP, TRIP_NUMBER[self._who.device], self._box.trip(journey))

    def _event(self, at_s: float, moment: Moment) -> Iterator[Message]:
        numbers = incidents.EVENTS[self._who.device]
        if not numbers:
            return iter(())
        number = self._rng.choice(numbers)
        scene = incidents.Scene(self._who.device, self._tid, self._ms(at_s), moment, self._rng)
        return self._message(at_s, Kind.EVENT, number, incidents.payload(number, scene))

    def _parking(self, from_s: float, until_s: float, where: Moment) -> Iterator[Message]:
        """The record of a parked black box: samples and a separate trip message, under the drive's number."""
        at_s = from_s + 1
        while at_s < until_s - 1 and not self._halted():
            item = self._box.parked(self._tid, self._ms(at_s), round(at_s - from_s))
            yield from self._message(at_s, Kind.MICROTRIP, 8, [item] if self._plan.aggregate > 1 else item)
            at_s += _PARKED_EVERY_S
        ends = {"stlat": where.lat, "stlon": where.lon, "edlat": where.lat, "edlon": where.lon}
        end = {"tid": self._tid, "clt": self._ms(at_s), "dis": 0, "try": PARKING, "vlt": 12.4, **ends}
        yield from self._message(at_s, Kind.TRIP, 7, end)

    def _message(self, at_s: float, kind: Kind, ty: int, content: Payload | list[Payload]) -> Iterator[Message]:
        topic = topics.TRE_MSGPACK if self._who.packed else topics.TRE
        draft = Draft(
            kind=kind,
            ty=ty,
            ts=self._ms(at_s),
            content=content,
            number=self._number,
            topic=topic,
            packed=self._who.packed,
        )
        self._number += 1
        if self._habit is not None:
            self._habit.bend(draft)
        if draft.spoiled:
            draft.topic = topics.TRE
        timed = draft.ts is not None and draft.has_header
        for copy in range(draft.copies):
            yield Message(
                due_s=at_s,
                kind=kind,
                topic=draft.topic,
                body=draft.body(),
                qos=draft.qos,
                retain=draft.retain,
                again=copy > 0,
                kept=0 if draft.spoiled or copy else 1,
                recognised=timed or any(not _OWN_TIMES.isdisjoint(item) for item in draft.items),
            )

    def _ms(self, at_s: float) -> int:
        return self._base_ms + round(at_s * 1_000)
