"""Required fields of requests: the document and the program agree.

Each request with required fields is sent without each of them (400, errorCode 31, naming it) and with them alone (200).
"""

from typing import Any

import msgspec
import pytest
from tests.support import answers, delegating, journeys, reference, rest

from tripline.domain.access import Authority
from tripline.scoring.rules import Rules
from tripline.store.scores import policies

KNOWN: dict[str, Any] = {
    "mileage": 12000,
    "credentialsId": "abcdefghij0123456789",
    "password": "correct horse battery",
    "newPassword": "correct horse battery",
    "picPasswd": "correct horse battery",
    "email": "new@people.example",
    "picEmail": "new@people.example",
    "type": "GPS",
    "policy": 2,
    "reason": "OTHER",
    "accept": True,
    "dryRun": True,
    "notifyHost": "http://203.0.113.10:9090/noti",
}
"""Values that a field accepts; any other is a text."""
ELSEWHERE = {
    "auth.log_in": "its own credentials: tests/unit/api/test_auth.py",
    "auth.refresh": "a refresh token: tests/unit/api/test_auth.py",
    "passwords.change": "the caller's password: tests/unit/api/test_passwords.py",
    "passwords.set_with_link": "a mailed token: tests/unit/api/test_passwords.py",
    "carrier.unpause": "a paused line: tests/unit/api/test_carrier.py",
    "carrier.unpause.1": "a paused line: tests/unit/api/test_carrier.py",
    "rpc.call": "a device that is there: tests/system/test_rpc.py",
}
"""Operations whose success needs a secret, so that here only what is missing is asked."""


def required() -> dict[str, tuple[str, str, list[str]]]:
    """By operation: method, path, and the required fields of its body as the document says."""
    found = {}
    for path, methods in answers.document()["paths"].items():
        for method, described in methods.items():
            content = described.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None and "$ref" in content["schema"]:
                schema = answers.document()["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
                if schema.get("required"):
                    found[described["operationId"]] = (method.upper(), path, schema["required"])
    return found


def sent(names: list[str], known: dict[str, Any]) -> dict[str, Any]:
    return {name: known.get(name, KNOWN.get(name, f"some {name}")) for name in names}


async def scene(app):
    """Who may make each request, and the ids that its path and body name."""
    _, admin = await app.operator("ace")
    operator_id = str(admin.company_id)
    partner, _ = await app.partner(admin, "partner@x.example")
    vehicle = await app.post(admin, "/vehicle", {"vehicleNo": "V", "mileage": 1})
    sensor = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "s" * 20})
    director = await app.person(admin, Authority.DIRECTOR, "director")
    driver = await app.person(admin, Authority.DRIVER, "driver")
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    form = sent(["serviceName", "companyName", "contactName", "mobile", "introduction"], {})
    await app.post(None, "/api/noauth/application", {**form, "email": "applicant@x.example"})
    listed = await app.get(root, "/applications", limit=1)
    await app.store.write(lambda tx: policies.keep(tx, Rules(), now_ms=1))
    trip_id = await app.store.write(delegating.scored_trip(app, admin, vehicle["id"]["id"], driver))
    whose = {"company_id": admin.company_id, "vehicle_id": vehicle["id"]["id"]}
    contested = await app.store.write(lambda tx: journeys.keep_trip(tx, app.ids, created_ms=1, **whose)[1])
    path = {
        "tripId": trip_id,
        "disputeId": await app.store.write(delegating.dispute(app, contested, driver)),
        "companyId": operator_id,
        "toCompanyId": partner["id"]["id"],
        "vehicleId": vehicle["id"]["id"],
        "sensorId": sensor["id"]["id"],
        "directorId": director.user_id,
        "driverId": driver.user_id,
        "applicationId": listed["data"][0]["id"]["id"],
    }
    body = {"toCompanyId": partner["id"], "vehicleId": vehicle["id"], "id": {"id": operator_id}}
    body["driverId"] = driver.user_id
    return {"admin": admin, "root": root, "none": None}, path, body


def caller(name: str) -> str:
    """The account that may make the request."""
    return {"applications": "root", "auth": "none"}.get(name.split(".")[0], "admin")


@pytest.mark.once("refused before a store is asked")
async def test_request_without_a_required_field_is_refused_by_its_name(app: rest.Rest):
    logins, ids, known = await scene(app)
    answered = {}
    for name, (method, path, names) in required().items():
        body = sent(names, known)
        for left_out in names:
            fields = {each: value for each, value in body.items() if each != left_out}
            answered[name, left_out] = await app.refused(logins[caller(name)], method, path.format_map(ids), fields)

    told = {each: (status, code, f"'{each[1]}'" in text) for each, (status, code, text) in answered.items()}
    assert len(told) > 40
    assert told == dict.fromkeys(told, (400, 31, True))


@pytest.mark.parametrize("name", [name for name in required() if name not in ELSEWHERE])
async def test_request_with_the_required_fields_alone_is_done(app: rest.Rest, name):
    method, path, names = required()[name]

    logins, ids, known = await app.staged(scene)
    if name == "delegations.delegate":
        candidate = {"toCompanyId": known["toCompanyId"]}
        await app.post(logins["admin"], f"/company/{ids['companyId']}/relation/company", candidate)
    answer = await app.call(logins[caller(name)], method, path.format_map(ids), sent(names, known))

    assert answer.status_code == 200, answer.text


def test_only_a_choice_has_no_required_field():
    without = {
        each.name
        for each in reference.every_operation()
        if each.method == "POST" and isinstance(each.request, type) and issubclass(each.request, msgspec.Struct)
    } - required().keys()

    # One action, or a batch of them; messages of a selection, or all; a link with its defaults.
    assert without == {"carrier.act", "pushes.resend", "share_links.make", "share_links.make_of_trip"}
