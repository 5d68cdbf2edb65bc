"""The life of a company whose portal is looked at: devices that drive and are asked, a carrier, pushes, drafts,
accounts that may not sign in. Every state is reached as people and devices reach it: over MQTTS, REST and forms.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.support import calling, faults, fleet, portal_tour, receivers, receiving, servers
from tests.support.fleet import Company
from tests.support.portal import Page, form_of
from tests.support.portal_tour import Stop
from tripline.simulator import recordings

V1 = "/api/tre/v1"
CARRIER_EMAIL = "net@carrier.example"
DRIVES = sorted(recordings.FOLDER.glob("*.csv"))[:3]
GOOD_FILE = "차량번호,제조사,연료,변속기,배기량,주행거리(km)\n" + "".join(
    f"88하{1000 + number},현대,DIESEL,AUTO,1995,{number * 1000}\n" for number in range(40)
)
BAD_FILE = GOOD_FILE + "88하1001,기아,COAL,AUTO,x,\n,현대,DIESEL,AUTO,1995,5\n88하2000,현대,DIESEL,MAYBE,1995,-1\n"
STRANGE_FILE = "plate,km,colour\n12가1,5,red\n"


class Visit:
    """Somebody who is signed in with a browser."""

    def __init__(self, api: str, email: str, password: str = fleet.PASSWORD) -> None:
        own = {"Sec-Fetch-Site": "same-origin", "Accept-Language": "en"}
        self.http = httpx.Client(base_url=api, timeout=20, headers=own)
        answer = self.http.post("/sign-in", data={"email": email, "password": password})
        assert answer.status_code == 303, answer.text
        self._csrf = re.search(r'name="csrf" value="([^"]+)"', self.http.get("/account").text).group(1)

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def session(self) -> str:
        """The value of its cookie."""
        return self.http.cookies[portal_tour.COOKIE]

    def post(self, path: str, fields: dict[str, str], *, file: tuple[str, bytes] | None = None) -> str:
        """Send a form; where it leads."""
        sent: dict[str, Any] = {"data": {"csrf": self._csrf, **fields}}
        if file is not None:
            sent["files"] = {"file": file}
        answer = self.http.post(path, **sent)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]


def make_account(data: Path, command: str, email: str) -> None:
    """An account as the command `tripline admin` of that name makes it."""
    options = ("--data", str(data), "--email", email, "--password-stdin")
    made = servers.run_here("admin", command, *options, stdin=fleet.PASSWORD)
    assert made.returncode == 0, made.stderr


@contextlib.contextmanager
def going_on(server: servers.Running, company: Company, visit: Visit) -> Iterator[list[Stop]]:
    """The company's life; pages that show it and that its links alone do not tell from others."""
    stops = [*_asked(server, company), *_drafts(visit)]
    _driven(server, company)
    _lines(server, company)
    _pushes(server, company)
    online = _sensor(company, "LIVE-1", activation=False)
    with calling.box(server, online[1]):
        yield [*stops, Stop("/fleet/sensors/live", f"/fleet/sensors/{online[0]}")]


def barred(platform: Visit, user_id: str) -> Stop:
    """An account that may not sign in any more."""
    return Stop("/admin/accounts/barred", platform.post(f"/admin/accounts/{user_id}/disable", {}))


def rejected(platform: Visit) -> None:
    """An application that was refused."""
    path = re.search(r'href="(/admin/applications/[^"]+)"', platform.http.get("/admin/applications").text).group(1)
    platform.post(f"{path}/reject", {"reason": "The service exists already.\nAsk its administrator for an account."})


def _sensor(company: Company, serial: str, *, activation: bool) -> tuple[str, str]:
    """Id and token of a new sensor."""
    token = fleet.device_token()
    body = {"serialNo": serial, "type": "OBD", "credentialsId": token, "activationRequired": activation}
    return company.post(f"{V1}/sensor", body)["id"]["id"], token


