"""The documentation as it is served: the document, the page, its files."""

import json

import pytest
from tests.support import answers, rest

from tripline.api import docs
from tripline.api.documents import asyncapi


def ask(tmp_path, path, **headers):
    async def scenario(app):
        return await app.http.get(path, headers=headers)

    return rest.run(tmp_path, scenario)


def test_document_is_served_to_anyone_as_it_is_made(tmp_path):
    answer = ask(tmp_path, "/api/openapi.json")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.json() == json.loads(json.dumps(answers.document()))


def test_document_is_valid_openapi():
    from openapi_spec_validator import validate  # takes a second, and every process of a run collects this file

    document = answers.document()
    validate(document)

    assert document["openapi"].startswith("3.1")


def test_document_of_channels_is_served_to_anyone_as_it_is_made(tmp_path):
    answer = ask(tmp_path, "/api/asyncapi.json")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.content == asyncapi.published().content


@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/asyncapi.json"])
def test_document_that_is_known_is_not_sent_again(tmp_path, path):
    tag = ask(tmp_path, path).headers["etag"]

    known = ask(tmp_path, path, **{"If-None-Match": tag})
    other = ask(tmp_path, path, **{"If-None-Match": '"another"'})

    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    assert (other.status_code, other.headers["etag"]) == (200, tag)


def test_page_allows_no_other_address(tmp_path):
    answer = ask(tmp_path, "/api/docs")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize("name", docs.FILES)
def test_files_of_the_page_are_served_with_their_type(tmp_path, name):
    answer = ask(tmp_path, f"/api/docs/{name}")

    assert (answer.status_code, answer.headers["content-type"]) == (200, f"{docs.FILES[name]}; charset=utf-8")
    assert len(answer.content) > 100


@pytest.mark.parametrize("name", ["page.html", "LICENSE", "..%2fdocs.py", "%2e%2e", "page.js%00"])
def test_nothing_else_of_the_folder_is_served(tmp_path, name):
    assert ask(tmp_path, f"/api/docs/{name}").status_code == 404
