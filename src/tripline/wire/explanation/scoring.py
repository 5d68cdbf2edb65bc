"""Explains why a message, or some of its samples, is not scored (spec/device-messages 10, T3, O4).

Not here: the score (`scoring/`). The operator can change its thresholds; these are the defaults.
"""

import math
import statistics
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tripline.domain import samples, trips
from tripline.wire.device import values as device_values
from tripline.wire.device.fields import Header
from tripline.wire.device.kinds import Item
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Sort
from tripline.wire.readings import DeviceEvent, Microtrip, Trip

SPARSE_S: Final = 5.0
"""Samples this far apart, or farther, are not scored."""
INSTANT_MS: Final = 920
"""Samples closer than this are one instant."""
SHORT_M: Final = 3_000.0
"""Shorter trips are not scored."""


def findings(reading: Microtrip | Trip | DeviceEvent, items: list[Item], header: Header) -> Iterator[Finding]:
    """Yield the reasons against scoring; for an event, its other effects."""
    if isinstance(reading, DeviceEvent):
        if reading.is_attribute:
            yield Finding(Sort.NOTE, "", "also shown among the sensor's latest values")
        return
    if reading.device_type not in trips.SCORED_DEVICE_TYPES:
        scored = "GPS, OBD and BLACKBOX devices are scored"
        yield Finding(Sort.SCORING, "ty", f"kept, never scored: only trips of {scored}, not {reading.device_type}")
    elif reading.parking:
        yield Finding(Sort.SCORING, "try", "kept, never scored: the vehicle is parked (2)")
    elif isinstance(reading, Trip):
        yield from _of_trip(reading)
    else:
        yield from _of_samples(reading, items, header)


def _of_trip(trip: Trip) -> Iterator[Finding]:
    if trip.distance_m is not None and trip.distance_m < SHORT_M:
        text = f"{trip.distance_m:,.0f} m: trips under {SHORT_M:,.0f} m are not scored"
        yield Finding(Sort.SCORING, "pld.dis", text)
    if trip.start_ms is not None and trip.end_ms is not None and trip.end_ms < trip.start_ms:
        yield Finding(Sort.NOTE, "pld.edt", "the trip ends before it starts: check `stt` and `edt`")


def _of_samples(microtrip: Microtrip, items: list[Item], header: Header) -> Iterator[Finding]:
    rows = list(samples.RECORD.iter_unpack(microtrip.samples))
    placed = sum(not math.isnan(row[1]) for row in rows)
    times = [row[0] for row in rows if row[5] & samples.FLAG_OWN_TIME]
    if not placed:
        text = "no sample has a valid position (`lat`, `lon`): none counts for the score"
        yield Finding(Sort.SCORING, "pld", text)
        return
    for count, of_what in ((placed, "position"), (len(times), "time of their own (`clt`)")):
        if count < len(rows):
            text = f"{len(rows) - count} of {len(rows)} samples have no valid {of_what} and do not count"
            yield Finding(Sort.SCORING, "pld", text)
    if len(rows) == len(times) == 1 and device_values.instant(items[0].get("clt"), header.received_ms) is None:
        yield Finding(Sort.NOTE, "pld.clt", "no valid `clt`: as the only sample, it takes the time in `ts`")
    yield from _of_periods(times)


def _of_periods(times: list[int]) -> Iterator[Finding]:
    if any(later < earlier for earlier, later in pairwise(times)):
        yield Finding(Sort.NOTE, "pld", "the samples are not in time order: kept as sent, sorted for the score")
    steps = [later - earlier for earlier, later in pairwise(sorted(times))]
    close = sum(step < INSTANT_MS for step in steps)
    if close:
        text = f"{words.counted(close, 'sample')} less than {INSTANT_MS} ms after another: the last of them counts"
        yield Finding(Sort.SCORING, "pld", text)
    if steps and statistics.median(steps) >= SPARSE_S * 1000:
        text = (
            f"samples are {statistics.median(steps) / 1000:g} s apart; a trip is scored when its samples are less than"
            f" {SPARSE_S:g} s apart: send one every 1 to 2 s"
        )
        yield Finding(Sort.SCORING, "pld", text)
