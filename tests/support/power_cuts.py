"""A server that is killed and starts anew where it was, with a company on it, the company's own server, and a way to
hold a step up: whoever holds the store's write lock lets the server read and send, and write nothing down."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.support import fleet, receivers, servers, stores, waits
from tests.support.receiving import Receiving, receiving

V1 = "/api/tre/v1"
TWOWAY = "/api/plugins/rpc/twoway/"
PATIENCE_S = 60
VERBATIM = "/results"
"""Where the company wants results as devices sent them."""
_WAITING = "SELECT count(*) FROM push_outbox WHERE parked_ms IS NULL"
_numbers = count(1)


@dataclass
class Stage:
    """A server that can be killed, a company on it, and the company's own server."""

    data: Path
    server: servers.Running
    company: fleet.Company
    receiver: receivers.Receiver
    customer: Receiving
    variables: Mapping[str, str] = field(default_factory=dict)

    def cut(self) -> None:
        """The power goes."""
        self.server.kill()
        assert self.server.process.stdout is not None
        self.server.process.stdout.close()

    def start(self, **variables: str) -> None:
        """The server starts where it was, with these settings beside its own."""
        listeners = servers.same_listeners(self.server)
        self.server = servers.start(self.data, *listeners, variables={**self.variables, **variables})

    def kill(self) -> None:
        """As a power cut; then the server starts anew where it was."""
        self.cut()
        self.start()

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """While the block runs the server commits nothing; when it ends the power goes, and comes back."""
        with self.writing_held_up() as lock:
            lock.take()
            yield
        self.start()

    @contextmanager
    def writing_held_up(self) -> Iterator[stores.WriteLock]:
        """The server's right to write, which the block may take; when it ends the power goes."""
        lock = stores.WriteLock(self.data)
        try:
            yield lock
            self.cut()
        finally:
            lock.close()

    def pair(self) -> tuple[str, str, str]:
        """Id and token of a sensor that needs activation, and the id of a vehicle for it."""
        number = next(_numbers)
        known = {"vehicleNo": f"K{number}", "mileage": 1, "fuelType": "DIESEL", "missionType": "AUTO"}
        vehicle = self.company.post(f"{V1}/vehicle", known)
        token = fleet.device_token()
        body = {"serialNo": f"K-{number}", "type": "OBD", "credentialsId": token, "activationRequired": True}
        return self.company.post(f"{V1}/sensor", body)["id"]["id"], token, vehicle["id"]["id"]

    def mounted(self) -> fleet.Registered:
        """A sensor on a vehicle."""
        return self.company.vehicle_with_sensor(next(_numbers))

    def record(self, sensor_id: str, state: str) -> dict[str, Any]:
        """The newest call of a sensor, once it is in this state."""
        return waits.seen(
            lambda: self.company.get(f"{V1}/sensor/{sensor_id}/rpc/latest"),
            lambda found: found["status"] == state,
            within_s=PATIENCE_S,
        )

    def sensor_count(self, vehicle_id: str) -> int:
        """How many sensors are counted on a vehicle."""
        number: int = self.company.get(f"{V1}/vehicle/{vehicle_id}")["sensorCount"]
        return number

    def delivered(self, outcome: str) -> float:
        """How many attempts at a push ended so, as the server counts since it started."""
        text = self.company.http.get("/metrics").text
        found = [line for line in text.splitlines() if line.startswith(f'tripline_pushes_total{{outcome="{outcome}"}}')]
        return float(found[0].rpartition(" ")[2]) if found else 0.0

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until this is so."""
        waits.seen(holds, within_s=PATIENCE_S)

    def until_told(self) -> None:
        """Wait until nothing is left to be pushed, but for what was given up."""
        database = stores.Database(self.data)
        self.until(lambda: database.rows(_WAITING) == [(0,)])

    def told(self, sensor_id: str, ty: str = "RPC") -> list[dict[str, Any]]:
        """The messages about a sensor in their envelopes: what came twice came under one id, and counts once."""
        said = self._said(lambda request: VERBATIM not in request.line and request.json["sensorId"] == sensor_id)
        return [message for message in map(json.loads, said) if message["ty"] == ty]

    def told_of(self, sensor_id: str) -> list[Any]:
        """What the messages about a sensor say of its calls."""
        return [message["pld"] for message in self.told(sensor_id)]

    def told_verbatim(self, sensor_id: str) -> list[bytes]:
        """The results of a sensor as the device sent them; each id once."""
        return self._said(lambda request: VERBATIM in request.line and request.headers["x-sensor-id"] == sensor_id)

    def requests_about(self, sensor_id: str) -> list[receivers.Request]:
        """Every request in an envelope about a sensor, repeats too."""
        found = list(self.receiver.requests)
        return [each for each in found if VERBATIM not in each.line and each.json["sensorId"] == sensor_id]

    def _said(self, belongs: Callable[[receivers.Request], bool]) -> list[bytes]:
        found = defaultdict(set)
        for request in list(self.receiver.requests):
            if belongs(request):
                found[request.id].add(request.body)
        assert all(len(bodies) == 1 for bodies in found.values())
        return [next(iter(bodies)) for bodies in found.values()]


@contextmanager
def stage(folder: Path, *, wanted: str = "300", **variables: str) -> Iterator[Stage]:
    """A stage while the block runs; its company wants these messages, and the results of its devices as they are."""
    receiver = receivers.Receiver()
    data = folder / "data"
    with receiving(receiver) as customer:
        server = servers.start(data, variables=variables)
        new = None
        try:
            with fleet.Company(server.api, data) as company:
                asked = {
                    "notifyHost": customer.url,
                    "notifyMsgType": wanted,
                    "rpcNotifyHost": "127.0.0.1",
                    "rpcNotifyPort": receiver.port,
                    "rpcNotifyBasePath": VERBATIM,
                }
                answer = company.http.put(f"{V1}/company/{company.record['id']['id']}", json=asked)
                assert answer.status_code == 200, answer.text
                # Made now, and not with the first message: that is a write of its own.
                company.get(f"{V1}/company/{company.record['id']['id']}/push/secret")
                new = Stage(data, server, company, receiver, customer, variables)
                yield new
        finally:
            running = server if new is None else new.server
            running.process.kill()
            running.process.wait()
            assert running.process.stdout is not None
            running.process.stdout.close()


class Asking:
    """A request over HTTP, on a thread and a connection of its own, that may never be answered."""

    def __init__(self, stage: Stage, path: str, body: dict[str, Any] | None = None) -> None:
        self.answer: httpx.Response | None = None
        headers = {"X-Authorization": stage.company.http.headers["X-Authorization"]}
        url = stage.server.api + path

        def ask() -> None:
            with suppress(httpx.HTTPError):
                self.answer = httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S)

        self._thread = threading.Thread(target=ask)
        self._thread.start()

    def end(self) -> httpx.Response | None:
        """The answer; None: the server was gone before it gave one."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.answer
