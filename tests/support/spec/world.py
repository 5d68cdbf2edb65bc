"""The world in which the rows of the interface specification are checked: a real server with two service types, a
partner, people of every role, everything that can be registered, and a vehicle that was driven.
"""

import asyncio
import itertools
import json
import ssl
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support import answers, fleet, servers
from tests.support.device import CarefulDevice

START_MS = 1_780_000_000_000
TRIP_EVERY_MS = 3_600_000
DEGREES_PER_KMH = 0.00015 / 60
"""Northward in one second at 1 km/h; 60 km/h are about 16.7 m a second."""
PATIENCE_S = 30
SPEEDS = (
    [60.0] * 60
    + [65.0, 85.0, 85.0, 60.0]  # a sudden acceleration and a sudden deceleration
    + [60.0] * 60
    + [45.0, 30.0, 15.0, 0.0, 0.0, 0.0, 0.0, 14.0, 20.0, 26.0, 32.0, 38.0, 44.0, 50.0, 56.0]  # a stop, a start
    + [60.0] * 60
    + [66.0, 72.0, 78.0, 84.0, 90.0, 96.0, 102.0, 108.0, 114.0, 120.0, 126.0, 132.0, 138.0]  # overspeed
    + [130.0, 122.0, 114.0, 106.0, 98.0, 90.0, 82.0, 74.0, 66.0]
    + [60.0] * 60
)
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"

OPERATOR = {
    "name": "Ace",
    "region": "Seoul",
    "serviceType": "ace",
    "picName": "Kim",
    "picPhone": "010-1234-5678",
    "picEmail": "admin@ace.example",
    "picPasswd": fleet.PASSWORD,
    "picDivision": "Operations",
    "providerManagerName": "Lee",
    "providerManagerEmail": "lee@provider.example",
    "cooperationTask": "scores",
    "description": "an operator",
    "notifyHost": "http://127.0.0.1:9/push",
    "notifyMsgType": "1,2,300",
}
PARTNER = {
    "name": "Partner",
    "region": "Busan",
    "serviceType": "ace",
    "picName": "Park",
    "picPhone": "010-8765-4321",
    "picEmail": "admin@partner.example",
    "picPasswd": fleet.PASSWORD,
    "picDivision": "Fleet",
    "providerManagerName": "Choi",
    "providerManagerEmail": "choi@provider.example",
    "cooperationTask": "drives",
    "description": "a partner",
    "rpcNotifyHost": "127.0.0.1",
    "rpcNotifyPort": 9999,
    "rpcNotifyBasePath": "/rpc",
}
VEHICLE = {
    "vehicleNo": "12가3456",
    "vendor": "Hyundai",
    "modelCode": "AE",
    "modelName": "Ioniq",
    "modelYear": 2018,
    "missionType": "AUTO",
    "fuelType": "GASOLINE",
    "mileage": 45210.5,
    "category": "PERSONAL",
    "usage": "sales",
    "displacement": 1580,
    "additionalInfo": "parked at Seongsu",
}
SENSOR = {
    "serialNo": "SN-000001",
    "credentialsId": "aB3dE6gH9jK2mN5pQ8sT",
    "vendor": "Acme",
    "type": "OBD2",
    "activationRequired": False,
    "missionType": "AUTO",
    "additionalInfo": "shelf 3",
}

Record = dict[str, Any]


