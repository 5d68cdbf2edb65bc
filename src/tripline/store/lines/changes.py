"""Line changes by device: written with each change, read newest first.

Callers check access to the device. Not here: the current lines (`lines.py`), carrier actions (`actions.py`).
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, delete, func, insert, select

from tripline.domain.ids import RowNo, SensorId
from tripline.domain.lines import Change, NwStatus
from tripline.store.tables import line_change
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ROW: Final = line_change.c
_FIELDS: Final = list(Change.__struct_fields__)
_PAGE: Final = Hot(
    select(*(_ROW[name] for name in _FIELDS))
    .where(_ROW.sensor_id == bindparam("of_sensor"), _ROW.no < bindparam("before"))
    .order_by(_ROW.no.desc())
    .limit(bindparam("most")),
    *("of_sensor", "before", "most"),
)
_NEWEST: Final = Hot(
    select(func.coalesce(func.max(_ROW.no), 0)).where(_ROW.sensor_id == bindparam("of_sensor")), "of_sensor"
)
_LAST: Final = 2**63 - 1


def add(tx: WriteTx, sensor_id: SensorId, change: Change) -> None:
    """Store a change of the device's line after all existing ones: its number gives its place by our clock.

    Another program on this database may have used the same number for this line, or numbers ahead of our clock.
    """
    no = max(change.no, tx.hot(_NEWEST, sensor_id)[0][0] + 1)
    row = {name: getattr(change, name) for name in _FIELDS}
    tx.run(insert(line_change), {"sensor_id": sensor_id, **row, "no": no, "nw_status": change.nw_status.value})


def of_sensor(tx: ReadTx, sensor_id: SensorId, *, before: RowNo | None, limit: int) -> Sequence[Change]:
    """Return the changes of the device's line before this number, newest first."""
    rows = tx.hot(_PAGE, sensor_id, _LAST if before is None else before, limit)
    found = (dict(zip(_FIELDS, row, strict=True)) for row in rows)
    return [Change(**{**values, "nw_status": NwStatus(values["nw_status"])}) for values in found]


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Delete the line changes of a deleted device."""
    tx.run(delete(line_change).where(_ROW.sensor_id == sensor_id))
