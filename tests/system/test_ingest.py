"""`tripline ingest` from outside: real drives as bus messages give the scores that the same drives give over MQTTS."""

import asyncio
import json
import ssl
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support import producers, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

PATIENCE_S = 60
NO_GRACE = {"TRIPLINE_BUS_GRACE_S": "0"}
LIST = "/api/tre/v1_3/vehicle/{}/analytics/{}"
OF_PLATFORM = ("id", "createdTime", "tripId", "vehicleId")
"""What two scorings of one drive do not share."""


def on_bus(bodies: Iterable[dict[str, Any]], sensor_id: str) -> list[dict[str, Any]]:
    """The same messages as a customer's system would deliver them; trip messages come before the last samples."""
    trip_id = str(uuid.uuid1())
    whose = {"sensorId": sensor_id, "tripId": trip_id, "deviceType": "GPS"}
    found: list[dict[str, Any]] = []
    for body in bodies:
        payload = json.dumps(body["pld"])
        if body["ty"] == 2:
            data = {**whose, "microTripId": str(uuid.uuid1()), "ts": body["ts"], "payload": payload}
            found.append({"topic": "sf-microtrip", "value": {"data": data, "msgType": "microtrip"}})
        else:
            times = {"startTs": body["pld"]["stt"], "endTs": body["pld"]["edt"]}
            value = {"data": {**whose, **times, "payload": payload}, "msgType": "trip", "latestTrip": {}}
            found.insert(-3, {"topic": "sf-trip", "value": json.dumps(value)})
    return found


def written(file: Path, lines: Iterable[Any]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def judged(company: Company, vehicle: Registered, scores: int) -> dict[str, list[dict[str, Any]]]:
    """Scores and GPS events of a vehicle, as soon as there are so many scores, without what differs anyway."""
    deadline = time.monotonic() + PATIENCE_S
    while len(listed(company, vehicle, "drivingScore")) < scores:
        assert time.monotonic() < deadline, "not scored in time"
        time.sleep(0.05)
    return {
        kind: sorted(
            ({name: value for name, value in row.items() if name not in OF_PLATFORM} for row in found), key=repr
        )
        for kind in ("drivingScore", "gpsEvent")
        if (found := listed(company, vehicle, kind)) is not None
    }


def listed(company: Company, vehicle: Registered, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = company.get(LIST.format(vehicle.vehicle_id, kind), limit=1000)["data"]
    return rows


def test_real_drives_from_a_file_are_scored_like_those_of_a_device(tmp_path: Path) -> None:
    data = tmp_path / "data"
    drives = producers.drives()
    bodies = [drive.bodies(number) for number, drive in enumerate(drives)]
    with servers.serving(data) as server, Company(server.api, data) as company:
        device, beside, before = (company.vehicle_with_sensor(number) for number in (1, 2, 3))
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(device.token, server.device_host, server.device_port, tls)
        asyncio.run(
            asyncio.wait_for(box.play([json.dumps(body).encode() for each in bodies for body in each]), PATIENCE_S)
        )
        lines = [line for each in bodies for line in on_bus(each, beside.sensor_id)]
        file = written(tmp_path / "messages.jsonl", lines)

        done = servers.run("ingest", str(file), "--data", str(data), variables=NO_GRACE)
        again = servers.run("ingest", str(file), "--data", str(data), variables=NO_GRACE)
        expected = judged(company, device, 3)
        found = judged(company, beside, 3)

    stopped = written(tmp_path / "stopped.jsonl", (line for each in bodies for line in on_bus(each, before.sensor_id)))
    offline = servers.run("ingest", str(stopped), "--data", str(data), variables=NO_GRACE)
    count = len(lines)
    stored = f"messages {count}, stored: microtrips {count - 4}, trips 4, duplicates 0, rejected 0\n"
    assert (done.returncode, done.stderr, done.stdout) == (0, "", stored)
    assert again.stdout == f"messages {count}, stored: nothing, duplicates {count}, rejected 0\n"
    assert found == expected
    assert expected["gpsEvent"]
    assert (offline.returncode, offline.stdout) == (0, stored)


def test_lines_as_the_device_itself_would_send_them_are_scored_like_its_own(tmp_path: Path) -> None:
    data = tmp_path / "data"
    bodies = [body for number, drive in enumerate(producers.drives()) for body in drive.bodies(number)]
    with servers.serving(data) as server, Company(server.api, data) as company:
        device, beside, before = (company.vehicle_with_sensor(number) for number in (1, 2, 3))
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(device.token, server.device_host, server.device_port, tls)
        asyncio.run(asyncio.wait_for(box.play([json.dumps(body).encode() for body in bodies]), PATIENCE_S))
        file = written(tmp_path / "messages.jsonl", (body | {"sensorId": beside.sensor_id} for body in bodies))

        done = servers.run("ingest", str(file), "--data", str(data))
        again = servers.run("ingest", str(file), "--data", str(data))
        expected = judged(company, device, 3)
        found = judged(company, beside, 3)

    stopped = written(tmp_path / "stopped.jsonl", (body | {"sensorId": before.sensor_id} for body in bodies))
    offline = servers.run("ingest", str(stopped), "--data", str(data))
    count = len(bodies)
    stored = f"messages {count}, stored: microtrips {count - 4}, trips 4, duplicates 0, rejected 0\n"
    assert (done.returncode, done.stderr, done.stdout) == (0, "", stored)
    assert again.stdout == f"messages {count}, stored: nothing, duplicates {count}, rejected 0\n"
    assert found == expected
    assert (offline.returncode, offline.stdout) == (0, stored)


def test_file_with_unusable_lines_says_which_and_why(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file = tmp_path / "bad.jsonl"
    file.write_text(
        'not json\n\n{"data": {"payload": "{}"}}\n' + "[" * 2_000_000 + '\n{"topic": "t\\u0000", "value": 7}\n'
    )

    bad = servers.run("ingest", str(file), "--data", str(data), "--topic", "sf-trip")
    absent = servers.run("ingest", str(tmp_path / "absent"), "--data", str(data))
    nothing = servers.run("ingest", "-", "--data", str(data), stdin="")
    wrong = servers.run("ingest")

    lines = bad.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines[:4]] == ["not_json", "no_sensor", "too_large", "not_object"]
    assert [line.split(":")[0] for line in lines[:4]] == ["line 1", "line 3", "line 4", "line 5"]
    assert lines[-1] == "messages 4, stored: nothing, duplicates 0, rejected 4"
    assert (bad.returncode, absent.returncode, nothing.returncode, wrong.returncode) == (1, 2, 0, 2)
