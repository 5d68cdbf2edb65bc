"""The page that sets a password, as a browser without scripts meets it."""

from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from tests.support import accounts
from tests.support import rest as support
from tests.support.portal import Browser, Page
from tests.support.rest import Rest

from tripline.portal.frame import views
from tripline.services.accounts import links

PATH = "/account/set-password"
EMAIL = "kim@fleet.example"


async def link(rest: Rest) -> str:
    user_id = await accounts.with_password(rest, EMAIL, "old pass phrase")
    return await rest.store.write(lambda tx: links.make(tx, user_id=user_id, hours=24, now_ms=rest.now_ms))


def shown(tmp_path: Path) -> tuple[httpx.Response, Page]:
    async def scenario(rest: Rest) -> httpx.Response:
        return await Browser(rest).get(f"{PATH}?token={await link(rest)}")

    answer = support.run(tmp_path, scenario)
    return answer, Page(answer.text)


def test_page_forbids_what_could_carry_the_link_away(tmp_path):
    answer, page = shown(tmp_path)

    assert answer.headers["content-security-policy"] == views.POLICY
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not [href for href in page.hrefs if "//" in href]


def test_page_can_be_filled_in_by_password_managers(tmp_path):
    _, page = shown(tmp_path)

    fields = [each for each in page.all("input") if each["type"] == "password"]
    assert [each["name"] for each in fields] == ["password", "again_password"]
    assert all(each["autocomplete"] == "new-password" and "required" in each for each in fields)


async def test_opening_the_page_any_number_of_times_does_not_use_the_link_up(app):
    browser, token = Browser(app), await link(app)
    seen = [(await browser.http.request(method, PATH, params={"token": token})) for method in ("GET", "HEAD", "GET")]
    sent = await browser.post(PATH, {"token": token, "password": "12345678", "again_password": "12345678"})
    again = await browser.get(f"{PATH}?{urlencode({'token': token})}")

    assert [answer.status_code for answer in (*seen, sent, again)] == [200, 200, 200, 303, 400]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"password": "1234567", "again_password": "1234567"}, "New password must have at least 8 characters."),
        ({"password": "12345678", "again_password": "12345679"}, "are not the same"),
        ({"password": "12345678"}, "Repeated new password is missing."),
        ({}, "New password is missing."),
        ({}, "Repeated new password is missing."),
        ({"password": "12345678\x00", "again_password": "12345678\x00"}, "control characters"),
    ],
)
async def test_trouble_is_told_in_the_page_and_the_form_stays(app, fields, told):
    browser, token = Browser(app), await link(app)
    answer = await browser.post(PATH, {"token": token, **fields})
    kept = {"type": "hidden", "name": "token", "value": token} in Page(answer.text).all("input")

    assert (answer.status_code, told in answer.text, 'role="alert"' in answer.text, kept) == (400, True, True, True)


@pytest.mark.parametrize("token", ["", "x", '"><script>alert(1)</script>', "\x00", "é", "x" * 5_000])
async def test_link_that_is_none_of_ours_is_told_without_repeating_it(app, token):
    await link(app)
    browser = Browser(app)
    form = {"token": token, "password": "12345678", "again_password": "12345678"}
    found = [await browser.get(f"{PATH}?{urlencode({'token': token})}"), await browser.post(PATH, form)]

    for answer in found:
        assert answer.status_code == 400
        assert "no longer works" in answer.text
        assert PATH not in [(each["action"] or "").partition("?")[0] for each in Page(answer.text).all("form")]
        assert "<script>" not in answer.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"&" * 1_000, 413),
        (b"a=%ff", 400),
        (b'{"token":"x"}', 400),
        (b"x" * 100_000, 413),
    ],
)
async def test_body_that_is_no_form_is_refused_in_a_page(app, body, status):
    answer = await Browser(app).http.post(PATH, content=body)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")


@pytest.mark.parametrize(("beside", "status"), [(0, 303), (16_384, 303), (16_385, 413)])
async def test_longest_password_fits_and_a_form_beyond_the_bound_is_not_read(app, beside, status):
    password = "\U0001f69a" * 255
    form = urlencode({"token": await link(app), "password": password, "again_password": password, "x": ""}).encode()
    answer = await Browser(app).http.post(PATH, content=form.ljust(beside, b"x"))

    assert answer.status_code == status


async def test_page_speaks_the_language_asked_for(app):
    browser, token = Browser(app), await link(app)
    browser.http.headers["accept-language"] = "ko-KR,ko;q=0.9,en;q=0.8"
    answers = [await browser.get(f"{PATH}?token={token}")]
    for password in ("", "new-pass-1"):
        answers.append(await browser.post(PATH, {"token": token, "password": password, "again_password": password}))
    form, empty, done, after, used = [
        *answers,
        await browser.get("/sign-in"),
        await browser.get(f"{PATH}?token={token}"),
    ]

    assert [each.status_code for each in (form, empty, done, after, used)] == [200, 400, 303, 200, 400]
    for answer in (form, empty, used):
        assert answer.headers["content-language"] == "ko"
    assert "새 비밀번호 다시 입력" in form.text
    assert "8자 이상이어야 합니다." in form.text
    assert "새 비밀번호: 필수 항목입니다." in empty.text
    assert done.headers["location"] == "/sign-in"
    assert "비밀번호가 설정되었습니다" in after.text
    assert "새 링크를 요청해 주십시오." in used.text


async def test_language_can_be_changed_below_a_refused_form_and_the_link_stays(app):
    browser, token = Browser(app), await link(app)
    form = Page((await browser.get(f"{PATH}?token={token}")).text).all("form")[0]
    refused = Page((await browser.post(form["action"] or "", {"token": token, "password": "x"})).text)
    there = next(each["value"] for each in refused.all("input") if each.get("name") == "next")
    done = await browser.post("/account/preferences", {"next": there, "language": "ko"})
    answer = await browser.get(done.headers["location"])

    assert (answer.status_code, answer.headers["content-language"]) == (200, "ko")
