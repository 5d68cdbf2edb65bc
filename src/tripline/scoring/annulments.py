"""Annulled events: events that an accepted dispute removes from a trip's judgement.

An annulment names a kind of event and an interval of time instead of an event id, so it survives a new judgement: every
event of the kind whose strongest sample is within the interval is removed. Annulling harsh changes of speed also
removes the brakings that a policy weighs beside them, so that one annulled manoeuvre costs nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tripline.scoring import harsh, style
from tripline.scoring.drives import Drives, Flags, Ints
from tripline.scoring.rules import EventType
from tripline.scoring.score import COUNTED


class Annulment(NamedTuple):
    """Events of one trip that do not count. Instants are epoch ms, both included."""

    trip: int
    """Index of the trip among the judged ones."""
    kind: str
    """A key of `COUNTED`."""
    begin_ms: int
    end_ms: int


def rough_left(drives: Drives, own: Ints, rough: harsh.HarshEvents, annulled: Sequence[Annulment]) -> harsh.HarshEvents:
    """The harsh events that still count. `own`: the trip of each stretch of the drives."""
    gone = np.zeros(rough.samples.size, np.bool_)
    for each in annulled:
        gone |= np.isin(rough.types, COUNTED[each.kind]) & _within(drives, own, rough.samples, each)
    return rough.where(~gone) if gone.any() else rough


def over_left(drives: Drives, own: Ints, over: Ints, annulled: Sequence[Annulment]) -> Ints:
    """The samples over the limit that still count."""
    gone = np.zeros(over.size, np.bool_)
    for each in annulled:
        if EventType.OVERSPEED in COUNTED[each.kind]:
            gone |= _within(drives, own, over, each)
    return over[~gone]


def brakings_left(drives: Drives, own: Ints, brakings: style.Runs, annulled: Sequence[Annulment]) -> style.Runs:
    """The brakings that do not overlap an annulled deceleration in time."""
    gone = np.zeros(brakings.first.size, np.bool_)
    for each in annulled:
        if EventType.DECELERATION in COUNTED[each.kind]:
            shared = (drives.time_ms[brakings.first] < each.end_ms) & (drives.time_ms[brakings.last] > each.begin_ms)
            gone |= shared & (own[drives.at(brakings.first)] == each.trip)
    return brakings.where(~gone)


def _within(drives: Drives, own: Ints, samples: Ints, annulled: Annulment) -> Flags:
    """Which of the samples lie within the annulment's interval, in its trip."""
    time_ms = drives.time_ms[samples]
    of_trip = own[drives.at(samples)] == annulled.trip
    within: Flags = of_trip & (time_ms >= annulled.begin_ms) & (time_ms <= annulled.end_ms)
    return within
