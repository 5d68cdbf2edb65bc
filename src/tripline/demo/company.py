"""The demo's customer: registers a company with vehicles, sensors and drivers over REST, and reads their trips.

It uses only published operations, like a customer's program.
"""

import asyncio
import contextlib
import json
import secrets
import string
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from tripline.demo.server import Server
from tripline.simulator.office import Office, accepted

EMAIL: Final = "admin@demo.example"
LOGIN_FILE: Final = "demo-login.json"
"""File with the body of the log-in request, readable only by the owner, so that it need not be typed or printed."""
OVERSPEED: Final = 5
"""Type of overspeed events."""
_POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Vehicle:
    """A registered vehicle, its mounted sensor's token, and its driver."""

    id: str
    number: str
    driver_id: str
    token: str = field(repr=False)

    @property
    def token_file(self) -> str:
        """Name of the file with the token, readable only by the owner."""
        return f"demo-token-{self.number}"


class Cause(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A reason for lost points, with the keys of a harsh event or of a stretch over the limit in the explanation."""

    event_ty: int = OVERSPEED
    begin_ts: int
    cost: float
    begin_speed: float = 0.0
    end_speed: float = 0.0
    max_speed: float = 0.0
    limit: float = 0.0
    seconds: float = 0.0
    road: str | None = None
    """Name of the road, for overspeed; None: on no map."""


class Driven(msgspec.Struct, frozen=True):
    """One trip: time, distance, score or the reason for having none, and GPS events by type."""

    trip_id: str
    vehicle: str
    start: str
    score: float | None
    km: float | None
    why_not: str
    counts: Counter[int]


class Company(Office):
    """A logged-in administrator of an operator company. Every operation raises `OfficeError`."""

    def __init__(self, http: httpx.AsyncClient, password: str, data: Path) -> None:
        super().__init__(http, EMAIL, password)
        self._data = data

    @staticmethod
    @contextlib.asynccontextmanager
    async def registered(server: Server) -> AsyncIterator["Company"]:
        """Grant the account, register the company and log in."""
        password = secrets.token_urlsafe(16)
        await server.granted(EMAIL, password)
        async with httpx.AsyncClient(base_url=server.api, timeout=20, trust_env=False) as http:
            company = Company(http, password, server.data)
            company._keep(LOGIN_FILE, json.dumps({"username": EMAIL, "password": password}))
            await company._log_in()
            body = {"name": "Demo Fleet", "serviceType": "demo", "picName": "Demo", "picEmail": EMAIL}
            await company._post("/api/tre/v1/company", {**body, "picPasswd": password})
            await company._log_in()
            yield company

    async def director(self, name: str) -> str:
        """Register a director; return the id."""
        director = {"name": name, "email": f"{name.lower().replace(' ', '.')}@demo.example"}
        return _id(await self._post("/api/tre/v1/director", {**director, "password": secrets.token_urlsafe(16)}))

    async def driven_vehicle(self, number: str, *, vendor: str, model: str, driver: str, director_id: str) -> Vehicle:
        """Register a vehicle with its maker and managing director, as `vehicle_with_sensor`, and set its driver."""
        made = {"vendor": vendor, "modelName": model}
        vehicle = await self.vehicle_with_sensor(number, made=made, driver=driver)
        await self._post(f"/api/tre/v1/vehicle/{vehicle.id}/director/{director_id}")
        await self._post(f"/api/tre/v1/vehicle/{vehicle.id}/driver/{vehicle.driver_id}")
        return vehicle

    async def vehicle_with_sensor(
        self, number: str, *, made: Mapping[str, str] | None = None, driver: str | None = None
    ) -> Vehicle:
        """Register and activate a vehicle, and register a driver and a GPS sensor mounted in the vehicle."""
        vehicle = await self._post("/api/tre/v1/vehicle", {"vehicleNo": number, "mileage": 12_000, **(made or {})})
        token = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(20))
        sensor = {"serialNo": f"SN-{number}", "type": "GPS", "credentialsId": token}
        sensor_id = _id(await self._post("/api/tre/v1/sensor", sensor))
        person = {"name": driver or f"Driver of {number}", "email": f"{number.lower()}@demo.example"}
        driver_id = _id(await self._post("/api/tre/v1/driver", {**person, "password": secrets.token_urlsafe(16)}))
        await self._post(f"/api/tre/v1/sensor/{sensor_id}/vehicle/{_id(vehicle)}")
        await self._post(f"/api/tre/v1/vehicle/{_id(vehicle)}/activate")
        registered = Vehicle(_id(vehicle), number, driver_id, token)
        self._keep(registered.token_file, token)
        return registered

    async def driven(self, vehicle: Vehicle, expected: int) -> list[Driven]:
        """Every trip of the vehicle, oldest first, once each has a score or a reason for having none."""
        while True:
            trips = [trip async for trip in self._records(f"/api/tre/v1/vehicle/{vehicle.id}/trips")]
            answers = [await self._score(_id(trip)) for trip in trips]
            if len(trips) == expected and all(answer is not None for answer in answers):
                break
            await asyncio.sleep(_POLL_S)
        counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
        async for event in self._records(f"/api/tre/v1_3/vehicle/{vehicle.id}/analytics/gpsEvent"):
            counts[event["tripId"]["id"]][event["eventTy"]] += 1
        found = [
            _driven(vehicle, trip, answer, counts[_id(trip)])
            for trip, answer in zip(trips, answers, strict=True)
            if answer is not None
        ]
        return sorted(found, key=lambda trip: trip.start)

    async def causes(self, trip_id: str) -> list[Cause]:
        """The reasons for the trip's lost points."""
        told = await self._json("GET", f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore/explanation")
        return msgspec.convert([*told["harshEvents"], *told["overspeed"]], list[Cause])

    async def accumulated(self, vehicle: Vehicle) -> tuple[float, float, int]:
        """Score, kilometres and number of trips over all scored trips of the vehicle."""
        total = await self._json("GET", f"/api/tre/v1_3/vehicle/{vehicle.id}/analytics/drivingScore/stat")
        return total["score"], total["distance"] / 1000, total["count"]

    async def _score(self, trip_id: str) -> dict[str, Any] | None:
        """The score record, or the answer with the reason for having none; None while the trip waits for its score."""
        answer = await self._request("GET", f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore")
        record: dict[str, Any] = answer.json()
        if "errorCode" not in record or "is not scored" in record["message"]:
            return record
        return None

    async def _post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        record: dict[str, Any] = accepted(await self._request("POST", path, json=body))
        return record

    def _keep(self, name: str, text: str) -> None:
        path = self._data / name
        path.touch(mode=0o600)
        path.write_text(text)


def _id(record: dict[str, Any]) -> str:
    text: str = record["id"]["id"]
    return text


def _driven(vehicle: Vehicle, trip: dict[str, Any], answer: dict[str, Any], counts: Counter[int]) -> Driven:
    scored = "errorCode" not in answer
    return Driven(
        trip_id=_id(trip),
        vehicle=vehicle.number,
        start=trip["startDt"],
        score=answer["score"] if scored else None,
        km=answer["dist"] / 1000 if scored else None,
        why_not="" if scored else answer["message"],
        counts=counts,
    )
