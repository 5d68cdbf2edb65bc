"""A used installation moves to PostgreSQL, lives on there, and back: customers read the same, byte by byte."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support import calling, databases, fleet, readings, servers, waits, worlds
from tests.support.fleet import PASSWORD, Registered
from tests.support.readings import Reading
from tests.support.receivers import OK, Receiver, Reply, status
from tests.support.receiving import Receiving, receiving
from tests.support.servers import Running

from tripline.simulator import recordings

pytestmark = pytest.mark.deep

PATIENCE_S = 60
V1, V1_3 = "/api/tre/v1", "/api/tre/v1_3"
TWOWAY = "/api/plugins/rpc/twoway"
SCORED, TOO_SHORT, NEXT_DRIVE = ("drive_04.csv", "drive_17.csv"), "drive_03.csv", "drive_01.csv"
MDN, IMEI = "01012345678", "356938035643809"
GONE = Reply(status(410))
FACES = {
    "platform": "root@platform.example",
    "operator": "admin@test-fleet.example",
    "owner": "kim@hangang.example",
    "borrower": "choi@namsan.example",
    "director": "Lee@hangang.example",
    "driver": "han@hangang.example",
}


@dataclass
class Fleet:
    """Who reads, and what there is to read."""

    box: Registered
    tokens: dict[str, str] = field(default_factory=dict)
    """Those with which everybody logged in first."""
    refresh: str = ""
    known: dict[str, list[str]] = field(default_factory=dict)


class Office:
    """Requests of somebody who logs in."""

    def __init__(self, api: str, email: str) -> None:
        self.http = httpx.Client(base_url=api, timeout=30)
        self.pair = self.post("/api/auth/login", {"username": email, "password": PASSWORD})
        self.http.headers["X-Authorization"] = f"Bearer {self.pair['token']}"

    def __enter__(self) -> "Office":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, body: Any = None) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        record: dict[str, Any] = answer.json()
        return record

    def made(self, path: str, body: dict[str, Any]) -> str:
        """The id of what a POST made."""
        return str(self.post(f"{V1}{path}", body)["id"]["id"])

    def get(self, path: str) -> dict[str, Any]:
        answer = self.http.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        record: dict[str, Any] = answer.json()
        return record


def tokens(api: str) -> dict[str, str]:
    """Everybody logs in, with the password of the first day."""
    found = {}
    for name, email in FACES.items():
        with Office(api, email) as office:
            found[name] = office.pair["token"]
    return found


def drive(server: Running, box: Registered, *drives: str) -> None:
    where = ["--host", server.device_host, "--port", str(server.device_port), "--ca", str(server.ca)]
    files = [str(recordings.FOLDER / each) for each in drives]
    played = servers.run_here(
        "replay", *where, *files, "--speed", "0", "--as-now", variables={"TRIPLINE_DEVICE_TOKEN": box.token}
    )
    assert played.returncode == 0, played.stderr


def scores(office: Office, box: Registered) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = office.get(f"{V1_3}/vehicle/{box.vehicle_id}/analytics/drivingScore?limit=10")["data"]
    return found


def until_stands(office: Office, name: str) -> None:
    """Wait until the company's vehicle is where this drive ended: positions are kept a second later."""
    company_id = office.get(f"{V1}/company/me")["id"]["id"]
    end = recordings.read(recordings.FOLDER / name).points[-1]

    def stands() -> bool:
        found = office.get(f"{V1}/company/{company_id}/positions?limit=10")["data"]
        return [(each["lat"], each["lon"]) for each in found] == [(end.lat, end.lon)]

    waits.seen(stands, within_s=PATIENCE_S)


@contextmanager
def settled(data: Path, customer: Receiving) -> Iterator[tuple[worlds.World, Fleet]]:
    """An operator with two partners on a server, whose people, vehicles and sensors have done everything once."""
    with worlds.running(data) as world:
        for what, email in {"create": FACES["platform"], "carrier": "net@carrier.example"}.items():
            done = servers.run_here(
                "admin", what, "--data", str(data), "--email", email, "--password-stdin", stdin=PASSWORD
            )
            assert done.returncode == 0, done.stderr
        world.box()
        yield world, _filled(world, customer)


