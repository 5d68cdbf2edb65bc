"""The list of lines of a company's devices, within a scope: lines that exist or existed, and how many they are."""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, FromClause, and_, bindparam, exists, select

from tripline.domain import lines
from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.store import prefixes, scopes
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListSpec, Search
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.reach import Kind, Why
from tripline.store.tables import carrier_line, sensor, vehicle


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines to list; None: any."""

    search: str | None = None
    """Beginning of the device's serial number, in any case, or of the telephone number."""
    state: NwStatus | None = None


class ListedLine(msgspec.Struct, frozen=True):
    """A line as a list shows it, with its device."""

    id: SensorId
    created_ms: int
    """When the device was registered."""
    serial_no: str
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    mdn: str | None
    nw_status: NwStatus
    subscription: str | None
    imsi: str | None
    iccid: str | None
    updated_ms: int
    """When the line changed last."""


_HAD: Final = carrier_line.alias("had")
_LINE: Final = exists().where(_HAD.c.sensor_id == THING)


def _bounds(text: str) -> tuple[str, str] | None:
    number = lines.number_of(text)
    return None if number is None else (number, number + prefixes.LAST)


def _begins(number: ColumnElement[Any]) -> ColumnElement[bool]:
    return and_(number >= bindparam("number_from"), number < bindparam("number_to"))


def _looked(row: FromClause) -> Looked:
    elsewhere = ("vehicle_no", "mdn", "nw_status", "subscription", "imsi", "iccid", "updated_ms")
    return Looked(
        {name: (vehicle if name == "vehicle_no" else carrier_line).c[name] for name in elsewhere},
        [(carrier_line, carrier_line.c.sensor_id == row.c.id), (vehicle, vehicle.c.id == row.c.vehicle_id)],
    )


_SPEC: Final = ListSpec(
    kind=Kind.SENSOR,
    orders={"serial": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="serial",
    searches=(
        Search(
            names=("number_from", "number_to"),
            values=_bounds,
            where=_LINE.where(_begins(_HAD.c.mdn)),
            few=select(carrier_line.c.sensor_id).where(_begins(carrier_line.c.mdn)),
        ),
    ),
    always=(Filter(along=Along(scopes.COMPANY, Why.OWN), where=_LINE),),
    filters={
        "state": Filter(
            where=_LINE.where(_HAD.c.nw_status == bindparam("state")),
            few=select(carrier_line.c.sensor_id).where(carrier_line.c.nw_status == bindparam("state")),
        )
    },
    shown=shown(ListedLine, sensor, _looked),
)
LIST: Final[NounList[Filters, ListedLine]] = NounList(record=ListedLine, spec=_SPEC)
"""Lines of devices of the scope's company that are inside the scope."""
