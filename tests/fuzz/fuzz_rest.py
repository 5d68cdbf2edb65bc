"""Random requests to every route: `python -m tests.fuzz.fuzz_rest SECONDS [SEED]`.

Requests are made of real ids, tokens, fields and query values, mixed with hostile ones. Whatever is asked, the answer
is a success without `errorCode` or the error body, never a 5xx; nobody ever reads a row of the other company. A short
run is a test.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from tests.support import journeys, scores
from tests.support import rest as support
from tests.support.rest import Login, Rest

from tripline.api.families import FAMILIES
from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.http import operations
from tripline.store import positions
from tripline.store.transactions import WriteTx

NAMES = [
    "name",
    "serviceType",
    "picName",
    "picEmail",
    "picPasswd",
    "vehicleNo",
    "mileage",
    "modelYear",
    "displacement",
    "missionType",
    "serialNo",
    "credentialsId",
    "type",
    "activationRequired",
    "email",
    "password",
    "phone",
    "username",
    "refreshToken",
    "rpcNotifyPort",
    "notifyMsgType",
    "additionalInfo",
    "id",
    "status",
]
TEXTS = ("", " ", "a", "AUTO", "a@b", "x" * 20, "x" * 256, "x" * 5000, "\ud800", "\x00", "\u202e", "가", "%s", "'--")
VALUES = (*TEXTS, 0, 1, -1, 1.5, 2018, 1e308, 10**30, 2**63, True, None, [], {}, [1], {"id": ids.PLACEHOLDER})
BODIES = ("", "{", "[]", "null", "1e400", '{"a":' * 3000, "[" * 3000, '{"mileage":1e400}', '{"a":1,"a":2}', "\ufeff{}")
RAW = (
    *(body.encode() for body in BODIES),
    b"\xff",
    b'{"vehicleNo":"\\ud800","mileage":1}',
    b'{"mileage":%b}' % (b"9" * 5000),
)
QUERIES = [
    "limit",
    "startTime",
    "endTime",
    "ascOrder",
    "idOffset",
    "textSearch",
    "textOffset",
    "companyId",
    "serialNo",
    "since",
    "x",
]
NUMBERS = ("1", "2", "20", "100", "1000", "0", "-1", "9" * 30, "1e3", "1700000000", "99999999999999", "-" + "9" * 17)
QUERY_VALUES = (*NUMBERS, "", "x", "٣", "true", "FALSE", "%", "\x00", ids.PLACEHOLDER, "가", "\udcff")
SECRET = "belongs to the stranger"
"""Stands in every record of the company that none of the fuzzer's accounts may read."""
SECRET_LAT = 56.78901
"""Where that company's vehicle is: a position has no text."""


ENDING = {"/api/auth/logout", "/api/auth/changePassword", "/api/tre/v1/sessions"}
"""Requests that end the session of whoever asks: after a few of them everything would be answered 401."""