def _filled(world: worlds.World, customer: Receiving) -> Fleet:
    server, api = world.server, world.server.api
    with Office(api, FACES["operator"]) as operator:
        owner_id = operator.made("/company", _partner("한강택시", FACES["owner"]))
        borrower_id = operator.made("/company", _partner("남산 Rent", FACES["borrower"]))
    with Office(api, FACES["owner"]) as owner, Office(api, FACES["borrower"]) as borrower:
        people = {
            "director": owner.made("/director", _person("Lee", FACES["director"])),
            "driver": owner.made("/driver", _person("한", FACES["driver"])),
            "other": owner.made("/driver", _person("han 2", "second@hangang.example")),
            "abroad": borrower.made("/director", _person("최", "director@namsan.example")),
        }
        box = _mounted(owner, "12가3456")
        others = [
            owner.made("/vehicle", {"vehicleNo": number, "mileage": 1}) for number in ("12나0001", "12AB", "12ab9")
        ]
        _related(owner, borrower, box.vehicle_id, borrower_id, people)
        with Office(api, "net@carrier.example") as carrier:
            opening = {"actionId": "1", "type": "OPENING", "mdn": MDN, "imei": IMEI, "companyId": owner_id}
            carrier.post("/api/carrier/v1/actions", {**opening, "imsi": "450081", "iccid": "8982"})
        form = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "새 손님")
        httpx.post(f"{api}/api/noauth/application", json={**form, "email": "new@customer.example"})
        owner.http.put(f"{V1}/company/{owner_id}", json={"notifyHost": customer.url, "notifyMsgType": "102"})
        calls = _driven(server, world, owner, box, people["director"])
        world_ids = _known(owner, box, [owner_id, borrower_id], people, others, calls)
        with Office(api, FACES["platform"]) as platform:
            (application,) = platform.get(f"{V1}/applications?limit=5")["data"]
            world_ids["applicationId"] = [application["id"]["id"]]
        found = Fleet(box, tokens(api), owner.pair["refreshToken"], world_ids)
        waits.seen(lambda: owner.get(f"{V1}/company/{owner_id}/push")["parked"] == 1, within_s=PATIENCE_S)
        waits.seen(lambda: not owner.get(f"{V1}/sensors?limit=5&connected=true")["data"], within_s=PATIENCE_S)
    return found


def _partner(name: str, email: str) -> dict[str, Any]:
    return {"name": name, "picName": name, "picEmail": email, "picPasswd": PASSWORD}


def _person(name: str, email: str) -> dict[str, Any]:
    return {"name": name, "email": email, "password": PASSWORD, "phone": "010-1234-5678"}


def _mounted(owner: Office, number: str) -> Registered:
    token = fleet.device_token()
    vehicle_id = owner.made("/vehicle", {"vehicleNo": number, "mileage": 1000.5})
    sensor_id = owner.made("/sensor", {"serialNo": "SN-가", "type": "GPS", "credentialsId": token})
    owner.post(f"{V1}/sensor/{sensor_id}/vehicle/{vehicle_id}")
    return Registered(vehicle_id, number, sensor_id, token)


def _related(owner: Office, borrower: Office, vehicle_id: str, borrower_id: str, people: dict[str, str]) -> None:
    """The vehicle is delegated, managed, directed for the borrower, and driven."""
    owner_id = owner.get(f"{V1}/company/me")["id"]["id"]
    vehicle = {"vehicleId": {"id": vehicle_id}}
    owner.post(f"{V1}/company/{owner_id}/relation/company", {"toCompanyId": {"id": borrower_id}})
    owner.post(f"{V1}/company/{borrower_id}/relation/vehicle", vehicle)
    owner.post(f"{V1}/vehicle/{vehicle_id}/director/{people['director']}")
    borrower.post(f"{V1}/director/{people['abroad']}/relation/vehicle", vehicle)
    owner.post(f"{V1}/driver/{people['driver']}/relation/vehicle", vehicle)
    owner.post(f"{V1}/vehicle/{vehicle_id}/activate")
    owner.post(f"{V1}/vehicle/{vehicle_id}/driver/{people['driver']}")


def _driven(server: Running, world: worlds.World, owner: Office, box: Registered, director: str) -> list[str]:
    """Drives that are scored, events, a message nobody understands, a call that failed and one that did not."""
    drive(server, box, *SCORED)
    waits.seen(lambda: len(scores(owner, box)) == len(SCORED), within_s=PATIENCE_S)
    contested = owner.get(f"{V1}/vehicle/{box.vehicle_id}/trips?limit=1")["data"][0]["id"]["id"]
    owner.post(f"{V1_3}/trip/{contested}/dispute", {"reason": "TRAFFIC", "text": "아이가 뛰어들었다", "mail": True})
    own = owner.get(f"{V1}/company/me")["id"]["id"]
    scoring = f"{V1_3}/company/{own}/scoring/rescoring"
    owner.post(scoring, {"dryRun": True})
    waits.seen(lambda: owner.get(f"{scoring}?limit=1")["data"][0]["state"] == "DONE", within_s=PATIENCE_S)
    owner.post(f"{V1}/vehicle/{box.vehicle_id}/driver/{director}")
    drive(server, box, TOO_SHORT)
    until_stands(owner, TOO_SHORT)
    crash = {"ty": 102, "ts": int(time.time() * 1000), "pld": {"tid": 1, "lat": 37.5, "lon": 127.0, "크기": 0.1}}
    world.send(box, json.dumps(crash).encode(), b'{"wbv":11.4,"rs":"off"}', b"{")
    call = {"method": "reset", "params": {"세기": 1.10}}
    assert owner.http.post(f"{TWOWAY}/{box.sensor_id}", json=call).status_code == 409
    with calling.box(server, box.token, calling.answering({"result": 2000}, {"results": 4000})):
        owner.post(f"{TWOWAY}/{box.sensor_id}", call)
        path = f"{V1}/sensor/{box.sensor_id}/rpcs?limit=5"
        waits.seen(lambda: "4000" in json.dumps(owner.get(path)["data"][0]), within_s=PATIENCE_S)
    return [each["id"]["id"] for each in owner.get(path)["data"]]


