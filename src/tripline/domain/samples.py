"""The packed numeric form of driving samples: what the scorer reads instead of decoding JSON again.

A microtrip row carries one record of this form for each item of its payload, in the order sent. The scorer views the
joined bytes as an array (`services/scores/arrays.py` holds the same layout as a numpy dtype).
"""

import functools
import struct
from typing import Final

LAYOUT: Final = "<qdddhH"
"""time_ms (epoch ms), lat, lon (degrees WGS84), speed_kmh (each NaN when absent or invalid), em (0..255, -1), flags."""

RECORD: Final = struct.Struct(LAYOUT)


@functools.lru_cache(maxsize=64)
def records(count: int) -> struct.Struct:
    """Packs `count` records at once, from their values one after the other: a third faster than one by one."""
    return struct.Struct(LAYOUT[0] + LAYOUT[1:] * count)


FLAG_OWN_TIME: Final = 1
"""The item has its own time, or that of the header alone: it may take part in scoring (T3)."""
FLAG_WRONG_TIME: Final = 4
"""The item's own time cannot be right (T2), and it has no other one: its time is that of its receipt."""
FLAG_PARKING: Final = 2
"""`try` is 2: stored, never scored."""
NO_FLAGS: Final = -1
"""`em` absent or unreadable (E1)."""
