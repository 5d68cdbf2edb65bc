"""The published client application's sequence, and the early sample programs' ways, against a running server.

`App` is written as that client is: it sends what it sends, keeps and reads what it reads, and checks nothing where it
checks nothing (spec/rest 1, 2 and 6). A value that would break its screen raises here.
"""

import http.client
import json
import math
import ssl
from urllib.parse import urlsplit

import pytest
from tests.support import fleet, servers
from tests.support.worlds import World

from tripline.domain.ids import PLACEHOLDER
from tripline.simulator import recordings

DRIVE = recordings.FOLDER / "drive_03.csv"
V1 = "/api/tre/v1"
PASSWORD = "it's (the) *long* phrase!"
"""Holds the five characters that the client's log-in percent-encodes."""
OBD_MS = 1_780_000_000_000
ID = {"id": str}

COMPANY = {
    "id": ID,
    "createdTime": int,
    "name": str,
    "serviceType": str,
    "master": bool,
    "masterId": ID,
    "picName": str,
    "picPhone": None,
    "picEmail": str,
    "picDivision": None,
    "providerManagerName": None,
    "providerManagerEmail": None,
    "cooperationTask": None,
    "description": None,
    "region": None,
    "tokenPrefix": str,
}
VEHICLE = {
    "id": ID,
    "createdTime": int,
    "companyId": ID,
    "directorId": ID,
    "currentDriverId": ID,
    "latestTripId": ID,
    "serviceType": str,
    "vehicleNo": str,
    "modelName": None,
    "modelCode": None,
    "vendor": None,
    "sensorCount": int,
    "status": str,
    "additionalInfo": None,
    "modelYear": None,
    "usage": None,
    "category": None,
    "missionType": None,
    "fuelType": None,
    "displacement": int,
    "mileage": int,
    "delegateUserCount": int,
    "lastTripMsgType": str,
}
SENSOR = {
    "id": ID,
    "createdTime": int,
    "vehicleId": ID,
    "companyId": ID,
    "directorId": ID,
    "status": str,
    "vendor": None,
    "type": str,
    "additionalInfo": None,
    "lastTripMsgType": str,
    "activationRequired": bool,
    "vehicleNo": str,
    "serialNo": str,
    "credentialsId": str,
}
TRIP = {
    "id": ID,
    "createdTime": int,
    "companyId": ID,
    "vehicleId": ID,
    "sensorId": ID,
    "userId": ID,
    "deviceType": str,
    "serviceType": str,
    "startTs": int,
    "endTs": int,
    "startDt": str,
    "endDt": str,
    "payload": dict,
}
MICROTRIP = {
    "id": ID,
    "createdTime": int,
    "tripId": ID,
    "sensorId": ID,
    "vehicleId": ID,
    "companyId": ID,
    "deviceType": str,
    "ts": int,
    "payload": dict,
}
USER = {
    "id": ID,
    "createdTime": int,
    "companyId": ID,
    "name": str,
    "phone": None,
    "vehicleId": ID,
    "latestTripId": ID,
    "email": str,
    "authority": str,
    "password": None,
    "additionalInfo": None,
    "passwordUpdatedTime": int,
}


class FailedError(Exception):
    """The client shows this sentence to its user."""


