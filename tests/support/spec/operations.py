"""Checks of the operations of registration, log-in and delegation, their rules, the authentication chapter, and what
the chapters on errors and limits say about them.
"""

import base64
import json

from tests.support import fleet, servers
from tests.support.spec.checks import row
from tests.support.spec.fields import PLACEHOLDER
from tests.support.spec.world import OPERATOR, UNKNOWN, World

EVERYONE = ("platform", "operator", "partner", "other", "director", "second", "driver", "partner_director")
ADMINS = ("operator", "partner", "other")


def only(world: World, path: str, may: tuple[str, ...]) -> None:
    """Only these may POST here: an empty object reaches the check of the body for them, and for nobody else."""
    for who in EVERYONE:
        expected = (400, 31) if who in may else (403, 20)
        assert world.refused(who, "POST", path, {}) == expected, who
    assert world.refused(None, "POST", path, {}) == (401, 10)


@row("Registration and login: POST /api/auth/login", "Authentication: rule 2")
def login_gives_tokens(world: World) -> None:
    body = {"username": OPERATOR["picEmail"], "password": OPERATOR["picPasswd"]}
    pairs = [world.good(None, "POST", "/api/auth/login", body) for _ in range(2)]
    for pair in pairs:
        assert pair.keys() == {"token", "refreshToken"}
        assert [part.count(".") for part in pair.values()] == [2, 2]
        header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in pair["token"].split(".")[:2])
        assert (header["alg"], claims["sub"]) == ("HS512", OPERATOR["picEmail"])
    assert len({token for pair in pairs for token in pair.values()}) == 4


@row("Registration and login: POST /api/tre/v1/company", "Registration and login: rule 1")
def companies_are_registered_by_operators_and_granted_accounts(world: World) -> None:
    email = f"{world.fresh('granted')}@x.example"
    fleet.grant(world.server.data, email)
    world.login("granted", email)
    body = {**OPERATOR, "serviceType": world.fresh("type"), "picEmail": email}
    assert world.good("granted", "POST", "/company", body)["master"] is True
    plain = {"name": "P", "picName": "P", "picEmail": f"{world.fresh('p')}@x.example", "picPasswd": fleet.PASSWORD}
    partner = world.good("other", "POST", "/company", plain)
    assert (partner["serviceType"], partner["masterId"]) == (world.other["serviceType"], world.other["id"])
    assert world.refused("operator", "POST", "/company", {**plain, "serviceType": "elsewhere"}) == (400, 31)
    for who in ("director", "driver"):
        assert world.refused(who, "POST", "/company", plain) == (403, 20)


@row("Limits: serviceType", "Errors: error while registering a device")
def names_that_are_taken_are_refused_where_they_were_sent(world: World) -> None:
    email = f"{world.fresh('second')}@x.example"
    body = {**OPERATOR, "picEmail": email}
    assert world.refused("platform", "POST", "/company", body) == (400, 31)
    again = {"serialNo": world.full_sensor["serialNo"], "type": "GPS", "credentialsId": fleet.device_token()}
    answer = world.ask("operator", "POST", "/sensor", again)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, 31)
    assert "serialNo" in answer.json()["message"]


@row("Registration and login: POST /api/tre/v1/vehicle")
def vehicles_are_registered_by_administrators_and_directors(world: World) -> None:
    only(world, "/vehicle", (*ADMINS, "director", "second", "partner_director"))


@row("Registration and login: POST /api/tre/v1/sensor")
def sensors_are_registered_by_administrators(world: World) -> None:
    only(world, "/sensor", ADMINS)


@row("Registration and login: POST /api/tre/v1/director")
def directors_are_registered_by_administrators(world: World) -> None:
    only(world, "/director", ADMINS)
    person(world, "director")


@row("Registration and login: POST /api/tre/v1/driver")
def drivers_are_registered_by_administrators(world: World) -> None:
    only(world, "/driver", ADMINS)
    person(world, "driver")


def person(world: World, role: str) -> None:
    """Each of the four fields is taken; name, e-mail and password are required."""
    body = {"name": "N", "email": f"{world.fresh('n')}@n.example", "phone": "010", "password": fleet.PASSWORD}
    for name in ("name", "email", "password"):
        missing = {key: value for key, value in body.items() if key != name}
        answer = world.ask("operator", "POST", f"/{role}", missing)
        assert (answer.status_code, answer.json()["message"]) == (400, f"Parameter '{name}' can't be empty!")
    record = world.good("operator", "POST", f"/{role}", body)
    assert [record[name] for name in ("name", "email", "phone")] == ["N", body["email"], "010"]


