"""The documented failures of an operation: status, errorCode, and every refusal by its code.

The refusals common to a kind of operation (token, role, ids, types) follow from its declaration; `refuses` names the
others. Only `errors.ANSWERS` decides the status and errorCode of a refusal.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, get_args

import msgspec

from tripline.domain import fields
from tripline.domain.access import Action, Gate
from tripline.domain.history import TooManyChanges
from tripline.domain.refusals import BadParameter, Forbidden, Kind, NotFound, Refusal
from tripline.http import errors, operations, pages
from tripline.http.authentication import ForeignForm
from tripline.http.operations import JSON, Operation
from tripline.http.turns import TooMuchAtOnce
from tripline.language import catalogue
from tripline.language.catalogue import DEFAULT
from tripline.services.accounts.limits import TooManyRequests
from tripline.services.accounts.tokens import TokenExpired, TokenUnreadable
from tripline.store.transactions import ReadTooLong
from tripline.wire.rest.base import Id

Schema: TypeAlias = dict[str, Any]

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
    return {
        "description": f"{TITLES[status]} errorCode {code}.",
        "content": _example(status, message, body, code),
    }


def _example(status: int, message: str, body: Schema, code: int = errors.GENERAL) -> Schema:
    return {JSON: {"schema": body, "example": _error(status, code, message)}}


def _error(status: int, code: int, message: str) -> dict[str, Any]:
    return {"status": status, "message": message, "errorCode": code, "timestamp": _AT_MS}
