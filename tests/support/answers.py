"""Every answer held against the published document: its status is documented, its body fits the schema, and there is
nothing more in it than the schema says.

`hold` is called for each answer that tests get, in the process or from a real server.
"""

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import jsonschema_rs

from tripline.api import families
from tripline.api.documents import openapi

_COMPONENT = re.compile(r'"#/components/schemas/([^"]+)"')


class OutsideTheSchema(AssertionError):  # noqa: N818  as pytest shows it
    """An answer that the document does not allow."""


def hold(answer: httpx.Response) -> None:
    """Raise `OutsideTheSchema` unless the document allows the answer, which has been read."""
    method = answer.request.method.lower()
    if method in ("head", "options"):
        return
    path = _path(answer.request.url.path)
    if path is None or method not in document()["paths"][path]:
        if not 400 <= answer.status_code < 500:  # also with nothing between two slashes, which the router takes
            raise OutsideTheSchema(f"{_told(answer)}: no operation is documented for this")
        return
    judge = _judge(path, method, answer.status_code)
    if judge is None:
        raise OutsideTheSchema(f"{_told(answer)}: the status is not documented for {method.upper()} {path}")
    judge(answer)


async def hold_async(answer: httpx.Response) -> None:
    """`hold` for an answer that has not been read yet, as the hook of a client."""
    await answer.aread()
    hold(answer)


def hold_read(answer: httpx.Response) -> None:
    """`hold` for an answer that has not been read yet, as the hook of a client."""
    answer.read()
    hold(answer)


@functools.cache
def document() -> dict[str, Any]:
    """The published document."""
    return openapi.document(families.HEADINGS)


@functools.cache
def _patterns() -> dict[int, list[tuple[re.Pattern[str], str]]]:
    """How each path is recognised, by its slashes, paths without a value in them first; the router cuts a last slash
    off."""
    found: dict[int, list[tuple[re.Pattern[str], str]]] = {}
    for path in sorted(document()["paths"], key=lambda path: (path.count("{"), path)):
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "/?")
        found.setdefault(path.count("/"), []).append((pattern, path))
    return found


def _path(path: str) -> str | None:
    """The documented path that the router takes."""
    alike = _patterns().get(path.removesuffix("/").count("/"), [])
    return next((known for pattern, known in alike if pattern.fullmatch(path)), None)


@functools.cache
def _judge(path: str, method: str, status: int) -> Callable[[httpx.Response], None] | None:
    """What holds an answer of this status against its schema; None when the status is not documented."""
    described = document()["paths"][path].get(method, {}).get("responses", {}).get(str(status))
    if described is None:
        return None
    if "content" not in described:
        return _empty
    ((kind, content),) = described["content"].items()
    if kind != "application/json":
        return functools.partial(_of_type, kind.removesuffix("*"))
    schema = whole(strict(content["schema"]), _strict_components())
    validator = jsonschema_rs.Draft202012Validator(schema)
    return functools.partial(_json, validator)


def strict(schema: Any) -> Any:
    """The schema, in which an object has no fields but those that are described."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(each) for name, each in schema.items() if name not in ("examples", "example")}
    if "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed


def whole(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """The schema with those of the components that it names, itself or through others: all of them take long to read.

    `components`: schemas by name.
    """
    named: dict[str, Any] = {}
    left = [schema]
    while left:
        for name in _COMPONENT.findall(json.dumps(left.pop())):
            if name not in named:
                named[name] = components[name]
                left.append(named[name])
    return {**schema, "components": {"schemas": named}}


@functools.cache
def _strict_components() -> dict[str, Any]:
    return {name: strict(schema) for name, schema in document()["components"]["schemas"].items()}


def _empty(answer: httpx.Response) -> None:
    if answer.content:
        raise OutsideTheSchema(f"{_told(answer)}: the body is not empty")


def _of_type(kind: str, answer: httpx.Response) -> None:
    if not answer.headers["content-type"].startswith(kind):
        raise OutsideTheSchema(f"{_told(answer)}: the type is {answer.headers['content-type']}, not {kind}")


def _json(validator: Any, answer: httpx.Response) -> None:
    _of_type("application/json", answer)
    try:
        validator.validate(answer.json())
    except jsonschema_rs.ValidationError as error:
        place = "/".join(str(part) for part in error.instance_path)
        raise OutsideTheSchema(f"{_told(answer)}: at '{place}': {error.message}") from None


def _told(answer: httpx.Response) -> str:
    asked = answer.request
    return f"{asked.method} {asked.url.path} -> {answer.status_code} {answer.text[:300]}"
