"""What a handler takes from a request: ids in the path, values of the query, the JSON object in the body.

Checks run in the order of client-surface 3.3: token, role, path ids, ownership, body. Content-Type is never looked at.
"""

import codecs
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from litestar.exceptions import InternalServerException

from tripline.api import guards
from tripline.api.rim import Call
from tripline.domain import access, ids
from tripline.domain.access import Actor
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import BadParameter
from tripline.wire.rest import CAME_WHOLE

Query: TypeAlias = Mapping[str, str]
"""The query of a request, `request.query_params`: made anew each time it is asked for, so ask once."""


_NOT_GIVEN: Final = frozenset({"", "null", "undefined"})
"""Texts that stand for no value: programs write the nulls of a `nextPageLink` into the next query so."""
_ENDED: Final = "The connection ended before the body."


def path_id(request: Call, name: str) -> str:
    """The id in the path as canonical text. Raises `BadParameter` when it is not a UUID."""
    return uuid_of(request.path_params[name], name)


def uuid_of(text: str, name: str) -> str:
    """The canonical form of an id in either letter case. Raises `BadParameter` when it is not a UUID."""
    known = ids.canonical(text)
    if known is None:
        raise BadParameter(f"Parameter '{name}' must be a UUID.")
    return known


def query_text(query: Query, name: str) -> str | None:
    """A value of the query; None when it is not given: absent, empty, `null` or `undefined` (client-surface 5.1)."""
    value = query.get(name, "")
    return None if value in _NOT_GIVEN else value


def query_id(query: Query, name: str) -> str | None:
    """An id in the query as canonical text; None when not given."""
    value = query_text(query, name)
    return None if value is None else uuid_of(value, name)


def query_flag(query: Query, name: str, *, default: bool | None = None) -> bool | None:
    """`true` or `false` in any letter case; the default when not given."""
    value = query_text(query, name)
    if value is None:
        return default
    known = {"true": True, "false": False}.get(value.lower())
    if known is None:
        raise BadParameter(f"Parameter '{name}' must be true or false.")
    return known


def company_asked(query: Query, actor: Actor) -> CompanyId:
    """The company that `companyId` names, else the actor's. Raises `BadParameter`, or `Forbidden` without either."""
    named = query_id(query, "companyId")
    return access.company_of(actor) if named is None else CompanyId(named)


async def body(request: Call) -> bytes:
    """The body. Raises `BadParameter` when its sender went away; 413 above 1 MiB.

    Raises `TokenUnreadable` when the account that sends it is not there any more when it has come.
    """
    if CAME_WHOLE in (request.scope.get("extensions") or ()):
        # Shorter than the bound, for a socket is read by 256 KiB; and nothing was waited for.
        message = await request.receive()
        if message["type"] != "http.request":
            raise BadParameter(_ENDED)
        return message["body"]
    try:
        content: bytes = await request.body()
    except InternalServerException as error:
        # Litestar's answer to a disconnect; nobody reads ours, and it is no bug.
        raise BadParameter(_ENDED) from error
    await guards.require_still(request)
    return content


async def json_object(request: Call) -> dict[str, Any]:
    """The body as a JSON object, whatever its Content-Type. Raises as `body` and `object_in`."""
    return object_in(await body(request))


def object_in(content: bytes) -> dict[str, Any]:
    """The JSON object in these bytes, with or without a byte-order mark. Raises `BadParameter`."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise BadParameter("The body must be a JSON object; it is empty.")
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise BadParameter(f"The body must be a JSON object: {error}.") from error
    except UnicodeDecodeError as error:
        raise BadParameter("The body must be UTF-8 text.") from error
    except RecursionError as error:
        raise BadParameter("The body must be a JSON object; this one is nested too deeply.") from error
    if not isinstance(value, dict):
        raise BadParameter("The body must be a JSON object, in braces.")
    return value
