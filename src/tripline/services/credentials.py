"""The sensor behind a credential, for every protocol by which devices come.

Not here: the pace at which strangers may guess credentials (`gateway/wrong_tokens.py`).
"""

from tripline.domain.ids import SensorId
from tripline.store.fleet import sensors
from tripline.store.transactions import Store


async def sensor_of(store: Store, credential: str) -> SensorId | None:
    """The sensor that this credential belongs to, if any. Raises `Outage`."""
    return await store.read_short(lambda tx: sensors.holder_of(tx, credential))
