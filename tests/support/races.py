"""Requests that start at the same moment, over as many connections, against one running server, and what may be left.

A race is prepared anew in each round; its rivals change places from round to round, so that now this one is ahead, now
that. After the rounds the database is read beside the server: nothing names what was deleted, no rule is broken.
"""

import asyncio
import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import consistency, dangling, servers, stores

V1 = "/api/tre/v1"
PASSWORD = "a long pass phrase"
PATIENCE_S = 30

Outcome = tuple[int, int | None]
"""HTTP status and errorCode of an answer."""
OK, TAKEN, STATE = (200, None), (400, 31), (400, 30)
NOBODY, OUTSIDE, GONE, BUSY = (401, 10), (403, 20), (404, 32), (409, 2)


@dataclass(frozen=True)
class Answer:
    """What one request got."""

    status: int
    body: dict[str, Any]

    @property
    def outcome(self) -> Outcome:
        """Status and errorCode."""
        return self.status, self.body.get("errorCode")


@dataclass(frozen=True)
class Ask:
    """One request; the path is relative to /api/tre/v1 unless it begins with /api. Text bodies are sent as CSV."""

    token: str | None
    method: str
    path: str
    body: Any = None

    def send(self, connection: http.client.HTTPConnection) -> Answer:
        """The answer to the request."""
        text = isinstance(self.body, str)
        headers = {"Content-Type": "text/csv" if text else "application/json"}
        if self.token is not None:
            headers["X-Authorization"] = f"Bearer {self.token}"
        content = self.body if text else None if self.body is None else json.dumps(self.body)
        path = self.path if self.path.startswith("/api") else V1 + self.path
        connection.request(self.method, path, None if content is None else content.encode(), headers)
        response = connection.getresponse()
        return Answer(response.status, json.loads(response.read()))


@dataclass(frozen=True)
class Race:
    """One round: the rivals, the outcomes that may come together, and what is read back: as seen, and as it must be."""

    rivals: Sequence[Ask]
    allowed: Collection[tuple[Outcome, ...]]
    left: Callable[[Sequence[Answer]], tuple[Any, Any]] = lambda _: ((), ())
    deleted: Sequence[str] = ()


class Crowd:
    """Clients with a connection each, who all start at once."""

    def __init__(self, api: str, size: int = 12) -> None:
        self._address = urlsplit(api).netloc
        self._own = threading.local()
        self._opened: list[http.client.HTTPConnection] = []
        self._pool = ThreadPoolExecutor(size)

    def close(self) -> None:
        """Hang up."""
        self._pool.shutdown()
        for each in self._opened:
            each.close()

    def at_once(self, rivals: Sequence[Ask], *, first: int = 0) -> list[Answer]:
        """The answers, in the order of the requests; the one at `first` is sent by the first client to run."""
        start = threading.Barrier(len(rivals))

        def go(ask: Ask) -> Answer:
            connection = self._connection()
            start.wait(PATIENCE_S)
            return ask.send(connection)

        turned = [*rivals[first:], *rivals[:first]]
        answers = list(self._pool.map(go, turned))
        return answers[len(rivals) - first :] + answers[: len(rivals) - first]

    def one(self, ask: Ask) -> Answer:
        """The answer to a request that has no rival."""
        return ask.send(self._connection())

    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._own, "connection"):
            self._own.connection = http.client.HTTPConnection(self._address, timeout=PATIENCE_S)
            self._opened.append(self._own.connection)
        connection: http.client.HTTPConnection = self._own.connection
        return connection


