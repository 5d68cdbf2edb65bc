"""`tripline simulate` against a running server: what it shows is what the store holds."""

import re
import signal
import subprocess
import time
from statistics import mean

import pytest
from tests.support import fleet, map_files, pages, reference, required, servers, stores, waits

from tripline.simulator import recordings
from tripline.simulator.calls import MANNERS
from tripline.simulator.habits import HABITS

ROW = re.compile(r"^│ (microtrips|trips|events|RPC answers) +│(.*)│$", re.MULTILINE)
NUMBERS = ("sent", "again", "acknowledged", "without record", "due", "maybe", "stored")
PATIENCE_S = 30
Table = dict[str, dict[str, int]]


def arguments(server: servers.Running, *more: str) -> list[str]:
    where = ["--api", server.api, "--host", server.device_host, "--port", str(server.device_port)]
    return ["simulate", *where, "--ca", str(server.ca), *more]


def simulate(server: servers.Running, prefix: str, *more: str) -> subprocess.CompletedProcess[str]:
    account = ["--email", "admin@test-fleet.example", "--password-stdin"]
    return servers.run_here(*arguments(server, *account, "--prefix", prefix, *more), stdin=fleet.PASSWORD)


def table(output: str) -> Table:
    found = {}
    for kind, cells in ROW.findall(output):
        numbers = [int(cell.strip().replace(",", "") or -1) for cell in cells.split("│")]
        found[kind] = dict(zip(NUMBERS, numbers, strict=True))
    return found


def in_store(server: servers.Running, prefix: str) -> dict[str, int]:
    """What the database itself holds of the fleet."""
    of_fleet = "(SELECT id FROM vehicle WHERE vehicle_no LIKE ?)"

    def count(what: str) -> int:
        statement = f"SELECT count(*) FROM {what} {of_fleet}"
        [(number,)] = stores.Database(server.data).rows(statement, f"{prefix}-%")
        return int(number)

    return {
        "microtrips": count("microtrip m JOIN trip t ON t.no = m.trip_no WHERE t.vehicle_id IN"),
        "trips": count("trip WHERE payload IS NOT NULL AND vehicle_id IN"),
        "events": count("device_event WHERE vehicle_id IN"),
    }


def shown_as_stored(found: Table) -> dict[str, int]:
    return {kind: row["stored"] for kind, row in found.items() if kind != "RPC answers"}


