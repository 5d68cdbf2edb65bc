"""`tripline replay` against a running server: what arrives, what it says, how it ends."""

import re
import socket
import subprocess

import pytest
from tests.support import certificates, fleet, servers

from tripline.simulator import recordings

SHORT = recordings.FOLDER / "drive_03.csv"
LONG = recordings.FOLDER / "drive_04.csv"


def replay(server: servers.Running, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return servers.run_here("replay", *where(server), *arguments, variables={"TRIPLINE_DEVICE_TOKEN": token})


def playing(server: servers.Running, token: str, *arguments: str) -> "subprocess.Popen[str]":
    command = servers.command("replay", *where(server), *arguments)
    environment = servers.environment({"TRIPLINE_DEVICE_TOKEN": token})
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def where(server: servers.Running) -> list[str]:
    return ["--host", server.device_host, "--port", str(server.device_port), "--ca", str(server.ca)]


def microtrips(company: fleet.Company, trip_id: str) -> list[dict[str, object]]:
    items: list[dict[str, object]] = []
    query = {"limit": 1000, "ascOrder": "true"}
    while True:
        page = company.get(f"/api/tre/v1/trip/{trip_id}/microtrips", **query)
        items += page["data"]
        if not page["hasNext"]:
            return items
        query["idOffset"] = page["nextPageLink"]["idOffset"]


def trips(company: fleet.Company, vehicle_id: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = company.get(f"/api/tre/v1/vehicle/{vehicle_id}/trips", limit=100, ascOrder="true")[
        "data"
    ]
    return found


def test_replay_as_fast_as_acknowledged_stores_every_point_in_one_closed_trip(server, company):
    vehicle = company.vehicle_with_sensor(1)
    drive = recordings.read(LONG)

    done = replay(server, vehicle.token, str(LONG), "--speed", "0")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "drive_04.csv: 322 points"
    assert done.stdout.splitlines()[-1] == "sent 323, acknowledged 323, resent 0"
    [trip] = trips(company, vehicle.vehicle_id)
    assert (trip["startTs"], trip["endTs"]) == (drive.start_ms, drive.end_ms)
    stored = microtrips(company, trip["id"]["id"])  # type: ignore[index]
    assert [record["ts"] for record in stored] == [point.time_ms for point in drive.points]


def test_replay_aggregated_at_a_speed_takes_the_drives_time_and_stores_arrays(server, company):
    vehicle = company.vehicle_with_sensor(2)

    done = replay(server, vehicle.token, str(SHORT), "--speed", "100", "--aggregate", "20")

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "sent 4, acknowledged 4, resent 0")
    [trip] = trips(company, vehicle.vehicle_id)
    stored = microtrips(company, trip["id"]["id"])  # type: ignore[index]
    assert [len(record["payload"]) for record in stored] == [20, 20, 5]  # type: ignore[arg-type]


def test_replay_several_files_as_now_makes_a_trip_of_each_that_ends_now(server, company):
    vehicle = company.vehicle_with_sensor(3)
    lengths = [recordings.read(path).end_ms - recordings.read(path).start_ms for path in (LONG, SHORT)]

    done = replay(server, vehicle.token, str(LONG), str(SHORT), "--speed", "0", "--as-now")

    assert done.returncode == 0
    first, second = trips(company, vehicle.vehicle_id)
    assert [trip["endTs"] - trip["startTs"] for trip in (first, second)] == lengths  # type: ignore[operator]
    assert second["startTs"] - first["endTs"] == 60_000  # type: ignore[operator]
    assert 0 <= second["createdTime"] - second["endTs"] < 60_000  # type: ignore[operator]


def test_replay_file_with_faulty_rows_names_their_lines_and_plays_the_rest(server, company, tmp_path):
    vehicle = company.vehicle_with_sensor(4)
    rows = SHORT.read_text().splitlines()
    rows.insert(3, "nonsense,41.2,-95.9,50")
    file = tmp_path / "faulty.csv"
    file.write_text("\n".join(rows))

    done = replay(server, vehicle.token, str(file), "--speed", "0")

    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == ["faulty.csv: 45 points, 1 rows left out", "  line 4: t_ms is not a number"]


def test_replay_with_unknown_token_says_so_in_one_line_and_exits_1(server):
    done = replay(server, fleet.device_token(), str(SHORT))

    assert done.returncode == 1
    assert done.stderr == "tripline: The platform refused a device's token (return code 5: not authorised).\n"


def test_replay_with_the_wrong_authority_says_so_in_one_line_and_exits_1(server, tmp_path):
    other = certificates.make(tmp_path).ca

    done = servers.run_here("replay", *where(server)[:-1], str(other), "--token", fleet.device_token(), str(SHORT))

    assert done.returncode == 1
    assert done.stderr.startswith(f"tripline: The certificate of {server.device_host}:{server.device_port} cannot be")
    assert done.stderr.count("\n") == 1


def test_replay_without_a_server_gives_up_after_its_patience_and_exits_1(server):
    with socket.socket() as nobody:  # has the port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        place = ["--host", "127.0.0.1", "--port", str(nobody.getsockname()[1]), "--ca", str(server.ca)]

        done = servers.run_here("replay", *place, "--token", "x" * 20, "--patience", "0", str(SHORT))

    assert done.returncode == 1
    assert done.stderr.startswith("tripline: Given up after 0 s without the platform: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.csv", "--token", "x"],
        [str(SHORT), "--token", "x", "--speed", "-1"],
        [str(SHORT), "--token", "x", "--aggregate", "0"],
        [str(SHORT), "--token", "x", "--aggregate", "1001"],
        [str(SHORT)],
    ],
)
def test_replay_used_wrongly_exits_2(arguments):
    assert servers.run_here("replay", *arguments).returncode == 2


@pytest.mark.deep
def test_replay_while_the_server_is_killed_and_comes_back_leaves_every_point_exactly_once(tmp_path):
    data = tmp_path / "data"
    drive = recordings.read(LONG)
    with servers.serving(data) as first, fleet.Company(first.api, data) as company:
        vehicle = company.vehicle_with_sensor(1)
        with playing(first, vehicle.token, str(LONG), "--speed", "60") as replaying:
            assert replaying.stdout is not None
            while not replaying.stdout.readline().startswith("acknowledged"):
                pass
            first.kill()
            with servers.serving(data, f"--device-port={first.device_port}") as second:
                said = replaying.stdout.read()
                assert replaying.wait(60) == 0
                company.http.base_url = second.api
                [trip] = trips(company, vehicle.vehicle_id)
                stored = microtrips(company, trip["id"]["id"])  # type: ignore[index]

    found = re.search(r"sent (\d+), acknowledged 323, resent (\d+)\n$", said)
    assert found
    assert int(found[1]) - int(found[2]) == 323
    assert "connection lost, trying again" in said
    assert [record["ts"] for record in stored] == [point.time_ms for point in drive.points]
