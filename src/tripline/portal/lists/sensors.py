"""The list of sensors. Not here: one sensor (`records/sensors.py`)."""

from collections.abc import Mapping
from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action, Actor
from tripline.domain.ids import CompanyId
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.fleet import companies, lists
from tripline.store.browsing.sensors import Filters, Heard
from tripline.store.transactions import ReadTx


@page("GET", "/fleet/sensors", access=Action.SENSOR_READ)
async def sensors(request: Call) -> Response[bytes]:
    """The sensors that the visitor may see."""
    return await table_pages.listed(request, SENSORS, create=Action.SENSOR_CREATE, names=_names)


@page("GET", "/fleet/sensors/count", access=Action.SENSOR_READ)
async def count(request: Call) -> Response[bytes]:
    """Number of sensors."""
    return await table_pages.counted(request, SENSORS)


def _filters(wanted: ListRequest) -> Filters:
    chosen = wanted.chosen
    return Filters(
        search=wanted.search,
        mounted=_MOUNTED.get(chosen.get("mounted", "")),
        heard=Heard(chosen["heard"]) if "heard" in chosen else None,
        type=chosen.get("type"),
        company_id=CompanyId(chosen["company"]) if "company" in chosen else None,
    )


def _names(tx: ReadTx, actor: Actor, wanted: ListRequest) -> Mapping[str, str]:
    """Name of the company in the filter. Raises `NotFound` and `Forbidden`."""
    company_id = _filters(wanted).company_id
    return {} if company_id is None else {"company": companies.read(tx, actor=actor, company_id=company_id).name}


_MOUNTED: Final = {"mounted": True, "free": False}
SENSORS: Final = Table(
    noun="sensors",
    path="/fleet/sensors",
    page=lambda tx, actor, wanted, page_request: lists.sensors_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: lists.count_sensors(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="serial", value=lambda row, _: row.serial_no, order="serial"),
        Column(key="heard", value=lambda row, words: words.option("heard", row.heard.value)),
        Column(key="seen", value=lambda row, words: words.time(row.seen_ms), look="middle"),
        Column(key="vehicle", value=lambda row, _: row.vehicle_no),
        Column(key="type", value=lambda row, _: row.type, look="middle"),
        Column(key="vendor", value=lambda row, _: row.vendor, shown=False),
        Column(key="company", value=lambda row, _: row.company_name, look="wide"),
        Column(key="mdn", value=lambda row, _: row.mdn, look="wide"),
        Column(key="iccid", value=lambda row, _: row.iccid, shown=False),
        Column(
            key="created",
            value=lambda row, words: words.time(row.created_ms),
            order="created",
            shown=False,
            look="wide",
        ),
    ),
    filters=(
        Filter(key="mounted", values=tuple(_MOUNTED)),
        Filter(key="heard", values=tuple(each.value for each in Heard)),
    ),
    texts=("type",),
    references=("company",),
    icon="cpu",
)
handlers: Final[list[Any]] = [sensors, count]
