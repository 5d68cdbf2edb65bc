"""A batch on its way through the pipeline, the readings in it, and what it writes: each step adds what it found out.

Not here: the steps (`pipeline.py`).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from tripline.domain.ids import SensorId, VehicleId
from tripline.services.device_frames import Answered, Frame, Refusal
from tripline.services.ingest.rejected_log import Plan
from tripline.services.ingest.tracks import Track
from tripline.services.notifications import Notification
from tripline.services.push.notices import Message
from tripline.services.rpc import answers as rpc_answers
from tripline.store.devices.watches import Trace
from tripline.store.trips.batch_rows import Rows
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip

Usable = Microtrip | Trip | DeviceEvent | LatestValues


class Item(msgspec.Struct, gc=False, eq=False):
    """A reading on its way: the frame it came in, its sensor's track, what it says, and what became of it."""

    frame: Frame
    track: Track
    reading: Usable
    vehicle_id: VehicleId | None
    """The vehicle that it is of: the sensor's, but a trip message may tell of a trip from before the sensor moved."""
    instant: int = 0
    mark: int | None = None
    """By both a second delivery of a microtrip or event is known (`domain/deliveries.py`); None: of nothing else."""


class Batch(msgspec.Struct, gc=False, eq=False):
    """The messages that go through together. Whoever follows what was kept is handed this: pushes, watching."""

    frames: Sequence[Frame]
    concerned: Collection[SensorId]
    """Their sensors, and those of which something else is to be looked at."""
    now_ms: int
    items: list[Item]
    """Every usable reading, in the order received."""
    answers: list[Answered]
    refusals: list[Refusal]
    new: Sequence[Item] = ()
    """Of the items those that were not taken in before: they are placed and kept."""


class Writes(NamedTuple):
    """What a batch that was placed writes, beside its answers and refusals."""

    rows: Rows
    pushes: Sequence[Message]
    traces: Sequence[Trace]


class Kept(NamedTuple):
    """What the transaction of a batch found out, for after its commit."""

    told: list[Notification]
    taken: rpc_answers.Taken
    uncalled: Plan
    """Rows for answers to no call."""
