"""Every body, on every operation that takes one: lengths, characters, types; every list: `limit`.

The cases are made from the declarations of the operations, so that a new field or operation is held against the same
rules without a line here. What no rule of length or form refuses, the operation refuses later (an unknown object, a
missing field), or does: the cases tell a refusal of the value from any other by its text, which names the field.
"""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
from litestar.handlers import HTTPRouteHandler
from msgspec import inspect
from tests.support import delegating, journeys, rest
from tests.support.rest import changed

from tripline import config
from tripline.api import families
from tripline.domain import fields
from tripline.domain.access import RULES, Action, Authority, Gate
from tripline.http import operations
from tripline.http.operations import Operation, PageOf
from tripline.scoring.rules import Rules
from tripline.services.accounts.limits import Limits
from tripline.store.scores import policies

LONG = {"answer", "description", "text", "additionalInfo", "cooperationTask", "introduction", "reason"}
HOSTILE = {
    "html": "<script>alert(1)</script>",
    "formula": "=cmd|' /C calc'!A0",
    "template": "{{7*7}}${7*7}%s",
    "quotes": "\"'`;-- \\",
    "path": "../../etc/passwd",
    "right to left": "\u202ea",
    "wide": "\U0001f69a한글é",
}
CONTROL = {"nul": "a\x00b", "escape": "a\x1b[2Jb", "crlf": "a\r\nSet-Cookie: x=1", "lf": "a\nb", "delete": "a\x7fb"}
IN_PROSE = {"crlf", "lf"}
"""Line ends belong to prose, which is never sent in a header."""
WRONG = [[{"no": "value"}], True, 12, {"no": "value"}]


def _all() -> list[Operation]:
    handlers: list[HTTPRouteHandler] = operations.handlers_of(families.FAMILIES)
    return [operations.of_handler(handler) for handler in handlers]


@cache
def _described(request: type) -> dict[str, inspect.Type]:
    """The types of the request's fields."""
    described = inspect.type_info(request)
    assert isinstance(described, inspect.StructType)
    return {field.encode_name: field.type for field in described.fields}


def _fields(operation: Operation) -> dict[str, set[type]]:
    """Each field of the request that holds plain values, with the kinds of value it takes."""
    return {name: set(_kinds(of)) for name, of in _described(operation.request).items()}


def _kinds(of: inspect.Type) -> Iterator[type]:
    if isinstance(of, inspect.Metadata):
        yield from _kinds(of.type)
    elif isinstance(of, inspect.UnionType):
        for each in of.types:
            yield from _kinds(each)
    else:
        yield type(of)


BODIES = [each for each in _all() if isinstance(each.request, type) and issubclass(each.request, msgspec.Struct)]
LISTS = [each for each in _all() if isinstance(each.answer, PageOf)]
COMPARED = {"username", "currentPassword", "refreshToken", "token", "id", "companyId"}
"""Fields that are looked up or compared and never kept: what does not fit is refused like what is unknown."""
REFUSED_BEFORE = {"auth.log_in", "passwords.change", "passwords.set_with_link", "applications.reject"}
"""Operations that refuse the examples for something else first: a wrong password, a used link, a decision made."""
NOT_READ = {
    ("disputes.decide_dispute", "driverId"),
    ("carrier.act", "kind"),
    ("carrier.act", "newImei"),
    ("carrier.act", "newMdn"),
}
"""Fields of other types of action than the example's."""
FORMER_NAMES = {"sktManagerName", "sktManagerEmail"}
"""Second names of fields: a request that gives both is refused unless they agree."""
FORWARDED = {"rpc.call"}
"""Operations that hand what they take on to a device, which is not connected here."""
ONCE = {"disputes.open_dispute", "disputes.decide_dispute", "rescorings.begin_rescoring"}
"""Operations that succeed once: later examples find what the first one left."""
PATIENT = config.Accounts(applications_per_hour=100_000, failures=100_000, address_failures=100_000)
NOT_TOLD = COMPARED | {"password", "picPasswd", "newPassword", "subscription", "deviceType"}
"""Fields that no answer tells as they were sent."""


def texts(operation: Operation) -> list[str]:
    """The fields that hold text."""
    containers = {inspect.StructType, inspect.ListType}
    return [name for name, kinds in _fields(operation).items() if inspect.StrType in kinds and not kinds & containers]


def named(operation: Operation) -> str:
    """The operation in a test's name."""
    return operation.name


