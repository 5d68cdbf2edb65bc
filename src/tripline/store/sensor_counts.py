"""How many sensors there are: of a service type or of a company, all of them or those on no vehicle.

Not here: the sensors themselves (`sensors.py`).
"""

from functools import cache
from typing import Any, Final

from sqlalchemy import Select, bindparam, func, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.tables import sensor
from tripline.store.transactions import ReadTx

_COLUMNS: Final = {"service_type": sensor.c.service_type, "company_id": sensor.c.company_id}


def of_service_type(tx: ReadTx, scope: Scope, service_type: str, *, mounted: bool | None = None) -> int:
    """Sensors of the service type inside the scope; only those on a vehicle, or on none, when asked."""
    return _counted(tx, scope, "service_type", service_type, mounted)


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, *, mounted: bool | None = None) -> int:
    """The company's sensors inside the scope, as `of_service_type`."""
    return _counted(tx, scope, "company_id", company_id, mounted)


def _counted(tx: ReadTx, scope: Scope, column: str, value: str, mounted: bool | None) -> int:
    rows = tx.all(_count(scope.reaches, column, mounted), {"value": value, **scopes.values(scope)})
    return int(rows[0][0])


@cache
def _count(reaches: scopes.Reaches, column: str, mounted: bool | None) -> Select[Any]:
    counted = select(func.count()).select_from(sensor)
    inside = counted.where(_COLUMNS[column] == bindparam("value"), scopes.sensors(reaches))
    if mounted is None:
        return inside
    return inside.where(sensor.c.vehicle_id.is_not(None) if mounted else sensor.c.vehicle_id.is_(None))
