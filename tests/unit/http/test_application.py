"""Routes of the application: made of declared handlers, which several applications may share."""

from typing import Any

from tripline.api import vehicles
from tripline.http import application, operations
from tripline.portal.account import sign_in

BOTH = (vehicles, sign_in)
HANDLERS = operations.handlers_of(BOTH)


def made() -> Any:
    return application.routed_app(BOTH, {})


def test_applications_share_no_handler():
    first, second = made(), made()

    owners = {id(handler.owner) for route in second.routes for handler in route.route_handlers}

    assert owners == {id(second)}
    assert {id(handler.owner) for route in first.routes for handler in route.route_handlers} == {id(first)}
    assert len(first.routes) == len({path for handler in HANDLERS for path in handler.paths})