class World:
    """One of each thing, and who may call what."""

    def __init__(self, app: rest.Rest) -> None:
        self.app = app
        self.logins: dict[Authority, rest.Login] = {}
        self.ids: dict[str, str] = {}
        self._number = itertools.count(1)

    async def settle(self) -> "World":
        """Register one of each."""
        app = self.app
        _, admin = await app.operator("ace")
        _, partner = await app.partner(admin, "p@p.example")
        self.logins = {
            Authority.COMPANY_ADMIN: admin,
            Authority.SYS_ADMIN: await app.account("root@x.example", Authority.SYS_ADMIN),
            Authority.CARRIER: await app.account("net@x.example", Authority.CARRIER),
            Authority.DIRECTOR: await app.person(admin, Authority.DIRECTOR, "director"),
            Authority.DRIVER: await app.person(admin, Authority.DRIVER, "driver"),
        }
        vehicle = await app.post(admin, "/vehicle", {"vehicleNo": "V", "mileage": 1})
        sensor = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "c" * 20})
        application = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "A")
        await app.post(None, "/api/noauth/application", {**application, "email": "a@a.example"})
        (applied,) = (await app.get(self.logins[Authority.SYS_ADMIN], "/applications", limit=1))["data"]
        driver = self.logins[Authority.DRIVER]
        trip_id = await app.store.write(delegating.scored_trip(app, admin, vehicle["id"]["id"], driver))
        driven = {"company_id": admin.company_id, "vehicle_id": None, "sensor_id": None, "user_id": driver.user_id}
        _, contested_id = await app.store.write(lambda tx: journeys.keep_trip(tx, app.ids, created_ms=1, **driven))
        second = await app.post(admin, f"/company/{admin.company_id}/admin", person("second@x.example"))
        await app.store.write(lambda tx: policies.keep(tx, Rules(), now_ms=1))
        self.ids = {
            "companyId": str(admin.company_id),
            "toCompanyId": str(partner.company_id),
            "vehicleId": vehicle["id"]["id"],
            "sensorId": sensor["id"]["id"],
            "directorId": self.logins[Authority.DIRECTOR].user_id,
            "driverId": driver.user_id,
            "userId": second["id"]["id"],
            "applicationId": applied["id"]["id"],
            "tripId": trip_id,
            "disputeId": await app.store.write(delegating.dispute(app, contested_id, driver)),
        }
        return self

    def caller(self, operation: Operation) -> rest.Login | None:
        """Somebody whose role may call it."""
        access = operation.access
        if isinstance(access, Gate):
            return None if access is Gate.ANYONE else self.logins[Authority.COMPANY_ADMIN]
        return next(login for role, login in self.logins.items() if role in RULES[Action(access)])

    def body(self, operation: Operation) -> dict[str, Any]:
        """The declaration's own examples, made to collide with nothing that is there."""
        examples = {name: _example(of) for name, of in _described(operation.request).items()}
        number = next(self._number)
        fresh = {
            "vehicleNo": f"V{number}",
            "serialNo": f"S{number}",
            "credentialsId": f"{number:020d}",
            "email": f"e{number}@x.example",
            "picEmail": f"p{number}@x.example",
            "actionId": f"A{number}",
            "mdn": f"010{number:08d}",
            "imei": f"{number:015d}",
            "serviceType": "ace",
            "companyId": self.ids["companyId"],
            "toCompanyId": {"id": self.ids["toCompanyId"]},
            "vehicleId": {"id": self.ids["vehicleId"]},
            "id": {"id": self.ids["companyId"]},
            "driverId": self.ids["driverId"],
        }
        sent = {name: fresh.get(name, value) for name, value in examples.items() if value is not None}
        passed = {"actions", "eventId", *FORMER_NAMES, *(name for of, name in NOT_READ if of == operation.name)}
        passed |= {"picPasswd"} if operation.method == "PUT" else set()
        return {name: value for name, value in sent.items() if name not in passed}

    async def call(self, operation: Operation, body: Any = None, **query: Any) -> Any:
        """The answer to a call of the operation on the objects that are there."""
        path = operation.path
        for name, value in self.ids.items():
            path = path.replace(f"{{{name}}}", value)
        return await self.app.call(self.caller(operation), operation.method, path, body, **query)


def person(email: str) -> dict[str, str]:
    """A registration of somebody."""
    return {"name": "N", "email": email, "password": "pass phrase"}


def _example(of: inspect.Type) -> Any:
    if isinstance(of, inspect.Metadata):
        found = (of.extra_json_schema or {}).get("examples")
        return found[0] if found else _example(of.type)
    return next((found for each in getattr(of, "types", ()) if (found := _example(each)) is not None), None)


async def limited(app: rest.Rest) -> World:
    """A fresh world in which nobody is asked to wait."""
    app.contexts = changed(app.contexts, limits=Limits(accounts=PATIENT, rest=config.Rest()))
    rest.application(app.contexts)
    world = World(app)
    world.logins, world.ids = await app.staged(_settled)
    return world


