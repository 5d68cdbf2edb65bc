"""Registers a company with vehicles and sensors over a running server's REST, as a company would."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support import answers, servers

PASSWORD = "a long pass phrase"


@dataclass(frozen=True)
class Registered:
    """One vehicle and the sensor mounted in it."""

    vehicle_id: str
    vehicle_no: str
    sensor_id: str
    token: str


def device_token() -> str:
    """A fresh credentialsId: 20 letters and digits."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(20))


def grant(data: Path, email: str, password: str = PASSWORD, *, variables: Mapping[str, str] | None = None) -> None:
    """A granted service account, made by the command that an operator uses, with these settings."""
    command = ("admin", "grant", "--data", str(data), "--email", email, "--password-stdin")
    done = servers.run_here(*command, stdin=password, variables=variables)
    assert done.returncode == 0, done.stderr


class Company:
    """An operator company's administrator, logged in."""

    def __init__(
        self, api: str, data: Path, *, service_type: str = "test-fleet", variables: Mapping[str, str] | None = None
    ) -> None:
        self.http = httpx.Client(base_url=api, timeout=20, event_hooks={"response": [answers.hold_read]})
        email = f"admin@{service_type}.example"
        grant(data, email, variables=variables)
        self._login(email, PASSWORD)
        self.record = self.post(
            "/api/tre/v1/company",
            {
                "name": service_type,
                "serviceType": service_type,
                "picName": "Admin",
                "picEmail": email,
                "picPasswd": PASSWORD,
            },
        )
        self._login(email, PASSWORD)

    def __enter__(self) -> "Company":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def _login(self, email: str, password: str) -> None:
        self.http.headers.pop("X-Authorization", None)
        answer = self.post("/api/auth/login", {"username": email, "password": password})
        self.http.headers["X-Authorization"] = f"Bearer {answer['token']}"

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """POST that must succeed."""
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        record: dict[str, Any] = answer.json()
        return record

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """GET that must succeed."""
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        record: dict[str, Any] = answer.json()
        return record

    def vehicle_with_sensor(self, number: int, *, sensor_type: str = "GPS", category: str | None = None) -> Registered:
        """Register a vehicle and a sensor and mount it."""
        record: dict[str, Any] = {"vehicleNo": f"{number:02d}A{number:04d}", "mileage": 1000}
        if category is not None:
            record["category"] = category
        vehicle = self.post("/api/tre/v1/vehicle", record)
        token = device_token()
        sensor = self.post(
            "/api/tre/v1/sensor", {"serialNo": f"SN-{number:06d}", "type": sensor_type, "credentialsId": token}
        )
        vehicle_id, sensor_id = vehicle["id"]["id"], sensor["id"]["id"]
        self.post(f"/api/tre/v1/sensor/{sensor_id}/vehicle/{vehicle_id}")
        return Registered(vehicle_id, vehicle["vehicleNo"], sensor_id, token)
