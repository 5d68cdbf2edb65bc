"""Power cuts between the steps of a call and of an activation: from what is left it completes, and nothing is told
twice but under the same id."""

import itertools
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import fleet, receivers, servers
from tests.support.calling import Box, answering, box
from tests.support.receiving import Receiving, receiving

V1 = "/api/tre/v1"
TWOWAY = "/api/plugins/rpc/twoway/"
VARIABLES = {"TRIPLINE_RPC_ACK_S": "1.0"}
KILLS = 8
PATIENCE_S = 30
numbers = itertools.count(1)


@dataclass
class Stage:
    """A server that can be killed, a company on it, and the company's own server."""

    data: Path
    server: servers.Running
    company: fleet.Company
    receiver: receivers.Receiver
    customer: Receiving

    def kill(self) -> None:
        """As a power cut; then the server starts anew where it was."""
        doors = servers.same_doors(self.server)
        self.server.kill()
        self.server.process.stdout.close()
        self.server = servers.start(self.data, *doors, variables=VARIABLES)

    def pair(self) -> tuple[str, str, str]:
        """Id and token of a sensor that needs activation, and the id of a vehicle for it."""
        number = next(numbers)
        vehicle = self.company.post(f"{V1}/vehicle", {"vehicleNo": f"K{number}", "mileage": 1})
        token = fleet.device_token()
        body = {"serialNo": f"K-{number}", "type": "OBD", "credentialsId": token, "activationRequired": True}
        return self.company.post(f"{V1}/sensor", body)["id"]["id"], token, vehicle["id"]["id"]

    def record(self, sensor_id: str, state: str) -> dict:
        """The newest call of a sensor, once it is in this state."""
        deadline = time.monotonic() + PATIENCE_S
        while (record := self.company.get(f"{V1}/sensor/{sensor_id}/rpc/latest"))["status"] != state:
            assert time.monotonic() < deadline, record
        return record

    def told_of(self, sensor_id: str) -> list:
        """What was pushed about a sensor, by id: each once."""
        found = defaultdict(set)
        for request in list(self.receiver.requests):
            if request.json["sensorId"] == sensor_id:
                found[request.id].add(request.body)
        assert all(len(bodies) == 1 for bodies in found.values())
        return [json.loads(next(iter(bodies)))["pld"] for bodies in found.values()]


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    receiver = receivers.Receiver()
    data = folder / "data"
    with receiving(receiver) as customer:
        server = servers.start(data, variables=VARIABLES)
        new = None
        try:
            with fleet.Company(server.api, data) as company:
                asked = {"notifyHost": customer.url, "notifyMsgType": "300"}
                assert company.http.put(f"{V1}/company/{company.record['id']['id']}", json=asked).status_code == 200
                new = Stage(data, server, company, receiver, customer)
                yield new
        finally:
            running = server if new is None else new.server
            running.process.kill()
            running.process.wait()
            running.process.stdout.close()


def test_kill_between_request_and_acknowledgement_ends_the_call_and_a_late_result_counts_r5(tmp_path) -> None:
    with stage(tmp_path) as play:
        mounted = play.company.vehicle_with_sensor(next(numbers))

        def cut(device: Box, request_id: str, _: bytes) -> None:
            play.server.process.kill()

        with box(play.server, mounted.token, cut) as device:
            with pytest.raises(Exception, match=r".+"):
                play.company.post(TWOWAY + mounted.sensor_id, {"method": "reset"})
            request_id, _ = device.request()
        play.kill()
        timed_out = play.record(mounted.sensor_id, "TIMEOUT")
        with box(play.server, mounted.token) as device:
            device.settled(device.result(request_id, {"result": 2000}))
        done = play.record(mounted.sensor_id, "DONE")

        assert (timed_out["resultCode"], done["resultCode"], done["id"]) == (5001, 2000, {"id": request_id})
        play.customer.wait(2, sensor_id=mounted.sensor_id)
        assert play.told_of(mounted.sensor_id) == [{"result": 5001}, {"result": 2000}]


def test_kill_between_acknowledgement_and_result_completes_the_activation(tmp_path) -> None:
    with stage(tmp_path) as play:
        sensor_id, token, vehicle_id = play.pair()
        with box(play.server, token, answering({"result": 2000})) as device:
            play.company.post(f"{V1}/sensor/{sensor_id}/vehicle/{vehicle_id}")
            request_id, _ = device.request()

        play.kill()
        with box(play.server, token) as device:
            device.settled(device.result(request_id, {"result": 2000}))

        assert play.company.get(f"{V1}/sensor/{sensor_id}")["vehicleId"] == {"id": vehicle_id}
        (told,) = play.customer.wait(1, sensor_id=sensor_id)
        assert (told["vehicleId"], told["requestId"], told["pld"]) == (vehicle_id, request_id, {"result": 2000})


def test_stop_answers_whoever_waits_and_the_call_stays_on_record(tmp_path) -> None:
    with servers.serving(tmp_path / "data") as server, fleet.Company(server.api, server.data) as company:
        mounted = company.vehicle_with_sensor(next(numbers))
        with box(server, mounted.token) as device, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(company.http.post, TWOWAY + mounted.sensor_id, json={"method": "reset"})
            request_id, _ = device.request()
            began = time.monotonic()
            code = server.stop()
            took_s = time.monotonic() - began
            answer = waiting.result(PATIENCE_S)
        with servers.serving(tmp_path / "data", *servers.same_doors(server)):
            record = company.get(f"{V1}/sensor/{mounted.sensor_id}/rpc/latest")

    assert (code, answer.status_code, answer.json()["errorCode"]) == (0, 503, 2)
    assert took_s < 10
    assert (record["id"], record["status"]) == ({"id": request_id}, "REQUESTED")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_at_random_moments_after_the_result_was_sent_maps_once_and_tells_under_one_id(tmp_path) -> None:
    moments = random.Random(20_261_121)
    with stage(tmp_path) as play:
        for _ in range(KILLS):
            sensor_id, token, vehicle_id = play.pair()
            with box(play.server, token, answering({"result": 2000})) as device:
                play.company.post(f"{V1}/sensor/{sensor_id}/vehicle/{vehicle_id}")
                request_id, _ = device.request()
                device.result(request_id, {"result": 2000})
                time.sleep(moments.uniform(0, 0.03))  # the moment is the point, not a wait for something
                play.kill()
            with box(play.server, token) as device:  # a careful box sends again what was not acknowledged
                device.settled(device.result(request_id, {"result": 2000}))

            assert play.company.get(f"{V1}/sensor/{sensor_id}")["vehicleId"] == {"id": vehicle_id}
            play.customer.wait(1, sensor_id=sensor_id)
            assert play.told_of(sensor_id) == [{"result": 2000}]