class World:
    """Who is there, what they registered, and requests as them. `None` asks without a token."""

    def __init__(self, server: servers.Running) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.api, timeout=20, event_hooks={"response": [answers.hold_read]})
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self._number = itertools.count(1)
        self._companies()
        self._people()
        self._things()
        self._relations()
        self._drive()

    def ask(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """One request; `path` is relative to /api/tre/v1 unless it begins with /api."""
        headers = {} if who is None else {"X-Authorization": f"Bearer {self.tokens[who]}"}
        headers.update(more.pop("headers", {}))
        address = path if path.startswith("/api") else f"/api/tre/v1{path}"
        return self.http.request(method, address, json=body, headers=headers, params=more or None)

    def good(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> Record:
        """The record of a request that must succeed."""
        answer = self.ask(who, method, path, body, **more)
        assert answer.status_code == 200, f"{method} {path} as {who}: {answer.text}"
        record: Record = answer.json()
        assert "errorCode" not in record
        return record

    def refused(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, int]:
        """HTTP status and errorCode of a request that must be refused."""
        answer = self.ask(who, method, path, body, **more)
        assert answer.status_code != 200, f"{method} {path} as {who}: {answer.text}"
        error = answer.json()
        assert error["status"] == answer.status_code
        return answer.status_code, error["errorCode"]

    def login(self, who: str, email: str, password: str = fleet.PASSWORD) -> Record:
        """Log in and keep the token."""
        pair = self.good(None, "POST", "/api/auth/login", {"username": email, "password": password})
        self.tokens[who] = pair["token"]
        return pair

    def fresh(self, stem: str = "N") -> str:
        """A name that nothing has."""
        return f"{stem}{next(self._number):05d}"

    def vehicle(self, who: str, **fields: Any) -> Record:
        """A new vehicle."""
        return self.good(who, "POST", "/vehicle", {"vehicleNo": self.fresh(), "mileage": 1, **fields})

    def sensor(self, who: str, **fields: Any) -> Record:
        """A new sensor of type GPS."""
        body = {"serialNo": self.fresh("SN"), "type": "GPS", "credentialsId": fleet.device_token(), **fields}
        return self.good(who, "POST", "/sensor", body)

    def person(self, who: str, role: str, name: str) -> Record:
        """A new director or driver, logged in under this name."""
        email = f"{name}@people.example"
        body = {"name": name, "email": email, "phone": "010", "password": fleet.PASSWORD}
        record = self.good(who, "POST", f"/{role}", body)
        self.ids[name] = record["id"]["id"]
        self.login(name, email)
        return record

    def device(self, token: str) -> CarefulDevice:
        """A device that knows this access token."""
        tls = ssl.create_default_context(cafile=str(self.server.ca))
        return CarefulDevice(token, self.server.device_host, self.server.device_port, tls)

    def page(self, who: str, path: str, **query: Any) -> Record:
        """A page."""
        return self.good(who, "GET", path, **{"limit": 100, **query})

    def _companies(self) -> None:
        data = self.server.data
        servers.run_here(
            "admin", "create", "--data", str(data), "--email", "root@x.example", "--password-stdin", stdin="pw"
        )
        self.login("platform", "root@x.example", "pw")
        for who, email in (("operator", OPERATOR["picEmail"]), ("other", "admin@other.example")):
            fleet.grant(data, str(email))
            self.login(who, str(email))
        self.operator = self.good("operator", "POST", "/company", OPERATOR)
        self.partner = self.good("operator", "POST", "/company", PARTNER)
        self.login("partner", str(PARTNER["picEmail"]))
        other = {**OPERATOR, "serviceType": "other", "name": "Other", "picEmail": "admin@other.example"}
        self.other = self.good("other", "POST", "/company", other)
        for who, record in (("operator", self.operator), ("partner", self.partner), ("other", self.other)):
            self.ids[who] = record["id"]["id"]

    def _people(self) -> None:
        self.director = self.person("operator", "director", "director")
        self.person("operator", "director", "second")
        self.driver = self.person("operator", "driver", "driver")
        self.person("partner", "director", "partner_director")
        self.person("partner", "driver", "partner_driver")

    def _things(self) -> None:
        self.full_vehicle = self.good("operator", "POST", "/vehicle", VEHICLE)
        self.full_sensor = self.good("operator", "POST", "/sensor", SENSOR)
        self.managed = self.vehicle("director")
        self.partner_vehicle = self.vehicle("partner")
        self.driven = self.vehicle("operator")
        self.box = self.sensor("operator")
        self.ids |= {
            name: record["id"]["id"]
            for name, record in {
                "vehicle": self.full_vehicle,
                "sensor": self.full_sensor,
                "managed": self.managed,
                "partner_vehicle": self.partner_vehicle,
                "driven": self.driven,
                "box": self.box,
            }.items()
        }
        self.mounted = self.good("operator", "POST", f"/sensor/{self.ids['box']}/vehicle/{self.ids['driven']}")

    def _relations(self) -> None:
        operator, partner, vehicle = (self.ids[name] for name in ("operator", "partner", "vehicle"))
        candidate = {"toCompanyId": {"id": partner}}
        chosen = {"vehicleId": {"id": vehicle}}
        self.candidate = self.good("operator", "POST", f"/company/{operator}/relation/company", candidate)
        path = f"/director/{self.ids['director']}/relation/vehicle"
        self.delegation = self.good("operator", "POST", path, chosen, headers={"toCompanyId": partner})
        self.good("operator", "POST", path, chosen)
        self.driver_right = self.good("operator", "POST", f"/driver/{self.ids['driver']}/relation/vehicle", chosen)

    def _drive(self) -> None:
        """Two trips of the driver on the driven vehicle, scored."""
        self.good(
            "operator", "POST", f"/driver/{self.ids['driver']}/relation/vehicle", {"vehicleId": self.driven["id"]}
        )
        self.good("operator", "POST", f"/vehicle/{self.ids['driven']}/activate")
        self.good("operator", "POST", f"/vehicle/{self.ids['driven']}/driver/{self.ids['driver']}")
        for trip in range(2):
            start_ms = START_MS + trip * TRIP_EVERY_MS
            self.publish(self.box["credentialsId"], drive(start_ms, trip + 1))
        self.scores = self.awaited(f"/api/tre/v1_3/vehicle/{self.ids['driven']}/analytics/drivingScore", 2)
        self.events = self.page("operator", f"/api/tre/v1_3/vehicle/{self.ids['driven']}/analytics/gpsEvent")["data"]

    def publish(self, token: str, bodies: list[bytes]) -> None:
        """Publish at QoS 1 until every message is acknowledged."""
        asyncio.run(asyncio.wait_for(self.device(token).play(bodies), PATIENCE_S))

    def awaited(self, path: str, count: int) -> list[Record]:
        """The records of a page, as soon as there are so many."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            records: list[Record] = self.page("operator", path)["data"]
            if len(records) >= count:
                return records
        raise AssertionError(f"not {count} records at {path} in time")


def drive(start_ms: int, number: int, *, step_ms: int = 1000, speeds: list[float] = SPEEDS) -> list[bytes]:
    """A trip northward at these speeds: its microtrips and its trip message."""
    bodies = []
    lat = 37.0
    for step, speed in enumerate(speeds):
        at_ms = start_ms + step * step_ms
        item = {"tid": number, "try": 1, "clt": at_ms, "lat": lat, "lon": 127.0, "sp": speed}
        lat += speed * DEGREES_PER_KMH * step_ms / 1_000
        bodies.append(json.dumps({"ty": 2, "ts": at_ms, "pld": item}).encode())
    end_ms = start_ms + (len(speeds) - 1) * step_ms
    ended = {"tid": number, "try": 1, "stt": start_ms, "edt": end_ms}
    return [*bodies, json.dumps({"ty": 1, "ts": end_ms, "pld": ended}).encode()]


def made(data: Path) -> tuple[servers.Running, World]:
    """A started server and its world; the caller stops the server."""
    server = servers.start(data)
    try:
        return server, World(server)
    except BaseException:
        server.kill()
        raise
