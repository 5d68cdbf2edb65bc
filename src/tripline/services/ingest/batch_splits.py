"""Split batches: by size, and after a device's result, which may mount the device on a vehicle.

Data that the same device sends afterwards depends on that result, so it waits for the next batch, which reloads the
sensor. Answers do not wait for one another, and other devices are not delayed.

Not here: the effect of a result (`services/rpc/answers.py`).
"""

from typing import NamedTuple

from tripline.domain.ids import SensorId
from tripline.ports.devices import Source
from tripline.services.device_frames import Frame
from tripline.services.ingest.pipeline import LONG_BYTES
from tripline.wire import topics
from tripline.wire.device import publish as device_publish


class Split(NamedTuple):
    """Frames split in two."""

    together: list[Frame]
    """Frames to process now."""
    later: list[Frame]
    """Frames left for the next batch."""


def fairly(frames: list[Frame], most: int, most_bytes: int) -> Split:
    """Limit a batch to `most` frames and `most_bytes` of bodies; the order of each source is preserved.

    Only one long message per source is included, with the source's earlier ones: a source that sends many waits behind
    all others. The first frame is always included.
    """
    together: list[Frame] = []
    later: list[Frame] = []
    long: set[Source] = set()
    held: set[Source] = set()
    size = 0
    for place, frame in enumerate(frames):
        source, length = frame.source, len(frame.body)
        # A device that sent a hundred long messages once blocked the event loop for 25 s (docs/decisions/255).
        if source in held or (source in long and length > LONG_BYTES):
            held.add(source)
            later.append(frame)
            continue
        size += length
        if len(together) == most or (together and size > most_bytes):
            return Split(together, later + frames[place:])
        if length > LONG_BYTES:
            long.add(source)
        together.append(frame)
    return Split(together, later)


def behind_results(frames: list[Frame]) -> Split:
    """Defer data that follows a result of its sensor; the order of each sensor is preserved."""
    if {frame.topic for frame in frames} <= device_publish.CHANNELS.keys():
        return Split(frames, [])
    answered: set[SensorId] = set()
    held: set[SensorId] = set()
    together: list[Frame] = []
    later: list[Frame] = []
    for frame in frames:
        sensor_id, topic = frame.source.sensor_id, frame.topic
        if sensor_id in held or (sensor_id in answered and topic in device_publish.CHANNELS):
            held.add(sensor_id)
            later.append(frame)
            continue
        if topic.startswith(topics.RPC_RESULT):
            answered.add(sensor_id)
        together.append(frame)
    return Split(together, later)


def beginning(frames: list[Frame], most_bytes: int) -> list[Frame]:
    """The longest run of frames to process together: the first frame, then up to `most_bytes`, or up to data of a
    sensor that has already sent a result."""
    answered: set[SensorId] = set()
    size = 0
    for place, frame in enumerate(frames):
        sensor_id = frame.source.sensor_id
        size += len(frame.body)
        if place and (size > most_bytes or (sensor_id in answered and frame.topic in device_publish.CHANNELS)):
            return frames[:place]
        if frame.topic.startswith(topics.RPC_RESULT):
            answered.add(sensor_id)
    return frames
