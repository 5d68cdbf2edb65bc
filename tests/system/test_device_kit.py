"""The device makers' kit is true: the page's examples against a server, the example device run as printed."""

import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.support import fleet, servers
from tests.support.device_check import checking
from tests.support.device_page import examples
from tests.support.reference import ROOT
from tests.support.worlds import World

pytestmark = [pytest.mark.deep, pytest.mark.once("what devices are given")]

EXAMPLES = examples()
TYPES = sorted({example.sensor_type for example in EXAMPLES})
TWOWAY = "/api/plugins/rpc/twoway/"


@pytest.mark.parametrize("sensor_type", TYPES)
def test_examples_of_the_page_sent_to_a_server_are_explained_as_the_page_says(world: World, sensor_type: str) -> None:
    sent = [example for example in EXAMPLES if example.sensor_type == sensor_type]
    box = world.box(sensor_type)

    with checking(world, box, "--count", str(len(sent))) as check:
        for topic, run in itertools.groupby(sent, key=lambda example: example.topic):
            world.send(box, *(example.body for example in run), topic=topic)
        check.ended()

    read = [[_line(each) for each in told["findings"]] for told in check.messages]
    assert read == [example.read for example in sent]
    logged = world.rows("SELECT count(*) FROM rejected_message WHERE sensor_id = ?", box.sensor_id)
    assert logged == [(sum(example.is_rejected for example in sent),)]


def _line(finding: dict[str, str]) -> str:
    where = f"{finding['where']}: " if finding["where"] else ""
    return f"{finding['sort']:<9} {where}{finding['text']}"


@contextlib.contextmanager
def example_device(world: World, token: str, seconds: int) -> Iterator[subprocess.Popen[str]]:
    """`examples/device.py` as its first lines say, connected."""
    server = world.server
    process = subprocess.Popen(
        [sys.executable, "examples/device.py", "localhost", str(server.device_port), str(server.ca), str(seconds)],
        cwd=ROOT,
        env=servers.environment({"DEVICE_TOKEN": token}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def test_example_device_drives_ends_its_trip_and_warns(world: World) -> None:
    box = world.box()

    with example_device(world, box.token, seconds=2) as process:
        assert process.stdout is not None
        said = process.stdout.readline()

    (trip,) = world.trips(box)
    assert said == "drive sent and kept\n"
    assert trip["endTs"] is not None
    assert [each["payload"]["sp"] for each in world.microtrips(trip)] == [40, 40]
    events = world.company.get(f"/api/tre/v1/vehicle/{box.vehicle_id}/events", limit=10)["data"]
    latest = world.company.get(f"/api/tre/v1/sensor/{box.sensor_id}/latest")
    assert [(event["ty"], event["payload"]["wbv"]) for event in events] == [(104, 11.9)]
    assert '"wbv": 11.9' in json.dumps(latest)
    assert world.rows("SELECT count(*) FROM rejected_message WHERE sensor_id = ?", box.sensor_id) == [(0,)]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ({"method": "serial", "params": ""}, b'{"result": 2000, "addInfo": {"sn": "EXAMPLE-1"}}'),
        ({"method": "anything", "params": "abc"}, b'{"result": 4000}'),
    ],
)
def test_example_device_answers_calls(world: World, call: dict[str, str], result: bytes) -> None:
    box = world.box()

    with checking(world, box) as check, example_device(world, box.token, seconds=30):
        answer = world.company.http.post(TWOWAY + box.sensor_id, json=call)
        kept = check.until("call", "done" if b"2000" in result else "failed")

    assert (answer.status_code, answer.json()["response"]) == (200, {"result": 2000})
    assert kept["text"].startswith(f"call {answer.json()['requestId']} ({call['method']})")
    assert world.rows("SELECT result FROM rpc_call WHERE sensor_id = ?", box.sensor_id) == [(result,)]


def test_example_device_is_activated(world: World) -> None:
    token = fleet.device_token()
    vehicle = world.company.post(
        "/api/tre/v1/vehicle", {"vehicleNo": "77B7777", "mileage": 1000, "displacement": 1998, "fuelType": "DIESEL"}
    )
    sensor = world.company.post(
        "/api/tre/v1/sensor",
        {"serialNo": "KIT-1", "type": "OBD", "credentialsId": token, "activationRequired": True, "missionType": "AUTO"},
    )
    box = fleet.Registered(vehicle["id"]["id"], "77B7777", sensor["id"]["id"], token)

    with checking(world, box) as check, example_device(world, token, seconds=30):
        world.company.post(f"/api/tre/v1/sensor/{box.sensor_id}/vehicle/{box.vehicle_id}")
        done = check.until("call", "done")

    assert "activationReq" in done["text"]
    assert world.rows("SELECT vehicle_id FROM sensor WHERE id = ?", box.sensor_id) == [(box.vehicle_id,)]