class App:
    """One user's client, with what it keeps between pages."""

    def __init__(self, listener: str) -> None:
        self._http = http.client.HTTPConnection(urlsplit(listener).netloc, timeout=20)
        self.kept: dict[str, str] = {}

    def close(self) -> None:
        self._http.close()

    def log_in(self, username: str, password: str) -> None:
        """Its HTTP library sends the text as a form, with five characters encoded in it."""
        text = json.dumps({"username": username, "password": password}, ensure_ascii=False, separators=(",", ":"))
        for character in "!'()*":
            text = text.replace(character, f"%{ord(character):02X}")
        answer = self.ask("POST", "/api/auth/login", text, "application/x-www-form-urlencoded")
        if "errorCode" in answer:
            raise FailedError(answer["message"])
        for key in answer:
            self.kept[key] = answer[key]

    def get(self, path: str) -> dict:
        """A page's data; the HTTP status is not looked at."""
        answer = self.ask("GET", path)
        if "errorCode" in answer:
            raise FailedError(answer["message"])
        return answer

    def ask(self, method: str, path: str, text: str = "", kind: str = "application/json") -> dict:
        headers = {"Content-Type": kind, "X-Authorization": f"Bearer {self.kept.get('token', '')}"}
        self._http.request(method, path, text.encode(), headers)
        response = self._http.getresponse()
        assert response.headers["Content-Type"] == "application/json;charset=UTF-8"
        return json.loads(response.read())

    def choose(self) -> list[tuple[str, str]]:
        """The vehicles to choose from: id and number."""
        company = self.get(f"{V1}/company/me")["id"]["id"]
        vehicles = self.get(f"{V1}/company/{company}/vehicles?limit=10")["data"]
        if not vehicles:
            raise FailedError("no vehicle")
        return [(each["id"]["id"], each["vehicleNo"]) for each in vehicles]

    def sensor_of(self, vehicle: str) -> str | None:
        """The sensor that the client sends commands to."""
        company = self.get(f"{V1}/company/me")["id"]["id"]
        sensors = self.get(f"{V1}/sensors?limit=10&companyId={company}")["data"]
        return next((each["id"]["id"] for each in sensors if each["vehicleId"]["id"] == vehicle), None)

    def trips(self, vehicle: str) -> list[tuple[str, str, str, str, float | None]]:
        """The rows of its table: trip, from, until, driver's name, temperature of the coolant."""
        rows = []
        for trip in self.get(f"{V1}/vehicle/{vehicle}/trips?limit=10")["data"]:
            users = trip["userId"] if isinstance(trip["userId"], list) else [trip["userId"]]
            names = ", ".join(self.name_of(each["id"]) for each in users)
            warm = None if trip["payload"] is None or "ctp" not in trip["payload"] else trip["payload"]["ctp"] + 0
            rows.append((trip["id"]["id"], trip["startDt"], trip["endDt"], names, warm))
        return rows

    def name_of(self, user: str) -> str:
        """Asked with the placeholder too; a refusal leaves the cell empty."""
        answer = self.ask("GET", f"{V1}/driver/{user}")
        return "" if "errorCode" in answer else answer["name"]

    def way(self, trip: str) -> list[dict]:
        """The points on its map, oldest first, and its gauges: the list is turned round."""
        points = []
        for record in reversed(self.get(f"{V1}/trip/{trip}/microtrips?limit=20")["data"]):
            items = record["payload"] if isinstance(record["payload"], list) else [record["payload"]]
            for item in items:
                x, y = math.radians(item["lon"]), math.log(math.tan(math.pi / 4 + math.radians(item["lat"]) / 2))
                assert math.isfinite(x)
                assert math.isfinite(y)
                gauges = {name: item[name] + 0 for name in ("el", "vv", "sp") if name in item}
                flags = int(str(item["em"]), 16) if "em" in item else 0
                points.append({"ts": record["ts"] + 0, "flags": flags, **gauges})
        return points


