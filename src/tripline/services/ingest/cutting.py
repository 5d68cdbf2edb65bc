"""Where a batch is cut: when it is large, and behind a device's result, which may mount the device on a vehicle.

What the same device sends after it belongs where the result put it, so it waits for the next batch, which reads the
sensor anew. Answers need not wait for one another, and other devices for nobody.

Not here: what a result does (`services/rpc/answers.py`).
"""

from tripline.domain.ids import SensorId
from tripline.services.ingest.pipeline import Frame
from tripline.wire import topics


def within(frames: list[Frame], most: int, most_bytes: int) -> int:
    """How many of the frames, from the first, are no more than these and have no longer bodies together; at least
    one."""
    size = 0
    for place, frame in enumerate(frames[:most]):
        size += len(frame[2])
        if size > most_bytes:
            return max(place, 1)
    return min(len(frames), most)


def behind_results(frames: list[Frame]) -> tuple[list[Frame], list[Frame]]:
    """The frames that go through together, and those that wait for the next batch; the order of each sensor is
    kept."""
    if {frame[1] for frame in frames} <= topics.DATA:
        return frames, []
    answered: set[SensorId] = set()
    held: set[SensorId] = set()
    together: list[Frame] = []
    later: list[Frame] = []
    for frame in frames:
        sensor_id, topic = frame[0].sensor_id, frame[1]
        if sensor_id in held or (sensor_id in answered and topic in topics.DATA):
            held.add(sensor_id)
            later.append(frame)
            continue
        if topic.startswith(topics.RPC_RESULT):
            answered.add(sensor_id)
        together.append(frame)
    return together, later
