"""Foreign HTTP clients at their defaults over plain HTTP: they offer HTTP/2, which we ignore (RFC 9110 7.8)."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.support import drives, fleet, foreign, required, servers, waits

pytestmark = pytest.mark.once("how foreign clients speak")

JAVA = Path(__file__).parent / "java" / "Client.java"
START_MS = 1_780_000_000_000
LIMIT_S = 60
SCORES = "/api/tre/v1_3/vehicle/{}/analytics/drivingScore"
EMAIL = "admin@test-fleet.example"
LOGIN = json.dumps({"username": EMAIL, "password": fleet.PASSWORD})


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server, a company's administrator, and the path of a vehicle's scores, of which there is one."""
    with (
        servers.serving(tmp_path_factory.mktemp("foreign") / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        driven = company.vehicle_with_sensor(1)
        client = foreign.PahoPublishing(
            foreign.Listener(server.device_host, server.device_port, server.ca), driven.token, 1
        )
        for body in drives.straight_trip(1, START_MS, samples=120):
            client.feed(body)
        client.finish()
        scores = SCORES.format(driven.vehicle_id)
        waits.seen(lambda: company.get(scores, limit=10)["data"], within_s=LIMIT_S)
        yield server, company, scores


def test_jdk_client_at_its_defaults_logs_in_registers_a_vehicle_and_reads_scores(served):
    required.need("javac", "the JDK's HTTP client against the server")
    server, company, scores = served
    vehicle = json.dumps({"vehicleNo": "77J7777", "mileage": 1000})

    command = ["java", str(JAVA), server.api, LOGIN, vehicle, f"{scores}?limit=10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)

    assert (done.returncode, done.stderr) == (0, "")
    answers = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [status for status, _ in answers] == ["200"] * 3
    registered, read = (json.loads(body) for _, body in answers[1:])
    assert company.get(f"/api/tre/v1/vehicle/{registered['id']['id']}") == registered
    assert read == company.get(scores, limit=10)


@pytest.mark.parametrize("offers", [["--http1.1"], ["--http2"]], ids=["nothing", "HTTP/2"])
@pytest.mark.parametrize("framed", [[], ["--header", "Transfer-Encoding: chunked"]], ids=["length", "chunks"])
def test_curl_logs_in_whatever_it_offers(served, offers, framed):
    required.need("curl", "curl against the server")
    server, _, _ = served
    json_body = ["--header", "Content-Type: application/json", "--data", LOGIN]

    command = ["curl", "--silent", "--show-error", *offers, *framed, *json_body, f"{server.api}/api/auth/login"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)

    assert (done.returncode, done.stderr) == (0, "")
    assert {"token", "refreshToken"} <= json.loads(done.stdout).keys()