class World:
    """The application with two companies, and what requests are made of."""

    def __init__(self, rest: Rest, rng: random.Random) -> None:
        self.rest, self.rng = rest, rng
        self.logins: list[Login | None] = [None]
        self.known: list[str] = [ids.PLACEHOLDER, "x", "", "..", "%2e%2e", "a/b"]
        self.fitting: dict[str, list[str]] = {}
        """Ids of the right sort for each name in a path: one of the fuzzer's company, one of the stranger's."""
        self.routes = [
            (str(method), path)
            for handler in operations.handlers_of(FAMILIES)
            for path in sorted(handler.paths)
            for method in sorted(handler.http_methods)
            if path.startswith("/api") and path not in ENDING
        ]

    async def fill(self) -> None:
        """Two companies with a vehicle, a sensor, a trip, a microtrip, a score and an event each."""
        for service_type, told in (("own", "plain"), ("foreign", SECRET)):
            _, admin = await self.rest.operator(service_type, description=told)
            more = {"additionalInfo": told}
            vehicle = await self.rest.post(admin, "/vehicle", {"vehicleNo": service_type, "mileage": 1, **more})
            body = {"serialNo": service_type, "type": "GPS", "credentialsId": service_type.ljust(20, "x"), **more}
            sensor = await self.rest.post(admin, "/sensor", body)
            vehicle_id, sensor_id = vehicle["id"]["id"], sensor["id"]["id"]
            people = [
                await self.rest.person(admin, role, f"{role}.{service_type}")
                for role in (Authority.DIRECTOR, Authority.DRIVER)
            ]
            on = {"company_id": admin.company_id, "vehicle_id": vehicle_id, "sensor_id": sensor_id}
            number = len(self.known)

            def work(tx: WriteTx, on: Any = on, number: int = number, told: str = told) -> list[str]:
                no, trip_id = journeys.keep_trip(
                    tx,
                    self.rest.ids,
                    created_ms=self.rest.now_ms,
                    closed_ms=self.rest.now_ms,
                    payload={"x": told},
                    **on,
                )
                microtrip = journeys.keep_microtrip(
                    tx, self.rest.ids, no, created_ms=self.rest.now_ms, payload={"x": told}
                )
                score = scores.add_score(tx, number, on["vehicle_id"], created_ms=self.rest.now_ms)
                lat = SECRET_LAT if told == SECRET else 35.0
                positions.write(
                    tx, (on["vehicle_id"], self.rest.now_ms, lat, 129.0, 50.0, 90.0, False, None, on["sensor_id"])
                )
                event = scores.add_event(tx, number, on["vehicle_id"], created_ms=1, event_ms=1, info=json.dumps(told))
                return [trip_id, microtrip, score, event]

            rows = await self.rest.store.write(work)
            self.known += [str(admin.company_id), vehicle_id, sensor_id, *rows]
            self.known += [person.user_id for person in people]
            if service_type == "own":
                self.logins += [admin, *people]
            sorts = {"companyId": str(admin.company_id), "vehicleId": vehicle_id, "sensorId": sensor_id}
            for name, known in {**sorts, "driverId": people[1].user_id, "tripId": rows[0]}.items():
                self.fitting.setdefault(name, []).append(known)
        self.logins.append(await self.rest.account("root@x.example", Authority.SYS_ADMIN))
        self.logins.append(await self.rest.account("granted@x.example", Authority.COMPANY_ADMIN))

    async def request(self) -> tuple[Login | None, httpx.Response]:
        """One random request."""
        rng = self.rng
        method, path = rng.choice(self.routes)
        if rng.random() < 0.05:
            method = rng.choice(("PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
        parts = [self._id(part) if part.startswith("{") else part for part in path.split("/")]
        login = rng.choice(self.logins)
        headers = {
            "Content-Type": rng.choice(("application/json", "text/plain", "application/x-www-form-urlencoded", "é"))
        }
        if login is not None:
            token = login.token if rng.random() < 0.95 else self._damaged(login.token)
            headers["X-Authorization"] = f"{rng.choice(('Bearer', 'bearer', 'BEARER  '))} {token}"
        query = [(rng.choice(QUERIES), self._query_value()) for _ in range(rng.randint(0, 4))]
        if rng.random() < 0.7:
            query.append(("limit", rng.choice(("1", "2", "20"))))
        url = httpx.URL(
            "http://127.0.0.1",
            raw_path="/".join(parts).encode("utf-8", "surrogateescape")
            + b"?"
            + "&".join(f"{name}={_quoted(value)}" for name, value in query).encode(),
        )
        sent = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        return login, await self.rest.http.request(method, url, headers=sent, content=self._body())

    def _id(self, part: str) -> str:
        fitting = self.fitting.get(part.strip("{}").split(":")[0], self.known)
        known = self.rng.choice(fitting if self.rng.random() < 0.7 else self.known)
        return known.upper() if self.rng.random() < 0.2 else known

    def _query_value(self) -> str:
        return self.rng.choice(QUERY_VALUES) if self.rng.random() < 0.5 else self.rng.choice(self.known)

    def _damaged(self, token: str) -> str:
        at = self.rng.randrange(len(token))
        return token[:at] + self.rng.choice(("", ".", "A", "_", "é")) + token[at + self.rng.randint(0, 3) :]

    def _body(self) -> bytes:
        if self.rng.random() < 0.2:
            return self.rng.choice(RAW)
        names = self.rng.sample(NAMES, self.rng.randint(0, len(NAMES)))
        return json.dumps({name: self._value(name) for name in names}).encode()

    def _value(self, name: str) -> Any:
        likely = {"mileage": 1, "picEmail": f"m{self.rng.randrange(1000)}@x", "email": f"p{self.rng.randrange(1000)}@x",
                  "credentialsId": str(self.rng.randrange(10**19, 10**20)), "vehicleNo": str(self.rng.randrange(10**6)),
                  "type": "GPS", "name": "n", "picName": "n", "password": "p", "picPasswd": "p",
                  "serialNo": str(self.rng.randrange(10**6))}  # fmt: skip
        return likely[name] if name in likely and self.rng.random() < 0.85 else self.rng.choice(VALUES)


def _quoted(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in value.encode("utf-8", "surrogateescape"))


def judge(login: Login | None, answer: httpx.Response) -> None:
    """Raise when the answer breaks a promise."""
    told = f"{answer.request.method} {answer.request.url} -> {answer.status_code} {answer.text[:300]}"
    assert answer.status_code < 500, told
    if answer.request.method in ("HEAD", "OPTIONS"):
        return
    if not answer.headers["content-type"].startswith("application/json"):
        return
    record = answer.json()
    assert isinstance(record, dict), told
    if answer.status_code == 200:
        assert "errorCode" not in record, told
        hidden = login is None or login.authority is not Authority.SYS_ADMIN
        told_secret = SECRET in answer.text or str(SECRET_LAT) in answer.text
        assert not (hidden and told_secret), f"told the stranger's rows: {told}"
    else:
        assert record.keys() == {"status", "message", "errorCode", "timestamp"}, told
        assert record["status"] == answer.status_code, told
        assert record["errorCode"] in (2, 10, 11, 20, 30, 31, 32), told


async def _play(rest: Rest, seed: int, requests: int, until: float) -> Counter[int]:
    world = World(rest, random.Random(seed))
    await world.fill()
    seen: Counter[int] = Counter()
    while seen.total() < requests and time.monotonic() < until:
        login, answer = await world.request()
        judge(login, answer)
        seen[answer.status_code] += 1
    return seen


def run(folder: Path, *, seed: int, requests: int, until: float = float("inf")) -> Counter[int]:
    """How often each status was answered."""
    return support.run(folder, lambda rest: _play(rest, seed, requests, until))


def main() -> None:
    until = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seen: Counter[int] = Counter()
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            seen += run(Path(folder), seed=seed, requests=20_000, until=until)
        seed += 1
    print(f"{seen.total()} requests: {dict(sorted(seen.items()))}")


if __name__ == "__main__":
    main()
