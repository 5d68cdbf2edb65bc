"""A carrier from outside: its account made by the command, its actions, and a pause lifted by a real HTTP carrier."""

import http.server
import json
import threading

import httpx
import pytest
from tests.support import fleet, servers

MDN = "01012345678"
TOKEN = "carrier-secret-token"


class _Lifting(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], asked["mdn"]))
        content = b'{"result": "DONE"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture
def carrier_server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Lifting)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_carrier_opens_and_suspends_and_lifts_the_pause_of_a_line(tmp_path, carrier_server):
    data = tmp_path / "data"
    made = servers.run_here(
        *("admin", "carrier", "--data", str(data), "--email", "net@carrier.example", "--password-stdin"),
        stdin=fleet.PASSWORD,
    )
    assert made.returncode == 0, made.stderr
    variables = {
        "TRIPLINE_CARRIER_URL": f"http://127.0.0.1:{carrier_server.server_port}/lines/",
        "TRIPLINE_CARRIER_TOKEN": TOKEN,
        "TRIPLINE_LOG_LEVEL": "debug",
    }

    with servers.serving(data, variables=variables) as server, fleet.Company(server.api, data) as company:
        login = {"username": "net@carrier.example", "password": fleet.PASSWORD}
        token = httpx.post(f"{server.api}/api/auth/login", json=login).json()["token"]
        opening = {"actionId": "1", "type": "OPENING", "mdn": MDN, "imei": "356938035643809"}
        opening["companyId"] = company.record["id"]["id"]
        suspension = {"actionId": "2", "type": "SUSPENSION", "kind": "USE", "mdn": MDN}
        done = httpx.post(
            f"{server.api}/api/carrier/v1/actions",
            json={"actions": [opening, suspension]},
            headers={"X-Authorization": f"Bearer {token}"},
        ).json()
        lifted = company.post("/api/tre/v1_4/carrier/unpause", {"mdn": MDN})
        found = company.get("/api/tre/v1/sensor", mdn=MDN)

    assert [(each["outcome"], each["nwStatus"]) for each in done["outcomes"]] == [("DONE", "01"), ("DONE", "02")]
    assert lifted == found
    assert found["nwStatus"] == "01"
    assert carrier_server.asked == [("/lines/unpause", f"Bearer {TOKEN}", MDN)]
    assert TOKEN not in (tmp_path / "data.stderr").read_text()
