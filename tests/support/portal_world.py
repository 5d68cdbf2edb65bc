"""A running server with three companies for whoever looks at the portal: one that holds nothing, one with a single row
of everything, and one with many, whose names are as long as they may get, with a partner that received vehicles. Beside
it one that was just installed.
"""

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec

from tests.support import faults, fleet, mail, map_files, portal_life, servers
from tests.support.fleet import Company
from tests.support.portal_life import Visit
from tests.support.portal_tour import Stop
from tripline.maintenance import maps

COMPANIES = (("empty", "nothing-yet", 0), ("one", "one-van", 1), ("full", "seoul-taxi", 60))
"""Name, service type, vehicles."""
STARTS = ("/", "/search?q=10")
SYSTEM_EMAIL = "sysadmin@platform.example"
NEW_EMAIL = "new@customer.example"
"""Of somebody who has no company yet."""
MODELS = ("Ioniq 5", "Sonata", "그랜저", "Bongo III", "Staria", "Mighty")
NAMES = ("김민서", "이도윤", "Mina Kim", "Park Ji-hoon", "최서연", "Alexander von Humboldt-Wittgenstein Sr.")
LONG = "Long Distance Refrigerated Transport Ltd"
"""40 characters."""


class Guest(msgspec.Struct, frozen=True):
    """Somebody who looks at pages, beginning at these addresses."""

    name: str
    origin: str
    """Of the server."""
    session: str | None = None
    """The cookie that proves who asks."""
    starts: tuple[str, ...] = STARTS
    states: tuple[Stop, ...] = ()
    """States of pages that no walk tells from one another."""


class World(msgspec.Struct, frozen=True):
    """What pages are asked of, and who asks."""

    origin: str
    """Of the server with the companies."""
    guests: tuple[Guest, ...]


@contextlib.contextmanager
def serving(data: Path) -> Iterator[World]:
    """The server, filled."""
    with servers.serving(data) as server:
        for command, email in (("create", SYSTEM_EMAIL), ("grant", NEW_EMAIL)):
            portal_life.make_account(data, command, email)
        for number in range(2):
            _apply(server.api, number)
        link = _mailed_link(server.api, data)
        starts = ("/", "/sign-in", "/apply", "/apply/sent", "/password/sent", "/offline", "/nowhere", link)
        guests = [Guest("nobody", server.api, starts=(*starts, _sign_in_link(data)))]
        with contextlib.ExitStack() as life:
            for name, service_type, count in COMPANIES:
                company = life.enter_context(Company(server.api, data, service_type=service_type))
                _fill(company, service_type, count)
                visit = life.enter_context(Visit(server.api, f"admin@{service_type}.example"))
                if name != "full":
                    guests.append(Guest(name, server.api, visit.session))
                    continue
                states = life.enter_context(portal_life.going_on(server, company, visit))
                guests.append(
                    Guest(name, server.api, visit.session, (*STARTS, *_unlinked(company, visit)), tuple(states))
                )
            others = {role: f"{role}0@{service_type}.example" for role in ("director", "driver")}
            others |= {"partner": f"partner1@{service_type}.example"}  # the one with the long name
            others |= {"carrier": portal_life.CARRIER_EMAIL, "granted": NEW_EMAIL}
            for role, email in others.items():
                guests.append(Guest(role, server.api, life.enter_context(Visit(server.api, email)).session))
            platform = life.enter_context(Visit(server.api, SYSTEM_EMAIL))
            portal_life.rejected(platform)
            _maps(data)
            someone = company.get("/api/tre/v1/drivers", limit=1)["data"][0]["id"]["id"]
            states = (portal_life.barred(platform, someone),)
            guests.append(Guest("platform", server.api, platform.session, states=states))
            guests.append(life.enter_context(_installing(data.with_name("installed"))))
            yield World(server.api, tuple(guests))


@contextlib.contextmanager
def _installing(data: Path) -> Iterator[Guest]:
    """The platform's administrator on a server that was just installed."""
    with servers.serving(data) as server:
        portal_life.make_account(data, "create", SYSTEM_EMAIL)
        with Visit(server.api, SYSTEM_EMAIL) as visit:
            states = (Stop("/admin/maps/none", "/admin/maps"),)
            yield Guest("installing", server.api, visit.session, starts=(), states=states)


def _mailed_link(api: str, data: Path) -> str:
    """The path of a link that sets a password: no page leads to it."""
    answer = httpx.post(f"{api}/api/noauth/resetPasswordByEmail", json={"email": SYSTEM_EMAIL})
    assert answer.status_code == 200, answer.text
    faults.until(lambda: bool(mail.in_folder(data / "mail")))
    return mail.link_in(mail.in_folder(data / "mail")[0]).removeprefix(api)


def _sign_in_link(data: Path) -> str:
    """The path of a link that signs somebody in: a command prints it."""
    printed = servers.run_here("admin", "sign-in-link", "--data", str(data), "--email", SYSTEM_EMAIL)
    assert printed.returncode == 0, printed.stderr
    return re.search(r"/sign-in/link\?\S+", printed.stdout).group()


def _unlinked(company: Company, visit: Visit) -> list[str]:
    """Pages that links of a young company do not lead to: whole histories, the choice of a sensor for a vehicle
    that has one, the removal of one administrator of two."""
    found = []
    for kind in ("vehicles", "sensors", "directors", "drivers"):
        newest = re.search(rf'href="(/fleet/{kind}/[0-9a-f-]{{36}})"', visit.http.get(f"/fleet/{kind}").text)
        found.append(f"{newest.group(1)}/history")
        if kind == "vehicles":
            found.append(f"{newest.group(1)}/sensor")
    place = f"/fleet/companies/{company.record['id']['id']}"
    second = {"name": NAMES[2], "email": "second@company.example", "password": fleet.PASSWORD}
    visit.post(f"{place}/administrators/new", second)
    editors = re.findall(rf'href="({place}/administrators/[^"/]+)/edit', visit.http.get(place).text)
    return [*found, f"{editors[-1]}/delete", _corrected(company)]