@dataclass
class Track:
    """A running server with an operator company, on which races are run."""

    server: servers.Running
    crowd: Crowd
    root: str = ""
    admin: str = ""
    operator_id: str = ""
    carrier: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """A number that was not given yet."""
        return next(self._numbers)

    def email(self) -> str:
        """An e-mail address that nobody has."""
        return f"n{self.number()}@people.example"

    def account(self, kind: str) -> str:
        """The token of a new account made by `tripline admin KIND`."""
        email = self.email()
        made = servers.run_here(
            "admin", kind, "--data", str(self.server.data), "--email", email, "--password-stdin", stdin=PASSWORD
        )
        assert made.returncode == 0, made.stderr
        return self.log_in(email)["token"]

    def log_in(self, email: str, password: str = PASSWORD) -> dict[str, str]:
        """Tokens of an account."""
        return self.good(Ask(None, "POST", "/api/auth/login", {"username": email, "password": password}))

    def good(self, ask: Ask) -> dict[str, Any]:
        """The record of a request that must succeed."""
        answer = self.crowd.one(ask)
        assert answer.outcome == OK, (ask, answer)
        return answer.body

    def get(self, path: str, token: str | None = None) -> dict[str, Any]:
        """A record, by the operator's administrator unless said otherwise."""
        return self.good(Ask(token or self.admin, "GET", path))

    def outcome(self, path: str, token: str | None = None) -> Outcome:
        """What a GET is told."""
        return self.crowd.one(Ask(token or self.admin, "GET", path)).outcome

    def post(self, path: str, body: Any = None, token: str | None = None) -> dict[str, Any]:
        """The record of a POST that must succeed."""
        return self.good(Ask(token or self.admin, "POST", path, body))

    def made(self, path: str, body: Any = None, token: str | None = None) -> str:
        """The id of what a POST makes."""
        return str(self.post(path, body, token)["id"]["id"])

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the database file, read beside the server."""
        return consistency.rows(self.server.data, statement, *values)

    def vehicle(self, token: str | None = None) -> str:
        """A new vehicle's id."""
        return self.made("/vehicle", vehicle_body(f"V{self.number()}"), token)

    def sensor(self, token: str | None = None) -> str:
        """A new sensor's id."""
        number = self.number()
        return self.made("/sensor", sensor_body(f"S{number}", f"{number:020d}"), token)

    def mounted(self) -> tuple[str, str]:
        """Ids of a new sensor and of the new vehicle that it is on."""
        sensor, vehicle = self.sensor(), self.vehicle()
        self.post(f"/sensor/{sensor}/vehicle/{vehicle}")
        return sensor, vehicle

    def person(self, role: str, token: str | None = None) -> tuple[str, str]:
        """Id and token of a new `driver` or `director`."""
        email = self.email()
        return self.made(f"/{role}", person_body(email), token), self.log_in(email)["token"]

    def partner(self, token: str | None = None) -> tuple[str, str]:
        """Id and administrator's token of a new partner of the operator."""
        email = self.email()
        return self.made("/company", company_body(email), token), self.log_in(email)["token"]

    def candidate(self) -> tuple[str, str]:
        """As `partner`, one that the operator may delegate to."""
        partner, token = self.partner()
        self.post(f"/company/{self.operator_id}/relation/company", {"toCompanyId": partner})
        return partner, token

    def borrower(self) -> tuple[str, str, str]:
        """Ids of a new vehicle and of the new partner that it is delegated to, and the partner's token."""
        vehicle, (partner, token) = self.vehicle(), self.candidate()
        self.post(f"/company/{partner}/relation/vehicle", {"vehicleId": vehicle})
        return vehicle, partner, token

    def operator(self, service_type: str) -> tuple[str, str]:
        """Id and administrator's token of a new operator company."""
        email = self.email()
        company = self.made("/company", {**company_body(email), "serviceType": service_type}, self.root)
        return company, self.log_in(email)["token"]

    def run(self, prepare: Callable[["Track"], Race], *, rounds: int = 8) -> None:
        """Run the race again and again; the rivals' outcomes, what is read back and the database must be consistent."""
        deleted: list[str] = []
        for each in range(rounds):
            race = prepare(self)
            answers = self.crowd.at_once(race.rivals, first=each % len(race.rivals))
            outcomes = tuple(answer.outcome for answer in answers)
            assert outcomes in race.allowed, [answer.body for answer in answers]
            seen, wanted = race.left(answers)
            assert seen == wanted, outcomes
            deleted += race.deleted
        assert consistency.broken(self.server.data) == {}
        assert self._named(deleted) == {}
        assert [line for line in self.server.log() if "[error" in line] == []

    def _named(self, deleted: Sequence[str]) -> dict[str, int]:
        """Where deleted things are named once the server's eraser is through."""

        async def look() -> dict[str, int]:
            store = stores.Database(self.server.data).open()
            try:
                return await store.read(lambda tx: dangling.references(tx, *deleted))
            finally:
                await store.close()

        until = time.monotonic() + PATIENCE_S
        while (found := asyncio.run(look()) if deleted else {}) and time.monotonic() < until:
            pass
        return found


def winners(answers: Sequence[Answer]) -> list[int]:
    """Which of the rivals were let."""
    return [index for index, answer in enumerate(answers) if answer.outcome == OK]


def one_wins(rivals: int, told: Outcome = TAKEN) -> set[tuple[Outcome, ...]]:
    """Outcomes of a race that exactly one wins; the others are told."""
    return {tuple(OK if each == winner else told for each in range(rivals)) for winner in range(rivals)}


def vehicle_body(number: str) -> dict[str, Any]:
    """The required fields of a vehicle's registration."""
    return {"vehicleNo": number, "mileage": 1}


def sensor_body(serial: str, token: str) -> dict[str, Any]:
    """The required fields of a sensor's registration."""
    return {"serialNo": serial, "type": "GPS", "credentialsId": token}


def person_body(email: str) -> dict[str, Any]:
    """The required fields of a director's, driver's or administrator's registration."""
    return {"name": "Name", "email": email, "password": PASSWORD}


def company_body(email: str) -> dict[str, Any]:
    """The required fields of a partner's registration."""
    return {"name": "Company", "picName": "Kim", "picEmail": email, "picPasswd": PASSWORD}


@contextmanager
def track(folder: Path) -> Iterator[Track]:
    """A server with a platform administrator and the operator of `races`."""
    variables = {"TRIPLINE_ACCOUNTS_APPLICATIONS_PER_HOUR": "100000"}
    with servers.serving(folder / "data", variables=variables) as server:
        crowd = Crowd(server.api)
        try:
            new = Track(server, crowd)
            new.root, new.carrier = new.account("create"), new.account("carrier")
            new.operator_id, new.admin = new.operator("races")
            yield new
        finally:
            crowd.close()
