"""The REST application: every family's handlers, the error table, and what surrounds each request.

Handlers are collected from the modules beside this one; each exports `handlers`.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from tripline.api import (
    administrators,
    analytics,
    applications,
    assignments,
    auth,
    candidates,
    carrier,
    companies,
    cors,
    docs,
    driven,
    errors,
    health,
    imports,
    loans,
    mounting,
    password_page,
    passwords,
    pushes,
    rights,
    rpc,
    sensors,
    surround,
    trips,
    user_lists,
    users,
    vehicles,
)
from tripline.api.openapi import Document
from tripline.api.rim import Rim, Vitals
from tripline.domain.refusals import Refusal
from tripline.ports import Outage

BODY_MAX: Final = 1_048_576
"""Bytes of a request body (G35)."""

FAMILIES: Final = (
    docs,
    health,
    auth,
    passwords,
    password_page,
    applications,
    companies,
    administrators,
    vehicles,
    assignments,
    sensors,
    mounting,
    rpc,
    users,
    user_lists,
    driven,
    trips,
    analytics,
    candidates,
    loans,
    rights,
    carrier,
    pushes,
    imports,
)


def create_app(rim: Rim, *, cors_origins: Collection[str] = ()) -> ASGIApp:
    """The application over these parts; the same one serves every HTTP door. Scripts of `cors_origins` may call it."""
    return surround.surrounded(cors.allowing(routed_app(rim), cors_origins))


def create_health(vitals: Vitals) -> ASGIApp:
    """The application of a process whose work is no REST: health and metrics alone."""
    return surround.surrounded(_app((health,), {"rim": vitals}))


def routed_app(rim: Rim) -> Litestar:
    """The routes and the error table."""
    return _app(FAMILIES, {"rim": rim, "document": Document(FAMILIES)})


def _app(families: Sequence[Any], state: dict[str, Any]) -> Litestar:
    handlers: list[Any] = [handler for family in families for handler in family.handlers]
    return Litestar(
        handlers,
        state=State(state),
        exception_handlers={
            Refusal: errors.on_refusal,
            Outage: errors.on_outage,
            HTTPException: errors.on_http,
            Exception: errors.on_bug,
        },
        openapi_config=None,
        logging_config=None,
        request_max_body_size=BODY_MAX,
    )
