"""The list of sensors within a scope, and how many they are. A record's access token is not part of a list."""

from enum import Enum
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, exists, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.sensors import Status
from tripline.store.fleet import number_keys
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListQuery, ListSpec
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.reach import Kind, Why
from tripline.store.tables import carrier_line, company, device_connection, sensor, vehicle
from tripline.store.transactions import ReadTx


class Heard(Enum):
    """The state of a device's connection."""

    CONNECTED = "connected"
    AWAY = "away"
    """It was connected before."""
    NEVER = "never"
    """It was never connected."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which sensors to list; None: any."""

    search: str | None = None
    """Beginning of the serial number, in any case, or an end of it that ends with four digits (`endings.py`)."""
    mounted: bool | None = None
    heard: Heard | None = None
    type: str | None = None
    company_id: CompanyId | None = None


class ListedSensor(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor as a list shows it."""

    id: SensorId
    created_ms: int
    serial_no: str
    vendor: str | None
    type: str
    status: Status
    activation_required: bool
    company_id: CompanyId
    company_name: str
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    mdn: str | None
    iccid: str | None
    nw_status: NwStatus | None
    heard: Heard
    seen_ms: int | None
    """Time of the latest sign of life of its device."""


def page(tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedSensor]:
    """Return the sensors of the page that are inside the scope."""
    found = SPEC.page(tx, _query(scope, filters), page_request)
    if not found.rows and (number := number_keys.other_form(tx, sensor.c.serial_no, scope, filters.search)):
        return page(tx, scope, replace(filters, search=number), page_request)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """Return how many sensors inside the scope the filters let pass."""
    found = SPEC.count(tx, _query(scope, filters))
    if not found and (number := number_keys.other_form(tx, sensor.c.serial_no, scope, filters.search)):
        return count(tx, scope, replace(filters, search=number))
    return found


def _query(scope: Scope, filters: Filters) -> ListQuery:
    chosen = {
        "company": filters.company_id,
        "type": filters.type,
        _MOUNTED.get(filters.mounted, ""): True,
        "" if filters.heard is None else filters.heard.value: True,
    }
    return engine.query_of(scope, chosen, filters.search)


_MOUNTED: Final[dict[bool | None, str]] = {True: "mounted", False: "unmounted"}
_ROW: Final = sensor.alias("tested")
_HEARD: Final = device_connection.alias("there")
# A row may exist before the first connection, as a lock; a server that ended leaves no session number.
_WAS_THERE: Final = _HEARD.c.lost_ms.is_not(None)
_KNOWN: Final = exists().where(_HEARD.c.sensor_id == THING)
_ON: Final = exists().where(_ROW.c.id == THING, _ROW.c.vehicle_id.is_not(None))


def _shown(page: Subquery) -> Select[Any]:
    row = sensor.alias("shown")
    looked_up: dict[str, ColumnElement[Any]] = {
        "company_name": company.c.name,
        "vehicle_no": vehicle.c.vehicle_no,
        "mdn": carrier_line.c.mdn,
        "iccid": carrier_line.c.iccid,
        "nw_status": carrier_line.c.nw_status,
        "heard": _HEARD.c.connected,
        "seen_ms": _HEARD.c.seen_ms,
    }
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(company, company.c.id == row.c.company_id)
        .outerjoin(vehicle, vehicle.c.id == row.c.vehicle_id)
        .outerjoin(carrier_line, carrier_line.c.sensor_id == row.c.id)
        .outerjoin(_HEARD, _HEARD.c.sensor_id == row.c.id)
    )
    columns = engine.fields(_FIELDS, row, looked_up)
    return select(page.c.place, page.c.key, *columns, _HEARD.c.lost_ms).select_from(joined)


_FIELDS: Final = ListedSensor.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedSensor:
    values = dict(zip(_FIELDS, row[2:-1], strict=True))
    connected, lost_ms = values["heard"], row[-1]
    values["heard"] = Heard.CONNECTED if connected else Heard.NEVER if lost_ms is None else Heard.AWAY
    if values["heard"] is Heard.NEVER:
        values["seen_ms"] = None
    values["status"] = Status(values["status"])
    values["activation_required"] = bool(values["activation_required"])
    values["nw_status"] = None if values["nw_status"] is None else NwStatus(values["nw_status"])
    return ListedSensor(**values)


SPEC: Final = ListSpec(
    kind=Kind.SENSOR,
    orders={"serial": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="serial",
    searches=(engine.ending(sensor.c.serial_no),),
    values=("company", "type"),
    filters={
        "company": Filter(along=Along("company", Why.OWN)),
        "type": Filter(
            where=select(_ROW.c.type).where(_ROW.c.id == THING).scalar_subquery() == bindparam("type"),
            few=select(sensor.c.id).where(
                sensor.c.service_type == engine.own("service_type"), sensor.c.type == bindparam("type")
            ),
        ),
        "mounted": Filter(where=_ON),
        "unmounted": Filter(
            where=~_ON,
            few=select(sensor.c.id).where(
                sensor.c.service_type == engine.own("service_type"), sensor.c.vehicle_id.is_(None)
            ),
        ),
        Heard.CONNECTED.value: Filter(
            where=_KNOWN.where(_HEARD.c.connected.is_(True)),
            few=select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(True)),
        ),
        "not_connected": Filter(where=~_KNOWN.where(_HEARD.c.connected.is_(True))),
        Heard.AWAY.value: Filter(
            where=_KNOWN.where(_HEARD.c.connected.is_(False), _WAS_THERE),
            few=select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(False), _WAS_THERE),
        ),
        Heard.NEVER.value: Filter(where=~_KNOWN.where(_HEARD.c.connected.is_(True) | _WAS_THERE)),
    },
    shown=_shown,
)