@row(
    "Registration and login: POST /api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    "States and transitions: DEACTIVATED on POST sensor/{sensorId}/vehicle/{vehicleId}, activationRequired is false",
)
def sensor_is_mounted_by_its_company(world: World) -> None:
    sensor, vehicle = world.sensor("operator"), world.vehicle("operator")
    path = f"/sensor/{sensor['id']['id']}/vehicle/{vehicle['id']['id']}"
    for who in ("partner", "other", "driver", "partner_director"):
        assert world.refused(who, "POST", path) == (403, 20)
    assert world.refused("operator", "POST", f"/sensor/{UNKNOWN}/vehicle/{vehicle['id']['id']}") == (404, 32)
    assert world.refused("operator", "POST", f"/sensor/x/vehicle/{vehicle['id']['id']}") == (400, 31)
    mounted = world.good("operator", "POST", path)
    assert (mounted["status"], mounted["vehicleId"], mounted["id"]) == ("ACTIVATED", vehicle["id"], sensor["id"])


@row("Registration and login: rule 2")
def director_manages_what_he_registers(world: World) -> None:
    assert world.managed["directorId"] == world.director["id"]
    assert world.full_vehicle["directorId"] == PLACEHOLDER


@row("Registration and login: rule 3")
def partner_s_vehicle_is_the_operator_s_too(world: World) -> None:
    path = f"/vehicle/{world.ids['partner_vehicle']}"
    (delegation,) = world.page("partner", f"{path}/companies")["data"]
    assert (delegation["fromCompanyId"], delegation["toCompanyId"]) == (world.partner["id"], world.operator["id"])
    assert world.good("operator", "GET", path)["id"] == world.partner_vehicle["id"]
    undo = f"/company/{world.ids['operator']}/relation/vehicle/{world.ids['partner_vehicle']}"
    assert world.refused("partner", "DELETE", undo) == (403, 20)


@row(
    "Registration and login: rule 4",
    "Errors: vehicle creation with mileage missing or 0",
    "Limits: vehicle mileage",
)
def vehicle_without_mileage_is_refused(world: World) -> None:
    for more in ({}, {"mileage": 0}, {"mileage": None}):
        answer = world.ask("operator", "POST", "/vehicle", {"vehicleNo": world.fresh(), **more})
        error = answer.json()
        assert (answer.status_code, error["errorCode"]) == (400, 31)
        assert error["message"] == "Parameter 'mileage' can't be empty!"
    assert world.refused("operator", "POST", "/vehicle", {"vehicleNo": "x", "mileage": -1}) == (400, 31)
    assert world.vehicle("operator", mileage=0.1)["mileage"] == 0.1


@row("Registration and login: rule 5", "States and transitions: (none) on POST sensor, always")
def what_is_new_is_deactivated(world: World) -> None:
    assert world.full_vehicle["status"] == world.full_sensor["status"] == "DEACTIVATED"
    assert world.full_sensor["vehicleId"] == PLACEHOLDER


@row("Registration and login: rule 6")
def people_log_in_with_their_address(world: World) -> None:
    for email in (OPERATOR["picEmail"], "admin@partner.example", "director@people.example", "driver@people.example"):
        body = {"username": email, "password": fleet.PASSWORD}
        assert world.good(None, "POST", "/api/auth/login", body).keys() == {"token", "refreshToken"}


@row("Authentication: rule 1")
def service_account_is_obtained_by_an_application(world: World) -> None:
    assert world.refused(None, "POST", "/api/noauth/application", {}) == (400, 31)
    assert world.refused("operator", "GET", "/applications", limit=1) == (403, 20)
    assert world.good("platform", "GET", "/applications", limit=1)["data"] == []


@row("Authentication: rule 3", "Analytics (all GET): X-Authorization")
def every_other_operation_needs_the_header(world: World) -> None:
    path = f"/api/tre/v1_3/vehicle/{world.ids['driven']}/analytics/drivingScore"
    for asked in ("/company/me", path):
        assert world.refused(None, "GET", asked, limit=1) == (401, 10)
        for value in ("", "Bearer", "Basic eHg6eHg=", "Bearer x"):
            assert world.refused(None, "GET", asked, headers={"X-Authorization": value}, limit=1) == (401, 10)
        for scheme in ("Bearer", "bearer", "BEARER"):
            headers = {"x-authorization": f"{scheme}  {world.tokens['operator']}"}
            world.good(None, "GET", asked, headers=headers, limit=1)


