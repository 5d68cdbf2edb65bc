"""The list of sensors."""

from typing import Final

from tripline.domain.access import Action
from tripline.portal.lists.columns import Column, Filter, Kind, each_of
from tripline.portal.lists.tables import COMPANY, Table
from tripline.services.fleet import lists
from tripline.store.listing.sensors import Filters, Heard

_HEARD: Final = Filter(key="heard", values=each_of(Heard))
_COLOURS: Final = {"connected": "good", "away": "warning", "never": "idle"}
SENSORS: Final = Table(
    noun="sensors",
    path="/fleet/sensors",
    access=Action.SENSOR_READ,
    listing=lists.SENSORS,
    which=Filters,
    columns=(
        Column("serial", Kind.TEXT, "serial_no", order="serial", to=lambda row, _: f"/fleet/sensors/{row.id}"),
        Column("heard", Kind.CHOICE, choice=_HEARD, colours=_COLOURS),
        Column("seen", Kind.AGO, "seen_ms", look="middle"),
        Column("vehicle", Kind.TEXT, "vehicle_no", to=lambda row, _: f"/fleet/vehicles/{row.vehicle_id}"),
        Column("type", Kind.TEXT, look="middle"),
        Column("vendor", Kind.TEXT, shown=False),
        Column("company", Kind.CLIP, "company_name", look="wide"),
        Column("mdn", Kind.TEXT, look="wide"),
        Column("iccid", Kind.TEXT, shown=False),
        Column("created", Kind.DATE, "created_ms", order="created", shown=False, look="wide"),
    ),
    filters=(Filter(key="mounted", values={"mounted": True, "free": False}), _HEARD),
    texts=("type",),
    references=(COMPANY,),
    create=Action.SENSOR_CREATE,
    icon="cpu",
)