@pytest.mark.deep
@pytest.mark.usefixtures("company")
def test_simulate_every_type_with_calls_activation_and_lost_connections_stores_what_was_acknowledged(server):
    done = simulate(
        server,
        "ALL",
        *("--vehicles", "21", "--speed", "0", "--trips", "2", "--duration", "120", "--pause", "60"),
        *("--events", "240", "--reconnects", "2", "--aggregate", "3", "--msgpack", "0.3", "--activation", "0.4"),
    )

    found = table(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert "registered and mounted: 21 vehicles, ALL-00001 to ALL-00021" in done.stdout
    assert "activated: 8 of 8" in done.stdout
    assert shown_as_stored(found) == in_store(server, "ALL")
    assert all(found[kind]["stored"] == found[kind]["acknowledged"] for kind in ("microtrips", "trips", "events"))
    assert found["trips"]["acknowledged"] == 2 * 21 + 2 * 3  # black boxes park after each drive
    assert found["RPC answers"]["acknowledged"] == 8 * 2
    assert done.stdout.endswith("Everything acknowledged is stored, once.\n")


@pytest.mark.deep
@pytest.mark.usefixtures("company")
def test_simulate_every_bad_habit_explains_what_makes_no_record(server):
    done = simulate(
        server,
        "BAD",
        *("--types", "OBD,ADAS", "--vehicles", str(2 * len(HABITS)), "--habits", "all", "--events", "240"),
        *("--speed", "0", "--duration", "60", "--pause", "30", "--reconnects", "1"),
    )

    found = table(done.stdout)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert all(f"│ {name} " in done.stdout for name in HABITS)
    assert shown_as_stored(found) == in_store(server, "BAD")
    assert found["microtrips"]["without record"] > 0
    assert found["microtrips"]["due"] == found["microtrips"]["acknowledged"] - found["microtrips"]["without record"]


def test_simulate_styles_are_told_by_their_scores(server, company):
    styles = ("calm", "ordinary", "aggressive")
    scores: dict[str, float] = {}
    for style in styles:
        drives = ("--types", "GPS,OBD,BLACKBOX", "--trips", "2", "--duration", "900", "--speed", "0")
        done = simulate(server, style.upper(), "--styles", style, "--vehicles", "3", *drives, "--aggregate", "50")
        assert done.returncode == 0, done.stdout
        scores[style] = mean(score(company, f"{style.upper()}-0000{number}") for number in (1, 2, 3))

    assert scores["calm"] > 90
    assert scores["calm"] > scores["ordinary"] + 2
    assert scores["ordinary"] > scores["aggressive"] + 15


def score(company: fleet.Company, plate: str, drives: int = 2) -> float:
    """The accumulated score of the vehicle, when all its drives are scored."""
    vehicle_id = company.get("/api/tre/v1/vehicle", vehicleNo=plate)["id"]["id"]
    path = f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore/stat"
    found = waits.seen(
        lambda: company.http.get(path).json(), lambda answer: answer.get("count") == drives, within_s=PATIENCE_S
    )
    return float(found["score"])


@pytest.mark.usefixtures("company")
def test_simulate_again_uses_the_fleet_that_is_there_and_counts_only_the_new(server):
    drives = ("--vehicles", "4", "--speed", "0", "--duration", "30", "--pause", "30")

    first = table(simulate(server, "TWICE", *drives, "--types", "OBD").stdout)
    again = simulate(server, "TWICE", *drives, "--types", "GPS", "--seed", "2")

    second = table(again.stdout)
    assert again.returncode == 0
    assert {kind: first[kind]["stored"] + second[kind]["stored"] for kind in ("microtrips", "trips")} == {
        kind: count for kind, count in in_store(server, "TWICE").items() if kind != "events"
    }
    types = stores.Database(server.data).rows("SELECT DISTINCT type FROM sensor WHERE serial_no LIKE 'TWICE-%'")
    assert types == [("OBD",)]


def test_simulate_tokens_along_a_route_faster_than_real_time(server, company, tmp_path):
    vehicles = [company.vehicle_with_sensor(number, sensor_type=kind) for number, kind in ((901, "GPS"), (902, "OBD"))]
    file = tmp_path / "tokens"
    file.write_text(f"{vehicles[0].token}\n{vehicles[1].token},OBD\n")
    drives = ("--route", str(recordings.FOLDER / "drive_04.csv"), "--speed", "60", "--duration", "60", "--pause", "30")

    began = time.time()
    done = servers.run_here(*arguments(server, "--tokens", str(file), *drives))
    ended = time.time()

    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing stored was counted" in done.stdout
    found = table(done.stdout)
    assert found["microtrips"]["acknowledged"] > 40
    for vehicle in vehicles:
        [trip] = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=10)["data"]
        assert began - 100 < trip["startTs"] / 1_000 < trip["endTs"] / 1_000 < ended
        newest = company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/microtrip/latest")["payload"]
        assert newest["lat"] == pytest.approx(
            recordings.read(recordings.FOLDER / "drive_04.csv").points[0].lat, abs=0.1
        )


def test_simulate_drives_along_the_roads_of_the_imported_maps(server, company, tmp_path):
    street = map_files.street(tmp_path / "street.osm.pbf", maxspeed="50")
    assert servers.run_here("map", "import", str(street), "--data", str(server.data)).returncode == 0
    drives = ("--vehicles", "1", "--types", "GPS", "--styles", "calm", "--speed", "0", "--duration", "600")

    done = simulate(server, "ROADS", *drives, "--data", str(server.data))

    assert (done.returncode, done.stderr) == (0, "")
    assert "driving along the roads of street (© OpenStreetMap contributors)" in done.stdout
    assert score(company, "ROADS-00001", 1) > 90
    vehicle_id = company.get("/api/tre/v1/vehicle", vehicleNo="ROADS-00001")["id"]["id"]
    [trip] = company.get(f"/api/tre/v1/vehicle/{vehicle_id}/trips", limit=10)["data"]
    told = company.get(f"/api/tre/v1_3/trip/{trip['id']['id']}/analytics/drivingScore/explanation")
    assert told["dist"] > 3_000
    assert told["limitKnown"] > 0.99