@row("Authentication: rule 4")
def permissions_depend_on_the_role(world: World) -> None:
    path = f"/vehicle/{world.ids['managed']}"
    seen = [world.ask(who, "GET", path).status_code for who in ("operator", "director", "second", "driver", "other")]
    assert seen == [200, 200, 403, 403, 403]


@row("Authentication: rule 6")
def refresh_token_is_good_for_refreshing_only(world: World) -> None:
    wrong = {"username": OPERATOR["picEmail"], "password": "wrong"}
    assert world.refused(None, "POST", "/api/auth/login", wrong) == (401, 10)
    right = {"username": OPERATOR["picEmail"], "password": OPERATOR["picPasswd"]}
    pair = world.good(None, "POST", "/api/auth/login", right)
    again = world.good(None, "POST", "/api/auth/token", {"refreshToken": pair["refreshToken"]})
    assert again.keys() == {"token", "refreshToken"}
    headers = {"X-Authorization": f"Bearer {again['refreshToken']}"}
    assert world.refused(None, "GET", "/company/me", headers=headers) == (401, 10)
    assert world.refused(None, "POST", "/api/auth/token", {"refreshToken": pair["token"]}) == (401, 10)


@row("Delegation: POST /api/tre/v1/company/{companyId}/relation/company")
def candidate_is_registered_by_the_delegating_company(world: World) -> None:
    path = f"/company/{world.ids['partner']}/relation/company"
    chosen = {"toCompanyId": world.operator["id"]}
    for who in ("operator", "other", "partner_director"):
        assert world.refused(who, "POST", path, chosen) == (403, 20)
    assert world.refused("partner", "POST", path, {}) == (400, 31)
    assert world.refused("partner", "POST", path, {"toCompanyId": {"id": UNKNOWN}}) == (404, 32)
    assert world.refused("partner", "POST", path, {"toCompanyId": {"id": "x"}}) == (400, 31)
    record = world.good("partner", "POST", path, chosen)
    assert (record["fromCompanyId"], record["toCompanyId"]) == (world.partner["id"], world.operator["id"])


@row("Delegation: POST /api/tre/v1/director/{directorId}/relation/vehicle")
def vehicle_is_delegated_to_a_company_by_header(world: World) -> None:
    vehicle = world.vehicle("operator")
    path = f"/director/{UNKNOWN}/relation/vehicle"  # only its form counts (G13)
    chosen, named = {"vehicleId": vehicle["id"]}, {"toCompanyId": world.ids["partner"]}
    assert world.refused("partner", "POST", path, chosen, headers=named) == (403, 20)
    assert world.refused("operator", "POST", path, chosen, headers={"toCompanyId": "x"}) == (400, 31)
    delegation = world.good("operator", "POST", path, chosen, headers=named)
    assert (delegation["toCompanyId"], delegation["vehicleNo"]) == (world.partner["id"], vehicle["vehicleNo"])
    assert world.good("partner", "GET", f"/vehicle/{vehicle['id']['id']}")["id"] == vehicle["id"]


@row("Delegation: POST /api/tre/v1/director/{directorId}/relation/vehicle #2")
def vehicle_is_delegated_to_a_director(world: World) -> None:
    path = f"/director/{world.ids['second']}/relation/vehicle"
    for who in ("platform", "driver"):
        assert world.refused(who, "POST", path, {"vehicleId": world.managed["id"]}) == (403, 20)
    assert world.refused("director", "POST", path, {}) == (400, 31)
    right = world.good("director", "POST", path, {"vehicleId": world.managed["id"]})
    assert (right["userRole"], right["userId"]["id"]) == ("DELEGATED_DIRECTOR", world.ids["second"])
    assert world.good("second", "GET", f"/vehicle/{world.ids['managed']}")["delegateUserCount"] == 1
    world.good("director", "DELETE", f"{path}/{world.ids['managed']}")


@row("Delegation: POST /api/tre/v1/driver/{driverId}/relation/vehicle")
def vehicle_is_delegated_to_a_driver(world: World) -> None:
    vehicle = world.vehicle("director")
    path = f"/driver/{world.ids['driver']}/relation/vehicle"
    for who in ("platform", "driver", "second"):
        assert world.refused(who, "POST", path, {"vehicleId": vehicle["id"]}) == (403, 20)
    right = world.good("director", "POST", path, {"vehicleId": vehicle["id"]})
    assert (right["userRole"], right["userId"]["id"]) == ("DRIVER", world.ids["driver"])
    assert world.good("driver", "GET", f"/vehicle/{vehicle['id']['id']}")["id"] == vehicle["id"]


