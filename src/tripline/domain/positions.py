"""A vehicle's live position: which sample is the newest, where it is heading, and the vehicle's state.

Ours, for the interface knows nothing of the kind (spec/positions L1 to L5). Samples are in their packed form
(`samples.py`); what a device sends late, or again, never moves a vehicle back.

Not here: who keeps positions (`services/live/position_keeper.py`), where they are kept (`store/positions.py`).
"""

import math
import struct
from enum import StrEnum
from typing import Final, NamedTuple

from tripline.domain import samples
from tripline.domain.ids import VehicleId

NO_SPEED_KMH: Final = 255.0
"""Devices without a speed send this in one byte; in two they send 65,535, which nothing drives."""
FASTEST_KMH: Final = 300.0
"""The default of `guards.fastest_kmh`, which scoring uses too."""
MOVING_KMH: Final = 5.0
"""From this speed on a vehicle drives, and has a heading: below it the receiver's noise turns it round and round."""
SILENT_MS: Final = 300_000
"""After five minutes without a sample a vehicle neither drives nor stands at a light. Boxes send every minute at least
while the engine runs."""
OFFLINE_MS: Final = 7 * 86_400_000
"""A parked vehicle is believed for a week."""
KEPT: Final = 3
"""Samples that a heading is made of: the newest and two before it. Of the five of +-2 samples, two do not exist yet."""
TAIL_BYTES: Final = KEPT * samples.RECORD.size
_APART_MS: Final = 30_000
"""Samples further apart say nothing about the direction of now."""
_INSTANT_MS: Final = 500
"""Samples closer together are one instant (O4): they give no speed."""
_NOISE_M: Final = 2.0
"""Positions closer together give no heading."""
DEGREE_M: Final = 111_195.0
"""Metres a degree of latitude, and of longitude at the equator."""
_SIZE: Final = samples.RECORD.size
_LAT_OF_ONE: Final = struct.Struct("<8xd20x")
"""A record of which only the latitude is read."""
_LAT_AND_FLAGS: Final = struct.Struct("<8xd18xH")
_LAST: Final = struct.Struct("<" + "qd18xH" * KEPT)
"""Time, latitude and flags of each of `KEPT` records."""


class _Way(NamedTuple):
    """How a vehicle came to where it is."""

    speed_kmh: float | None
    heading_deg: float | None


class State(StrEnum):
    """What a vehicle does, as far as its last word tells (L5)."""

    DRIVING = "DRIVING"
    STOPPED = "STOPPED"
    PARKED = "PARKED"
    OFFLINE = "OFFLINE"


class Position(NamedTuple):
    """Where a vehicle was when its sensor said so last. Of two of one vehicle the newer is told by
    its time, then latitude, then longitude (L1)."""

    vehicle_id: VehicleId
    time_ms: int
    lat: float
    lon: float
    speed_kmh: float | None
    heading_deg: float | None
    """From true north, clockwise, 0 <= heading < 360."""
    parking: bool
    """The box said that it watches a parked vehicle (`try` 2)."""

    def state(self, now_ms: int) -> State:
        """What the vehicle does now, by the age of its last word, its speed and whether it was parked then (L5)."""
        age_ms = now_ms - self.time_ms
        moving = not self.parking and self.speed_kmh is not None and self.speed_kmh >= MOVING_KMH
        if age_ms > OFFLINE_MS or (moving and age_ms > SILENT_MS):
            return State.OFFLINE
        if moving:
            return State.DRIVING
        return State.PARKED if self.parking or age_ms > SILENT_MS else State.STOPPED


def is_next(packed: bytes, *, last_ms: int, newest_ms: int) -> bool:
    """Whether these samples are a single one with a valid position, newer than what is known: nearly all are."""
    if len(packed) != _SIZE or last_ms <= newest_ms:
        return False
    (lat,) = _LAT_OF_ONE.unpack(packed)
    return bool(lat == lat)