def _asked(server: servers.Running, company: Company) -> list[Stop]:
    """Devices that were asked to activate themselves: one that is at it, one that did, one that refuses."""
    stops = []
    results = (
        ("acknowledged", None),
        ("done", {"results": 2000}),
        ("refused", {"results": 4000, "additionalInfo": "The ignition is off."}),
    )
    for number, (name, result) in enumerate(results):
        facts = {"fuelType": "DIESEL", "missionType": "AUTO", "mileage": 1}
        vehicle = company.post(f"{V1}/vehicle", {"vehicleNo": f"77러{7700 + number}", **facts})["id"]["id"]
        sensor, token = _sensor(company, f"ACT-{number}", activation=True)
        with calling.box(server, token, calling.answering({"result": 2000})) as device:
            company.post(f"{V1}/sensor/{sensor}/vehicle/{vehicle}")
            request_id, _ = device.request()
            if result is not None:
                device.settled(device.result(request_id, result))
        stops.append(Stop(f"/fleet/sensors/mount/{name}", f"/fleet/sensors/{sensor}/mount/{request_id}"))
        if name != "refused":
            stops.append(Stop(f"/fleet/sensors/unmount/{name}", f"/fleet/sensors/{sensor}/unmount"))
            stops.append(Stop(f"/fleet/sensors/calls/{name}", f"/fleet/sensors/{sensor}/calls"))
    return stops


def _drafts(visit: Visit) -> list[Stop]:
    """Files on their way into the company: good and bad rows, columns to match, registered."""
    stops = []
    for name, text in (
        ("bad-rows", BAD_FILE),
        ("matching", STRANGE_FILE),
        ("registered", GOOD_FILE.replace("88", "89")),
    ):
        path = visit.post("/import", {"kind": "vehicles"}, file=(f"{name}.csv", text.encode("cp949")))
        if name == "registered":
            faults.until(lambda: "commit" in visit.http.get(path).text)  # noqa: B023
            visit.post(f"{path}/commit", form_of(Page(visit.http.get(path).text), f"{path}/commit"))
        stops.append(Stop(f"/import/{name}", path))
    return stops


def _driven(server: servers.Running, company: Company) -> None:
    """Real drives, scored, with vehicles that are on the road until now."""
    where = ("--host", server.device_host, "--port", str(server.device_port), "--ca", str(server.ca))
    for number, drive in enumerate(DRIVES):
        box = company.vehicle_with_sensor(number + 1)
        token = {"TRIPLINE_DEVICE_TOKEN": box.token}
        played = servers.run_here("replay", *where, str(drive), "--speed", "0", "--as-now", variables=token)
        assert played.returncode == 0, played.stderr


def _lines(server: servers.Running, company: Company) -> None:
    """Lines that run, that are suspended, that were paused by the company."""
    make_account(server.data, "carrier", CARRIER_EMAIL)
    login = httpx.post(f"{server.api}/api/auth/login", json={"username": CARRIER_EMAIL, "password": fleet.PASSWORD})
    actions: list[dict[str, str]] = []
    for number in range(4):
        mdn = f"0101234567{number}"
        opened = {"imei": f"35693803564380{number}", "companyId": company.record["id"]["id"]}
        actions.append({"mdn": mdn, "type": "OPENING", **opened})
        if number:
            actions.append({"mdn": mdn, "type": "SUSPENSION", "kind": ("USE", "LOST", "USE")[number - 1]})
    numbered = [{"actionId": str(number), **each} for number, each in enumerate(actions, 1)]
    done = httpx.post(
        f"{server.api}/api/carrier/v1/actions",
        json={"actions": numbered},
        headers={"X-Authorization": f"Bearer {login.json()['token']}"},
    )
    assert done.status_code == 200, done.text


def _pushes(server: servers.Running, company: Company) -> None:
    """Messages that the customer's server refuses for good, and others that wait since it is away."""
    own = f"{V1}/company/{company.record['id']['id']}"

    def want(url: str) -> None:
        answer = company.http.put(own, json={"notifyHost": url, "notifyMsgType": "2,300"})
        assert answer.status_code == 200, answer.text

    box = company.vehicle_with_sensor(50)
    with receiving.receiving(receivers.Receiver(lambda _: receivers.Reply(receivers.status(410)))) as customer:
        want(customer.url)
        with calling.box(server, box.token) as device:
            device.settled(_sampled(device, 0))
            customer.arrived(1)
    with calling.box(server, box.token) as device:
        for number in range(1, 4):
            device.settled(_sampled(device, number))


def _sampled(device: calling.Box, number: int) -> int:
    now_ms = int(time.time() * 1000) - 60_000 + 1_000 * number
    sample = {"tid": 1, "lat": 37.5 + number / 10_000, "lon": 127.0, "sp": 40, "clt": now_ms}
    return device.send("v1/sensors/me/tre", {"ty": 2, "ts": now_ms, "pld": sample})
