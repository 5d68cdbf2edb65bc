"""The OpenAPI 3.1 document of the whole surface, made from the declarations of the operations.

Nothing is written twice: descriptions are docstrings, who may call comes from `domain/access.py`, schemas from the
structs (`openapi_schemas.py`), errors from the refusals.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import metadata
from types import ModuleType
from typing import Any, Final, TypeAlias, get_args

import msgspec
from litestar.handlers import HTTPRouteHandler

from tripline.api.documents.openapi_schemas import Schema, Schemas
from tripline.domain import access, fields, ids
from tripline.domain.access import Action, Gate
from tripline.domain.history import TooManyChanges
from tripline.domain.refusals import BadParameter, Forbidden, Kind, NotFound, Refusal
from tripline.http import errors, operations, pages, static_files
from tripline.http.authentication import ForeignForm
from tripline.http.operations import JSON, Operation, PageOf, Value
from tripline.http.turns import TooMuchAtOnce
from tripline.language import catalogue
from tripline.language.catalogue import DEFAULT
from tripline.services.accounts.limits import TooManyRequests
from tripline.services.accounts.tokens import TokenExpired, TokenUnreadable
from tripline.store.transactions import ReadTooLong
from tripline.wire.rest.base import ErrorBody, Id

TOKEN: Final = "token"  # noqa: S105  the name of the security scheme
IDS: Final = {
    "driverId": "the driver, or of a director who drives",
    "toCompanyId": "the company that gets, or got, the delegation",
    "userId": "the account",
}
"""Whose id stands under a name in a path, where the name does not say enough."""
Headings: TypeAlias = Mapping[str, tuple[str, tuple[ModuleType, ...]]]
"""Headings of the documentation in their order, with their descriptions and the modules of their operations."""
EXAMPLE_ID: Final = "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"
INTRODUCTION: Final = f"""\
Companies register vehicles, sensors and people, delegate vehicles to each other, and read what was driven.

The channel of devices and the messages to customers' servers are in [asyncapi.json](asyncapi.json) (AsyncAPI 3.0).

**Logging in.** `POST /api/auth/login` gives a token; send it as `X-Authorization: Bearer <token>`.

**Bodies** are JSON objects whatever their Content-Type; unknown fields are ignored. A partial update (PUT) changes
the fields that the body names, and null clears an optional one. Fields that only the record has may be sent back as
they are; another value is refused by its name. A change ignores `latestTripId` and `lastTripMsgType`, which move
while vehicles drive. Every GET also answers HEAD.

**Queries**: a value that is empty, `null` or `undefined` is not given. So every value of a `nextPageLink` may be sent
back as text. Unknown values are ignored.

**Ids** are objects around a UUID, `{{"id": "..."}}`, in bodies and records, and bare UUIDs in paths and queries, in
either letter case. An id that is not set is `{ids.PLACEHOLDER}`, never null.

**Times** are milliseconds since 1970 (UTC); the text times `startDt`, `endDt` and `eventDt` are in the zone of the
service.

