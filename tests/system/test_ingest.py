"""`tripline ingest` from outside: real drives as bus messages give the scores that the same drives give over MQTTS."""

import asyncio
import itertools
import json
import ssl
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.support import producers, servers, waits
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
    waits.seen(
        lambda: len(listed(company, vehicle, "drivingScore")), lambda found: found >= scores, within_s=PATIENCE_S
    )
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
    """As a customer's system would deliver them, and as the device itself would send them."""
    data = tmp_path / "data"
    bodies = [drive.bodies(number) for number, drive in enumerate(producers.drives())]
    sent = [body for each in bodies for body in each]
    forms: dict[str, Callable[[str], list[dict[str, Any]]]] = {
        "bus": lambda sensor_id: [line for each in bodies for line in on_bus(each, sensor_id)],
        "device": lambda sensor_id: [body | {"sensorId": sensor_id} for body in sent],
    }
    numbers = itertools.count(1)
    with servers.serving(data) as server, Company(server.api, data) as company:
        device = company.vehicle_with_sensor(next(numbers))
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(device.token, server.device_host, server.device_port, tls)
        asyncio.run(asyncio.wait_for(box.play([json.dumps(body).encode() for body in sent]), PATIENCE_S))
        expected = judged(company, device, 3)
        told, found, later = {}, {}, {}
        for form, lines in forms.items():
            beside, later[form] = (company.vehicle_with_sensor(next(numbers)) for _ in range(2))
            file = written(tmp_path / f"{form}.jsonl", lines(beside.sensor_id))
            told[form] = [servers.run("ingest", str(file), "--data", str(data), variables=NO_GRACE)]
            told[form] += [servers.run_here("ingest", str(file), "--data", str(data), variables=NO_GRACE)]
            found[form] = judged(company, beside, 3)

    for form, lines in forms.items():
        file = written(tmp_path / f"{form}-stopped.jsonl", lines(later[form].sensor_id))
        told[form] += [servers.run_here("ingest", str(file), "--data", str(data), variables=NO_GRACE)]
    count = len(sent)
    stored = f"messages {count}, stored: microtrips {count - 4}, trips 4, duplicates 0, rejected 0\n"
    again = f"messages {count}, stored: nothing, duplicates {count}, rejected 0\n"
    for form in forms:
        assert [each.returncode for each in told[form]] == [0, 0, 0], told[form]
        assert [each.stdout for each in told[form]] == [stored, again, stored]
        assert told[form][0].stderr == ""
        assert found[form] == expected
    assert expected["gpsEvent"]


def test_file_with_unusable_lines_says_which_and_why(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file = tmp_path / "bad.jsonl"
    file.write_text(
        'not json\n\n{"data": {"payload": "{}"}}\n' + "[" * 2_000_000 + '\n{"topic": "t\\u0000", "value": 7}\n'
    )

    bad = servers.run_here("ingest", str(file), "--data", str(data), "--topic", "sf-trip")
    absent = servers.run_here("ingest", str(tmp_path / "absent"), "--data", str(data))
    nothing = servers.run_here("ingest", "-", "--data", str(data), stdin="")
    wrong = servers.run_here("ingest")

    lines = bad.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines[:4]] == ["not_json", "no_sensor", "too_large", "not_object"]
    assert [line.split(":")[0] for line in lines[:4]] == ["line 1", "line 3", "line 4", "line 5"]
    assert lines[-1] == "messages 4, stored: nothing, duplicates 0, rejected 4"
    assert (bad.returncode, absent.returncode, nothing.returncode, wrong.returncode) == (1, 2, 0, 2)
