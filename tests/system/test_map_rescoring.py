"""A map that comes, or goes, after trips were scored: what the import offers, and scoring anew what the map touches."""

import asyncio
import os
import shlex
import ssl
import subprocess

import pytest
from tests.support import drives, map_files, servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

from tripline.adapters.maps import locks

START_MS = 1_780_000_000_000
PATIENCE_S = 30


@pytest.fixture
def street(tmp_path):
    """A map of the road that made-up drives go along, at 90 where 60 is allowed."""
    nodes = {no: (36.0 + (no - 3) * 0.002, 127.5) for no in range(1, 30)}
    tags = {"highway": "primary", "name": "Hanbat-daero", "maxspeed": "60"}
    return map_files.written(tmp_path / "daejeon.osm.pbf", nodes, [(4711, list(nodes), tags)])


def test_import_offers_to_score_anew_what_it_touches_and_the_command_does_it(tmp_path, street):
    with servers.serving(tmp_path / "data") as server, Company(server.api, server.data) as company:
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play(drives.straight_trip(1, START_MS)))
        scores = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/drivingScore"

        def score():
            return [each["score"] for each in company.get(scores, limit=10)["data"]]

        (free,) = waits.seen(score, within_s=PATIENCE_S)

        imported = servers.run_here("map", "import", str(street), "--data", str(server.data))
        offer, command = imported.stdout.splitlines()[-2:]
        words = shlex.split(command.partition(": ")[2])[1:]
        tried = servers.run_here(*words, "--dry-run")
        unmoved = score()
        done = servers.run_here(*words)
        (limited,) = score()
        again = servers.run_here("map", "import", str(street), "--data", str(server.data))

        removed = servers.run_here("map", "remove", "daejeon", "--data", str(server.data))
        path = f"/api/tre/v1_3/company/{company.record['id']['id']}/scoring/rescoring"
        begun = company.post(path, {"dryRun": False, "map": "daejeon"})
        ended = waits.seen(
            lambda: (now := company.get(f"/api/tre/v1_3/rescoring/{begun['id']['id']}"))["state"] == "DONE" and now,
            within_s=PATIENCE_S,
        )
        back = score()
        nothing = servers.run_here(*words)

    assert imported.stdout.startswith("imported daejeon: 1 roads, map ")
    assert offer == "scored trips that it may touch: 1"
    assert words[:3] == ["rescore", "--map", "daejeon"]
    assert [each.returncode for each in (imported, tried, done, again, removed, nothing)] == [0] * 6
    told = "trips judged 1: scores moved 1, new 0, gone 0, as before 0, failed 0"
    assert tried.stdout.startswith(f"{told} (dry run)\n")
    assert done.stdout.startswith(f"{told}\n")
    assert unmoved == back == [free]
    assert limited < free
    assert again.stdout.splitlines()[1:] == ["scored trips that it may touch: 0"]
    assert (ended["map"], ended["trips"], ended["moved"]) == ("daejeon", 1, 1)
    assert nothing.stdout == "trips judged 0: scores moved 0, new 0, gone 0, as before 0, failed 0\n"
    assert "There is no map called daejeon now" in nothing.stderr


def test_offer_says_so_when_it_has_not_looked_at_every_trip(tmp_path, street, monkeypatch):
    monkeypatch.setattr("tripline.maintenance.rescore.LOOKED_AT", 0)
    with servers.serving(tmp_path / "data") as server:
        imported = servers.run_here("map", "import", str(street), "--data", str(server.data))

    assert imported.stdout.splitlines()[1] == "scored trips that it may touch: at least 0"
    assert "tripline rescore --map daejeon" in imported.stdout


@pytest.mark.parametrize("url", ["", "postgresql://nobody@127.0.0.1:1/none"])
def test_import_needs_no_store_and_makes_none(tmp_path, street, url):
    place = ("--data", str(tmp_path / "data"))
    imported = servers.run_here("map", "import", str(street), *place, variables={"TRIPLINE_STORE_URL": url})

    assert imported.returncode == 0
    assert imported.stdout.splitlines()[1:] == [
        f"stored scores stay until you run: tripline rescore --map daejeon --data {tmp_path / 'data'}"
    ]
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["maps"]


def test_import_that_a_server_started_offers_nothing(tmp_path, street):
    """It has no settings but the folder of maps: whatever lies where it runs is somebody else's."""
    held = locks.take(tmp_path / "maps")
    command = servers.command("map", "import", str(street), "--held", str(held))
    given = servers.environment({"TRIPLINE_MAP_DIR": str(tmp_path / "maps")})
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(held,), cwd=tmp_path, env=given, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        ended = process.wait(servers.STOP_S)
    os.close(held)

    assert ended == 0
    assert [line.partition(":")[0] for line in said.splitlines()] == ["imported daejeon"]