**Errors** have one body, with the HTTP `status`, an `errorCode` and a `message` that says what to mend. It is in
English, or in Korean where `Accept-Language` asks for it; the answer names the language in `Content-Language`.
Checked in this order: token (401), role (403), ids in the path (400, then 404), ownership (403), the rest of the
request (400). What belongs to somebody else is refused with 403, not called unknown. A path that does not exist is
answered 404 with errorCode {errors.NOT_FOUND}, a method that it does not have 405 with errorCode
{errors.BAD_PARAMETER} and the header `Allow`.
"""

TITLES: Final = {
    400: "The request says something that cannot be.",
    401: "The token is missing, wrong or old.",
    403: "The caller's role or company does not allow it, or no page of ours asked.",
    404: "There is no such thing.",
    408: "Nothing answered in time.",
    409: "What is there stands against it.",
    413: "The request is too large.",
    429: "Too many requests; `Retry-After` says for how many seconds to wait.",
    500: "A fault of the service; its log says what.",
    503: "Something that the service needs is away, or a read takes too long; try again.",
}
"""The meaning of each status here."""
_OF_FIELDS: Final = (fields.TooLong, fields.Unprintable, fields.WrongForm, fields.OutOfRange, fields.NotAllowed)
_OF_PAGES: Final = {value.name for value in (*pages.TIME_PAGE, *pages.TEXT_PAGE)}
"""Values of a query that name no object."""
_AT_MS: Final = 1760000000000
_SOURCES: Final = re.compile(r"\s*\((?:(?:see )?(?:spec/|[A-Z]{1,2}\d)[^()]*)\)")
"""Where a rule comes from, in brackets: for the reader of the source."""


class Document:
    """The document of the operations under these headings, made when it is first asked for."""

    def __init__(self, headings: Headings) -> None:
        self._headings = headings

    @cached_property
    def file(self) -> static_files.File:
        """The document as JSON."""
        return static_files.made(msgspec.json.encode(document(self._headings)), f"{JSON};charset=UTF-8")


def document(headings: Headings) -> dict[str, Any]:
    """The OpenAPI document of the operations under these headings."""
    routed = [
        _Routed(heading, handler)
        for heading, (_, families) in headings.items()
        for handler in operations.handlers_of(families)
    ]
    schemas = Schemas()
    whole = {each.declared.request for each in routed if each.declared.required}
    paths: dict[str, dict[str, Any]] = {}
    for each in routed:
        described = _operation(each, schemas, partial=each.declared.request in whole and not each.declared.required)
        for number, path in enumerate(each.paths):
            alias = {"operationId": f"{each.declared.name}.{number}"} if number else {}
            own = {"parameters": _within(path, described["parameters"]), **alias}
            paths.setdefault(path, {})[each.declared.method.lower()] = {**described, **own}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tripline",
            "version": metadata.version("tripline"),
            "summary": "A self-hosted connected-fleet platform.",
            "description": INTRODUCTION,
        },
        "servers": [{"url": "/", "description": "this server; every path is served on both HTTP ports"}],
        "tags": [{"name": heading, "description": about} for heading, (about, _) in headings.items()],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": {
                TOKEN: {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Authorization",
                    "description": "`Bearer`, a blank, and the token of a log-in.",
                }
            },
        },
    }


def who(needed: Action | Gate) -> str:
    """Who may call an operation that needs this, and on which rows, as a list in Markdown."""
    if isinstance(needed, Gate):
        return f"- {needed.value}"
    return "\n".join(
        f"- `{role}`: {'; '.join(reach.value for reach in access.Reach if reach in reaches)}"
        for role, reaches in access.RULES[needed].items()
    )


class _Routed:
    """An operation with the heading that it stands under and all its paths, the published one first."""

    def __init__(self, heading: str, handler: HTTPRouteHandler) -> None:
        self.tag = heading
        self.declared: Operation = operations.of_handler(handler)
        others = {path.replace(":str}", "}") for path in handler.paths} - {self.declared.path}
        self.paths = [self.declared.path, *sorted(others)]


def _operation(each: _Routed, schemas: Schemas, *, partial: bool) -> dict[str, Any]:
    declared = each.declared
    described: dict[str, Any] = {
        "operationId": declared.name,
        "tags": [each.tag],
        "summary": first_sentence(declared.text).removesuffix("."),
        "description": _text(each),
        "parameters": [*_parameters(declared, schemas)],
        "responses": {
            "200": _answer(declared, schemas),
            **{str(status): _also(declared, status, body, schemas) for status, body in declared.also.items()},
            **responses(declared, schemas.of_answer(ErrorBody)),
        },
        "security": [] if declared.access in (Gate.ANYONE, Gate.MACHINE) else [{TOKEN: []}],
    }
    if declared.request is not None:
        described["requestBody"] = _body(declared, schemas, partial=partial)
    if declared.access is Gate.MACHINE:
        described["x-machine-local"] = True
    return described


def _text(each: _Routed) -> str:
    parts = [published(each.declared.text), f"**Who may call it**\n\n{who(each.declared.access)}"]
    if len(each.paths) > 1:
        parts.append("**Paths**: " + ", ".join(f"`{path}`" for path in each.paths))
    return "\n\n".join(parts)


def _within(path: str, parameters: list[Schema]) -> list[Schema]:
    """The parameters of an operation on this path: an alias may do without some of the published path's."""
    return [each for each in parameters if each["in"] != "path" or f"{{{each['name']}}}" in path]


