"""The list of sensors within a scope, and how many they are. A record's access token is not part of a list."""

from enum import Enum
from typing import Final

import msgspec
from sqlalchemy import FromClause, bindparam, case, exists, or_, select

from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.sensors import Status
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListSpec
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.reach import Kind, Why
from tripline.store.tables import carrier_line, company, device_connection, sensor, vehicle


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


class ListedSensor(msgspec.Struct, frozen=True):
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


_ROW: Final = sensor.alias("tested")
_HEARD: Final = device_connection.alias("there")
# A row may exist before the first connection, as a lock; a server that ended leaves no session number.
_WAS_THERE: Final = _HEARD.c.lost_ms.is_not(None)
_KNOWN: Final = exists().where(_HEARD.c.sensor_id == THING)
_ON: Final = exists().where(_ROW.c.id == THING, _ROW.c.vehicle_id.is_not(None))


def _looked(row: FromClause) -> Looked:
    connected = _HEARD.c.connected.is_(True)
    return Looked(
        {
            "company_name": company.c.name,
            "vehicle_no": vehicle.c.vehicle_no,
            "mdn": carrier_line.c.mdn,
            "iccid": carrier_line.c.iccid,
            "nw_status": carrier_line.c.nw_status,
            "heard": case((connected, Heard.CONNECTED.value), (_WAS_THERE, Heard.AWAY.value), else_=Heard.NEVER.value),
            "seen_ms": case((or_(connected, _WAS_THERE), _HEARD.c.seen_ms)),
        },
        [
            (company, company.c.id == row.c.company_id),
            (vehicle, vehicle.c.id == row.c.vehicle_id),
            (carrier_line, carrier_line.c.sensor_id == row.c.id),
            (_HEARD, _HEARD.c.sensor_id == row.c.id),
        ],
    )


SPEC: Final = ListSpec(
    kind=Kind.SENSOR,
    orders={"serial": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="serial",
    searches=(engine.ending(sensor.c.serial_no),),
    filters={
        "company_id": Filter(along=Along("company_id", Why.OWN)),
        "type": Filter(
            where=select(_ROW.c.type).where(_ROW.c.id == THING).scalar_subquery() == bindparam("type"),
            few=select(sensor.c.id).where(
                sensor.c.service_type == engine.own("service_type"), sensor.c.type == bindparam("type")
            ),
        ),
        "mounted.True": Filter(where=_ON),
        "mounted.False": Filter(
            where=~_ON,
            few=select(sensor.c.id).where(
                sensor.c.service_type == engine.own("service_type"), sensor.c.vehicle_id.is_(None)
            ),
        ),
        f"heard.{Heard.CONNECTED.value}": Filter(
            where=_KNOWN.where(_HEARD.c.connected.is_(True)),
            few=select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(True)),
        ),
        "not_connected": Filter(where=~_KNOWN.where(_HEARD.c.connected.is_(True))),
        f"heard.{Heard.AWAY.value}": Filter(
            where=_KNOWN.where(_HEARD.c.connected.is_(False), _WAS_THERE),
            few=select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(False), _WAS_THERE),
        ),
        f"heard.{Heard.NEVER.value}": Filter(where=~_KNOWN.where(_HEARD.c.connected.is_(True) | _WAS_THERE)),
    },
    shown=shown(ListedSensor, sensor, _looked),
)
LIST: Final[NounList[Filters, ListedSensor]] = NounList(record=ListedSensor, spec=SPEC, number=sensor.c.serial_no)
