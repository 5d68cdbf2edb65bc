"""No password, token or position reaches the log of a running server, whatever is asked of it."""

from collections.abc import Iterator

import httpx
import pytest
from tests.support import fleet, mail, servers, stores, waits
from tests.support.calling import box
from tests.support.receivers import Receiver, Reply, status
from tests.support.receiving import receiving

POSITION = "37.123456"
APPLICANT = "ops@hanbit.example"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Running]:
    talkative = {"TRIPLINE_LOG_LEVEL": "debug"}
    with servers.serving(tmp_path_factory.mktemp("talkative") / "data", variables=talkative) as running:
        yield running


@pytest.fixture
def server(lasting: servers.Running) -> Iterator[servers.Running]:
    """The server of all tests here; its log begins anew with each."""
    servers.errors_of(lasting.data).write_text("")
    yield lasting


def _company(server: servers.Running, name: str) -> fleet.Company:
    return fleet.Company(server.api, server.data, service_type=name)


def _provoke(server: servers.Running, company: fleet.Company, device: str) -> list[str]:
    """Everything that could end up in a log by mistake; the texts that must not."""
    token = company.http.headers["X-Authorization"].removeprefix("Bearer ")
    secrets = [fleet.PASSWORD, "wrong-pass-phrase", token, token.rpartition(".")[2], device, POSITION]
    anybody = httpx.Client(base_url=server.analytics, timeout=20)
    with anybody:
        for body in (
            {"username": company.record["picEmail"], "password": "wrong-pass-phrase"},
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


def _log_that_tells_of(server: servers.Running, event: str) -> str:
    return waits.seen(lambda: _log(server), lambda log: event in log)


def test_log_of_a_provoked_server_holds_no_secret(server):
    with _company(server, "provoked") as company:
        device = company.vehicle_with_sensor(1).token
        secrets = _provoke(server, company, device)
        metrics = company.http.get("/metrics").text
    log = _log(server)

    # The log is not silent about what happened, so it could have told more.
    assert log.count("account.login_failed") == 1
    assert [secret for secret in secrets if secret in log or secret in metrics] == []


def _provoke_accounts(server: servers.Running, api: httpx.Client) -> list[str]:
    """Links, passwords and refresh tokens, used well and badly; the texts that must not be in the log."""
    root = {"username": "root@x.example", "password": fleet.PASSWORD}
    servers.run_here(
        "admin",
        "create",
        "--data",
        str(server.data),
        "--email",
        root["username"],
        "--password-stdin",
        stdin=fleet.PASSWORD,
    )
    token = api.post("/api/auth/login", json=root).json()["token"]
    api.headers["X-Authorization"] = f"Bearer {token}"
    form = ("serviceName", "companyName", "contactName", "mobile", "introduction")
    api.post("/api/noauth/application", json={**dict.fromkeys(form, "x"), "email": APPLICANT})
    (application,) = api.get("/api/tre/v1/applications?limit=1").json()["data"]
    api.post(f"/api/tre/v1/application/{application['id']['id']}/approve")
    link = _link(server)
    link_token = link.partition("token=")[2]
    chosen, changed = "a chosen pass phrase", "a changed pass phrase"
    for password in ("short", chosen, chosen):
        api.get(link)
        api.post("/account/set-password", data={"token": link_token, "password": password, "again_password": password})
        api.post("/api/noauth/setPassword", json={"token": link_token, "password": password})
    pair = api.post("/api/auth/login", json={"username": APPLICANT, "password": chosen}).json()
    refreshed = [pair["refreshToken"]]
    for _ in range(2):
        refreshed.append(api.post("/api/auth/token", json={"refreshToken": refreshed[-1]}).json()["refreshToken"])
    stolen = api.post("/api/auth/token", json={"refreshToken": refreshed[0]})
    assert stolen.status_code == 401
    again = api.post("/api/auth/login", json={"username": APPLICANT, "password": chosen}).json()
    api.headers["X-Authorization"] = f"Bearer {again['token']}"
    for current in ("wrong-pass-phrase", chosen):
        api.post("/api/auth/changePassword", json={"currentPassword": current, "newPassword": changed})
    for _ in range(6):
        api.post("/api/auth/login", json={"username": APPLICANT, "password": "wrong-pass-phrase"})
    secrets = [link_token, chosen, changed, "wrong-pass-phrase", fleet.PASSWORD, token, pair["token"], again["token"]]
    refreshed.append(again["refreshToken"])
    return [*secrets, *refreshed, *(each.rpartition(".")[2] for each in refreshed)]


def _link(server: servers.Running) -> str:
    """The link in the only mail of the server's folder, once it is there."""
    found = waits.seen(lambda: mail.in_folder(server.data / "mail"), within_s=20)
    return mail.link_in(found[0])


def test_log_of_accounts_in_trouble_holds_no_secret(server):
    with httpx.Client(base_url=server.api, timeout=20) as api:
        secrets = _provoke_accounts(server, api)
        metrics = api.get("/metrics").text
    log = _log(server)

    # Not `account.login_failed`: once in ten seconds, and the test before may have caused it.
    events = ("account.refresh_reused", "account.login_throttled")
    assert [log.count(event) > 0 for event in events] == [True] * 2
    assert [secret for secret in secrets if secret in log or secret in metrics] == []
    kept = b"".join(path.read_bytes() for path in server.data.glob("tripline.*"))
    assert kept or stores.on_postgresql()
    assert [secret for secret in secrets if secret.encode() in kept] == []


def _provoke_fleet(server: servers.Running, company: fleet.Company) -> list[str]:
    """Passwords and device tokens in every body that takes one, good and bad; the texts that must not be in the log."""
    http, base = company.http, "/api/tre/v1"
    own = f"{base}/company/{company.record['id']['id']}"
    passwords = [f"pass phrase number {number}" for number in range(8)]
    device, bulk, bad = fleet.device_token(), fleet.device_token(), fleet.device_token() + "/"
    person = {"name": "N", "email": "n@people.example", "password": passwords[0]}
    made = http.post(f"{base}/driver", json=person).json()["id"]["id"]
    http.post(f"{base}/driver", json=person)
    http.post(f"{base}/director", json={**person, "email": [passwords[1]]})
    http.put(f"{base}/driver/{made}", json={"password": passwords[2]})
    http.put(f"{base}/driver/{made}", json={"password": [passwords[3]]})
    admin = http.post(f"{own}/admin", json={**person, "email": "a@people.example", "password": passwords[4]}).json()
    http.put(f"{own}/admin/{admin['id']['id']}", json={"password": passwords[5], "email": "no address"})
    http.put(own, json={"picPasswd": passwords[6]})
    http.post(f"{base}/company", json={"name": "N", "picName": "N", "picEmail": "x", "picPasswd": passwords[7]})
    sensor = http.post(f"{base}/sensor", json={"serialNo": "s", "type": "GPS", "credentialsId": device}).json()
    http.put(f"{base}/sensor/{sensor['id']['id']}", json={"credentialsId": bad})
    rows = f"serialNo,type,credentialsId\nb,GPS,{bulk}\nc,GPS,{bad}\nd,GPS,{device}\n"
    http.post(f"{base}/sensors/bulk?skipBadRows=true", content=rows.encode())
    http.post(f"{base}/sensors/bulk", content=rows.encode()[:-1] + b'"\0')
    http.post("/api/carrier/v1/actions", json={"actionId": device, "mdn": "01055558888"})
    http.post("/api/tre/v1_4/carrier/unpause", json={"mdn": "01055558888"})
    http.get(f"{base}/user", params={"email": "secret@people.example"})
    http.delete(f"{base}/sensor/{sensor['id']['id']}")
    http.delete(f"{base}/driver/{made}")
    return [*passwords, device, bulk, bad, "01055558888", "@people.example"]


def test_log_of_a_fleet_in_trouble_holds_no_secret_and_nobodys_address(server):
    with _company(server, "fleet") as company:
        secrets = _provoke_fleet(server, company)
        metrics = company.http.get("/metrics").text
        document = company.http.get("/api/openapi.json").text
    # What was deleted is erased a moment later; nothing before that is worth a line.
    log = _log_that_tells_of(server, "erase.done")

    assert [secret for secret in secrets if secret in log or secret in metrics or secret in document] == []


def _provoke_channel(server: servers.Running, company: fleet.Company) -> list[str]:
    """Calls, answers, results and pushes, well and badly; the texts that must not be in the log."""
    http, own = company.http, f"/api/tre/v1/company/{company.record['id']['id']}"
    mounted = company.vehicle_with_sensor(1)
    twoway = f"/api/plugins/rpc/twoway/{mounted.sensor_id}"
    said = [f"confidential-{number}" for number in range(12)]
    told = [http.get(f"{own}/push/secret").json()["secret"], http.post(f"{own}/push/secret").json()["secret"]]

    def address(url: str) -> None:
        changed = {"notifyHost": f"{url}?key={said[0]}", "rpcNotifyHost": url, "rpcNotifyBasePath": f"/{said[1]}"}
        refused = url.startswith("ftp")
        assert http.put(own, json={**changed, "notifyMsgType": "2,300,500"}).status_code == (400 if refused else 200)

    receiver = Receiver(lambda _: Reply(status(503, said[2])))
    with receiving(receiver) as customer, box(server, mounted.token) as device:
        for url in (
            f"http://han:{said[3]}@host.invalid",
            f"ftp://{said[4]}.example",
            f"http://127.0.0.1:25/{said[5]}",
            f"https://127.0.0.1:{receiver.port}/{said[5]}",
            customer.url,
        ):
            address(url)
            index = len(device.requests)
            device.script = lambda box, request_id, _: (
                box.ack(request_id, {"result": 2000, "a": said[7]}),
                box.result(request_id, {"results": 4000, "additionalInfo": {"lat": POSITION, "a": said[8]}}),
            )
            answer = http.post(twoway, json={"method": "m" + said[6], "params": {"url": f"ftp://u:{said[9]}@h/"}})
            assert answer.status_code == 200, answer.text
            request_id, _ = device.request(index)
        for topic in (f"v1/sensors/me/rpc/result/{said[10]}", f"v1/sensors/me/rpc/response/{request_id}/{said[10]}"):
            device.settled(device.send(topic, f'{{"lat":{POSITION},"x":"{said[11]}'.encode()))
        device.settled(device.send("v1/sensors/me/tre", {"ty": 2, "pld": {"lat": float(POSITION), "x": said[11]}}))
        customer.arrived(2)
    token = http.headers["X-Authorization"].removeprefix("Bearer ")
    return [*said, *told, *(each.removeprefix("whsec_") for each in told), mounted.token, POSITION, token]


def test_log_of_calls_and_pushes_in_trouble_holds_no_secret_and_no_position(server):
    with _company(server, "channel") as company:
        secrets = _provoke_channel(server, company)
        metrics = company.http.get("/metrics").text
        documents = company.http.get("/api/openapi.json").text + company.http.get("/api/asyncapi.json").text
    log = _log(server)

    assert "ingest.reject" in log
    assert 'tripline_pushes_total{outcome="failed"}' in metrics
    assert [secret for secret in secrets if secret in log or secret in metrics or secret in documents] == []
