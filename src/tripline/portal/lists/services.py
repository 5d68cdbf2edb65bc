"""The list of services: each service type with its operator. Not here: one company (`records/companies.py`)."""

from typing import Any, Final

from litestar.response import Response

from tripline.domain.access import Action
from tripline.http.context.base import Call
from tripline.portal.frame.page import page
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Column, Filter, ListRequest, Table
from tripline.services.fleet import lists
from tripline.store.browsing.services import Filters

_PATH: Final = "/admin/services"


@page("GET", _PATH, access=Action.INSTALLATION_READ)
async def services(request: Call) -> Response[bytes]:
    """The services of the installation."""
    return await table_pages.listed(request, SERVICES)


@page("GET", f"{_PATH}/count", access=Action.INSTALLATION_READ)
async def count(request: Call) -> Response[bytes]:
    """Number of services."""
    return await table_pages.counted(request, SERVICES)


def _filters(wanted: ListRequest) -> Filters:
    return Filters(search=wanted.search, enabled=_STATES.get(wanted.chosen.get("state", "")))


_STATES: Final = {"enabled": True, "disabled": False}
SERVICES: Final = Table(
    noun="services",
    path=_PATH,
    page=lambda tx, actor, wanted, page_request: lists.services_of(
        tx, actor=actor, filters=_filters(wanted), page_request=page_request
    ),
    count=lambda tx, actor, wanted: lists.count_services(tx, actor=actor, filters=_filters(wanted)),
    columns=(
        Column(key="service", value=lambda row, _: row.service_type, order="service"),
        Column(key="name", value=lambda row, _: row.name, order="name"),
        Column(key="companies", value=lambda row, _: row.companies, look="number wide"),
        Column(key="vehicles", value=lambda row, _: row.vehicles, look="number"),
        Column(key="sensors", value=lambda row, _: row.sensors, look="number middle"),
        Column(key="accounts", value=lambda row, _: row.accounts, look="number middle"),
        Column(
            key="state",
            value=lambda row, words: words.option("state", "enabled" if row.enabled else "disabled"),
            look="middle",
        ),
        Column(key="created", value=lambda row, words: words.time(row.created_ms), order="created", look="wide"),
    ),
    filters=(Filter(key="state", values=tuple(_STATES)),),
    icon="server",
)
handlers: Final[list[Any]] = [services, count]
