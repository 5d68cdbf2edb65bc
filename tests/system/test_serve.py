"""`tripline serve` from outside: its ready line, listeners, health, certificates and how it stops."""

import signal
import socket
import ssl
import stat
from collections.abc import Iterator

import httpx
import pytest
from tests.support import fleet, servers, stores


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Running]:
    """A server for tests that only look."""
    with servers.serving(tmp_path_factory.mktemp("lasting") / "data", first=True) as server:
        yield server


def trusting(server: servers.Running) -> httpx.Client:
    return httpx.Client(verify=ssl.create_default_context(cafile=str(server.ca)), timeout=10)


def test_serve_opens_every_listener_it_names(lasting):
    with trusting(lasting) as http:
        answers = [
            http.get(f"{lasting.api}/health/ready"),
            http.get(f"{lasting.analytics}/health/ready"),
            *(http.get(f"{listener}/api/tre/v1/company/me") for listener in (lasting.api, lasting.analytics)),
        ]
    devices = ssl.create_default_context(cafile=str(lasting.ca))
    with (
        socket.create_connection((lasting.device_host, lasting.device_port), 5) as plain,
        devices.wrap_socket(plain, server_hostname="localhost") as encrypted,
    ):
        version = encrypted.version()

    assert answers[0].json()["status"] == "ready"
    assert [answer.status_code for answer in answers] == [200, 404, 401, 401]
    assert version == "TLSv1.3"
    assert lasting.api.startswith("http://127.0.0.1:")
    assert lasting.ca == lasting.data / "tls" / "ca.crt"


def test_serve_answers_health_and_metrics(lasting):
    with trusting(lasting) as http:
        live, metrics = http.get(f"{lasting.api}/health/live"), http.get(f"{lasting.api}/metrics")

    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert "tripline_ingest_commit_seconds" in metrics.text


def test_serve_makes_its_data_private(lasting):
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) & 0o077
        for path in (lasting.data, lasting.data / "tls", lasting.data / "tls" / "ca.key")
    }

    assert modes == {"data": 0, "tls": 0, "ca.key": 0}


@pytest.mark.sqlite("files of SQLite")
def test_serve_in_a_folder_open_to_all_writes_files_for_its_owner_alone(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with servers.serving(data, first=True) as server, fleet.Company(server.api, data):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in data.iterdir()}

    assert {"tripline.db", "tripline.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serve_told_to_stop_exits_0_and_has_written_one_line_to_stdout(tmp_path, how):
    with servers.serving(tmp_path / "data") as server, trusting(server) as http:
        assert http.get(f"{server.api}/health/live").status_code == 200
        server.process.send_signal(how)
        code = server.process.wait(20)
        assert server.process.stdout is not None
        rest = server.process.stdout.read()

    assert (code, rest) == (0, "")


def test_serve_speaks_https_when_asked_and_stops_with_idle_clients(tmp_path):
    with servers.serving(tmp_path / "data", "--https") as server, trusting(server) as http:
        answer = http.get(f"{server.api}/health/ready")
        code = server.stop()

    assert (server.api[:8], answer.status_code, code) == ("https://", 200, 0)


def test_serve_restarted_keeps_its_authority_and_its_accounts_and_honours_the_tokens_it_gave(tmp_path):
    data = tmp_path / "data"
    account = {"username": "root@example.com", "password": "secret"}
    made = servers.run(
        "admin", "create", "--data", str(data), "--email", account["username"], "--password-stdin", stdin="secret\n"
    )
    with servers.serving(data) as server, trusting(server) as http:
        authority = server.ca.read_bytes()
        given = http.post(f"{server.api}/api/auth/login", json=account).json()
        server.kill()

    with servers.serving(data) as server, trusting(server) as http:
        login = http.post(f"{server.api}/api/auth/login", json=account)
        again = http.post(f"{server.api}/api/auth/token", json={"refreshToken": given["refreshToken"]})

    assert made.returncode == 0, made.stderr
    assert server.ca.read_bytes() == authority
    assert sorted(login.json()) == ["refreshToken", "token"]
    assert again.status_code == 200, again.text


def test_doctor_beside_a_running_server_is_well(lasting):
    report = servers.run("doctor", "--data", str(lasting.data))

    of_file = ["schema", "database", "disk", "certificate"]
    of_server = ["schema", "certificate", "database", "connections", "clock", "partitions", "processes"]
    asked = [*(of_server if stores.on_postgresql() else of_file), "reach", "scoring", "mail", "push"]
    # Each process has a line of its own under theirs.
    lines = [line.split(":")[0] for line in report.stdout.splitlines() if not line.startswith("  ")]
    assert (report.returncode, report.stderr) == (0, "")
    assert lines == [*(f"ok    {subject}" for subject in asked), "rejected messages"]
