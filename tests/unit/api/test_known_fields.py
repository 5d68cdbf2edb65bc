"""Fields that a record shows and a request does not write: echoed as they are, or refused by name, never dropped."""

from dataclasses import dataclass
from dataclasses import field as made_of
from types import UnionType
from typing import Any, get_args

import msgspec
import pytest
from tests.support import lines
from tests.support.access_world import APPLICATION, PERSON, Undoing, World, settled
from tests.support.rest import Login, Rest

from tripline.api import families
from tripline.http import operations
from tripline.http.operations import Operation
from tripline.wire.rest.accounts import ApplicationRecord

SENSOR = {"serialNo": "new", "type": "GPS", "credentialsId": "n" * 20}
NEW_PERSON = {**PERSON, "email": "new@x.example"}
COMPANY = {"name": "New", "picName": "N", "picEmail": "new@admins.example", "picPasswd": "pass phrase"}
MOVED = {"latestTripId", "lastTripMsgType"}
"""A change ignores them: they move while vehicles drive, so what a form shows of them may be old."""


@dataclass(frozen=True)
class Asked:
    """Who sends the operation's request where, and the least that it needs."""

    who: str | None
    at: dict[str, str] = made_of(default_factory=dict)
    """For each id in the path the world's name of it."""
    needs: dict[str, Any] = made_of(default_factory=dict)
    ids: dict[str, str] = made_of(default_factory=dict)
    """For each field of the request that is an id the world's name of it."""

    def path(self, operation: Operation, world: World) -> str:
        return operation.path.format(**{name: world.ids[what] for name, what in self.at.items()})

    def body(self, world: World) -> dict[str, Any]:
        return {**self.needs, **{name: {"id": world.ids[what]} for name, what in self.ids.items()}}


MAKING = {
    "applications.submit": Asked(None, needs={**APPLICATION, "email": "b@new.example"}),
    "companies.register": Asked("operator", needs=COMPANY),
    "administrators.register": Asked("P", {"companyId": "P"}, NEW_PERSON),
    "users.register_director": Asked("P", needs=NEW_PERSON),
    "users.register_driver": Asked("P", needs=NEW_PERSON),
    "vehicles.register": Asked("P", needs={"vehicleNo": "new", "mileage": 1}),
    "sensors.register": Asked("P", needs=SENSOR),
    "candidates.register": Asked("operator", {"companyId": "operator"}, ids={"toCompanyId": "R"}),
    "delegations.delegate": Asked("P", {"toCompanyId": "R"}, ids={"vehicleId": "W"}),
    "rights.give_director": Asked("P", {"directorId": "director of P"}, ids={"vehicleId": "W"}),
    "rights.give_driver": Asked("P", {"driverId": "driver of P"}, ids={"vehicleId": "W"}),
}
CHANGING = {
    "companies.change": Asked("operator", {"companyId": "P"}),
    "companies.change_named": Asked("operator", ids={"id": "P"}),
    "administrators.change": Asked("P", {"companyId": "P", "userId": "admin of P"}),
    "users.change_director": Asked("P", {"directorId": "managing director"}),
    "users.change_driver": Asked("P", {"driverId": "driver of P"}),
    "vehicles.modify": Asked("P", {"vehicleId": "V"}),
    "sensors.modify": Asked("P", {"sensorId": "on V"}),
}
NO_RECORD_WRITTEN = {
    "applications.reject": "the body says why; the record is the outcome",
    "carrier.act": "test_carrier.py",
    "carrier.unpause": "the body names a line; the record is the outcome",
    "rpc.call": "other keys are ignored (spec/rpc Q4)",
    "auth.log_in": "no record",
    "auth.refresh": "no record",
    "passwords.change": "no record",
    "passwords.ask_for_link": "no record",
    "passwords.set_with_link": "no record",
    "disputes.open_dispute": "the body says what is contested; the record is the outcome",
    "disputes.decide_dispute": "the body decides; the record is the outcome",
    "trip_drivers.correct_driver": "the body names the driver; the record is the outcome",
    "share_links.make_of_trip": "as share_links.make",
    "share_links.make": "the body chooses what is shown; the record is the outcome",
    "policies.choose_policy": "no record",
    "policies.preview_policy": "no record",
    "rescorings.begin_rescoring": "the body asks; the record is the outcome",
    "pushes.resend": "no record",
    "maps.import_map": "no record",
    "imports.import_vehicles": "unknown columns are named in the report",
    "imports.import_sensors": "unknown columns are named in the report",
}
OPERATIONS = {
    operation.name: operation
    for family in families.FAMILIES
    for operation in operations.declared([family])
    if operation.request is not None
}


