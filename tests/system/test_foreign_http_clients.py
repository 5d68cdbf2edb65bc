"""The story of `docs/registration.md` told by HTTP clients that others wrote, over HTTP and HTTPS.

Each is used as its beginners use it: what it adds by itself (content types, encodings, connections kept or not) is left
as it is. Not here: the page's own commands (`test_registration_story.py`).
"""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest
from tests.support import fleet, foreign, pages, required, servers
from tests.system.test_registration_story import PAGE

pytestmark = [pytest.mark.deep, pytest.mark.once("how foreign clients speak")]

V1 = "/api/tre/v1"
PASSWORD = "한강의 긴 암호"


class Urllib:
    """Python's own; sends a body as a form, closes every connection."""

    def __init__(self, server):
        self._trusting = ssl.create_default_context(cafile=str(server.ca))

    def send(self, method, url, token, body):
        headers = {} if token is None else {"X-Authorization": f"Bearer {token}"}
        data = None if body is None else body.encode()
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20, context=self._trusting) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def close(self):
        pass


class Curl:
    """One process for each request; sends a body as a form; over HTTPS it offers HTTP/2."""

    def __init__(self, server):
        required.need("curl", "the registration story told by curl")
        self._command = ["curl", "-sS", "--compressed", "--cacert", str(server.ca), "-w", "\n%{http_code}"]

    def send(self, method, url, token, body):
        header = [] if token is None else ["-H", f"X-Authorization: Bearer {token}"]
        data = [] if body is None else ["-d", "@-"]
        command = [*self._command, "-X", method, *header, *data, url]
        done = subprocess.run(command, input=body or "", capture_output=True, text=True, timeout=20, check=True)
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text

    def close(self):
        pass


class NodeFetch:
    """Keeps its connections, sends a body as plain text, asks for compressed answers."""

    def __init__(self, server):
        required.need("node", "the registration story told by node's fetch")
        self._process = subprocess.Popen(
            ["node", str(foreign.JS / "fetch.js")],
            env={**os.environ, "NODE_EXTRA_CA_CERTS": str(server.ca)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, method, url, token, body):
        self._process.stdin.write(json.dumps([method, url, token, body]) + "\n")
        self._process.stdin.flush()
        status, text = json.loads(self._process.stdout.readline())
        return status, text

    def close(self):
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


class Storyteller:
    """Tells the story over a client; keeps the answers that the page shows."""

    def __init__(self, client, server, service_type):
        self._client = client
        self._server = server
        self._service_type = service_type
        self.token = None
        self.shown = []

    def send(self, method, path, body=None, *, show=False):
        text = None if body is None else json.dumps(body, ensure_ascii=False)
        status, text = self._client.send(method, self._server.api + path, self.token, text)
        answer = json.loads(text)
        assert answer.get("status") == status if "errorCode" in answer else status == 200, answer
        if show:
            self.shown.append(answer)
        return answer

    def made(self, path, **body):
        """The id of what is registered."""
        return self.send("POST", path, body)["id"]["id"]

    def email(self, name):
        return f"{name}@{self._service_type}.example"

    def log_in(self, name):
        self.token = self.send("POST", "/api/auth/login", {"username": self.email(name), "password": PASSWORD})["token"]

    def tell(self):
        """Every chapter of the page."""
        self.send("GET", "/api/auth/user", show=True)
        fleet.grant(self._server.data, self.email("kim"), PASSWORD)
        self.log_in("kim")
        operator = self.company()
        vehicle = self.vehicles()
        self.people(vehicle)
        partner = self.partner(operator, vehicle)
        self.send("GET", f"{V1}/company/{partner}/vehicles/delegated?limit=10", show=True)
        self.send("GET", f"{V1}/vehicle/{vehicle}/trips?limit=10", show=True)
        self.log_in("kim")
        self.send("DELETE", f"{V1}/company/{partner}/relation/vehicle/{vehicle}", show=True)
        self.log_in("jung")
        self.send("GET", f"{V1}/vehicle/{vehicle}", show=True)

    def company(self):
        body = {"name": "한강택시", "serviceType": self._service_type, "region": "서울", "picName": "김하늘"}
        contact = {"picPhone": "010-1234-5678", "picEmail": self.email("kim"), "picPasswd": PASSWORD}
        return self.send("POST", f"{V1}/company", {**body, **contact}, show=True)["id"]["id"]

    def vehicles(self):
        known = {"vendor": "현대", "modelName": "쏘나타", "modelYear": 2024, "fuelType": "LPG", "missionType": "AUTO"}
        size = {"category": "TAXI", "mileage": 12000, "displacement": 1998}
        vehicle = self.made(f"{V1}/vehicle", vehicleNo="12가3456", **known, **size)
        sensor = self.made(
            f"{V1}/sensor", serialNo="SN-0001", type="GPS", vendor="나침반", credentialsId=fleet.device_token()
        )
        self.send("POST", f"{V1}/vehicle", {"vehicleNo": "34나5678"}, show=True)
        self.send("POST", f"{V1}/sensor/{sensor}/vehicle/{vehicle}", show=True)
        return vehicle

    def people(self, vehicle):
        director, driver = (
            self.made(f"{V1}/{role}", name=name, email=self.email(role), phone="010", password=PASSWORD)
            for role, name in (("director", "이도윤"), ("driver", "박서준"))
        )
        self.send("POST", f"{V1}/vehicle/{vehicle}/director/{director}")
        self.send("POST", f"{V1}/vehicle/{vehicle}/activate")
        self.send("POST", f"{V1}/driver/{driver}/relation/vehicle", {"vehicleId": {"id": vehicle}})
        self.send("POST", f"{V1}/vehicle/{vehicle}/driver/{driver}", show=True)

    def partner(self, operator, vehicle):
        contact = {"picName": "최지우", "picEmail": self.email("choi"), "picPasswd": PASSWORD}
        partner = self.made(f"{V1}/company", name="남산렌터카", **contact)
        candidate = {"toCompanyId": {"id": partner}}
        self.send("POST", f"{V1}/company/{operator}/relation/company", candidate, show=True)
        self.send("POST", f"{V1}/company/{partner}/relation/vehicle", {"vehicleId": {"id": vehicle}}, show=True)
        self.log_in("choi")
        guest = self.made(f"{V1}/director", name="정하린", email=self.email("jung"), password=PASSWORD)
        self.send("POST", f"{V1}/director/{guest}/relation/vehicle", {"vehicleId": {"id": vehicle}}, show=True)
        return partner


@pytest.fixture(scope="module", params=["http", "https"])
def server(request, tmp_path_factory):
    flags = ["--https"] if request.param == "https" else []
    with servers.serving(tmp_path_factory.mktemp("foreign") / "data", *flags) as running:
        yield running


@pytest.mark.parametrize("kind", [Urllib, Curl, NodeFetch])
def test_registration_story_told_by_another_client_is_answered_as_the_page_shows(kind, server):
    client = kind(server)
    teller = Storyteller(client, server, kind.__name__.lower())
    on_the_page = [
        each for _, shown in pages.story(PAGE.read_text("utf-8")) for each in shown if isinstance(each, dict)
    ]

    try:
        teller.tell()
    finally:
        client.close()

    assert [pages.shape(answer) for answer in teller.shown] == on_the_page
