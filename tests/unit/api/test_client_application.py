"""The whole sequence of a client application in use, with what it reads and the types it depends on.

It takes an answer with a top-level `errorCode` for a failure and never looks at the HTTP status; it sends its log-in as
a form with JSON inside, the word `bearer` in small letters, and a Content-Type on requests without a body
(spec/rest 1, 3.1, 6).
"""

import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
from tests.support import journeys, rest
from tests.support.rest import Rest

from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.store.transactions import WriteTx

PASSWORD = "it's (100%) *safe*!"
MICROTRIPS: list[Any] = [
    {"tid": 1, "lat": "37.51", "lon": 127.02, "sp": "31", "em": "0A", "el": None, "vv": "n/a"},
    [{"lat": 37.52, "lon": 127.03, "sp": 32.5, "el": 1, "vv": 2, "em": "FF"}, {"lat": 37.53, "lon": "127.04"}],
]


class Client:
    """The application's HTTP layer: knows nothing but the answers' bodies."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.session: dict[str, str] = {}

    async def log_in(self, username: str, password: str) -> None:
        """Keep every top-level key of the answer."""
        # Its library escapes what encodeURIComponent leaves alone, inside the JSON text.
        text = json.dumps({"username": username, "password": password})
        for char in "!'()*":
            text = text.replace(char, f"%{ord(char):02X}")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = (await self._http.post("/api/auth/login", content=text.encode(), headers=form)).json()
        assert "errorCode" not in answer
        assert all(isinstance(value, str) for value in answer.values())
        self.session.update(answer)

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The answer's body, whatever its status."""
        headers = {"x-authorization": f"bearer {self.session['token']}", "content-type": "application/json"}
        answer = await self._http.get(f"/api/tre/v1{path}", params=query, headers=headers)
        record: dict[str, Any] = answer.json()
        return record


async def _world(app: Rest) -> tuple[str, str]:
    """A fleet with one drive by a driver and one without; the administrator's address and the driver's name."""
    _, admin = await app.operator("taxi", picPasswd=PASSWORD)
    driver = await app.person(admin, Authority.DRIVER, "oh")
    vehicle = (await app.post(admin, "/vehicle", {"vehicleNo": "12가3456", "mileage": 1}))["id"]["id"]
    for number in range(2):
        body = {"serialNo": f"SN-{number}", "type": "GPS", "credentialsId": f"ACE0{number}abcdefghijklmno"}
        sensor = (await app.post(admin, "/sensor", body))["id"]["id"]
        if number == 0:
            await app.post(admin, f"/sensor/{sensor}/vehicle/{vehicle}")
            on = {"company_id": admin.company_id, "vehicle_id": vehicle, "sensor_id": sensor}

    def work(tx: WriteTx) -> None:
        no, _ = journeys.keep_trip(
            tx, app.ids, created_ms=rest.NOW_MS, payload={"tid": 1, "ctp": "88"}, user_id=driver.user_id, **on
        )
        for at, payload in enumerate(MICROTRIPS):
            journeys.keep_microtrip(tx, app.ids, no, created_ms=rest.NOW_MS + 1 + at, payload=payload)
        journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS + 10, **on)

    await app.store.write(work)
    return "admin@taxi.example", "oh"


async def test_client_application_finds_everything_it_reads(app: Rest) -> None:
    username, driver_name = await _world(app)
    client = Client(app.http)

    await client.log_in(username, PASSWORD)
    company = await client.get("/company/me")
    vehicles = await client.get(f"/company/{company['id']['id']}/vehicles", limit=10)
    sensors = await client.get("/sensors", limit=10, companyId=company["id"]["id"])
    (vehicle,) = vehicles["data"]
    trips = await client.get(f"/vehicle/{vehicle['id']['id']}/trips", limit=10)
    drives = [await client.get(f"/trip/{trip['id']['id']}/microtrips", limit=20) for trip in trips["data"]]
    drivers = [await client.get(f"/driver/{trip['userId']['id']}") for trip in trips["data"]]
    latest = [await client.get(f"/vehicle/{vehicle['id']['id']}/{kind}/latest") for kind in ("trip", "microtrip")]

    for answer in (company, vehicles, sensors, trips, *drives, *latest):
        assert "errorCode" not in answer
    assert company["tokenPrefix"].isalnum()
    assert len(company["tokenPrefix"]) == 5
    assert vehicle["vehicleNo"] == "12가3456"
    assert [sensor["vehicleId"]["id"] for sensor in sensors["data"]] == [vehicle["id"]["id"], ids.PLACEHOLDER]
    still_open, closed = trips["data"]
    assert (closed["startDt"], closed["endDt"]) == ("2025-10-09 17:53:20", "2025-10-09 17:54:20")
    assert closed["payload"] == {"tid": 1, "ctp": 88}
    assert (still_open["endDt"], still_open["payload"]) == (None, None)
    assert drives[0]["data"] == []
    points = [point for microtrip in drives[1]["data"] for point in _points(microtrip["payload"])]
    assert [microtrip["ts"] for microtrip in drives[1]["data"]] == [rest.NOW_MS + 2 - 500, rest.NOW_MS + 1 - 500]
    assert len(points) == 3
    for point in points:
        _project(point)
    assert drivers[0]["errorCode"] == 32
    assert isinstance(drivers[0]["message"], str)
    assert drivers[1]["name"] == driver_name
    assert [latest[0]["id"], latest[1]["tripId"]] == [still_open["id"], closed["id"]]


def _points(payload: Any) -> list[dict[str, Any]]:
    return payload if isinstance(payload, list) else [payload]


def _project(point: dict[str, Any]) -> None:
    """What the application does with a point: breaks when a type is not the expected one."""
    assert math.isfinite(point["lat"] + point["lon"])
    int(point.get("em", "0"), 16)
    for key in ("el", "vv", "sp"):
        assert isinstance(point.get(key, 0), int | float)


async def test_password_with_a_real_escape_in_it_works_for_both_kinds_of_client(app: Rest) -> None:
    found = []
    for number, password in enumerate(("100%21", "a!b", quote("!'()*"))):
        await app.operator(f"s{number}", picPasswd=password)
        body = json.dumps({"username": f"admin@s{number}.example", "password": password}).encode()
        for kind in (
            "application/json",
            "application/x-www-form-urlencoded",
            "APPLICATION/X-WWW-FORM-URLENCODED; x=y",
        ):
            answer = await app.http.post("/api/auth/login", content=body, headers={"Content-Type": kind})
            found += answer.json()

    assert found == ["token", "refreshToken"] * 9


def _failing(change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    try:
        _project(change({"lat": 1.0, "lon": 2.0, "sp": 3, "em": "0A"}))
    except (AssertionError, KeyError, TypeError, ValueError):
        return True
    return False


def test_the_checks_of_this_test_can_fail() -> None:
    changes: dict[str, Any] = {"lat": "1", "lon": math.inf, "sp": "3", "em": "xy", "vv": None}

    assert [name for name, value in changes.items() if _failing(lambda point, n=name, v=value: {**point, n: v})] == [
        *changes
    ]