def _shown(operation: Operation) -> set[str]:
    """Names of the fields of every record that the operation may answer."""
    answer = ApplicationRecord if operation.name == "applications.submit" else operation.answer
    records = get_args(answer) if isinstance(answer, UnionType) else (answer,)
    return {field.encode_name for record in records for field in msgspec.structs.fields(record)}


def _read_only(operation: Operation) -> list[str]:
    return sorted(_shown(operation) - {field.encode_name for field in msgspec.structs.fields(operation.request)})


def _other(value: Any) -> Any:
    """A value of the same kind that is not this one."""
    match value:
        case {"id": _}:
            return {"id": "ffffffff-a4ed-11f0-8000-010000000042"}
        case bool():
            return not value
        case int() | float():
            return value + 1
        case _:
            return f"{value}x"


def _login(world: World, asked: Asked) -> Login | None:
    return None if asked.who is None else world.of(asked.who)


def test_every_operation_with_a_body_is_here() -> None:
    assert OPERATIONS.keys() == MAKING.keys() | CHANGING.keys() | NO_RECORD_WRITTEN.keys()


async def _undoing(app: Rest) -> World:
    """A world in which everything can be made again and again."""
    world = await settled(app)
    app.change(store=Undoing(app.store))
    return world


@pytest.mark.once("refused before a store is asked")
async def test_registration_refuses_what_only_the_record_shows_by_name(app: Rest) -> None:
    world = await _undoing(app)
    found = {}
    for name, asked in MAKING.items():
        operation = OPERATIONS[name]
        path, login, body = asked.path(operation, world), _login(world, asked), asked.body(world)
        refused = {
            field: await app.call(login, operation.method, path, {**body, field: "other"})
            for field in _read_only(operation)
        }
        nothing = dict.fromkeys(_read_only(operation))
        found[name] = refused, await app.call(login, operation.method, path, {**body, **nothing})

    for name, (refused, made) in found.items():
        assert refused, name
        for field, answer in refused.items():
            assert (answer.status_code, answer.json()["message"].split("'")[1]) == (400, field), name
        assert made.status_code == 200, made.text


async def test_registration_takes_what_the_record_shows_all_the_same(app: Rest) -> None:
    world = await _undoing(app)
    found = {}
    for name in MAKING.keys() - {"applications.submit"}:
        operation, asked = OPERATIONS[name], MAKING[name]
        own: dict[str, Any] = {"companyId": world.ids["P"], "status": "DEACTIVATED", "sensorCount": 0}
        own |= {"vehicleId": {"id": "13814000-1dd2-11b2-8080-808080808080"}, "additionalInfo": ""}
        if name != "rights.give_director":
            own["fromCompanyId"] = {"id": world.ids[asked.who or ""].upper()}
        echoed = {field: value for field, value in own.items() if field in _read_only(operation)}
        sent = {**asked.body(world), **echoed}
        path = asked.path(operation, world)
        found[name] = echoed, await app.call(_login(world, asked), operation.method, path, sent)

    for name, (echoed, made) in found.items():
        assert made.status_code == 200, made.text
        assert echoed or name == "companies.register"


