"""Refusals over REST in the language that the request asks for; what programs read stays."""

import pytest
from tests.support import rest

KOREAN = "ko-KR,ko;q=0.9,en;q=0.5"


async def asked(app, login, method, path, *, language, **body):
    headers = {"accept-language": language} if language else {}
    if login is not None:
        headers["x-authorization"] = f"Bearer {login.token}"
    return await app.http.request(method, path, headers=headers, **body)


@pytest.mark.parametrize(("language", "tag"), [(None, "en"), ("en, ko", "en"), ("fr", "en"), (KOREAN, "ko")])
async def test_refusal_is_told_in_the_language_asked_for(app: rest.Rest, admin, language, tag):
    body = {"vehicleNo": "", "mileage": 1}
    answer = await asked(app, admin, "POST", "/api/tre/v1/vehicle", language=language, json=body)

    told = {"en": "Parameter 'vehicleNo' can't be empty!", "ko": "매개변수 'vehicleNo': 값을 입력해야 합니다."}[tag]

    assert (answer.status_code, answer.json()["errorCode"], answer.json()["message"]) == (400, 31, told)
    assert answer.headers["content-language"] == tag
    assert answer.headers["vary"] == "Accept-Language"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"


@pytest.mark.parametrize(
    ("method", "path", "status", "english", "korean"),
    [
        (
            "GET",
            "/api/nothing",
            404,
            "There is nothing at /api/nothing.",
            "/api/nothing: 이 경로에는 아무것도 없습니다.",
        ),
        (
            "PUT",
            "/api/auth/login",
            405,
            "PUT is not allowed here; use POST, OPTIONS.",
            "여기서는 쓸 수 없는 메서드입니다(PUT). 쓸 수 있는 메서드: POST, OPTIONS.",
        ),
    ],
)
async def test_what_no_operation_refuses_has_both_languages_too(app: rest.Rest, method, path, status, english, korean):
    answers = [await asked(app, None, method, path, language=language) for language in ("en", "ko")]

    assert [answer.status_code for answer in answers] == [status] * 2
    assert [answer.json()["message"] for answer in answers] == [english, korean]
    assert [answer.headers["content-language"] for answer in answers] == ["en", "ko"]


async def test_rows_of_an_import_are_complained_of_in_the_language_asked_for(app: rest.Rest):
    file = b"vehicleNo,mileage\nA,1\nA,2\nB,x\n,3,4\n"

    _, admin = await app.operator("ace")
    path = "/api/tre/v1/vehicles/bulk?dryRun=true"
    english, korean = [await asked(app, admin, "POST", path, language=each, content=file) for each in ("", "ko")]

    assert [(each["row"], each["field"], each["message"]) for each in english.json()["errors"]] == [
        (3, "vehicleNo", "Parameter 'vehicleNo' is the same as in row 2."),
        (4, "mileage", "Parameter 'mileage' must be a number, with digits and a decimal point only."),
        (5, None, "The row has more cells than the header has columns."),
    ]
    assert [(each["row"], each["field"], each["message"]) for each in korean.json()["errors"]] == [
        (3, "vehicleNo", "매개변수 'vehicleNo': 2행의 값과 같습니다."),
        (4, "mileage", "매개변수 'mileage': 숫자와 소수점만 쓸 수 있습니다."),
        (5, None, "행의 셀이 머리글의 열보다 많습니다."),
    ]
    assert (korean.headers["content-language"], korean.headers["vary"]) == ("ko", "Accept-Language")


async def test_answer_without_a_sentence_names_no_language(app: rest.Rest, admin):
    answer = await asked(app, admin, "GET", "/api/tre/v1/company/me", language="ko")

    assert answer.status_code == 200
    assert {"content-language", "vary"}.isdisjoint(answer.headers)
