"""One sensor's messages to one receiver, as far as they are in memory: one after the other, by their numbers."""

from collections import deque

import msgspec

from tripline.domain.ids import RowNo, SensorId
from tripline.store.push.queue import Row


class Lane(msgspec.Struct, eq=False):
    """What is in memory of a sensor's messages."""

    sensor_id: SensorId
    rows: deque[Row] = msgspec.field(default_factory=deque)
    failing: bool = False
    """Whether the first message failed before: nothing else of the lane is in memory."""
    cut_no: RowNo | None = None
    """The first message of the lane that was left out of memory, and with it all that follow."""
    waits: int = 0
    """Tells the heap's present entry of this lane from former ones; 0 when it does not wait."""

    def put(self, row: Row) -> None:
        """Put a message in its place; not before the first one, which may be under way."""
        place = len(self.rows)
        while place > 1 and self.rows[place - 1].no > row.no:
            place -= 1
        self.rows.insert(place, row)
