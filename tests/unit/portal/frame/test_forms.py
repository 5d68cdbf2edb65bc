"""Forms: what is read of them, within which bounds, and whose are believed."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.response import Response
from tests.support import portal
from tests.support import rest as support
from tests.support.portal import Browser
from tests.support.rest import Rest

from tripline.domain.access import Action, Authority, Gate
from tripline.http.context import Call
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page

pytestmark = pytest.mark.once("what is read of a form")

FILE_MAX = 1_000


@page("POST", "/test/form", access=Gate.ANYONE)
async def take(request: Call) -> Response[bytes]:
    """What was read."""
    form = await forms.read(request, fields=5, most=2_000)
    read = [form.text("a"), form.secret("a"), form.many("a"), form.flag("b"), form.file("f") is None]
    return views.data({"read": read, "typed": form.typed})


@page("POST", "/test/upload", access=Action.VEHICLE_CREATE, streamed=True)
async def take_file(request: Call) -> Response[bytes]:
    """What was read, with a file."""
    with await forms.read(request, files=FILE_MAX) as form:
        file = form.file("f")
        return views.data([form.text("a"), None if file is None else [file.name, file.size, file.file.read().decode()]])


PAGES = (portal.family(take, take_file),)


def sent(tmp_path: Path, address: str, *, role: Authority | None = None, **request: Any) -> httpx.Response:
    async def scenario(rest: Rest) -> httpx.Response:
        login = None if role is None else await rest.account("kim@fleet.example", role)
        return await Browser(rest, login, pages=PAGES).http.post(address, **request)

    return support.run(tmp_path, scenario)


@pytest.mark.parametrize("how", ["urlencoded", "multipart"])
def test_fields_are_read_in_either_form(tmp_path, how):
    fields = [("a", " 12가 "), ("a", "3"), ("b", "1"), ("csrf", "x"), ("password", "hidden")]
    if how == "multipart":
        answer = sent(tmp_path, "/test/form", files=[(name, (None, value)) for name, value in fields])
    else:
        answer = sent(tmp_path, "/test/form", data={"a": [" 12가 ", "3"], "b": "1", "csrf": "x", "password": "hidden"})

    assert answer.json() == {
        "read": ["12가", " 12가 ", [" 12가 ", "3"], True, True],
        "typed": {"a": [" 12가 ", "3"], "b": "1"},
    }


def test_field_that_is_not_there_is_empty(tmp_path):
    assert sent(tmp_path, "/test/form").json() == {"read": ["", "", [], False, True], "typed": {}}


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        ({"data": {f"a{i}": "1" for i in range(5)}}, 200),
        ({"data": {f"a{i}": "1" for i in range(6)}}, 413),
        ({"data": {"a": "x" * 1_998}}, 200),
        ({"data": {"a": "x" * 1_999}}, 413),
        ({"files": [("a", (None, "x" * 2_000))]}, 200),
        ({"files": [("a", (None, "x" * 2_001))]}, 413),
        ({"files": [(f"a{i}", (None, "1")) for i in range(5)]}, 200),
        ({"files": [(f"a{i}", (None, "1")) for i in range(6)]}, 413),
        ({"files": {"f": ("f.csv", b"x")}}, 413),
        ({"content": b"a=%FF"}, 400),
        ({"content": b"--x", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400),
    ],
)
def test_form_is_bounded_and_what_is_none_is_refused(tmp_path, request_of, status):
    assert sent(tmp_path, "/test/form", **request_of).status_code == status


@pytest.mark.parametrize("how", ["urlencoded", "multipart"])
@pytest.mark.parametrize(("size", "status"), [(60_000, 413), (70_000, 413), (1_500, 200)])
def test_form_of_a_visitor_is_bounded(tmp_path, size, status, how):
    content = {"data": {"a": "x" * size}} if how == "urlencoded" else {"files": [("a", (None, "x" * size))]}

    answer = sent(tmp_path, "/test/form", **content)

    assert answer.status_code == status
    assert ("1 KiB" in answer.text) is (status == 413)


def test_file_of_a_form_comes_with_its_name_and_size(tmp_path):
    files = {"f": ("차량.csv", b"abc"), "a": (None, "1")}

    assert sent(tmp_path, "/test/upload", role=Authority.COMPANY_ADMIN, files=files).json() == [
        "1",
        ["차량.csv", 3, "abc"],
    ]


def test_file_that_was_not_chosen_is_none(tmp_path):
    files = {"f": ("", b""), "a": (None, "1")}

    assert sent(tmp_path, "/test/upload", role=Authority.COMPANY_ADMIN, files=files).json() == ["1", None]


@pytest.mark.parametrize(("size", "status"), [(FILE_MAX, 200), (FILE_MAX + 1, 413)])
def test_file_of_a_form_is_bounded(tmp_path, size, status):
    answer = sent(tmp_path, "/test/upload", role=Authority.COMPANY_ADMIN, files={"f": ("f.csv", b"x" * size)})

    assert answer.status_code == status


@pytest.mark.parametrize(("role", "status"), [(None, 303), (Authority.DRIVER, 403)])
def test_file_of_somebody_who_may_not_send_it_is_not_read(tmp_path, role, status, monkeypatch):
    monkeypatch.setattr(forms.uploads, "pieces", None)  # would be called

    assert sent(tmp_path, "/test/upload", role=role, files={"f": ("f.csv", b"x")}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Origin": "http://127.0.0.1:81"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_form_of_another_site_is_refused(tmp_path, headers, status):
    assert sent(tmp_path, "/test/form", headers=headers).status_code == status
