"""The list of vehicles. Not here: one vehicle (`records/vehicles.py`)."""

from collections.abc import Mapping
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.vehicles import Status
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import bulk_vehicles, table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.fleet import companies, lists, people
from tripline.store.browsing.vehicle_rows import ListedVehicle
from tripline.store.browsing.vehicles import Filters, Whose
from tripline.store.transactions import ReadTx


@page("GET", "/fleet/vehicles", access=Action.VEHICLE_READ)
async def vehicles(request: Call) -> Response[bytes]:
    """The vehicles that the visitor may see."""
    return await table_pages.listed(request, VEHICLES, create=Action.VEHICLE_CREATE, names=_names)


@page("GET", "/fleet/vehicles/count", access=Action.VEHICLE_READ)
async def count(request: Call) -> Response[bytes]:
    """Number of vehicles."""
    return await table_pages.counted(request, VEHICLES)


def _filters(wanted: ListRequest) -> Filters:
    chosen = wanted.chosen
    return Filters(
        search=wanted.search,
        status=Status(chosen["status"]) if "status" in chosen else None,
        with_sensor=_WITH.get(chosen.get("sensor", "")),
        driving=_DRIVING.get(chosen.get("driving", "")),
        whose=Whose(chosen["whose"]) if "whose" in chosen else None,
        company_id=CompanyId(chosen["company"]) if "company" in chosen else None,
        director_id=UserId(chosen["director"]) if "director" in chosen else None,
        holder_id=UserId(chosen["holder"]) if "holder" in chosen else None,
    )


def _names(tx: ReadTx, actor: Actor, wanted: ListRequest) -> Mapping[str, str]:
    """Names of the company and the people in the filters. Raises `NotFound` and `Forbidden`."""
    named, chosen = {}, _filters(wanted)
    if chosen.company_id is not None:
        named["company"] = companies.read(tx, actor=actor, company_id=chosen.company_id).name
    if chosen.director_id is not None:
        director = people.find(
            tx, actor=actor, action=Action.USER_READ, role=Authority.DIRECTOR, user_id=chosen.director_id
        )
        named["director"] = director.name
    if chosen.holder_id is not None:
        action, role = Action.RIGHT_READ, Authority.DRIVER
        named["holder"] = people.find(tx, actor=actor, action=action, role=role, user_id=chosen.holder_id).name
    return named


def _model(row: ListedVehicle) -> str | None:
    return " ".join(part for part in (row.vendor, row.model_name) if part) or None


_WITH: Final = {"with": True, "without": False}
_DRIVING: Final = {"now": True, "not": False}
VEHICLES: Final = Table(
    noun="vehicles",
    path="/fleet/vehicles",
    page=lambda tx, actor, wanted, page_request: lists.vehicles_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: lists.count_vehicles(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="number", value=lambda row, _: row.vehicle_no, order="number"),
        Column(key="state", value=lambda row, words: words.option("status", row.status)),
        Column(key="driving", value=lambda row, words: words.option("driving", "now" if row.driving else "not")),
        Column(key="model", value=lambda row, _: _model(row), look="middle"),
        Column(key="sensor", value=lambda row, _: row.serial_no, look="middle"),
        Column(key="company", value=lambda row, _: row.company_name, look="widest"),
        Column(key="director", value=lambda row, _: row.director_name, look="wide"),
        Column(key="driver", value=lambda row, _: row.driver_name, look="middle"),
        Column(key="delegated", value=lambda row, _: row.delegated_to, shown=False, look="number"),
        Column(key="seen", value=lambda row, words: words.time(row.seen_ms), look="middle"),
        Column(key="speed", value=lambda row, _: row.speed_kmh, shown=False, look="number"),
        Column(key="year", value=lambda row, _: row.model_year, shown=False, look="number"),
        Column(key="mission", value=lambda row, _: row.mission_type, shown=False),
        Column(key="fuel", value=lambda row, _: row.fuel_type, shown=False),
        Column(key="mileage", value=lambda row, _: row.mileage, shown=False, look="number"),
        Column(
            key="created",
            value=lambda row, words: words.time(row.created_ms),
            order="created",
            shown=False,
            look="wide",
        ),
    ),
    filters=(
        Filter(key="status", values=tuple(Status)),
        Filter(key="sensor", values=tuple(_WITH)),
        Filter(key="driving", values=tuple(_DRIVING)),
        Filter(key="whose", values=tuple(each.value for each in Whose)),
    ),
    references=("company", "director", "holder"),
    bulk=bulk_vehicles.BULK,
    icon="truck",
)
handlers: Final[list[Any]] = [vehicles, count]