def _corrected(company: Company) -> str:
    """The page of a trip whose driver was corrected, with the preview of another one."""
    trips = (
        company.get(f"/api/tre/v1/vehicle/{vehicle['id']['id']}/trips", limit=1)["data"]
        for vehicle in company.get(f"/api/tre/v1/company/{company.record['id']['id']}/vehicles", limit=100)["data"]
    )
    ((trip,),) = itertools.islice(filter(None, trips), 1)
    first, second = (each["id"]["id"] for each in company.get("/api/tre/v1/drivers", limit=2)["data"])
    answer = company.http.put(f"/api/tre/v1_3/trip/{trip['id']['id']}/driver", json={"driverId": first})
    assert answer.status_code == 200, answer.text
    return f"/trips/{trip['id']['id']}/driver?chosen={second}"


def _fill(company: Company, service_type: str, count: int) -> None:
    """This many vehicles and sensors, and a tenth as many people and partners."""
    vehicles = [_vehicle(company, number) for number in range(count)]
    for number, vehicle in enumerate(vehicles):
        sensor = company.post("/api/tre/v1/sensor", _sensor(service_type, number))
        if number % 7 != 3:
            company.post(f"/api/tre/v1/sensor/{sensor['id']['id']}/vehicle/{vehicle['id']['id']}")
        if number % 5 != 4:
            company.post(f"/api/tre/v1/vehicle/{vehicle['id']['id']}/activate")
    few = (count + 9) // 10
    directors = [company.post("/api/tre/v1/director", _person(service_type, "director", each)) for each in range(few)]
    drivers = [company.post("/api/tre/v1/driver", _person(service_type, "driver", each)) for each in range(few * 2)]
    for vehicle, director in zip(vehicles[::3], itertools.cycle(directors), strict=False):
        company.post(f"/api/tre/v1/vehicle/{vehicle['id']['id']}/director/{director['id']['id']}")
    for vehicle, driver in zip(vehicles, drivers, strict=False):
        company.post(f"/api/tre/v1/driver/{driver['id']['id']}/relation/vehicle", {"vehicleId": vehicle["id"]})
    for vehicle, driver in zip(vehicles, drivers[:few], strict=False):
        company.post(f"/api/tre/v1/vehicle/{vehicle['id']['id']}/driver/{driver['id']['id']}")
    for each in range(few):
        _partner(company, service_type, each, vehicles)


def _vehicle(company: Company, number: int) -> dict[str, object]:
    return company.post(
        "/api/tre/v1/vehicle",
        {
            "vehicleNo": f"{10 + number % 90}가{3456 + number:04d}",
            "modelName": LONG if number == 1 else MODELS[number % len(MODELS)],
            "mileage": 1000 + 7919 * number,
        },
    )


def _sensor(service_type: str, number: int) -> dict[str, object]:
    kind = ("GPS", "OBD", "ADAS")[number % 3]
    return {"serialNo": f"{service_type[:3].upper()}-{number:06d}", "type": kind, "credentialsId": fleet.device_token()}


def _person(service_type: str, role: str, number: int) -> dict[str, object]:
    name = NAMES[number % len(NAMES)]
    return {"name": name, "email": f"{role}{number}@{service_type}.example", "password": fleet.PASSWORD}


def _partner(company: Company, service_type: str, number: int, vehicles: list[dict[str, object]]) -> None:
    name = LONG if number == 1 else f"{service_type} partner {number + 1}"
    contact = {"picName": NAMES[number % len(NAMES)], "picEmail": f"partner{number}@{service_type}.example"}
    body = {"name": name, "serviceType": service_type, **contact, "picPasswd": fleet.PASSWORD}
    partner = company.post("/api/tre/v1/company", body)
    own = company.record["id"]["id"]
    company.post(f"/api/tre/v1/company/{own}/relation/company", {"toCompanyId": partner["id"]})
    for vehicle in vehicles[number::10][:3]:
        company.post(f"/api/tre/v1/company/{partner['id']['id']}/relation/vehicle", {"vehicleId": vehicle["id"]})


def _maps(data: Path) -> None:
    """An area that can be read, one that cannot, and an import that failed."""
    folder = data / "maps"
    street = map_files.street(data / "street.osm.pbf")
    for name in ("high-street", "lost"):
        maps.imported(folder, street, name=name, country="", progress=lambda _: None)
    (lost,) = (each for each in folder.glob("lost.*") if each.is_dir())
    (lost / "lat.npy").unlink()
    street.write_bytes(street.read_bytes()[:-20])
    with contextlib.suppress(maps.MapFileError):
        maps.imported(folder, street, name="cut-off", country="", progress=lambda _: None)


def _apply(api: str, number: int) -> None:
    """An application that waits for the platform's administrator."""
    form = {
        "serviceName": f"new-customer-{number}",
        "companyName": LONG if number else "한빛 운수",
        "contactName": NAMES[number],
        "mobile": "010-1234-5678",
        "email": f"applicant{number}@new-customer.example",
        "introduction": "Scores for refrigerated transport.\nTwo hundred vans.",
        "department": "Fleet",
        "providerManagerName": NAMES[2],
        "providerManagerEmail": "manager@provider.example",
        "notifyHost": "push.new-customer.example",
    }
    answer = httpx.post(f"{api}/api/noauth/application", json=form)
    assert answer.status_code == 200, answer.text