def newest(tail: bytes, packed: bytes, *, last_ms: int) -> bytes:
    """The newest `KEPT` samples with a valid position of both, oldest first; `tail` is what this gave before.

    Where no sample of several has a time of its own, the last one counts (O1); they share the message's time (T3). Of
    two with one time the northern, then the eastern one is the newer, so that the order of arrival decides nothing.
    `last_ms` is the largest time in `packed`.
    """
    last = packed[-TAIL_BYTES:]
    # As a rule samples come in order, and a message has newer ones than the message before.
    if len(last) == TAIL_BYTES and _tells_newest(last, last_ms=last_ms):
        if not tail or time_of(tail) < time_of(last[:_SIZE]):
            return last
        packed = last
    found = {_order(each): each for each in (*_usable(tail), *_usable(packed))}
    return b"".join(found[key] for key in sorted(found)[-KEPT:])


def last_of(tail: bytes) -> bytes:
    """The newest of these samples; empty when there is none."""
    return tail[-_SIZE:]


def time_of(tail: bytes) -> int:
    """The instant of the newest of these samples, of which there is one at least."""
    at_ms: int = samples.RECORD.unpack_from(tail, len(tail) - _SIZE)[0]
    return at_ms


def is_newer(tail: bytes, other: bytes) -> bool:
    """Whether the newest sample of `tail` is newer than that of `other` (L1); each has one at least."""
    mine, theirs = (samples.RECORD.unpack(last_of(each))[:3] for each in (tail, other))
    return bool(mine > theirs)


def usable_kmh(speed_kmh: float, *, fastest_kmh: float = FASTEST_KMH) -> float | None:
    """The device's speed; None where it gave none or one that nothing drives. As scoring's `speeds.usable`."""
    return speed_kmh if 0.0 <= speed_kmh <= fastest_kmh and speed_kmh != NO_SPEED_KMH else None


def position(vehicle_id: VehicleId, tail: bytes, *, fastest_kmh: float = FASTEST_KMH) -> Position:
    """The position that the newest samples of a vehicle's sensor tell (L2, L3). There must be one at least."""
    last = len(tail) - _SIZE
    time_ms, lat, lon, speed, _, flags = samples.RECORD.unpack_from(tail, last)
    speed_kmh = usable_kmh(speed, fastest_kmh=fastest_kmh)
    heading_deg = None
    if speed_kmh is None or speed_kmh >= MOVING_KMH:
        for at in range(0, last, _SIZE):
            before_ms, before_lat, before_lon, _, _, _ = samples.RECORD.unpack_from(tail, at)
            if time_ms - before_ms <= _APART_MS:
                way = _way(lat - before_lat, lon - before_lon, lat, ms=time_ms - before_ms, speed_kmh=speed_kmh)
                # Else no vehicle went that way: one of the two positions is wrong.
                if way.speed_kmh is not None and way.speed_kmh <= fastest_kmh:
                    speed_kmh, heading_deg = way
                break
    return Position(vehicle_id, time_ms, lat, lon, speed_kmh, heading_deg, bool(flags & samples.FLAG_PARKING))


def _way(north_deg: float, east_deg: float, lat: float, *, ms: int, speed_kmh: float | None) -> _Way:
    """Speed, if it is unknown, and heading, by the way from a sample before that ends at this latitude."""
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
    """Whether the last `KEPT` samples of a message are its newest ones in their order, each with a valid position and
    a time of its own."""
    first_ms, lat, own, second_ms, second_lat, second_own, third_ms, third_lat, third_own = _LAST.unpack(last)
    return bool(
        first_ms < second_ms < third_ms == last_ms
        and own & second_own & third_own & samples.FLAG_OWN_TIME
        and lat == lat
        and second_lat == second_lat
        and third_lat == third_lat
    )


def _usable(packed: bytes) -> list[bytes]:
    """The samples with a valid position and a time of their own; the last of them where none has."""
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
