"""What the rest of the program is told after people were deleted."""

from collections.abc import Iterable

from tripline import observe
from tripline.api.rim import Rim
from tripline.domain.ids import SensorId


def tell(rim: Rim, sensor_ids: Iterable[SensorId]) -> None:
    """Let the pipeline read the sensors again whose driver is gone, and the eraser look at what the people drove."""
    for sensor_id in sensor_ids:
        rim.signals.notify(observe.SIGNAL_SENSOR_CHANGED, sensor_id)
    rim.signals.notify(observe.SIGNAL_ERASURE_DUE)
