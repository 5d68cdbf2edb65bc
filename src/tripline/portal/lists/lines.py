"""The list of the carrier lines in the company's devices. Not here: one line (`records/lines.py`)."""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.lines import NwStatus
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.fleet import lists
from tripline.store.browsing.lines import Filters


@page("GET", "/lines", access=Action.SENSOR_READ)
async def overview(request: Call) -> Response[bytes]:
    """The lines of the company's devices that the visitor may see."""
    return await table_pages.listed(request, LINES)


@page("GET", "/lines/count", access=Action.SENSOR_READ)
async def count(request: Call) -> Response[bytes]:
    """Number of lines."""
    return await table_pages.counted(request, LINES)


def _filters(wanted: ListRequest) -> Filters:
    state = wanted.chosen.get("state")
    return Filters(search=wanted.search, state=None if state is None else NwStatus(state))


LINES: Final = Table(
    noun="lines",
    path="/lines",
    page=lambda tx, actor, wanted, page_request: lists.lines_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: lists.count_lines(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="serial", value=lambda row, _: row.serial_no, order="serial"),
        Column(key="mdn", value=lambda row, _: row.mdn, look="middle nowrap"),
        Column(key="state", value=lambda row, words: words.option("state", row.nw_status.value)),
        Column(key="plan", value=lambda row, _: row.subscription, look="wide"),
        Column(key="vehicle", value=lambda row, _: row.vehicle_no, look="middle"),
        Column(key="changed", value=lambda row, words: words.time(row.updated_ms), look="middle"),
        Column(key="iccid", value=lambda row, _: row.iccid, shown=False),
        Column(key="imsi", value=lambda row, _: row.imsi, shown=False),
        Column(
            key="created",
            value=lambda row, words: words.time(row.created_ms),
            order="created",
            shown=False,
            look="wide",
        ),
    ),
    filters=(Filter(key="state", values=tuple(NwStatus)),),
    icon="card-sim",
)
handlers: Final[list[Any]] = [overview, count]
