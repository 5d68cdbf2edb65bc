"""`tripline demo`: it ends by itself without a terminal; what it prints to go on with works as printed."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

import httpx
import pytest
from tests.support import servers

from tripline.demo import FLEET, MOVING, SPEEDER

pytestmark = pytest.mark.once("has a store of its own")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SCORED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d +\d+\.\d +(\d+\.\d)")
OVER = re.compile(r"\d\d:\d\d:\d\d +(.+): up to (\d+) where (\d+) is allowed, (\d+) s +-(\d+\.\d)")
WITHOUT = "No map was given: every limit is the default"
MAP = Path(__file__).parents[2] / "evaluation" / "maps" / "liechtenstein.osm.pbf"


def test_demo_without_a_terminal_prints_the_scores_and_ends_by_itself(tmp_path):
    done = servers.run("demo", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    scores = [float(text) for text in SCORED.findall(done.stdout)]
    assert len(scores) == 9
    assert all(0 < score <= 100 for score in scores)
    assert "3 of 12 trips without a score. The trip is not scored: it is shorter" in done.stdout
    assert f"has {min(scores)} of 100 points for its trip from " in done.stdout
    assert WITHOUT in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.deep
def test_demo_with_a_file_that_is_no_map_says_so_and_exits_1(tmp_path):
    file = tmp_path / "roads.osm.pbf"
    file.write_bytes(b"no map")

    done = servers.run("demo", "--map", str(file))

    assert done.returncode == 1
    assert done.stderr == f"tripline: {file} is not an OpenStreetMap file in PBF format (.osm.pbf).\n"


def test_demo_on_a_data_folder_that_is_not_empty_says_so_and_exits_1(tmp_path):
    (tmp_path / "something").touch()

    done = servers.run("demo", "--data", str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"tripline: {tmp_path} is not empty; the demo needs an empty data folder.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["something"]


@pytest.mark.deep
def test_demo_in_a_terminal_goes_on_until_it_is_interrupted_and_prints_lines_that_work_as_printed(tmp_path):
    data = tmp_path / "demo data"
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, encoding="utf-8") as shown,
        subprocess.Popen(
            servers.command("demo", "--data", str(data)), env=servers.environment(), stdout=theirs
        ) as demo,
    ):
        os.close(theirs)
        printed = _printed(shown)
        driven = _lines_work(printed)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(20) == 0

    assert driven == dict.fromkeys(FLEET, True)
    _no_secret_in(data, "".join(printed), driven.keys())


@pytest.mark.deep
def test_kept_demo_with_a_map_names_roads_and_moves_vehicles_until_it_is_stopped(tmp_path):
    """Without a terminal; its lines work as printed, too."""
    data = tmp_path / "demo data"
    command = servers.command("demo", "--keep", "--map", str(MAP), "--data", str(data))
    with subprocess.Popen(command, env=servers.environment(), stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        printed = _printed(demo.stdout)
        api = next(line.removeprefix("  API=").strip() for line in printed if line.startswith("  API="))
        with httpx.Client(base_url=api, trust_env=False) as rest:
            pair = rest.post("/api/auth/login", content=(data / "demo-login.json").read_bytes()).json()
            rest.headers["X-Authorization"] = f"Bearer {pair['token']}"
            company = rest.get("/api/auth/user").json()["companyId"]["id"]
            moving = _until_all_move(rest, company)
            page = rest.get(f"/api/tre/v1/company/{company}/vehicles", params={"limit": 100}).json()
        driven = _lines_work(printed)
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) == 0

    _speeds_along_named_roads("".join(printed))
    assert driven.keys() == {*FLEET, SPEEDER, *MOVING}
    assert {number: driven[number] for number in (*FLEET, SPEEDER)} == dict.fromkeys((*FLEET, SPEEDER), True)
    fleet = [each for each in page["data"] if each["id"]["id"] in moving]
    assert len(fleet) == len(MOVING)
    assert {each["vehicleNo"]: (each["vendor"], each["modelName"]) for each in fleet} == {
        number: made[:2] for number, made in MOVING.items()
    }
    assert {each["status"] for each in page["data"]} == {"ACTIVATED"}
    assert "acknowledged" in (data / "fleet.log").read_text()
    assert (data / "demo-tokens").stat().st_mode & 0o077 == 0
    _no_secret_in(data, "".join(printed), driven.keys())


def _printed(shown: TextIO) -> list[str]:
    """What a demo that goes on prints, until it says how it ends."""
    lines: list[str] = []
    while "Ctrl-C" not in (lines or [""])[-1]:
        lines.append(COLOUR.sub("", shown.readline()))
        assert lines[-1], "".join(lines)
    return lines


def _lines_work(printed: list[str]) -> dict[str, bool]:
    """Run each line that a demo prints to go on with, as it stands there; the vehicles in the portal, and whether each
    has driven."""
    lines = [line.strip() for line in printed if re.match(r"\s+(API=|TOKEN=|curl )", line)]
    answers = _in_shell(lines)
    replayed = _in_shell([next(line.strip() for line in printed if "tripline replay" in line)])
    more = _in_shell(lines[:3])

    page, total, microtrips, explained = (json.loads(answer) for answer in answers)
    assert [set(score) >= {"id", "score", "dist"} for score in page["data"]] == [True, True]
    assert total["count"] == 3
    assert len(microtrips["data"]) == 1
    assert explained["score"] < 75
    assert replayed[-1] == "sent 548, acknowledged 548, resent 0"
    assert "errorCode" not in json.loads(more[0])
    return _fleet_seen_by(next(line.strip() for line in printed if "/sign-in/link?" in line))


def _speeds_along_named_roads(printed: str) -> None:
    """The scores and the explanation of the worst trip use the map."""
    scores = [float(text) for text in SCORED.findall(printed)]
    assert len(scores) == 10
    assert "imported liechtenstein: " in printed
    assert "© OpenStreetMap contributors" in printed
    assert f"Why 78RA9012 has {min(scores)} of 100 points" in printed
    stretches = OVER.findall(printed)
    assert len(stretches) > 3
    for road, fastest, limit, seconds, cost in stretches:
        assert int(seconds) > 0
        assert int(fastest) > 1.1 * int(limit) - 1
        assert re.search("[A-Za-z]{4}", road)
        assert float(cost) > 0
    assert WITHOUT not in printed


def _until_all_move(rest: httpx.Client, company: str) -> set[str]:
    """The vehicles at speed, once they are as many as the demo moves."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = rest.get(f"/api/tre/v1/company/{company}/positions", params={"limit": 100}).json()["data"]
        moving = {each["vehicleId"]["id"] for each in found if each["state"] == "DRIVING"}
        if len(moving) >= len(MOVING):
            return moving
        time.sleep(0.5)
    raise AssertionError(found)