@row("Delegation: rule 1")
def vehicles_go_to_candidates_of_the_same_service_type(world: World) -> None:
    plain = {"name": "C", "picName": "C", "picEmail": f"{world.fresh('c')}@x.example", "picPasswd": fleet.PASSWORD}
    receiver = world.good("operator", "POST", "/company", plain)
    chosen = {"vehicleId": world.vehicle("operator")["id"]}
    path = f"/company/{receiver['id']['id']}/relation/vehicle"
    candidates = f"/company/{world.ids['operator']}/relation/company"
    assert world.refused("operator", "POST", path, chosen)[0] == 400
    assert world.refused("operator", "POST", candidates, {"toCompanyId": world.other["id"]})[0] == 400
    world.good("operator", "POST", candidates, {"toCompanyId": receiver["id"]})
    listed = f"/company/{world.ids['operator']}/relation/companies"
    assert receiver["id"] in [each["toCompanyId"] for each in world.page("operator", listed)["data"]]
    world.good("operator", "POST", path, chosen)


@row("Delegation: rule 2")
def director_rights_are_given_within_reach(world: World) -> None:
    vehicle = world.vehicle("director")
    chosen = {"vehicleId": vehicle["id"]}
    path = f"/director/{world.ids['second']}/relation/vehicle"
    abroad = f"/director/{world.ids['partner_director']}/relation/vehicle"
    assert world.refused("second", "POST", path, chosen) == (403, 20)
    assert world.refused("partner", "POST", abroad, chosen) == (403, 20)
    assert world.refused("operator", "POST", abroad, chosen) == (403, 20)
    assert world.refused("director", "POST", abroad, chosen)[0] in (400, 403)
    world.good("operator", "POST", f"/company/{world.ids['partner']}/relation/vehicle", chosen)
    assert world.good("partner", "POST", abroad, chosen)["companyId"] == world.partner["id"]
    world.good("partner", "DELETE", f"{abroad}/{vehicle['id']['id']}")
    assert world.good("director", "POST", abroad, chosen)["userRole"] == "DELEGATED_DIRECTOR"
    assert world.good("partner_director", "GET", f"/vehicle/{vehicle['id']['id']}")["id"] == vehicle["id"]


@row("Delegation: rule 3")
def driving_rights_are_given_within_reach(world: World) -> None:
    vehicle = world.vehicle("director")
    chosen = {"vehicleId": vehicle["id"]}
    ours, theirs = (f"/driver/{world.ids[who]}/relation/vehicle" for who in ("driver", "partner_driver"))
    assert world.refused("operator", "POST", theirs, chosen) == (403, 20)
    assert world.refused("director", "POST", theirs, chosen) == (403, 20)
    assert world.refused("partner", "POST", theirs, chosen) == (403, 20)
    world.good("operator", "POST", f"/company/{world.ids['partner']}/relation/vehicle", chosen)
    assert world.good("partner", "POST", theirs, chosen)["userRole"] == "DRIVER"
    world.good("director", "POST", f"/director/{world.ids['second']}/relation/vehicle", chosen)
    assert world.good("second", "POST", ours, chosen)["userRole"] == "DRIVER"


@row("Errors: successful REST call")
def success_is_200_with_a_json_body(world: World) -> None:
    for method, path in (("GET", "/company/me"), ("GET", f"/vehicle/{world.ids['vehicle']}")):
        answer = world.ask("operator", method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json;charset=UTF-8")
        assert isinstance(answer.json(), dict)


@row("Limits: device access token (credentialsId)")
def access_token_has_twenty_characters(world: World) -> None:
    body = {"serialNo": world.fresh(), "type": "GPS"}
    for token in ("a" * 19, "a" * 21):
        assert world.refused("operator", "POST", "/sensor", {**body, "credentialsId": token}) == (400, 31)
    token = world.fresh("credential-----")
    assert (
        len(token),
        world.good("operator", "POST", "/sensor", {**body, "credentialsId": token})["credentialsId"],
    ) == (20, token)


@row("Limits: bulk registration file format in the portal")
def files_are_csv_only(world: World) -> None:
    headers = {"X-Authorization": f"Bearer {world.tokens['operator']}"}
    bulk = "/api/tre/v1/vehicles/bulk"
    number = world.fresh()
    for content, status in ((f"vehicleNo,mileage\n{number},1\n".encode(), 200), (b"PK\x03\x04", 400), (b"[{}]", 400)):
        assert world.http.post(bulk, content=content, headers=headers).status_code == status
    assert servers.run("import", "vehicles", "--help").returncode == 0
