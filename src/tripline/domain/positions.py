"""A vehicle's live position: which sample is the newest, where it is heading, and the vehicle's state; and the part of
a track without its ends.

The interface does not describe positions (spec/positions L1 to L5). Samples are in their packed form (`samples.py`);
late or repeated samples never move a vehicle back.
"""

import math
import struct
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

from tripline.domain import samples
from tripline.domain.ids import VehicleId
from tripline.domain.instants import DAY_MS

NO_SPEED_KMH: Final = 255.0
"""Devices without a speed send this in one byte; in two they send 65,535, which is impossible anyway."""
FASTEST_KMH: Final = 300.0
"""The default of `guards.fastest_kmh`, which scoring uses too."""
MOVING_KMH: Final = 5.0
"""From this speed on a vehicle is driving and has a heading; below it the receiver's noise makes the heading
useless."""
SILENT_MS: Final = 300_000
"""After five minutes without a sample a vehicle is neither driving nor waiting at a light. Boxes send every minute at
least while the engine runs."""
OFFLINE_MS: Final = 7 * DAY_MS
"""A parked vehicle keeps its state for a week."""
KEPT: Final = 3
"""Samples that determine a heading: the newest and two before it. Of the five of +-2 samples, two do not exist yet."""
TAIL_BYTES: Final = KEPT * samples.RECORD.size
_APART_MS: Final = 30_000
"""Samples further apart do not show the present direction."""
_INSTANT_MS: Final = 500
"""Samples closer together are one instant (O4): they do not give a speed."""
_NOISE_M: Final = 2.0
"""Positions closer together do not give a heading."""
DEGREE_M: Final = 111_195.0
"""Metres a degree of latitude, and of longitude at the equator."""
_SIZE: Final = samples.RECORD.size
_TIME_BYTES: Final = 8
_TIME: Final = struct.Struct("<q")
"""Unpacks only the time of a record."""
_LAT_OF_ONE: Final = struct.Struct("<8xd20x")
"""Unpacks only the latitude of a record."""
_LAT_AND_FLAGS: Final = struct.Struct("<8xd18xH")
_LAST: Final = struct.Struct("<" + "qd18xH" * KEPT)
"""Time, latitude and flags of each of `KEPT` records."""


class _Way(NamedTuple):
    """Speed and heading of a vehicle's latest movement."""

    speed_kmh: float | None
    heading_deg: float | None


class State(StrEnum):
    """State of a vehicle, from its latest sample (L5)."""

    DRIVING = "DRIVING"
    STOPPED = "STOPPED"
    PARKED = "PARKED"
    OFFLINE = "OFFLINE"


class Position(NamedTuple):
    """Where a vehicle was at its sensor's latest sample. Of two positions the newer one has the greater time, then
    latitude, then longitude (L1)."""

    vehicle_id: VehicleId
    time_ms: int
    lat: float
    lon: float
    speed_kmh: float | None
    heading_deg: float | None
    """From true north, clockwise, 0 <= heading < 360."""
    parking: bool
    """The box reported that it watches a parked vehicle (`try` 2)."""

    def state(self, now_ms: int) -> State:
        """Return the vehicle's state, from the age of its latest sample, its speed and whether it was parked then
        (L5)."""
        age_ms = now_ms - self.time_ms
        moving = not self.parking and self.speed_kmh is not None and self.speed_kmh >= MOVING_KMH
        if age_ms > OFFLINE_MS or (moving and age_ms > SILENT_MS):
            return State.OFFLINE
        if moving:
            return State.DRIVING
        return State.PARKED if self.parking or age_ms > SILENT_MS else State.STOPPED


def is_next(packed: bytes, *, last_ms: int, newest_ms: int) -> bool:
    """Return whether `packed` is a single sample with a valid position, newer than the known one: the usual case."""
    if len(packed) != _SIZE or last_ms <= newest_ms:
        return False
    (lat,) = _LAT_OF_ONE.unpack(packed)
    return bool(lat == lat)


def is_past(tail: bytes, last_ms: int) -> bool:
    """Return whether samples up to this time are older than the newest `KEPT`: the usual case of old data."""
    return len(tail) == TAIL_BYTES and last_ms < _TIME.unpack_from(tail)[0]


def newest(tail: bytes, packed: bytes, *, last_ms: int) -> bytes:
    """The newest `KEPT` samples with a valid position of both, oldest first; `tail` is an earlier result.

    Where no sample of several has a time of its own, they share the message's time (T3) and the last one counts (O1).
    Of two with one time the northern, then the eastern one is the newer, so that the order of arrival does not matter.
    `last_ms` is the largest time in `packed`.
    """
    last = packed[-TAIL_BYTES:]
    # Samples usually come in order, and each message is newer than the one before.
    if len(last) == TAIL_BYTES and _tells_newest(last, last_ms=last_ms) and _is_alone(packed):
        if not tail or time_of(tail) < time_of(last[:_SIZE]):
            return last
        packed = last
    found = {_order(each): each for each in (*_usable(tail), *_usable(packed))}
    return b"".join(found[key] for key in sorted(found)[-KEPT:])


def last_of(tail: bytes) -> bytes:
    """The newest of these samples; empty when there is none."""
    return tail[-_SIZE:]


def time_of(tail: bytes) -> int:
    """The instant of the newest of these samples; `tail` must not be empty."""
    at_ms: int = samples.RECORD.unpack_from(tail, len(tail) - _SIZE)[0]
    return at_ms