@pytest.mark.parametrize("name", sorted(CHANGING))
async def test_change_takes_the_records_own_values_and_refuses_others_by_name(app: Rest, name: str) -> None:
    operation, asked = OPERATIONS[name], CHANGING[name]

    world = await settled(app)
    path, login, body = asked.path(operation, world), _login(world, asked), asked.body(world)
    before = (await app.call(login, "PUT", path, body)).json()
    echoed = (await app.call(login, "PUT", path, before)).json()
    fields = [field for field in _read_only(operation) if field in before and field not in (*MOVED, *asked.ids)]
    refused = {
        (field, sent): await app.call(login, "PUT", path, {**body, field: value})
        for field in fields
        for sent, value in (("other", _other(before[field])), ("null", None))
    }
    moved = {field: _other(before[field]) for field in MOVED & before.keys()}
    after = (await app.call(login, "PUT", path, {**body, **moved})).json()

    assert refused
    assert echoed == before == after
    for (field, sent), answer in refused.items():
        unset = before[field] in (None, {"id": "13814000-1dd2-11b2-8080-808080808080"})
        if sent == "null" and unset:
            assert answer.json() == before, field
        else:
            assert (answer.status_code, answer.json()["message"].split("'")[1]) == (400, field)


async def test_registration_keeps_every_other_field_of_its_body(app: Rest) -> None:
    world = await _undoing(app)
    found = {}
    for name in MAKING.keys() - {"applications.submit"}:
        operation, asked = OPERATIONS[name], MAKING[name]
        examples = msgspec.json.schema_components((operation.request,))[1]
        properties = examples[operation.request.__name__]["properties"]
        sent = {field: each["examples"][0] for field, each in properties.items() if "examples" in each}
        sent |= asked.body(world) | ({"serviceType": "ace"} if "serviceType" in sent else {})
        path = asked.path(operation, world)
        found[name] = sent, await app.call(_login(world, asked), operation.method, path, sent)

    for sent, made in found.values():
        assert made.status_code == 200, made.text
        shown = {field: value for field, value in sent.items() if field != "password"}
        assert {field: made.json().get(field) for field in shown} == shown


CARRIERS = ("subscription", "imsi", "iccid")


@pytest.mark.parametrize("field", ["mdn", "nwStatus", *CARRIERS])
async def test_registration_of_a_sensor_refuses_what_the_carrier_writes(app: Rest, admin: Login, field: str) -> None:
    info = {"extra": "cold store van", **({field: "1"} if field in CARRIERS else {})}
    body = {**SENSOR, "additionalInfo": info, **({} if field in CARRIERS else {field: "1"})}
    refusal = await app.refused(admin, "POST", "/sensor", body)
    unset = {**SENSOR, "mdn": None, "nwStatus": "", "additionalInfo": {"extra": "van", **dict.fromkeys(CARRIERS)}}
    made = await app.post(admin, "/sensor", unset)
    (status, code, message), extra, page = refusal, made["additionalInfo"], await app.get(admin, "/sensors", limit=9)

    assert (status, code) == (400, 31)
    assert message == f"Parameter '{field}' cannot be set here: the carrier writes it."
    assert extra == "van"
    assert len(page["data"]) == 1


async def test_change_of_a_carrier_linked_sensor_takes_its_own_values_and_refuses_others(app: Rest) -> None:
    scene = await lines.scene(app)
    sensor_id = await scene.opened()
    path, before = f"/sensor/{sensor_id}", await scene.sensor(sensor_id)
    info = {**before["additionalInfo"], "extra": "van"}
    changed = (await app.call(scene.admin, "PUT", path, {**before, "additionalInfo": info})).json()
    refused = [
        await app.refused(scene.admin, "PUT", path, {"additionalInfo": {"extra": "x", field: value}})
        for field in CARRIERS
        for value in ("1", None)
    ]
    refused += [await app.refused(scene.admin, "PUT", path, {"mdn": value}) for value in ("010", None)]
    after = await scene.sensor(sensor_id)

    assert changed == after == {**before, "additionalInfo": {**before["additionalInfo"], "extra": "van"}}
    assert [message.split("'")[1] for _, _, message in refused] == [
        *(field for field in CARRIERS for _ in range(2)),
        *("mdn", "mdn"),
    ]


async def test_change_of_a_sensor_whose_line_is_not_open_yet_takes_its_own_record(app: Rest, admin: Login) -> None:
    made = await app.post(admin, "/sensor", {"serialNo": "1", "type": "OBD", "additionalInfo": {"extra": "van"}})
    changed = await app.call(admin, "PUT", f"/sensor/{made['id']['id']}", {**made, "vendor": "Ace"})

    assert changed.json() == {**made, "vendor": "Ace"}
