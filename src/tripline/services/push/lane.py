"""One sensor's messages to one receiver, as loaded in memory: sent one at a time, by number."""

from collections import deque

import msgspec

from tripline.domain.ids import RowNo, SensorId
from tripline.store.push.queue import Row


class Lane(msgspec.Struct, eq=False):
    """A sensor's messages in memory."""

    sensor_id: SensorId
    rows: deque[Row] = msgspec.field(default_factory=deque)
    failing: bool = False
    """True if the first message failed before: then no other message of the lane is in memory."""
    cut_no: RowNo | None = None
    """The first message of the lane that is not in memory; all later ones are missing, too."""
    waits: int = 0
    """Distinguishes the lane's current heap entry from outdated ones; 0 if it is not waiting."""

    def put(self, row: Row) -> None:
        """Insert a message in order, but not before the first one, which may be under way."""
        place = len(self.rows)
        while place > 1 and self.rows[place - 1].no > row.no:
            place -= 1
        self.rows.insert(place, row)