async def _settled(app: rest.Rest) -> tuple[dict[Authority, rest.Login], dict[str, str]]:
    world = await World(app).settle()
    return world.logins, world.ids


def judged(answer: Any) -> tuple[int, str]:
    """Status and message of an answer that is JSON and told so, whatever it says."""
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    always = {"content-type", "content-length", "x-content-type-options", "cache-control"}
    assert set(answer.headers) <= {*always, "content-language", "vary", "retry-after"}
    record = answer.json()
    assert answer.status_code < 500
    return answer.status_code, record.get("message", "")


def held(record: Any, value: str) -> bool:
    """Whether some text of the record is exactly the value."""
    if isinstance(record, dict | list):
        return any(held(each, value) for each in (record.values() if isinstance(record, dict) else record))
    return record == value


@pytest.mark.parametrize("operation", BODIES, ids=named)
async def test_g5_text_is_refused_by_name_or_comes_back_as_sent(app: rest.Rest, operation):
    def longest(name):
        return fields.LONG_TEXT_MAX if name in LONG else fields.TEXT_MAX

    def explained(name, message):
        return operation.name in REFUSED_BEFORE or name in COMPARED or f"'{name}'" in message

    world = await limited(app)
    for name in (name for name in texts(operation) if (operation.name, name) not in NOT_READ):
        bad = {kind: text for kind, text in CONTROL.items() if not (name in LONG and kind in IN_PROSE)}
        for kind, text in {"too long": "x" * (longest(name) + 1), **bad}.items():
            status, message = judged(await world.call(operation, {**world.body(operation), name: text}))
            assert status in (400, 401, 404), (name, kind, status, message)
            assert explained(name, message), (name, kind, message)
        for kind, text in {"longest": "x" * longest(name), **HOSTILE}.items():
            answer = await world.call(operation, {**world.body(operation), name: text})
            status, message = judged(answer)
            if status == 200:
                told = operation.answer is None or held(answer.json(), text)
                assert told or name in NOT_TOLD, (name, kind, answer.text)
            elif status != 409 or operation.name not in FORWARDED | ONCE:
                assert explained(name, message), (name, kind, message)


async def test_value_of_the_wrong_type_is_refused_by_name(app: rest.Rest):
    takes = {inspect.BoolType: bool, inspect.StrType: str, inspect.StructType: dict, inspect.DictType: dict}

    world = await limited(app)
    for operation, name, kinds in [(each, *field) for each in BODIES for field in _fields(each).items()]:
        if inspect.AnyType in kinds:
            continue
        allowed = {takes[kind] for kind in kinds if kind in takes}
        allowed |= {int} if kinds & {inspect.IntType, inspect.FloatType} else set()
        allowed |= {list} if inspect.ListType in kinds else set()
        for value in (value for value in WRONG if type(value) not in allowed):
            status, message = judged(await world.call(operation, {**world.body(operation), name: value}))
            assert (status, f"'{name}'" in message) == (400, True), (operation.name, name, value, message)


@pytest.mark.parametrize("operation", BODIES, ids=named)
async def test_body_is_an_object_up_to_its_bound_and_unknown_fields_are_ignored(app: rest.Rest, operation):
    bodies = {"empty": b"", "list": b"[]", "text": b'"x"', "cut": b"{", "no text": b"\xff", "deep": b"[" * 10_000}
    assert operation.body_max is not None
    at = b"{}" + b" " * (operation.body_max - 2)

    world = await limited(app)
    told = {kind: judged(await world.call(operation, body)) for kind, body in bodies.items()}
    plain = judged(await world.call(operation, world.body(operation)))
    with_more = judged(await world.call(operation, {**world.body(operation), "unknown": [{"x": 1}], "": 1}))
    sizes = [judged(await world.call(operation, body))[0] for body in (b"{}", at, at + b" ")]

    assert {kind: status for kind, (status, _) in told.items()} == dict.fromkeys(bodies, 400)
    assert [message for _, message in told.values() if "object" not in message and "UTF-8" not in message] == []
    assert sizes[1:] == [sizes[0], 413]
    assert with_more[0] == plain[0] or plain[0] == 200


async def test_g34_limit_is_required_and_cut_at_a_thousand(app: rest.Rest):
    wrong = [{}, *({"limit": value} for value in ("", "0", "-1", "x", "1.5", "１", "1e3"))]

    world = await limited(app)
    for operation in LISTS:
        for query in wrong:
            status, message = judged(await world.call(operation, **query))
            assert (status, "'limit'" in message) == (400, True), (operation.name, query, message)
        for limit in ("1", "1000", "1001", "9" * 18):
            status, message = judged(await world.call(operation, limit=limit))
            assert status == 200, (operation.name, limit, message)
