"""A batch on its way through the pipeline, with its readings; each step adds its findings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.mountings import Past
from tripline.services.device_frames import Answered, Frame, Refusal
from tripline.services.ingest.rejected_log import Plan
from tripline.services.ingest.tracks import Track
from tripline.services.notifications import Notification
from tripline.services.rpc import answers as rpc_answers
from tripline.store.transactions import WriteTx
from tripline.wire.readings import Usable

Begin = Callable[[WriteTx, Sequence[Frame]], None]
"""Called first in a transaction that stores these frames. If it raises `Outage`, they are not stored."""


class Item(msgspec.Struct, gc=False, eq=False):
    """A reading with its frame, its sensor's track, its vehicle and the keys of its entry."""

    frame: Frame
    track: Track
    reading: Usable
    vehicle_id: VehicleId | None
    """The sensor's vehicle; once it is placed, the vehicle of its trip, which may predate a move of the sensor."""
    instant: int = 0
    mark: int | None = None
    """`instant` and `mark` identify a second delivery (`domain/deliveries.py`); None: not a microtrip or event."""


class Batch(msgspec.Struct, gc=False, eq=False):
    """Messages processed together. Pushes and watches receive the batch once it is stored."""

    frames: Sequence[Frame]
    concerned: Collection[SensorId]
    """Their sensors, and the sensors to check for silence or changes."""
    silent: Collection[SensorId]
    """Sensors whose trip is over, unless a message arrives."""
    begin: Begin
    now_ms: int
    items: list[Item] = []
    """Every usable reading, in order of receipt."""
    answers: list[Answered] = []
    refusals: list[Refusal] = []
    new: Sequence[Item] = ()
    """Items that are not redeliveries: they are placed and stored."""
    hashed: Collection[SensorId] = ()
    """Sensors that get their first mark with a hash."""
    pasts: Mapping[Track, Past] = {}
    """Changes of the sensors with a message older than their last change."""


class StoredBatch(NamedTuple):
    """Results of a batch's transaction, for use after its commit."""

    told: list[Notification]
    taken: rpc_answers.Taken
    unusable: Plan