def _parameters(declared: Operation, schemas: Schemas) -> Iterator[Schema]:
    for name in declared.path_ids:
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": f"Id of {IDS.get(name) or _named(name)}.",
            "schema": {"type": "string", "format": "uuid"},
            "example": EXAMPLE_ID,
        }
    for place, values in (("path", declared.in_path), ("query", declared.query), ("header", declared.headers)):
        for value in values:
            yield _value(place, value, schemas)


def _named(name: str) -> str:
    """`the application` for `applicationId`."""
    return "the " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Id")).lower()


def _value(place: str, value: Value, schemas: Schemas) -> Schema:
    return {
        "name": value.name,
        "in": place,
        "required": value.required,
        "description": value.meaning[:1].upper() + value.meaning[1:] + ".",
        "schema": schemas.of_value(value.type),
        "example": value.example,
    }


def _body(declared: Operation, schemas: Schemas, *, partial: bool) -> Schema:
    if not (inspect.isclass(declared.request) and issubclass(declared.request, msgspec.Struct)):
        return {
            "required": True,
            "content": {kind: {"schema": _raw(kind, declared.request_types[0])} for kind in declared.request_types},
        }
    schema = schemas.of_request(declared.request, declared.required, partial=partial)
    content = {"schema": schema, "example": schemas.example(schema)}
    return {"required": True, "content": dict.fromkeys(declared.request_types, content)}


def _raw(kind: str, of_file: str = "") -> Schema:
    """The schema of a body other than a JSON object; `of_file`: the media type of the file in a form."""
    if kind == "multipart/form-data":
        part = {"type": "string", "contentMediaType": of_file, "description": "the file"}
        return {"type": "object", "properties": {"file": part}, "required": ["file"]}
    return {"type": "object"} if kind == JSON else {"type": "string"}


def _answer(declared: Operation, schemas: Schemas) -> Schema:
    if declared.answer is bytes:
        return {
            "description": first_sentence(declared.text),
            "content": {declared.answer_type: {"schema": _raw(declared.answer_type)}},
        }
    schema = schemas.of_answer(declared.answer)
    noun = "One page" if isinstance(declared.answer, PageOf) else "Done"
    content = {"schema": schema, "example": schemas.example(schema)}
    return {"description": f"{noun}.", "content": {declared.answer_type: content}}


def _also(declared: Operation, status: int, body: Any, schemas: Schemas) -> Schema:
    if body is None:
        return {"description": "Nothing has changed." if status == 304 else "Done; no body."}
    if body is bytes:
        content = {declared.answer_type: {"schema": _raw(declared.answer_type)}}
        return {"description": f"The same, telling the trouble. {TITLES[status]}", "content": content}
    schema = schemas.of_answer(body)
    return {"description": first_sentence(body.__doc__), "content": {JSON: {"schema": schema}}}


def published(text: str | None) -> str:
    """A docstring as it is published: without indentation, and without the sources of its rules."""
    return _SOURCES.sub("", inspect.cleandoc(text or ""))


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(published(text).split("\n\n")[0].split())
    return re.split(r"\. (?=[A-Z`])", paragraph)[0].rstrip(".") + "."


