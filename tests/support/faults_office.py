"""People and programs that ask over REST while something fails: whatever they were told must be so afterwards.

Each asks one thing after the other, at the next api when one does not answer.
"""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import httpx

from tests.support import calling, faults
from tests.support.calling import Box
from tests.support.clusters import Deployment, Node
from tests.support.fleet import Registered

V1 = "/api/tre/v1"
TWOWAY = "/api/plugins/rpc/twoway/"
PATIENCE_S = 60
ALREADY = 31
"""`errorCode` of what is there already."""
SUCCESS = {"result": 2000}


class Asking:
    """Asks on a thread of its own until it is told to stop."""

    def __init__(self, apis: Sequence[Node], headers: Mapping[str, str]) -> None:
        self.answered = 0
        self.refused = 0
        """Questions that nobody answered as they should be, the first time."""
        self._apis = itertools.cycle(apis)
        self._api = next(self._apis)
        self._http = httpx.Client(headers=dict(headers), timeout=PATIENCE_S)
        self._stopping = threading.Event()
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def goes_on(self, count: int = 5) -> None:
        """Wait until so many more were answered."""
        until, goal = time.monotonic() + PATIENCE_S, self.answered + count
        while self.answered < goal:
            assert self._thread.is_alive(), self._trouble
            assert time.monotonic() < until, "nobody answers"
            time.sleep(0.02)

    def stop(self) -> None:
        """End after the question under way."""
        self._stopping.set()
        self._thread.join(2 * PATIENCE_S)
        self._http.close()
        assert not self._thread.is_alive()
        if self._trouble is not None:
            raise self._trouble

    def ask_one(self, number: int) -> None:
        """Ask the n-th question until it is answered."""
        raise NotImplementedError

    def post(self, path: str, body: Any) -> httpx.Response | None:
        """The answer of an api, or None: it is not there; the next question goes to another one."""
        with contextlib.suppress(httpx.HTTPError):
            answer = self._http.post(self._api.api + path, json=body)
            if answer.status_code < 500:
                return answer
        self.refused += 1
        self._api = next(self._apis)
        time.sleep(0.05)
        return None

    def _run(self) -> None:
        try:
            for number in itertools.count():
                if self._stopping.is_set():
                    return
                self.ask_one(number)
                self.answered += 1
        except BaseException as trouble:  # shown by the thread of the test
            self._trouble = trouble


class Clerk(Asking):
    """Registers vehicles; what has no answer is asked again."""

    def __init__(self, name: str, apis: Sequence[Node], headers: Mapping[str, str]) -> None:
        self.name = name
        self.registered: list[tuple[str, str | None]] = []
        """Number plate of each, and its id when that was told."""
        super().__init__(apis, headers)

    def ask_one(self, number: int) -> None:
        plate, asked_before = f"{self.name}{number:05d}", False
        while (answer := self.post(f"{V1}/vehicle", {"vehicleNo": plate, "mileage": number + 1})) is None:
            asked_before = True
        if answer.status_code == 200:
            self.registered.append((plate, answer.json()["id"]["id"]))
        else:
            # The first time it was done, and the answer lost.
            assert (asked_before, answer.json()["errorCode"]) == (True, ALREADY), answer.text
            self.registered.append((plate, None))


class Caller(Asking):
    """Calls a device again and again."""

    def __init__(self, sensor_id: str, apis: Sequence[Node], headers: Mapping[str, str]) -> None:
        self.sensor_id = sensor_id
        self.acknowledged: list[str] = []
        """Request-IDs of calls whose acknowledgement was told."""
        super().__init__(apis, headers)

    def ask_one(self, number: int) -> None:
        answer = self.post(TWOWAY + self.sensor_id, {"method": "reset", "params": {"n": number}, "timeout": 2_000})
        if answer is not None and answer.status_code == 200:
            self.acknowledged.append(answer.json()["requestId"])
        elif answer is not None:
            assert answer.status_code in (408, 409), answer.text
            self.refused += 1


@contextlib.contextmanager
def asking(*those: Asking) -> Iterator[None]:
    """They ask while the block runs."""
    try:
        yield
    finally:
        for each in those:
            each.stop()


@contextlib.contextmanager
def box_at(deployment: Deployment, gateway: Node, registered: Registered) -> Iterator[Box]:
    """A device at this gateway that acknowledges every call and then reports success, while the block runs."""
    host, port = gateway.devices
    listener: Any = SimpleNamespace(device_host=host, device_port=port, ca=deployment.ca)
    with calling.box(listener, registered.token, calling.answering(SUCCESS, SUCCESS)) as opened:
        yield opened


def plates_hold(deployment: Deployment, clerk: Clerk) -> None:
    """Every vehicle that the clerk was told of is there once, with its id, at every api; and no other of its plates."""
    found = deployment.rows(f"SELECT vehicle_no, id FROM vehicle WHERE vehicle_no LIKE '{clerk.name}%'")
    there = {plate: str(vehicle_id) for plate, vehicle_id in found}
    assert len(there) == len(found)
    assert {plate: told or there.get(plate) for plate, told in clerk.registered} == there
    for api in deployment.apis:
        plate, vehicle_id = clerk.registered[-1]
        url = f"{api.api}{V1}/vehicle/{vehicle_id or there[plate]}"
        assert httpx.get(url, headers=deployment.company.http.headers, timeout=20).json()["vehicleNo"] == plate


def calls_hold(deployment: Deployment, caller: Caller, box: Box) -> None:
    """Every call ended; each acknowledged one has its result; the device was asked each once."""
    of_sensor = f"SELECT id, state FROM rpc_call WHERE sensor_id = '{caller.sensor_id}'"
    unfinished = f"{of_sensor} AND state NOT IN ('DONE', 'FAILED', 'TIMEOUT')"
    faults.until(lambda: deployment.rows(unfinished) == [])
    states = {str(request_id): state for request_id, state in deployment.rows(of_sensor)}
    assert {request_id: states[request_id] for request_id in caller.acknowledged} == dict.fromkeys(
        caller.acknowledged, "DONE"
    )
    asked = [request_id for request_id, _ in box.requests]
    assert len(asked) == len(set(asked))
    assert set(caller.acknowledged) <= set(asked) <= set(states)
