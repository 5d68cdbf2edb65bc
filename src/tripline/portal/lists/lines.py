"""The list of the carrier lines in the company's devices."""

from typing import Final

from tripline.domain.access import Action
from tripline.domain.lines import NwStatus
from tripline.portal.lists.columns import Column, Filter, Kind, each_of
from tripline.portal.lists.tables import Table
from tripline.services.fleet import lists
from tripline.store.listing.lines import Filters

_STATE: Final = Filter(key="state", values=each_of(NwStatus))
LINES: Final = Table(
    noun="lines",
    path="/lines",
    access=Action.SENSOR_READ,
    listing=lists.LINES,
    which=Filters,
    columns=(
        Column("serial", Kind.TEXT, "serial_no", order="serial", to=lambda row, _: f"/lines/{row.id}"),
        Column("mdn", Kind.TEXT, look="middle nowrap"),
        Column("state", Kind.OWN, "nw_status", choice=_STATE, macro="line_state"),
        Column("plan", Kind.TEXT, "subscription", look="wide"),
        Column(
            "vehicle", Kind.TEXT, "vehicle_no", look="middle", to=lambda row, _: f"/fleet/vehicles/{row.vehicle_id}"
        ),
        Column("changed", Kind.AGO, "updated_ms", look="middle"),
        Column("iccid", Kind.TEXT, shown=False),
        Column("imsi", Kind.TEXT, shown=False),
        Column("created", Kind.DATE, "created_ms", order="created", shown=False, look="wide"),
    ),
    filters=(_STATE,),
    icon="card-sim",
)
