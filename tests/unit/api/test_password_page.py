"""The page that sets a password, as a browser without scripts meets it."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.support import rest as support
from tests.support.rest import Rest

from tripline.services.accounts import links, registry

PATH = "/account/set-password"
EMAIL = "kim@fleet.example"


async def link(rest: Rest) -> str:
    user_id = await rest.store.write(
        lambda tx: registry.grant_service_account(tx, email=EMAIL, password_hash="h", ids=rest.ids, now_ms=1)
    )
    return await rest.store.write(lambda tx: links.make(tx, user_id=user_id, hours=24, now_ms=rest.now_ms))


class Page(HTMLParser):
    """Every element with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def shown(tmp_path: Path) -> tuple[httpx.Response, Page]:
    async def scenario(rest: Rest) -> httpx.Response:
        return await rest.http.get(PATH, params={"token": await link(rest)})

    answer = support.run(tmp_path, scenario)
    return answer, Page(answer.text)


def test_page_forbids_what_could_carry_the_link_away(tmp_path: Path) -> None:
    answer, _ = shown(tmp_path)
    style = re.search("<style>(.*?)</style>", answer.text, re.DOTALL)
    assert style is not None
    style_hash = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()

    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_page_asks_nobody_else_for_anything_and_needs_no_script(tmp_path: Path) -> None:
    answer, page = shown(tmp_path)

    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "a", "object", "base"})
    assert "//" not in answer.text
    assert not any(name.startswith("on") or name == "style" for _, each in page.elements for name in each)


def test_page_can_be_read_aloud_and_on_a_phone(tmp_path: Path) -> None:
    _, page = shown(tmp_path)

    fields = [each for each in page.all("input") if each["type"] != "hidden"]
    assert [each["for"] for each in page.all("label")] == [each["id"] for each in fields] == ["password", "again"]
    assert all(each["autocomplete"] == "new-password" and "required" in each for each in fields)
    assert page.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert len(page.all("h1")) == 1


def test_opening_the_page_any_number_of_times_does_not_use_the_link_up(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[int]:
        token = await link(rest)
        seen = [(await rest.http.request(method, PATH, params={"token": token})) for method in ("GET", "HEAD", "GET")]
        sent = await rest.http.post(PATH, data={"token": token, "password": "12345678", "again": "12345678"})
        again = await rest.http.get(PATH, params={"token": token})
        return [answer.status_code for answer in (*seen, sent, again)]

    assert support.run(tmp_path, scenario) == [200, 200, 200, 200, 400]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"password": "1234567", "again": "1234567"}, "The password must have at least 8 characters."),
        ({"password": "12345678", "again": "12345679"}, "are not the same"),
        ({"password": "12345678"}, "are not the same"),
        ({}, "The password can&#39;t be empty!"),
        ({"password": "12345678\x00", "again": "12345678\x00"}, "control characters"),
    ],
)
def test_trouble_is_told_in_the_page_and_the_form_stays(tmp_path: Path, fields: dict[str, str], told: str) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        token = await link(rest)
        answer = await rest.http.post(PATH, data={"token": token, **fields})
        kept = {"type": "hidden", "name": "token", "value": token} in Page(answer.text).all("input")
        return answer.status_code, told in answer.text, 'role="alert"' in answer.text, kept

    assert support.run(tmp_path, scenario) == (400, True, True, True)


@pytest.mark.parametrize("token", ["", "x", '"><script>alert(1)</script>', "\x00", "é", "x" * 5_000])
def test_link_that_is_none_of_ours_is_told_without_repeating_it(tmp_path: Path, token: str) -> None:
    async def scenario(rest: Rest) -> list[httpx.Response]:
        await link(rest)
        form = {"token": token, "password": "12345678", "again": "12345678"}
        return [await rest.http.get(PATH, params={"token": token}), await rest.http.post(PATH, data=form)]

    for answer in support.run(tmp_path, scenario):
        assert answer.status_code == 400
        assert "does not work any more" in answer.text
        assert Page(answer.text).all("form") == []
        assert "<script" not in answer.text


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"&" * 1_000, b"a=%ff", b'{"token":"x"}', b"x" * 100_000])
def test_body_that_is_no_form_is_refused_in_a_page(tmp_path: Path, body: bytes) -> None:
    async def scenario(rest: Rest) -> tuple[int, str]:
        answer = await rest.http.post(PATH, content=body)
        return answer.status_code, answer.headers["content-type"]

    assert support.run(tmp_path, scenario) == (400, "text/html; charset=utf-8")


@pytest.mark.parametrize(("beside", "status"), [(0, 200), (16_384, 200), (16_385, 400)])
def test_longest_password_fits_and_a_form_beyond_the_bound_is_not_read(
    tmp_path: Path, beside: int, status: int
) -> None:
    async def scenario(rest: Rest) -> tuple[int, str]:
        password = "\U0001f69a" * 255
        form = urlencode({"token": await link(rest), "password": password, "again": password, "x": ""}).encode()
        answer = await rest.http.post(PATH, content=form.ljust(beside, b"x"))
        return answer.status_code, "too long" in answer.text

    assert support.run(tmp_path, scenario) == (status, status == 400)


def test_page_speaks_the_language_asked_for(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[httpx.Response]:
        korean = {"accept-language": "ko-KR,ko;q=0.9,en;q=0.8"}
        token = await link(rest)
        sent = [{"password": "", "again": ""}, {"password": "new-pass-1", "again": "new-pass-1"}, {"password": "x"}]
        form = await rest.http.get(PATH, params={"token": token}, headers=korean)
        return [form, *[await rest.http.post(PATH, data={"token": token, **each}, headers=korean) for each in sent]]

    answers = support.run(tmp_path, scenario)
    form, empty, done, used = [Page(answer.text) for answer in answers]

    assert [answer.status_code for answer in answers] == [200, 400, 200, 400]
    for answer, page in zip(answers, (form, empty, done, used), strict=True):
        assert (answer.headers["content-language"], page.all("html")) == ("ko", [{"lang": "ko"}])
        assert answer.headers["vary"] == "Accept-Language"
        assert not re.search("[A-Za-z]{2,}", page.text.partition("}")[2].rpartition("}")[2].replace("Tripline", ""))
    assert "새 비밀번호 확인" in form.text
    assert "8자 이상 입력해 주십시오." in form.text
    assert "비밀번호: 값을 입력해야 합니다." in empty.text
    assert "비밀번호가 설정되었습니다" in done.text
    assert "새 링크를 요청해 주십시오." in used.text
