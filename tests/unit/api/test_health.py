"""Health and metrics answer to this machine alone."""

from typing import Any

import httpx
import pytest
from tests.support import rest as support
from tests.support.rest import Rest, changed

from tripline import metrics
from tripline.api import health
from tripline.http.application import create_app
from tripline.http.context import Process
from tripline.language.phrases import phrase, verbatim
from tripline.services.doctor import Finding
from tripline.services.readiness import Report

pytestmark = pytest.mark.once("what health answers, and to whom")

PATHS = ("/health/live", "/health/ready", "/metrics")


async def _statuses(rest: Rest, peer: str, *, ready: bool = True, headers: Any = None, paths: Any = PATHS) -> list[int]:
    app = support.application(changed(rest.contexts, ready=lambda: Report("ready" if ready else "starting", ())))
    transport = httpx.ASGITransport(app=app, client=(peer, 50_000))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as http:
        return [(await http.get(path)).status_code for path in paths]


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
async def test_health_is_answered_to_loopback(app, peer):
    assert await _statuses(app, peer) == [200, 200, 200]


@pytest.mark.parametrize("peer", ["10.0.0.1", "::2", "::ffff:10.0.0.1", "testclient", ""])
async def test_health_is_hidden_from_everybody_else(app, peer):
    assert await _statuses(app, peer) == [404, 404, 404]


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto", "True-Client-IP"],
)
async def test_health_is_hidden_behind_a_proxy(app, header):
    assert await _statuses(app, "127.0.0.1", headers={header: "127.0.0.1"}) == [404, 404, 404]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1:8080", True),
        ("127.9.9.9", True),
        ("[::1]:8080", True),
        ("localhost", True),
        ("LOCALHOST:8080", True),
        ("tripline.localhost", True),
        ("fleet.example", True),
        ("Fleet.Example:8443", True),
        ("evil.example:8080", False),
        ("localhost.evil.example", False),
        ("fleet.example.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.1", False),
        ("evil.example:127.0.0.1", False),
        ("[::1", False),
        ("", False),
    ],
)
async def test_health_is_answered_under_names_of_this_machine_and_of_its_public_address(app, host, shown):
    app.change(public_url="https://fleet.example/")

    assert await _statuses(app, "127.0.0.1", headers={"Host": host}, paths=PATHS[:2]) == [200 if shown else 404] * 2


async def test_health_is_hidden_when_one_of_two_names_is_foreign(app):
    found = await _statuses(app, "127.0.0.1", headers=[("Host", "evil.example"), ("Host", "127.0.0.1")])

    assert found == [404, 404, 404]


@pytest.mark.parametrize(("public_url", "status"), [("https://fleet.example", 200), ("", 404)])
async def test_process_without_rest_answers_health_under_its_public_name(public_url, status):
    process = Process(
        ready=lambda: Report("ready", ()), clock=lambda: support.NOW_MS, api_port=None, public_url=public_url
    )
    transport = httpx.ASGITransport(app=create_app((health,), {"process": process}))
    async with httpx.AsyncClient(transport=transport, base_url="http://fleet.example") as http:
        found = (await http.get("/metrics")).status_code

    assert found == status


@pytest.mark.parametrize(("status", "code"), [("ready", 200), ("failing", 503), ("starting", 503), ("stopping", 503)])
async def test_ready_says_of_each_check_how_it_is(app, status, code):
    report = Report(
        status,
        (
            Finding("listeners", True, (phrase("ready.listeners.open"),)),
            Finding("disk", False, (verbatim("12 MiB are free."),)),
        ),
    )

    served = support.application(changed(app.contexts, ready=lambda: report))
    transport = httpx.ASGITransport(app=served, client=("127.0.0.1", 50_000))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        answer = await http.get("/health/ready")

    assert answer.status_code == code
    assert answer.json() == {
        "status": status,
        "checks": [
            {"name": "listeners", "ok": True, "text": "Every listener is open."},
            {"name": "disk", "ok": False, "text": "12 MiB are free."},
        ],
    }


async def test_ready_is_503_while_a_listener_is_closed(app):
    assert await _statuses(app, "127.0.0.1", ready=False) == [200, 503, 200]


@pytest.mark.parametrize(("asked", "statuses"), [(8080, [200, 200, 200]), (9901, [404, 404, 404])])
async def test_health_is_answered_on_the_api_port_alone(app, asked, statuses):
    served = support.application(changed(app.contexts, ready=lambda: Report("ready", ()), api_port=8080))
    transport = httpx.ASGITransport(app=served)
    async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{asked}") as http:
        found = [(await http.get(path)).status_code for path in PATHS]

    assert found == statuses


async def test_process_without_rest_answers_health_alone():
    process = Process(ready=lambda: Report("ready", ()), clock=lambda: support.NOW_MS, api_port=None, public_url="")
    transport = httpx.ASGITransport(app=create_app((health,), {"process": process}))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        *answers, rest = [await http.get(path) for path in (*PATHS, "/api/openapi.json")]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert (rest.status_code, rest.json()["errorCode"]) == (404, 32)


def _count(route: str, status: str) -> float:
    labels = {"route": route, "status": status}
    samples = metrics.REQUEST_SECONDS.collect()[0].samples
    return sum(sample.value for sample in samples if sample.name.endswith("_count") and sample.labels == labels)


async def test_request_is_counted_by_route_template_and_status(app):
    template = "/api/tre/v1_3/trip/{tripId}/analytics/drivingScore"
    before = _count(template, "401"), _count("unmatched", "404")

    await app.http.get("/api/tre/v1_3/trip/very-private-id/analytics/drivingScore?lat=37.5")
    await app.http.get("/very-private-path")
    text = (await app.http.get("/metrics")).text

    assert (_count(template, "401"), _count("unmatched", "404")) == (before[0] + 1, before[1] + 1)
    # Names and labels without the values, which may be any number.
    series = [line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("tripline_http_request_seconds")]
    assert series
    assert not [name for name in series if "very-private" in name or "37.5" in name]