def test_simulate_with_a_map_that_is_lost_says_so_and_exits_1(server, company, tmp_path):
    data = tmp_path / "data"
    street = map_files.street(tmp_path / "street.osm.pbf")
    assert servers.run_here("map", "import", str(street), "--data", str(data)).returncode == 0
    next((data / "maps").glob("street.*/lat.npy")).unlink()

    done = simulate(server, "LOST", "--data", str(data))

    assert done.returncode == 1
    assert done.stderr.startswith("tripline: The map of street cannot be read: ")


@pytest.mark.deep
@pytest.mark.usefixtures("company")
def test_simulate_interrupted_ends_its_drives_and_shows_the_table(server):
    account = ["--email", "admin@test-fleet.example"]
    command = servers.command(*arguments(server, *account, "--prefix", "STOP", "--vehicles", "5", "--types", "GPS"))
    environment = servers.environment({"TRIPLINE_LOGIN_PASSWORD": fleet.PASSWORD})
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        waits.seen(lambda: in_store(server, "STOP")["microtrips"], lambda found: found >= 10, within_s=PATIENCE_S)
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=PATIENCE_S)

    assert (running.returncode, errors) == (0, "")
    assert "stopping: drives end here" in output
    assert shown_as_stored(table(output)) == in_store(server, "STOP")
    assert output.endswith("Everything acknowledged is stored, once.\n")


@pytest.mark.deep
@pytest.mark.usefixtures("company")
def test_simulate_while_the_server_is_killed_and_comes_back_loses_nothing(tmp_path):
    data = tmp_path / "data"
    with servers.serving(data) as first, fleet.Company(first.api, data):
        command = arguments(first, "--email", "admin@test-fleet.example", "--vehicles", "6", "--speed", "20")
        environment = servers.environment({"TRIPLINE_LOGIN_PASSWORD": fleet.PASSWORD})
        with subprocess.Popen(
            servers.command(*command, "--duration", "120", "--pause", "30", "--period", "1"),
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            waits.seen(lambda: in_store(first, "SIM")["microtrips"], lambda found: found >= 30, within_s=PATIENCE_S)
            first.kill()
            with servers.serving(data, *servers.same_listeners(first)) as second:
                output, _ = running.communicate(timeout=60)
                stored = in_store(second, "SIM")

    assert running.returncode == 0, output
    assert shown_as_stored(table(output)) == stored
    assert "6 vehicles, 12 connections" in output


def test_simulate_with_a_wrong_password_says_so_in_one_line_and_exits_1(server):
    account = ["--email", "admin@test-fleet.example", "--password-stdin"]

    done = servers.run_here(*arguments(server, *account), stdin="wrong")

    assert done.returncode == 1
    assert done.stderr.startswith("tripline: POST /api/auth/login: ")
    assert done.stderr.count("\n") == 1


def test_simulate_with_an_unknown_token_names_the_vehicle_and_exits_1(server, tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"{fleet.device_token()}\n")

    done = servers.run_here(*arguments(server, "--tokens", str(file), "--speed", "0", "--duration", "30"))

    assert (done.returncode, done.stderr) == (1, "")
    assert "line 1: The platform refused a device's token (return code 5" in done.stdout


@pytest.mark.deep
@pytest.mark.slow
def test_page_is_true_line_by_line_and_names_every_habit_and_manner(tmp_path):
    required.need("curl", "the story of docs/simulate.md")
    text = (reference.ROOT / "docs" / "simulate.md").read_text("utf-8")
    told = pages.story(text)

    with servers.serving(tmp_path / "tripline-data") as server:
        where = {"--host 127.0.0.1 --port 9900": f"--host {server.device_host} --port {server.device_port}"}
        printed = pages.play(told, server, where)

    assert [pages.lines(each) for each in printed] == [shown for _, shown in told]
    assert all(f"| `{name}` | {habit.does} | {habit.read} |" in text for name, habit in HABITS.items())
    assert all(f"\n| `{name}` |" in text for name in MANNERS)
