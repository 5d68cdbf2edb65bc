"""Reads a request: ids in the path, values of the query, the JSON object in the body.

Checks run in the order of spec/rest 3.3: token, role, path ids, ownership, body. Content-Type is never looked at.
"""

import codecs
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from litestar.exceptions import InternalServerException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from tripline.domain import access, fields
from tripline.domain.access import Actor
from tripline.domain.ids import CompanyId, SensorId, TripId, VehicleId
from tripline.domain.refusals import BadParameter
from tripline.http import authentication
from tripline.http.context import Call
from tripline.wire.rest.base import CAME_WHOLE

Id = TypeVar("Id", bound=str)
Query: TypeAlias = Mapping[str, str]
"""The query of a request, `request.query_params`: Litestar builds it anew at each access, so read it once."""

LATEST_MS: Final = 4_102_444_800_000
"""The end of the year 2099: a later date is a mistake of units."""
_NOT_GIVEN: Final = frozenset({"", "null", "undefined"})
"""Texts without a value: some programs write the nulls of a `nextPageLink` into the next query this way."""


def path_id(request: Call, name: str) -> str:
    """The id in the path as canonical text. Raises `BadParameter` when it is not a UUID."""
    return fields.uuid(name, request.path_params[name])


def _in_path(kind: Callable[[str], Id], name: str) -> Callable[[Call], Id]:
    """Return a function that reads the id of this name in the path. It raises as `path_id`."""
    return lambda request: kind(path_id(request, name))


company_id: Final = _in_path(CompanyId, "companyId")
to_company_id: Final = _in_path(CompanyId, "toCompanyId")
sensor_id: Final = _in_path(SensorId, "sensorId")
trip_id: Final = _in_path(TripId, "tripId")
vehicle_id: Final = _in_path(VehicleId, "vehicleId")


def query_text(query: Query, name: str) -> str | None:
    """A value of the query; None when it is not given: absent, empty, `null` or `undefined` (spec/rest 5.1)."""
    value = query.get(name, "")
    return None if value in _NOT_GIVEN else value


def query_id(query: Query, name: str) -> str | None:
    """An id in the query as canonical text; None when not given."""
    value = query_text(query, name)
    return None if value is None else fields.uuid(name, value)


def query_flag(query: Query, name: str) -> bool | None:
    """`true` or `false` in any letter case; None when not given."""
    value = query_text(query, name)
    if value is None:
        return None
    known = {"true": True, "false": False}.get(value.lower())
    if known is None:
        raise BadParameter("flag", field=name)
    return known


def company_asked(query: Query, actor: Actor) -> CompanyId:
    """The company that `companyId` names, else the actor's. Raises `BadParameter`, or `Forbidden` without either."""
    named = query_id(query, "companyId")
    return access.company_of(actor) if named is None else CompanyId(named)


async def body(request: Call) -> bytes:
    """The body. Raises `BadParameter` when its sender went away; 413 above the bound of its operation.

    Raises `TokenUnreadable` when the account that sends it is not there any more when it has come.
    """
    if CAME_WHOLE in (request.scope.get("extensions") or ()):
        # Without a wait. Sockets are read by 256 KiB, less than most operations take.
        message = await request.receive()
        if message["type"] != "http.request":
            raise BadParameter("body_cut")
        if len(message["body"]) > (request.route_handler.resolve_request_max_body_size() or math.inf):
            raise RequestEntityTooLarge
        return message["body"]
    try:
        content: bytes = await request.body()
    except InternalServerException as error:
        # Litestar's answer to a disconnect: not a bug, and our answer is not read.
        raise BadParameter("body_cut") from error
    await authentication.require_still(request)
    return content


async def json_object(request: Call) -> dict[str, Any]:
    """Parse the body as a JSON object, for any Content-Type. Raises as `body` and `object_in`."""
    return object_in(await body(request))


def whole(text: str, *, most_digits: int) -> int | None:
    """The number written with up to so many decimal digits; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= most_digits else None


def check_instant(name: str, at_ms: int | None) -> None:
    """Raise `BadParameter` unless the value is a possible instant in epoch ms."""
    if at_ms is not None and not 0 <= at_ms <= LATEST_MS:
        raise BadParameter("between", field=name, least=0, most=LATEST_MS)


def object_in(content: bytes) -> dict[str, Any]:
    """The JSON object in these bytes, with or without a byte-order mark. Raises `BadParameter`."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise BadParameter("body_empty")
    try:
        value = msgspec.json.decode(content)
    except msgspec.ValidationError as error:
        # JSON with a number that neither a double nor an integer of 4,300 digits holds.
        raise _number_out_of_range(content) from error
    except msgspec.DecodeError as error:
        raise BadParameter("body_json", trouble=str(error)) from error
    except UnicodeDecodeError as error:
        raise BadParameter("body_utf8") from error
    except RecursionError as error:
        raise BadParameter("body_deep") from error
    if not isinstance(value, dict):
        raise BadParameter("body_braces")
    return value


def _number_out_of_range(content: bytes) -> BadParameter:
    """The refusal, with the field that holds the number."""
    try:
        for name, value in msgspec.json.decode(content, type=dict[str, msgspec.Raw]).items():
            try:
                msgspec.json.decode(value)
            except msgspec.ValidationError:
                return BadParameter("number_out_of_range", field=name)
    except msgspec.ValidationError:
        pass
    return BadParameter("body_braces")
