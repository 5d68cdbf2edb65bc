"""No password, token or position reaches the log of a running server, whatever is asked of it."""

import httpx
from tests.support import fleet, servers

POSITION = "37.123456"


def _provoke(server: servers.Running, company: fleet.Company, device: str) -> list[str]:
    """Everything that could end up in a log by mistake; the texts that must not."""
    token = company.http.headers["X-Authorization"].removeprefix("Bearer ")
    secrets = [fleet.PASSWORD, "wrong-pass-phrase", token, token.rpartition(".")[2], device, POSITION]
    anybody = httpx.Client(base_url=server.analytics, timeout=20)
    with anybody:
        for body in (
            {"username": "admin@test-fleet.example", "password": "wrong-pass-phrase"},
            {"password": fleet.PASSWORD},
        ):
            anybody.post("/api/auth/login", json=body)
        anybody.post("/api/auth/login", content=f'{{"username":"x","password":"{fleet.PASSWORD}'.encode())
        anybody.post("/api/auth/token", json={"refreshToken": token})
        for header in (f"Bearer {token[:-4]}", f"Basic {token}", f"Bearer {token}.{token}"):
            anybody.get(f"/api/auth/user?lat={POSITION}&token={token}", headers={"X-Authorization": header})
        again = {"serialNo": "other", "type": "GPS", "credentialsId": device}
        answer = anybody.post("/api/tre/v1/sensor", json=again, headers=company.http.headers)
        assert (answer.status_code, device in answer.text) == (400, False)
    return secrets


def _log(server: servers.Running) -> str:
    return (server.data.parent / f"{server.data.name}.stderr").read_text()


def test_log_of_a_provoked_server_holds_no_secret(tmp_path):
    talkative = {"TRIPLINE_LOG_LEVEL": "debug"}
    with (
        servers.serving(tmp_path / "data", variables=talkative) as server,
        fleet.Company(server.api, server.data) as company,
    ):
        device = company.vehicle_with_sensor(1).token
        secrets = _provoke(server, company, device)
        metrics = company.http.get("/metrics").text
    log = _log(server)

    # The log is not silent about what happened, so it could have told more.
    assert log.count("account.login_failed") == 1
    assert [secret for secret in secrets if secret in log or secret in metrics] == []