def holds(record, shape, path="answer"):
    """Whether the record has exactly these keys and types; the differences, for reading."""
    if isinstance(shape, dict):
        if not isinstance(record, dict):
            return [f"{path} is {record!r}"]
        different = [f"{path}.{key}" for key in record.keys() ^ shape.keys()]
        common = [key for key in shape if key in record]
        return different + [each for key in common for each in holds(record[key], shape[key], f"{path}.{key}")]
    return [] if (record is None if shape is None else type(record) is shape) else [f"{path} is {record!r}"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A fleet of three: one drove with a driver (the simulator), one with an OBD box, one never."""
    with (
        servers.serving(tmp_path_factory.mktemp("app") / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        new = World(server, company, iter((1, 2, 3)))
        gps, obd = new.box(), new.box("OBD2")
        new.box()
        person = {"name": "박서준", "email": "o'neil!(1)*@people.example", "password": PASSWORD}
        driver = company.post(f"{V1}/driver", person)["id"]["id"]
        company.post(f"{V1}/driver/{driver}/relation/vehicle", {"vehicleId": {"id": gps.vehicle_id}})
        company.post(f"{V1}/vehicle/{gps.vehicle_id}/activate")
        company.post(f"{V1}/vehicle/{gps.vehicle_id}/driver/{driver}")
        company.post(
            f"{V1}/company/{company.record['id']['id']}/admin",
            {"name": "Kim", "email": "kim's!(boss)*@people.example", "password": PASSWORD},
        )
        listener = ["--host", server.device_host, "--port", str(server.device_port), "--ca", str(server.ca)]
        token = {"TRIPLINE_DEVICE_TOKEN": gps.token}
        played = servers.run_here("replay", *listener, str(DRIVE), "--speed", "0", variables=token)
        assert played.returncode == 0, played.stderr
        new.send(obd, *(json.dumps(body).encode() for body in obd_drive()))
        yield new


def obd_drive():
    """Messages as devices send them: numbers in strings, flags as hex text, as a number, and none."""
    sample = {"tid": 42, "lat": "35.158201", "lon": 129.059633, "sp": "46", "rpm": 1830, "vv": "12.7", "el": "40"}
    yield {"ty": 4, "ts": OBD_MS, "pld": {**sample, "clt": OBD_MS, "em": "28"}}
    later = [{**sample, "clt": OBD_MS + step * 1000, "em": 28, "sp": 46.5} for step in (1, 2)]
    yield {"ty": 4, "ts": OBD_MS + 2000, "pld": later}
    yield {"ty": 3, "ts": OBD_MS + 2000, "pld": {"tid": 42, "stt": OBD_MS, "edt": OBD_MS + 2000, "ctp": "84"}}


@pytest.fixture
def app(world):
    new = App(world.server.analytics)
    yield new
    new.close()


ADMIN = "kim's!(boss)*@people.example"


def test_client_application_sees_the_fleet_and_its_drives(world, app):
    app.log_in(ADMIN, PASSWORD)
    vehicles = app.choose()
    sensors = [app.sensor_of(vehicle) for vehicle, _ in vehicles]
    tables = [app.trips(vehicle) for vehicle, _ in vehicles]

    assert [number for _, number in vehicles] == ["01A0001", "02A0002", "03A0003"]
    assert None not in sensors
    [(driven, start, end, name, warm)], [(measured, *_, nobody, warmth)], never = tables
    assert (len(start), len(end), name, warm) == (19, 19, "박서준", None)
    assert (nobody, warmth, never) == ("", 84, [])
    points = recordings.read(DRIVE).points
    assert app.way(driven) == [{"ts": each.time_ms, "flags": 0, "sp": each.speed_kmh} for each in points[-20:]]
    gauges = {"flags": 0x28, "el": 40, "vv": 12.7}
    assert app.way(measured) == [{"ts": OBD_MS, **gauges, "sp": 46}, *[{"ts": OBD_MS + 2000, **gauges, "sp": 46.5}] * 2]


def test_log_in_answer_is_flat_text_that_can_be_kept_key_by_key(app):
    app.log_in(ADMIN, PASSWORD)

    assert {key: type(value) for key, value in app.kept.items()} == {"token": str, "refreshToken": str}


@pytest.mark.parametrize("username", [ADMIN, "o'neil!(1)*@people.example"])
def test_wrong_password_sent_as_a_form_is_told_in_the_body(app, username):
    with pytest.raises(FailedError, match=r"^\w.*\.$"):
        app.log_in(username, PASSWORD + "x")
    app.log_in(username, PASSWORD)


def test_answers_have_exactly_the_keys_and_types_that_clients_know(world, app):
    app.log_in(ADMIN, PASSWORD)
    company = app.get(f"{V1}/company/me")
    own = company["id"]["id"]
    vehicle, sensor = (
        next(each for each in app.get(path)["data"] if each["lastTripMsgType"])
        for path in (f"{V1}/company/{own}/vehicles?limit=10", f"{V1}/sensors?limit=10&companyId={own}")
    )
    trip = app.get(f"{V1}/vehicle/{vehicle['id']['id']}/trips?limit=10")["data"][0]
    microtrip = app.get(f"{V1}/trip/{trip['id']['id']}/microtrips?limit=20")["data"][0]
    driver = app.get(f"{V1}/driver/{trip['userId']['id']}")

    assert holds(company, COMPANY) == []
    assert holds(vehicle, VEHICLE) == []
    assert holds(sensor, SENSOR) == []
    assert holds(trip, TRIP) == []
    assert holds(microtrip, MICROTRIP) == []
    assert holds(driver, USER) == []


def test_last_page_of_each_list_has_the_three_keys(world, app):
    app.log_in(ADMIN, PASSWORD)
    own = app.get(f"{V1}/company/me")["id"]["id"]

    pages = [
        app.get(f"{V1}/{path}") for path in (f"company/{own}/vehicles?limit=10", f"sensors?limit=10&companyId={own}")
    ]

    assert [(len(page.pop("data")), page) for page in pages] == [(3, {"nextPageLink": None, "hasNext": False})] * 2


def test_placeholder_driver_is_told_with_an_error_code(app):
    app.log_in(ADMIN, PASSWORD)

    answer = app.ask("GET", f"{V1}/driver/{PLACEHOLDER}")

    assert holds(answer, {"status": int, "message": str, "errorCode": int, "timestamp": int}) == []
    assert (answer["status"], answer["errorCode"]) == (404, 32)


@pytest.mark.parametrize(
    ("listener", "name", "scheme"),
    [
        ("analytics", "X-authorization", "bearer "),
        ("analytics", "X-Authorization", "Bearer "),
        ("api", "x-authorization", "bearer  "),
        ("api", "X-AUTHORIZATION", "BEARER "),
    ],
)
def test_early_programs_are_let_in_by_every_listener(world, app, listener, name, scheme):
    app.log_in(ADMIN, PASSWORD)
    early = http.client.HTTPConnection(urlsplit(getattr(world.server, listener)).netloc, timeout=20)

    early.request("GET", f"{V1}/company/me", headers={name: scheme + app.kept["token"]})
    response = early.getresponse()
    record = json.loads(response.read())
    early.close()

    # They resolve on 200, 201 and 409 and take anything else for an exception.
    assert response.status == 200
    assert holds(record, COMPANY) == []


def test_early_program_registers_over_the_analytics_listener_with_answers_it_resolves(world):
    early = http.client.HTTPConnection(urlsplit(world.server.analytics).netloc, timeout=20)

    def post(path, body, headers):
        early.request("POST", path, json.dumps(body), headers)
        response = early.getresponse()
        return response.status, json.loads(response.read())

    plain = {"Content-Type": "application/json"}
    logged, tokens = post("/api/auth/login", {"username": ADMIN, "password": PASSWORD}, plain)
    bearer = {**plain, "X-authorization": f"bearer {tokens['token']}"}
    made, vehicle = post(f"{V1}/vehicle", {"vehicleNo": "early", "mileage": 1}, bearer)
    again, refusal = post(f"{V1}/vehicle", {"vehicleNo": "early", "mileage": 1}, bearer)
    early.close()

    assert (logged, made, again) == (200, 200, 400)
    assert vehicle["vehicleNo"] == "early"
    assert (refusal["status"], refusal["errorCode"]) == (400, 31)


def test_old_transport_security_is_refused(tmp_path):
    with servers.serving(tmp_path / "data", "--https") as server:
        address = urlsplit(server.api)
        context = ssl.create_default_context(cafile=str(server.ca))
        with pytest.warns(DeprecationWarning):
            context.maximum_version = ssl.TLSVersion.TLSv1
            context.minimum_version = ssl.TLSVersion.TLSv1
        old = http.client.HTTPSConnection(address.hostname, address.port, context=context, timeout=20)

        with pytest.raises(ssl.SSLError):
            old.request("GET", "/health/live")
        old.close()
