"""Cuts batches: when one is large, and behind a device's result, which may mount the device on a vehicle.

What the same device sends after it belongs where the result put it, so it waits for the next batch, which reads the
sensor anew. Answers need not wait for one another, and other devices for nobody.

Not here: what a result does (`services/rpc/answers.py`).
"""

from typing import NamedTuple

from tripline.domain.ids import SensorId
from tripline.ports.devices import Source
from tripline.services.device_frames import Frame
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.wire import topics


class Cut(NamedTuple):
    """Frames in two."""

    together: list[Frame]
    """Those that go through now."""
    later: list[Frame]
    """Those that wait for the next batch."""


def fairly(frames: list[Frame], most: int, most_bytes: int) -> Cut:
    """No more frames go through together than these, and with no longer bodies; the order of each source is kept.

    Of a source one long message goes, and what it sent before: whoever sends only such ones waits behind everybody
    else. The first frame always goes.
    """
    together: list[Frame] = []
    later: list[Frame] = []
    long: set[Source] = set()
    held: set[Source] = set()
    size = 0
    for place, frame in enumerate(frames):
        source, length = frame.source, len(frame.body)
        # A device that sent a hundred long ones kept the event loop for 25 s (docs/decisions/255).
        if source in held or (source in long and length > LONG_BYTES):
            held.add(source)
            later.append(frame)
            continue
        size += length
        if len(together) == most or (together and size > most_bytes):
            return Cut(together, later + frames[place:])
        if length > LONG_BYTES:
            long.add(source)
        together.append(frame)
    return Cut(together, later)


def behind_results(frames: list[Frame]) -> Cut:
    """What follows a result of its sensor waits; the order of each sensor is kept."""
    if {frame.topic for frame in frames} <= topics.DATA:
        return Cut(frames, [])
    answered: set[SensorId] = set()
    held: set[SensorId] = set()
    together: list[Frame] = []
    later: list[Frame] = []
    for frame in frames:
        sensor_id, topic = frame.source.sensor_id, frame.topic
        if sensor_id in held or (sensor_id in answered and topic in topics.DATA):
            held.add(sensor_id)
            later.append(frame)
            continue
        if topic.startswith(topics.RPC_RESULT):
            answered.add(sensor_id)
        together.append(frame)
    return Cut(together, later)


def beginning(frames: list[Frame], most_bytes: int) -> list[Frame]:
    """The longest beginning that goes through together: the first frame, and those after it up to so many bytes or to
    data of a sensor that has answered before."""
    answered: set[SensorId] = set()
    size = 0
    for place, frame in enumerate(frames):
        sensor_id = frame.source.sensor_id
        size += len(frame.body)
        if place and (size > most_bytes or (sensor_id in answered and frame.topic in topics.DATA)):
            return frames[:place]
        if frame.topic.startswith(topics.RPC_RESULT):
            answered.add(sensor_id)
    return frames