def _known(
    owner: Office, box: Registered, companies: list[str], people: dict[str, str], others: list[str], calls: list[str]
) -> dict[str, list[str]]:
    trips = owner.get(f"{V1}/vehicle/{box.vehicle_id}/trips?limit=10")["data"]
    sensors = owner.get(f"{V1}/sensors?limit=10")["data"]
    return {
        "companyId": companies,
        "vehicleId": [box.vehicle_id, others[0]],
        "sensorId": [each["id"]["id"] for each in sensors],
        "tripId": [each["id"]["id"] for each in trips],
        "policy": ["1"],
        "rescoringId": [owner.get(f"{V1_3}/company/{companies[0]}/scoring/rescoring?limit=1")["data"][0]["id"]["id"]],
        "directorId": [people["director"], people["abroad"]],
        "driverId": [people["driver"], people["other"]],
        "userId": [people["director"], people["driver"], people["abroad"]],
        "requestId": calls,
        "disputeId": [
            each["id"]["id"] for trip in trips for each in owner.get(f"{V1_3}/trip/{trip['id']['id']}/dispute")["data"]
        ],
        "date": [f"{datetime.fromtimestamp(trips[0]['startTs'] / 1000, UTC):%Y-%m-%d}"],
        "vehicleNo": [box.vehicle_no, "12ab9"],
        "serialNo": ["SN-가"],
        "mdn": [MDN],
        "email": [FACES["director"]],
        "serviceType": ["test-fleet"],
        "textSearch": ["HAN", "한", "12"],
        "mounted": ["true"],
        "delegated": ["true"],
    }


def read(server: Running, there: Fleet) -> Reading:
    """Everything that everybody is told, logged in anew."""
    return readings.read(server.api, tokens(server.api), there.known)


def commands(place: str) -> list[str]:
    """What an operator's commands show of the store, whichever it is."""
    where = ["--store", place] if place.startswith("postgresql:") else ["--data", place]
    listed, doctor = servers.run_here("push", "list", *where, "--body"), servers.run_here("doctor", *where)
    assert (listed.returncode, doctor.returncode) == (0, 0), doctor.stdout
    _, mark, rejected = doctor.stdout.partition("rejected messages: ")
    return [listed.stdout, mark + rejected]


def copied(source: str, target: str) -> None:
    done = servers.run_here("store", "copy", "--from", source, "--to", target)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "copied and verified" in done.stdout.splitlines()[-1]


def lived_on(server: Running, there: Fleet, customer: Receiver) -> None:
    """The same device drives on and is called, its score grows, what was given up arrives; old tokens are good."""
    box = there.box
    stat = f"{V1_3}/vehicle/{box.vehicle_id}/analytics/drivingScore/stat"
    with httpx.Client(base_url=server.api, timeout=30) as client:
        client.headers["X-Authorization"] = f"Bearer {there.tokens['owner']}"
        assert client.get("/api/auth/user").status_code == 200
        assert client.post("/api/auth/token", json={"refreshToken": there.refresh}).status_code == 200
    with Office(server.api, FACES["owner"]) as owner:
        former, count = scores(owner, box), owner.get(stat)["count"]
        drive(server, box, NEXT_DRIVE)
        waits.seen(lambda: len(scores(owner, box)) == len(former) + 1, within_s=PATIENCE_S)
        until_stands(owner, NEXT_DRIVE)
        assert scores(owner, box)[1:] == former
        assert owner.get(stat)["count"] == count + 1
        with calling.box(server, box.token, calling.answering({"result": 2000})):
            assert owner.post(f"{TWOWAY}/{box.sensor_id}", {"method": "reset", "params": {}})["result"] == 2000
        company_id = owner.get(f"{V1}/company/me")["id"]["id"]
        assert owner.post(f"{V1}/company/{company_id}/push/resend", {})["count"] == 1
    waits.seen(lambda: len(customer.requests) == 2, within_s=PATIENCE_S)
    first, again = customer.requests
    assert (again.id, again.body) == (first.id, first.body)


@pytest.mark.slow
def test_used_installation_reads_the_same_on_postgresql_lives_on_there_and_moves_back(tmp_path: Path) -> None:
    data, back = tmp_path / "data", tmp_path / "back"
    receiver = Receiver(lambda _: GONE)
    with databases.fresh() as database, receiving(receiver) as customer:
        with settled(data, customer) as (world, there):
            before, told = read(world.server, there), commands(str(data))
        copied(str(data), database.url)
        receiver.answer = lambda _: OK

        with servers.serving(data, f"--store={database.url}") as server:
            moved, told_there = read(server, there), commands(database.url)
            lived_on(server, there, receiver)
            later = read(server, there)
        copied(database.url, str(back))
        with servers.serving(back) as server:
            returned = read(server, there)

    assert readings.unanswered(before) == set()
    assert moved == before
    assert told_there == told
    assert later != before
    assert returned == later
