"""Headers of every answer, whatever it says: nothing guessed, kept, framed or given to other sites' scripts."""

import re

import httpx
import pytest
from tests.support import rest

from tripline.api import companies, families
from tripline.http import operations
from tripline.http.application import create_app

pytestmark = pytest.mark.once("what every answer carries")

KEPT = {"GET /api/openapi.json", "GET /api/asyncapi.json", "GET /api/docs", "GET /api/docs/{file}"}
"""What holds nothing of anybody: caches may keep it, and ask whether it is still good."""
OPERATIONS = {f"{each.method} {each.path}": each for each in operations.declared(families.FAMILIES)}
OTHER_SITE = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}


def addressed(path):
    """The path with something in place of each id."""
    return "/".join("page.js" if part == "{file}" else "x" if part[:1] == "{" else part for part in path.split("/"))


async def test_every_answer_is_of_the_told_type_and_kept_by_nobody(app, admin):
    answers = {}
    for name, each in OPERATIONS.items():
        for login in (None, admin):
            answers[name, login] = await app.call(login, each.method, addressed(each.path))
    good = {
        "record": await app.call(admin, "GET", "/company/me"),
        "head": await app.call(admin, "HEAD", "/company/me"),
        "nothing there": await app.call(admin, "GET", "/api/none"),
        "no such method": await app.call(admin, "DELETE", "/company/me/x"),
    }
    answers = {**answers, **good}

    assert {answer.headers["x-content-type-options"] for answer in answers.values()} == {"nosniff"}
    kept = {case for case, answer in answers.items() if answer.headers["cache-control"] != "no-store"}
    assert kept == {case for case in answers if case[0] in KEPT}
    assert {answers[case].headers["cache-control"] for case in kept} == {"no-cache"}


async def test_pages_are_framed_by_nobody(app):
    assert "frame-ancestors 'none'" in (await app.http.get("/api/docs")).headers["content-security-policy"]


async def test_allow_of_options_and_of_405_agree_on_every_path(app):
    """Each names the methods that the path has, HEAD where GET is, and 405 repeats them in its sentence."""

    paths: dict[str, set[str]] = {}
    for handler in operations.handlers_of(families.FAMILIES):
        for path in handler.paths:
            paths.setdefault(path, set()).update(handler.http_methods)
    found = {}
    for path, known in paths.items():
        filled = re.sub(r"\{[^}]*\}", "11111111-1111-1111-8111-111111111111", path)
        options = await app.http.request("OPTIONS", filled)
        refused = await app.http.request("PATCH", filled)
        allowed = options.headers["allow"].split(", ")
        expected = {*known, "OPTIONS"} | ({"HEAD"} if "GET" in known else set())
        agree = options.headers["allow"] == refused.headers["allow"] and (refused.status_code == 405)
        told = f"use {options.headers['allow']}." in refused.json()["message"]
        found[path] = (set(allowed) >= expected, len(allowed) == len(set(allowed)), agree, told)

    assert len(found) > 50
    assert {path: seen for path, seen in found.items() if seen != (True, True, True, True)} == {}


@pytest.mark.parametrize("method", ["OPTIONS", "GET", "POST"])
async def test_scripts_of_other_sites_are_let_in_nowhere(app, method):
    paths = ("/api/auth/login", "/api/auth/user", "/api/tre/v1/company/me", "/api/none")
    found = [await app.http.request(method, path, headers=OTHER_SITE) for path in paths]

    for answer in found:
        assert [name for name in answer.headers if name.startswith("access-control")] == []


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PATCH", "PROPFIND", "LOCK", "X"])
async def test_odd_method_is_refused_and_repeats_nothing(app, method):
    secret = {"X-Authorization": "Bearer secret-token"}
    answer = await app.http.request(method, "/api/auth/user?q=secret-token", headers=secret, content=b"secret-token")

    assert answer.status_code in ((204,) if method == "OPTIONS" else (400, 404, 405))
    assert "secret-token" not in f"{answer.text}{answer.headers}"


@pytest.mark.parametrize(
    ("promised", "scheme", "expected"),
    [(True, "https", ["max-age=31536000"]), (True, "http", []), (False, "https", []), (False, "http", [])],
)
@pytest.mark.parametrize("path", ["/api/tre/v1/company/me", "/nothing"])
async def test_browsers_are_told_to_stay_with_https_only_where_it_is_promised(app, promised, scheme, expected, path):
    served = create_app((companies,), rest.state(app.contexts), promises_https=promised)
    transport = httpx.ASGITransport(app=served)
    async with httpx.AsyncClient(transport=transport, base_url=f"{scheme}://127.0.0.1") as client:
        found = (await client.get(path)).headers.get_list("strict-transport-security")

    assert found == expected