def refusals(each: Operation) -> list[type[Refusal]]:
    """Every refusal that the operation can answer with."""
    found = dict.fromkeys((*_usual(each), *each.refuses))
    return sorted(found, key=lambda refusal: (errors.ANSWERS[refusal.kind], refusal.code))


def responses(each: Operation, body: Schema) -> dict[str, Schema]:
    """The answers that are errors, by status; `body` is the schema of every one of them."""
    by_status: dict[int, list[type[Refusal]]] = {}
    for refusal in refusals(each):
        by_status.setdefault(errors.ANSWERS[refusal.kind][0], []).append(refusal)
    answers = {status: _refused(status, those, body) for status, those in by_status.items()}
    if each.request is not None:
        most = str((each.body_max or operations.BODY_MAX) // errors.KIB)
        text = catalogue.text(errors.TOO_LARGE, DEFAULT, most=most)
        answers.setdefault(413, _plain(413, errors.BAD_PARAMETER, text, body))
    if each.access is not Gate.MACHINE:
        answers[500] = _plain(500, errors.GENERAL, catalogue.text(errors.BUG, DEFAULT), body)
        answers[503] = answers[503] | {"content": _example(503, catalogue.text(errors.AWAY, DEFAULT), body)}
    return {str(status): answers[status] for status in sorted(answers) if status not in each.also}


def _usual(each: Operation) -> Iterator[type[Refusal]]:
    if each.access is Gate.MACHINE:
        yield NotFound
    else:
        yield from (TooMuchAtOnce, ReadTooLong)
    if isinstance(each.access, Action) or each.access in (Gate.ACCOUNT, Gate.SIGNED_IN):
        yield from (TokenUnreadable, TokenExpired, TooManyRequests)
        if each.method != "GET":
            yield ForeignForm
    if isinstance(each.access, Action):
        yield Forbidden
        if each.method != "GET":
            yield TooManyChanges
    if each.path_ids:
        yield from (BadParameter, NotFound)
    if each.in_path or {value.name for value in each.query} - _OF_PAGES:
        yield NotFound
    if each.query or each.headers or each.request is not None:
        yield BadParameter
    if isinstance(each.request, type) and issubclass(each.request, msgspec.Struct):
        yield from _OF_FIELDS
        if any(_is_id(field.type) for field in msgspec.structs.fields(each.request)):
            yield NotFound


def _is_id(kind: Any) -> bool:
    """True if a field of a body identifies an object."""
    return kind is Id or any(_is_id(part) for part in get_args(kind))


def _refused(status: int, those: list[type[Refusal]], body: Schema) -> Schema:
    lines = [f"{TITLES[status]}\n", "| errorCode | Refusal | When |", "|---|---|---|"]
    lines += [
        f"| {errors.ANSWERS[refusal.kind][1]} | `{refusal.code}` | {first_sentence(refusal.__doc__)} |"
        for refusal in those
    ]
    first = those[0]
    example = _error(status, errors.ANSWERS[first.kind][1], first_sentence(first.__doc__))
    answer: Schema = {"description": "\n".join(lines), "content": {JSON: {"schema": body, "example": example}}}
    if any(refusal.kind in (Kind.TOO_MANY, Kind.BUSY) for refusal in those):
        seconds = {"type": "integer", "minimum": 1, "examples": [30]}
        answer["headers"] = {"Retry-After": {"description": "seconds to wait", "schema": seconds}}
    return answer


def _plain(status: int, code: int, message: str, body: Schema) -> Schema:
    return {"description": f"{TITLES[status]} errorCode {code}.", "content": _example(status, message, body, code)}


def _example(status: int, message: str, body: Schema, code: int = errors.GENERAL) -> Schema:
    return {JSON: {"schema": body, "example": _error(status, code, message)}}


def _error(status: int, code: int, message: str) -> dict[str, Any]:
    return {"status": status, "message": message, "errorCode": code, "timestamp": _AT_MS}
