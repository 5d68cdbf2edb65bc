"""The list of vehicles."""

from typing import Final

from tripline.domain.access import Action, Actor, Authority
from tripline.domain.vehicles import Status
from tripline.portal.lists import bulk_vehicles
from tripline.portal.lists.columns import Column, Filter, Kind, Words, each_of
from tripline.portal.lists.tables import COMPANY, Reference, Table
from tripline.services.fleet import lists, people
from tripline.store.listing.vehicles import Filters, ListedVehicle, Whose
from tripline.store.transactions import ReadTx


def _person(key: str, action: Action, role: Authority) -> Reference:
    def name(tx: ReadTx, actor: Actor, filters: Filters) -> str:
        return people.find(tx, actor=actor, action=action, role=role, user_id=getattr(filters, f"{key}_id")).name

    return Reference(key=key, name=name)


def _model(row: ListedVehicle, _: Words) -> str | None:
    return " ".join(part for part in (row.vendor, row.model_name) if part) or None


_STATUS: Final = Filter(key="status", values=each_of(Status))
_DRIVING: Final = Filter(key="driving", values={"now": True, "not": False})
_ELSEWHERE: Final = "portal.record.elsewhere"
VEHICLES: Final = Table(
    noun="vehicles",
    path="/fleet/vehicles",
    access=Action.VEHICLE_READ,
    listing=lists.VEHICLES,
    which=Filters,
    columns=(
        Column("number", Kind.TEXT, "vehicle_no", order="number", to=lambda row, _: f"/fleet/vehicles/{row.id}"),
        Column("state", Kind.CHOICE, "status", choice=_STATUS, colours={"ACTIVATED": "good", "DEACTIVATED": "idle"}),
        Column("driving", Kind.CHOICE, choice=_DRIVING, colours={"now": "busy"}),
        Column("model", Kind.CLIP, _model, look="middle"),
        Column("sensor", Kind.OWN, "serial_no", macro="mounted", look="middle"),
        Column("company", Kind.CLIP, "company_name", look="widest"),
        Column("director", Kind.CLIP, "director_name", elsewhere=("director_id", _ELSEWHERE), look="wide"),
        Column("driver", Kind.CLIP, "driver_name", elsewhere=("driver_id", _ELSEWHERE), look="middle"),
        Column("delegated", Kind.WHOLE, "delegated_to", shown=False),
        Column("seen", Kind.AGO, "seen_ms", look="middle"),
        Column("speed", Kind.SPEED, "speed_kmh", shown=False),
        Column("year", Kind.WHOLE, "model_year", shown=False),
        Column("mission", Kind.WORD, "mission_type", shown=False),
        Column("fuel", Kind.WORD, "fuel_type", shown=False),
        Column("mileage", Kind.KM, shown=False),
        Column("created", Kind.DATE, "created_ms", order="created", shown=False, look="wide"),
    ),
    filters=(
        _STATUS,
        Filter(key="sensor", field="with_sensor", values={"with": True, "without": False}),
        _DRIVING,
        Filter(key="whose", values=each_of(Whose)),
    ),
    references=(
        COMPANY,
        _person("director", Action.USER_READ, Authority.DIRECTOR),
        _person("holder", Action.RIGHT_READ, Authority.DRIVER),
    ),
    bulk=bulk_vehicles.BULK,
    select="vehicleId",
    label="vehicle_no",
    create=Action.VEHICLE_CREATE,
    icon="truck",
)