def is_newer(tail: bytes, other: bytes) -> bool:
    """Return whether the newest sample of `tail` is newer than the newest of `other` (L1); neither may be empty."""
    mine, theirs = (samples.RECORD.unpack(last_of(each))[:3] for each in (tail, other))
    return bool(mine > theirs)


def usable_kmh(speed_kmh: float, *, fastest_kmh: float = FASTEST_KMH) -> float | None:
    """The device's speed; None when missing or impossible. Same rule as scoring's `speeds.usable`."""
    return speed_kmh if 0.0 <= speed_kmh <= fastest_kmh and speed_kmh != NO_SPEED_KMH else None


def position(vehicle_id: VehicleId, tail: bytes, *, fastest_kmh: float = FASTEST_KMH) -> Position:
    """Return the position from the newest samples of a vehicle's sensor (L2, L3); `tail` must not be empty."""
    last = len(tail) - _SIZE
    time_ms, lat, lon, speed, _, flags = samples.RECORD.unpack_from(tail, last)
    speed_kmh = usable_kmh(speed, fastest_kmh=fastest_kmh)
    heading_deg = None
    if speed_kmh is None or speed_kmh >= MOVING_KMH:
        for at in range(0, last, _SIZE):
            before_ms, before_lat, before_lon, _, _, _ = samples.RECORD.unpack_from(tail, at)
            if time_ms - before_ms <= _APART_MS:
                way = _way(lat - before_lat, lon - before_lon, lat, ms=time_ms - before_ms, speed_kmh=speed_kmh)
                # Otherwise the speed is impossible: one of the two positions is wrong.
                if way.speed_kmh is not None and way.speed_kmh <= fastest_kmh:
                    speed_kmh, heading_deg = way
                break
    return Position(vehicle_id, time_ms, lat, lon, speed_kmh, heading_deg, bool(flags & samples.FLAG_PARKING))


def _way(north_deg: float, east_deg: float, lat: float, *, ms: int, speed_kmh: float | None) -> _Way:
    """Speed, if unknown, and heading of the way from an earlier sample to this latitude."""
    north = north_deg * DEGREE_M
    east = ((east_deg + 180.0) % 360.0 - 180.0) * DEGREE_M * math.cos(math.radians(lat))
    metres = math.hypot(north, east)
    if speed_kmh is None and ms >= _INSTANT_MS:
        speed_kmh = metres / ms * 3_600
    if speed_kmh is None or speed_kmh < MOVING_KMH or metres < _NOISE_M:
        return _Way(speed_kmh, None)
    # To a tenth; round() takes as long as everything else here.
    return _Way(speed_kmh, int(math.degrees(math.atan2(east, north)) * 10.0 + 3_600.5) % 3_600 / 10.0)


def _tells_newest(last: bytes, *, last_ms: int) -> bool:
    """Return whether the last `KEPT` samples of a message are its newest ones in order, each with a valid position and
    a time of its own."""
    first_ms, lat, own, second_ms, second_lat, second_own, third_ms, third_lat, third_own = _LAST.unpack(last)
    return bool(
        first_ms < second_ms < third_ms == last_ms
        and own & second_own & third_own & samples.FLAG_OWN_TIME
        and lat == lat
        and second_lat == second_lat
        and third_lat == third_lat
    )


def _is_alone(packed: bytes) -> bool:
    """Return whether no earlier sample of the message can have the time of its last one."""
    return packed[-_SIZE : _TIME_BYTES - _SIZE] not in packed[:-_SIZE]


def _usable(packed: bytes) -> list[bytes]:
    """The samples with a valid position and a time of their own; without any, the last one with a valid position."""
    valid, timed = b"", []
    for at, (lat, flags) in enumerate(_LAT_AND_FLAGS.iter_unpack(packed)):
        if lat == lat:
            valid = packed[at * _SIZE : (at + 1) * _SIZE]
            if flags & samples.FLAG_OWN_TIME:
                timed.append(valid)
    return timed or ([valid] if valid else [])


def _order(sample: bytes) -> tuple[int, float, float, bool, float]:
    time_ms, lat, lon, speed, _, _ = samples.RECORD.unpack(sample)
    usable = usable_kmh(speed)
    return time_ms, lat, lon, usable is not None, usable or 0.0


END_M: Final = 200.0
"""How far a shown place is from each end of the trip, at least: as the crow flies, so along the track as well."""
_FASTEST_M_PER_MS: Final = FASTEST_KMH / 3_600


class Moment(NamedTuple):
    """Time and place of a sample."""

    time_ms: int
    lat: float
    lon: float


def without_ends(track: Sequence[Moment]) -> Sequence[Moment]:
    """Return the part at least `END_M` away from both ends of the track, by time; empty if less than a line is left.

    Distances along the track would not do: a receiver that stands still reports places that wander, and these add up to
    any distance.
    """
    first, last = _end(track), len(track) - _end(track[::-1])
    return track[first:last] if last - first > 1 else []


def _end(track: Sequence[Moment]) -> int:
    """Return how many moments pass until the track is `END_M` away from its first place.

    A jump that no vehicle makes begins the search again: the place before it was wrong.
    """
    begin = track[0] if track else None
    for no, (before, here) in enumerate(pairwise(track), start=1):
        if _metres(before, here) > _FASTEST_M_PER_MS * abs(here.time_ms - before.time_ms):
            begin = here
        elif begin is not None and _metres(begin, here) >= END_M:
            return no
    return len(track)


def _metres(one: Moment, other: Moment) -> float:
    north = (other.lat - one.lat) * DEGREE_M
    east = ((other.lon - one.lon + 180) % 360 - 180) * DEGREE_M * math.cos(math.radians(one.lat))
    return math.hypot(north, east)
