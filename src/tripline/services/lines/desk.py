"""Shows a company the lines of its devices, and what became of one.

Not here: lifting a pause (`pauses.py`), what a carrier sends (`batches.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.lines import Change, NwStatus
from tripline.domain.sensors import Sensor
from tripline.services.fleet import sensors
from tripline.store import lists
from tripline.store.lines import changes, lines, pages
from tripline.store.lines.pages import Lined
from tripline.store.transactions import ReadTx


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A device, what became of its line, and whether the carrier is being asked about it."""

    sensor: Sensor
    changes: Sequence[Change]
    """The newest first."""
    busy: bool


def of_company(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: lists.Window, status: NwStatus | None
) -> Sequence[Lined]:
    """The company's devices that have or had a line and that the actor may see; `companies.require` was asked before.

    Raises `UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.SENSOR_READ)
    return pages.of_company(tx, scope, company_id, window, status=status)


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, before: RowNo | None, limit: int, now_ms: int) -> Known:
    """The device with what became of its line before this number. Raises `NotFound` or `Forbidden`."""
    sensor = sensors.read(tx, actor=actor, sensor_id=sensor_id)
    claim = lines.claim_of(tx, sensor_id)
    return Known(
        sensor=sensor,
        changes=changes.of_sensor(tx, sensor_id, before=before, limit=limit),
        busy=claim is not None and claim.holds(now_ms),
    )
