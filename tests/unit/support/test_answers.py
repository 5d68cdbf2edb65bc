"""The checker of answers against the document lets no wrong one through."""

import json

import httpx
import pytest
from tests.support import answers

ERROR = {"status": 404, "message": "m", "errorCode": 32, "timestamp": 1}
TOKENS = {"token": "a", "refreshToken": "b"}


def answer(method, path, status, body, kind="application/json;charset=UTF-8"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = httpx.Request(method, f"http://127.0.0.1{path}")
    return httpx.Response(status, content=content, headers={"content-type": kind}, request=request)


@pytest.mark.parametrize(
    "given",
    [
        answer("POST", "/api/auth/login", 200, TOKENS),
        answer("GET", "/api/tre/v1/vehicle/13814000-1dd2-11b2-8080-808080808080", 404, ERROR),
        answer("GET", "/api/tre/v1/vehicles/count", 200, {"count": 3}),
        answer("GET", "/nowhere", 404, ERROR),
        answer("PATCH", "/api/auth/login", 405, {**ERROR, "status": 405}),
        answer("HEAD", "/api/auth/user", 200, b""),
        answer("GET", "/api/openapi.json", 304, b""),
        answer("GET", "/metrics", 200, b"# HELP", "text/plain; version=1.0.0"),
    ],
)
def test_answer_that_the_document_describes_is_let_through(given):
    answers.hold(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (answer("POST", "/api/auth/login", 200, {**TOKENS, "more": 1}), "more"),
        (answer("POST", "/api/auth/login", 200, {"token": "a"}), "refreshToken"),
        (answer("POST", "/api/auth/login", 200, {**TOKENS, "token": 1}), "string"),
        (answer("POST", "/api/auth/login", 403, ERROR), "status is not documented"),
        (answer("POST", "/api/auth/login", 200, TOKENS, "text/html"), "the type is text/html"),
        (answer("GET", "/api/tre/v1/vehicles/count", 404, {**ERROR, "stack": "x"}), "stack"),
        (answer("GET", "/api/tre/v1/vehicle/x/trips", 200, {"data": [], "nextPageLink": None}), "hasNext"),
        (answer("GET", "/api/openapi.json", 304, b"x"), "the body is not empty"),
        (answer("GET", "/nowhere", 200, {}), "no operation is documented"),
    ],
)
def test_answer_that_the_document_does_not_describe_is_caught(given, told):
    with pytest.raises(answers.OutsideTheSchema, match=told):
        answers.hold(given)


def test_objects_inside_objects_are_closed_too():
    assert answers.strict({"properties": {"a": {"properties": {}}}, "examples": [{"properties": 1}]}) == {
        "properties": {"a": {"properties": {}, "additionalProperties": False}},
        "additionalProperties": False,
    }


def test_schema_comes_with_the_components_that_it_names_through_others_and_no_more():
    named = {name: {"$ref": f"#/components/schemas/{name}"} for name in "ABCD"}
    components = {"A": {"items": named["B"]}, "B": {"anyOf": [named["A"], named["C"]]}, "C": {}, "D": named["A"]}

    assert answers.whole(named["A"], components) == {
        **named["A"],
        "components": {"schemas": {name: components[name] for name in "ABC"}},
    }
