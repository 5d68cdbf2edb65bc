"""Routes are made all at once, of handlers that Litestar need not look at one by one."""

import inspect
from typing import Any

import pytest
from litestar._asgi.asgi_router import ASGIRouter
from litestar.utils.signature import ParsedSignature

from tripline.api import families
from tripline.http import application
from tripline.portal import families as pages

BOTH = (*families.FAMILIES, *pages.FAMILIES)
HANDLERS = [handler for family in BOTH for handler in family.handlers]


def made() -> Any:
    return application.routed_app(BOTH, None)  # type: ignore[arg-type]


def test_every_handler_takes_what_is_read_for_all_of_them():
    wrong = [str(handler) for handler in HANDLERS if list(inspect.signature(handler.fn).parameters) != ["request"]]

    assert wrong == []
    assert list(HANDLERS[0].parsed_fn_signature.parameters) == ["request"]


def test_another_application_reads_no_signature_and_builds_its_routes_once(monkeypatch):
    made()
    built = []
    build = ASGIRouter.construct_routing_trie
    monkeypatch.setattr(ASGIRouter, "construct_routing_trie", lambda router: (built.append(router), build(router)))
    monkeypatch.setattr(ParsedSignature, "from_fn", lambda *_: pytest.fail("a signature was read again"))

    routes = made()

    assert len(built) == 1
    assert len(routes.routes) == len({path for handler in HANDLERS for path in handler.paths})


def test_applications_share_no_handler():
    first, second = made(), made()

    owners = {id(handler.owner) for route in second.routes for handler in route.route_handlers}

    assert owners == {id(second)}
    assert {id(handler.owner) for route in first.routes for handler in route.route_handlers} == {id(first)}
