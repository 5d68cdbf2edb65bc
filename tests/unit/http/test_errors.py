"""The error table and body, and the order of the checks."""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import pytest
from litestar.response import Response
from tests.support import rest as support
from tests.support.rest import Rest, changed

from tripline.api import auth
from tripline.domain.access import Authority
from tripline.domain.refusals import Kind
from tripline.http import errors
from tripline.http.application import create_app
from tripline.http.context import Call
from tripline.ports.outages import Outage
from tripline.store.transactions import ReadTx

pytestmark = pytest.mark.once("what refusals look like")

T = TypeVar("T")
UNKNOWN_ID = "11111111-1111-1111-8111-111111111111"


class BrokenStore:
    """A store on which every read fails in one way."""

    def __init__(self, trouble: Exception) -> None:
        self._trouble = trouble

    async def read_short(self, work: Callable[[ReadTx], T]) -> T:
        """Raise the trouble."""
        raise self._trouble


async def _over_broken_store(rest: Rest, trouble: Exception) -> httpx.Response:
    contexts = changed(rest.contexts, store=BrokenStore(trouble))  # type: ignore[arg-type]
    transport = httpx.ASGITransport(app=support.application(contexts))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return await http.post(
            "/api/auth/login?secret=query", json={"username": "kim@x.example", "password": "hidden word"}
        )


def test_every_kind_of_refusal_has_an_answer():
    assert errors.ANSWERS == {
        Kind.AUTHENTICATION: (401, 10),
        Kind.TOKEN_EXPIRED: (401, 11),
        Kind.PERMISSION: (403, 20),
        Kind.INVALID_ARGUMENTS: (400, 30),
        Kind.BAD_PARAMETER: (400, 31),
        Kind.NOT_FOUND: (404, 32),
        Kind.CONFLICT: (409, 2),
        Kind.TIMEOUT: (408, 2),
        Kind.TOO_LARGE: (413, 31),
        Kind.TOO_MANY: (429, 2),
        Kind.BUSY: (503, 2),
    }
    assert set(errors.ANSWERS) == set(Kind)


async def test_g30_error_body_has_four_keys_and_the_time_of_the_error(app):
    answer = await app.http.get("/api/nothing/here?secret=query")
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert answer.status_code == 404
    assert answer.json() == {
        "status": 404,
        "message": "There is nothing at /api/nothing/here.",
        "errorCode": 32,
        "timestamp": support.NOW_MS,
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, 32),
        ("GET", "/api", 404, 32),
        ("POST", "/api/tre/v9/company", 404, 32),
        ("GET", "/api/auth/login", 405, 31),
        ("DELETE", "/api/auth/login", 405, 31),
        ("PATCH", f"/api/tre/v1_3/trip/{UNKNOWN_ID}/analytics/drivingScore", 405, 31),
    ],
)
async def test_unknown_path_or_method_is_refused(app, method, path, status, code):
    answer = await app.http.request(method, path)

    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)


async def test_method_that_is_not_possible_is_answered_with_those_that_are(app):
    answers = [await app.http.request(method, "/api/auth/login") for method in ("GET", "HEAD", "OPTIONS")]

    for allowed in [answer.headers.get("allow") for answer in answers]:
        assert allowed is not None
        assert set(allowed.split(", ")) == {"POST", "OPTIONS"}


async def test_head_is_get_without_its_body(app):
    head, get = await app.http.head("/health/live"), await app.http.get("/health/live")
    assert (head.status_code, head.headers, head.content) == (200, get.headers, b"")
    assert get.content != b""


@pytest.mark.parametrize(("size", "status"), [(1_048_575, 400), (1_048_576, 400), (1_048_577, 413)])
async def test_g35_body_may_have_one_mib(app, size, status):
    body = b'{"vehicleNo":""}'

    _, admin = await app.operator("ace")
    answer = await app.call(admin, "POST", "/vehicle", body + b" " * (size - len(body)))

    assert (answer.status_code, answer.json()["errorCode"]) == (status, 31)


async def test_outage_is_answered_503_with_code_2_and_its_cause_is_in_the_log(app, logged):
    answer = await _over_broken_store(app, Outage("disk /dev/sda is full"))

    assert (answer.status_code, answer.json()["errorCode"]) == (503, 2)
    assert "sda" not in answer.text
    assert logged() == [
        {
            "event": "request.outage",
            "level": "warning",
            "method": "POST",
            "part": "api",
            "reason": "disk /dev/sda is full",
            "route": "/api/auth/login",
        }
    ]


async def test_bug_is_answered_500_without_its_text_and_logged_once_without_values(app, logged):
    answer = await _over_broken_store(app, RuntimeError("internal detail"))

    assert (answer.status_code, answer.json()["errorCode"]) == (500, 2)
    assert "internal detail" not in answer.text
    (line,) = logged()
    assert (line["event"], line["route"]) == ("request.failed", "/api/auth/login")
    assert "hidden word" not in str(line)
    assert "secret" not in str(line)


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "/api/auth/login", "[]", "400 31 "),
        ("POST", "/api/auth/login", '{"username": "kim@x.example", "password": "hidden word"}', "503 2 "),
        ("GET", "/api/auth/login", "", "405 31 "),
        ("GET", "/nowhere", "", "404 32 "),
    ],
)
async def test_every_trouble_is_answered_in_the_form_that_the_application_is_given(app, method, path, body, told):
    def page(request: Call, trouble: errors.Trouble) -> Response[bytes]:
        text = f"<p>{trouble.status} {trouble.code} {trouble.message}"
        return Response(text.encode(), status_code=trouble.status, media_type="text/html", headers=trouble.headers)

    contexts = changed(app.contexts, store=BrokenStore(Outage("away")))  # type: ignore[arg-type]
    transport = httpx.ASGITransport(app=create_app((auth,), support.state(contexts), tell=page))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        answer = await http.request(method, path, content=body)

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith(f"<p>{told}")
    assert answer.status_code == int(told[:3])


async def test_checks_run_in_the_published_order(app):
    _, owner = await app.operator("taxi")
    _, stranger = await app.operator("bus")
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    vehicle = await app.post(owner, "/vehicle", {"vehicleNo": "1", "mileage": 1})
    vehicle_id = vehicle["id"]["id"]

    async def refused(login: Any, path_id: str, **query: Any) -> tuple[int, int]:
        path = f"/api/tre/v1_3/vehicle/{path_id}/analytics/drivingScore"
        status, code, _ = await app.refused(login, "GET", path, **query)
        return status, code

    assert await refused(None, "x", limit=0) == (401, 10)
    assert await refused(root, "x", limit=0) == (403, 20)
    assert await refused(stranger, "x", limit=0) == (400, 31)
    assert await refused(stranger, UNKNOWN_ID, limit=0) == (404, 32)
    assert await refused(stranger, vehicle_id, limit=0) == (403, 20)
    assert await refused(owner, vehicle_id, limit=0) == (400, 31)


async def test_sender_that_goes_away_amid_its_body_is_no_bug(app):
    messages = [{"type": "http.request", "body": b'{"user', "more_body": True}, {"type": "http.disconnect"}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/auth/login",
        "raw_path": b"/api/auth/login",
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await support.application(app.contexts)(scope, receive, send)  # type: ignore[arg-type]

    assert sent[0]["status"] == 400