def _fleet_seen_by(link: str) -> dict[str, bool]:
    """The vehicles in the portal's list, and whether each has driven, for a browser that opens the link and sends its
    form."""
    there = httpx.URL(link)
    origin = f"{there.scheme}://{there.netloc.decode()}"
    with httpx.Client(base_url=origin, headers={"origin": origin}, follow_redirects=True, trust_env=False) as browser:
        assert browser.get(link).status_code == 200
        entered = browser.post(there.path, data={"token": there.params["token"]})
        assert entered.status_code == 200, entered.text
        rows = re.findall(r'href="(/fleet/vehicles/[0-9a-f-]{36})"[^>]*>(\w+)<', browser.get("/fleet/vehicles").text)
        return {number: "has not reported a trip yet" not in browser.get(page).text for page, number in rows}


def _in_shell(lines: list[str]) -> list[str]:
    """What each line of a session prints, in one shell, one answer a line."""
    script = "\n".join(f"{line}; echo" if line.startswith("curl") else line for line in lines)
    done = subprocess.run(
        ["bash", "-eu", "-c", script], capture_output=True, text=True, timeout=60, env=servers.environment()
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def _no_secret_in(data: Path, printed: str, vehicles: Collection[str]) -> None:
    password = json.loads((data / "demo-login.json").read_text())["password"]
    tokens = list(data.glob("demo-token-*"))
    log = (data / "server.log").read_text()
    assert sorted(path.name for path in tokens) == sorted(f"demo-token-{number}" for number in vehicles)
    assert log
    for secret in (password, *(path.read_text() for path in tokens)):
        assert secret not in log
        assert secret not in printed
    for path in (data / "demo-login.json", *tokens):
        assert path.stat().st_mode & 0o077 == 0
