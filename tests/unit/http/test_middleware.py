"""Scripts of other sites: let in from the origins that the operator names, from nowhere else."""

import httpx
import pytest
from tests.support import rest
from tests.support.rest import changed
from tests.unit.http.test_answer_headers import OPERATIONS

from tripline.api import companies
from tripline.http import middleware
from tripline.http.application import create_app
from tripline.ports.outages import Outage

pytestmark = pytest.mark.once("what every answer carries")

PORTAL = "https://portal.example"
OTHER = "http://localhost:3000"
ORIGINS = (PORTAL, OTHER)
ME = "/api/tre/v1/company/me"


def preflight(origin=PORTAL, method="POST", headers="x-authorization,content-type"):
    """The headers of a browser's question before a request that is not simple."""
    asked = {"Access-Control-Request-Method": method}
    if headers is not None:
        asked["Access-Control-Request-Headers"] = headers
    return [("Origin", origin), *asked.items()]


def told(answer):
    """What an answer says to browsers about other sites."""
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


def client(app):
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


def asked(tmp_path, *requests, origins=ORIGINS, contexts=lambda app: app.contexts):
    """The answers to these requests (method, path, headers) where the origins are allowed."""

    async def scenario(app):
        async with client(middleware.allowing(rest.application(contexts(app)), origins)) as http:
            return [await http.request(method, path, headers=headers) for method, path, headers in requests]

    return rest.run(tmp_path, scenario)


def test_preflight_of_allowed_origin_names_methods_headers_and_age(tmp_path):
    answers = asked(tmp_path, *(("OPTIONS", ME, preflight(origin)) for origin in ORIGINS))

    for origin, answer in zip(ORIGINS, answers, strict=True):
        assert (answer.status_code, answer.content) == (204, b"")
        assert told(answer) == {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
            "access-control-allow-headers": "X-Authorization, Content-Type, If-None-Match, toCompanyId",
            "access-control-max-age": "600",
        }
        assert answer.headers["vary"] == "Origin"


def test_preflight_allows_every_method_of_the_interface():
    assert {each.method for each in OPERATIONS.values()} <= set(middleware.METHODS)


async def test_browser_sequence_logs_in_and_reads_a_record(app: rest.Rest, admin):
    async with client(create_app((companies,), rest.state(app.contexts), cors_origins=ORIGINS)) as http:
        before = await http.options(ME, headers=preflight(method="GET", headers="x-authorization"))
        headers = {"Origin": PORTAL, "X-Authorization": f"Bearer {admin.token}"}
        record, head = await http.get(ME, headers=headers), await http.head(ME, headers=headers)

    assert [before.status_code, record.status_code, head.status_code] == [204, 200, 200]
    for answer in (record, head):
        assert told(answer) == {
            "access-control-allow-origin": PORTAL,
            "access-control-expose-headers": "Retry-After, Content-Disposition, ETag, Allow",
        }
        assert answer.headers["vary"] == "Origin"
        assert answer.headers["cache-control"] == "no-store"


def test_refusals_carry_the_origin_so_that_scripts_can_read_them(tmp_path):
    own = {"Origin": PORTAL}
    answers = asked(tmp_path, ("GET", ME, own), ("GET", "/api/none", own), ("DELETE", "/api/auth/login", own))

    assert [answer.status_code for answer in answers] == [401, 404, 405]
    assert [answer.headers["access-control-allow-origin"] for answer in answers] == [PORTAL] * 3


class AwayStore:
    """A store that answers nobody."""

    shared = False

    def __getattr__(self, name):
        async def away(*_, **__):
            raise Outage("away")

        return away


async def test_outage_carries_the_origin(app: rest.Rest, admin):
    headers = {"Origin": PORTAL, "X-Authorization": f"Bearer {admin.token}"}
    away = rest.application(changed(app.contexts, store=AwayStore()))
    async with client(middleware.allowing(away, ORIGINS)) as http:
        answer = await http.get(ME, headers=headers)

    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (503, PORTAL)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "https://portal.example.evil.example", "http://portal.example", "https://portal.example:8443",
     "https://PORTAL.example", "null", "", "*"],
)  # fmt: skip
def test_other_origins_are_told_nothing(tmp_path, origin):
    answers = asked(tmp_path, ("OPTIONS", ME, preflight(origin)), ("GET", ME, {"Origin": origin}))

    assert [told(answer) for answer in answers] == [{}, {}]
    assert [answer.headers["vary"] for answer in answers] == ["Origin", "Accept-Language, Origin"]


def test_two_origins_in_one_request_are_none(tmp_path):
    (answer,) = asked(tmp_path, ("GET", ME, [("Origin", PORTAL), ("Origin", PORTAL)]))

    assert told(answer) == {}


def test_request_without_origin_is_answered_as_before_and_varies(tmp_path):
    plain, options = asked(tmp_path, ("GET", ME, {}), ("OPTIONS", ME, {}))

    assert (plain.status_code, options.status_code) == (401, 204)
    assert (told(plain), told(options)) == ({}, {})
    assert plain.headers["vary"] == "Accept-Language, Origin"
    assert "GET" in options.headers["allow"]


def test_options_with_an_origin_but_no_method_asked_for_is_no_preflight(tmp_path):
    (answer,) = asked(tmp_path, ("OPTIONS", ME, {"Origin": PORTAL}))

    assert "GET" in answer.headers["allow"]
    assert answer.headers["access-control-allow-origin"] == PORTAL


def test_pages_and_metrics_are_given_to_no_other_site(tmp_path):
    paths = ("/metrics", "/health/ready", "/apixyz")
    answers = asked(tmp_path, *(("GET", path, {"Origin": PORTAL}) for path in paths))

    assert [told(answer) for answer in answers] == [{}] * 3
    assert [answer for answer in answers if "Origin" in answer.headers.get("vary", "")] == []
