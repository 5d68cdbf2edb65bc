"""`tripline serve` from outside: its ready line, doors, health, certificates and how it stops."""

import signal
import socket
import ssl
import stat

import httpx
import pytest
from tests.support import fleet, servers, stores


def trusting(server: servers.Running) -> httpx.Client:
    return httpx.Client(verify=ssl.create_default_context(cafile=str(server.ca)), timeout=10)


def test_serve_opens_every_door_it_names(tmp_path):
    with servers.serving(tmp_path / "data") as server, trusting(server) as http:
        answers = [
            http.get(f"{server.api}/health/ready"),
            http.get(f"{server.analytics}/health/ready"),
            *(http.get(f"{door}/api/tre/v1/company/me") for door in (server.api, server.analytics)),
        ]
        devices = ssl.create_default_context(cafile=str(server.ca))
        with (
            socket.create_connection((server.device_host, server.device_port), 5) as plain,
            devices.wrap_socket(plain, server_hostname="localhost") as encrypted,
        ):
            version = encrypted.version()

    assert answers[0].json()["status"] == "ready"
    assert [answer.status_code for answer in answers] == [200, 404, 401, 401]
    assert version == "TLSv1.3"
    assert server.api.startswith("http://127.0.0.1:")
    assert server.ca == tmp_path / "data" / "tls" / "ca.crt"


def test_serve_answers_health_and_metrics(tmp_path):
    with servers.serving(tmp_path / "data") as server, trusting(server) as http:
        live, metrics = http.get(f"{server.api}/health/live"), http.get(f"{server.api}/metrics")

    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert "tripline_ingest_commit_seconds" in metrics.text


def test_serve_writes_one_line_to_stdout(tmp_path):
    with servers.serving(tmp_path / "data") as server:
        server.process.terminate()
        rest = server.process.communicate(timeout=20)[0]

    assert rest == ""


def test_serve_makes_its_data_private(tmp_path):
    with servers.serving(tmp_path / "data") as server:
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode) & 0o077
            for path in (server.data, server.data / "tls", server.data / "tls" / "ca.key")
        }

    assert modes == {"data": 0, "tls": 0, "ca.key": 0}


@pytest.mark.sqlite("files of SQLite")
def test_serve_in_a_folder_open_to_all_writes_files_for_its_owner_alone(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with servers.serving(data) as server, fleet.Company(server.api, data):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in data.iterdir()}

    assert {"tripline.db", "tripline.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serve_told_to_stop_exits_0(tmp_path, how):
    with servers.serving(tmp_path / "data") as server, trusting(server) as http:
        assert http.get(f"{server.api}/health/live").status_code == 200
        code = server.stop(with_signal=how)

    assert code == 0


def test_serve_speaks_https_when_asked_and_stops_with_idle_clients(tmp_path):
    with servers.serving(tmp_path / "data", "--https") as server, trusting(server) as http:
        answer = http.get(f"{server.api}/health/ready")
        code = server.stop()

    assert (server.api[:8], answer.status_code, code) == ("https://", 200, 0)


def test_serve_restarted_keeps_its_authority_and_its_accounts(tmp_path):
    data = tmp_path / "data"
    with servers.serving(data) as server:
        authority = server.ca.read_bytes()
        made = servers.run(
            "admin", "create", "--data", str(data), "--email", "root@example.com", "--password-stdin", stdin="secret\n"
        )
        assert made.returncode == 0, made.stderr
        server.stop()

    with servers.serving(data) as server, trusting(server) as http:
        login = http.post(f"{server.api}/api/auth/login", json={"username": "root@example.com", "password": "secret"})
        assert server.ca.read_bytes() == authority

    assert sorted(login.json()) == ["refreshToken", "token"]


def test_serve_restarted_honours_the_tokens_it_gave(tmp_path):
    data = tmp_path / "data"
    servers.run("admin", "create", "--data", str(data), "--email", "a@example.com", "--password-stdin", stdin="pw\n")
    with servers.serving(data) as server, trusting(server) as http:
        given = http.post(f"{server.api}/api/auth/login", json={"username": "a@example.com", "password": "pw"}).json()
        server.kill()

    with servers.serving(data) as server, trusting(server) as http:
        again = http.post(f"{server.api}/api/auth/token", json={"refreshToken": given["refreshToken"]})

    assert again.status_code == 200, again.text


def test_doctor_beside_a_running_server_is_well(tmp_path):
    with servers.serving(tmp_path / "data") as server:
        report = servers.run("doctor", "--data", str(server.data))

    of_file = ["schema", "database", "disk", "certificate"]
    of_server = ["schema", "certificate", "database", "connections", "clock", "parts", "processes"]
    asked = [*(of_server if stores.on_postgresql() else of_file), "scoring", "mail", "push"]
    # Each process has a line of its own under theirs.
    lines = [line.split(":")[0] for line in report.stdout.splitlines() if not line.startswith("  ")]
    assert (report.returncode, report.stderr) == (0, "")
    assert lines == [*(f"ok    {subject}" for subject in asked), "rejected messages"]
