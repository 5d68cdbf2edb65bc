"""A small world in which every role meets own, delegated, foreign and former things, and what is true in it.

The operator `ace` has the partners P and R and S; `other` is the operator of another service type. P's vehicle V is
managed by a director, delegated to R (and, as every partner's vehicle, to the operator), directed by a delegated
director of P and one of R, and driven by a delegated driver. All of these were true of somebody else before and were
taken back: the revoked. P's vehicle W is nobody's; X belongs to `other`.

`World.holds` says in plain Python whether a reach of `domain/access.py` connects an actor with a thing.
"""

from dataclasses import dataclass, field, replace

from sqlalchemy import update

from tests.support import delegating, journeys
from tests.support.rest import Login, Rest
from tripline.domain.access import Authority, Reach
from tripline.domain.delegations import UserRole
from tripline.domain.ids import SensorId
from tripline.services.rpc import requests
from tripline.store.tables import account
from tripline.store.transactions import WriteTx

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


@dataclass(frozen=True)
class Thing:
    """An object of a path: what it is and whose."""

    noun: str
    id: str
    company_id: str | None = None
    vehicle_id: str | None = None
    """The vehicle that it is or hangs on."""
    user_id: str | None = None
    """The person that it is or belongs to."""


@dataclass
class World:
    """Who there is, what there is, and how they are connected."""

    actors: dict[str, Login | None] = field(default_factory=dict)
    things: dict[str, dict[str, Thing]] = field(default_factory=dict)
    """By noun, then by a name that says how it relates to the owner P."""
    master: dict[str, str] = field(default_factory=dict)
    delegations: set[tuple[str, str]] = field(default_factory=set)
    """Vehicle and the company it is delegated to, now."""
    owners: dict[str, str] = field(default_factory=dict)
    """Vehicle and its company."""
    managers: dict[str, str] = field(default_factory=dict)
    rights: set[tuple[str, str, UserRole]] = field(default_factory=set)
    people: dict[str, str | None] = field(default_factory=dict)
    """Person and their company."""

    def holds(self, reach: Reach, actor: Login, thing: Thing) -> bool:
        """Whether the reach connects the actor with the thing."""
        company, owner, on = actor.company_id, thing.company_id, thing.vehicle_id
        match reach:
            case Reach.ANY:
                return True
            case Reach.OWN_COMPANY:
                return company is not None and owner == company
            case Reach.PARTNERS:
                return owner is not None and owner != company and self.master[owner] == company
            case Reach.DELEGATED_COMPANIES:
                borrowers = {to for vehicle_id, to in self.delegations if self.owners[vehicle_id] == company}
                return thing.noun == "user" and owner in borrowers
            case Reach.DELEGATED_COMPANY:
                return (on, company) in self.delegations
            case Reach.MANAGED:
                return on is not None and self.managers.get(on) == actor.user_id
            case Reach.DIRECTING_RIGHT:
                return (on, actor.user_id, UserRole.DELEGATED_DIRECTOR) in self.rights
            case Reach.DRIVING_RIGHT:
                return (on, actor.user_id, UserRole.DRIVER) in self.rights
            case Reach.SELF:
                return thing.user_id == actor.user_id


async def build(app: Rest) -> World:
    """The world, in the application's store."""
    world = World()
    _, ace = await app.operator("ace")
    companies = {"operator": ace}
    for name in ("P", "R", "S"):
        _, companies[name] = await app.partner(ace, f"{name.lower()}@partners.example")
    _, companies["Q"] = await app.partner(companies["P"], "q@partners.example")
    _, companies["other"] = await app.operator("other")
    for name, login in companies.items():
        master = companies["other" if name == "other" else "operator"]
        world.master[str(login.company_id)] = str(master.company_id)
    people = await _people(app, companies)
    root = await app.account("root@platform.example", Authority.SYS_ADMIN)
    carrier = await app.account("lines@carrier.example", Authority.CARRIER)
    granted = await app.account("granted@new.example", Authority.COMPANY_ADMIN)
    gone = await app.account("gone@partners.example", Authority.COMPANY_ADMIN, companies["P"].company_id)
    world.actors = {
        "nobody": None,
        "a disabled account": gone,
        "platform administrator": root,
        "carrier": carrier,
        "granted account without a company": granted,
        "operator": companies["operator"],
        "owner P": companies["P"],
        "partner of a partner Q": companies["Q"],
        "delegated to R": companies["R"],
        "was delegated to S": companies["S"],
        "other service": companies["other"],
        **people,
    }
    for login in (*companies.values(), *people.values(), root, carrier, granted):
        world.people[login.user_id] = login.company_id
    vehicles, sensors = await _vehicles_and_sensors(app, world, companies)
    await _relate(app, world, vehicles, companies, people)
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == gone.user_id).values(enabled=False)))
    trip = await app.store.write(lambda tx: _drive(tx, app, vehicles["own"], sensors["own"], people["driver of P"]))
    dispute_id = await app.store.write(delegating.dispute(app, trip.id, people["driver of P"]))
    world.things = {
        "company": {
            name: Thing("company", str(login.company_id), company_id=login.company_id)
            for name, login in companies.items()
        },
        "vehicle": vehicles,
        "sensor": sensors,
        "trip": {"own": trip},
        "dispute": {"own": replace(trip, noun="dispute", id=dispute_id)},
        "rescoring": {
            "own": Thing(
                "rescoring",
                await app.store.write(delegating.rescoring(app, companies["P"])),
                company_id=companies["P"].company_id,
            )
        },
        "call": {"own": await app.store.write(lambda tx: _call(tx, app, sensors["own"], companies["P"]))},
        "administrator": {name: _person(login) for name, login in companies.items()},
        "director": {name: _person(login) for name, login in people.items() if login.authority is Authority.DIRECTOR},
        "driver": {name: _person(login) for name, login in people.items()},
        "application": {"submitted": Thing("application", await _applied(app, root))},
    }
    return world


async def _applied(app: Rest, root: Login) -> str:
    """The id of an application that waits for review."""
    form = {"serviceName": "new", "companyName": "New", "contactName": "Lee", "mobile": "010"}
    await app.post(None, "/api/noauth/application", {**form, "email": "lee@new.example", "introduction": "Hello"})
    return str((await app.get(root, "/applications", limit=1))["data"][0]["id"]["id"])


async def _people(app: Rest, companies: dict[str, Login]) -> dict[str, Login]:
    director, driver = Authority.DIRECTOR, Authority.DRIVER
    wanted = {
        "managing director": ("P", director),
        "was managing director": ("P", director),
        "other director of P": ("P", director),
        "delegated director of P": ("P", director),
        "delegated director of R": ("R", director),
        "was delegated director": ("P", director),
        "was delegated director of S": ("S", director),
        "director of the other service": ("other", director),
        "driver of P": ("P", driver),
        "delegated driver of P": ("P", driver),
        "was delegated driver": ("P", driver),
        "driver of the other service": ("other", driver),
    }
    return {
        name: await app.person(companies[company], role, name.replace(" ", "-"))
        for name, (company, role) in wanted.items()
    }


async def _vehicles_and_sensors(
    app: Rest, world: World, companies: dict[str, Login]
) -> tuple[dict[str, Thing], dict[str, Thing]]:
    vehicles, sensors = {}, {}
    for name, owner in {"own": "P", "own, nobody's": "P", "operator's": "operator", "foreign": "other"}.items():
        login = companies[owner]
        body = {"vehicleNo": f"{name} vehicle", "mileage": 1}
        vehicle_id = (await app.post(login, "/vehicle", body))["id"]["id"]
        vehicles[name] = Thing("vehicle", vehicle_id, company_id=login.company_id, vehicle_id=vehicle_id)
        world.owners[vehicle_id] = str(login.company_id)
        if owner == "P":
            world.delegations.add((vehicle_id, str(companies["operator"].company_id)))
        body = {"serialNo": f"{name} sensor", "type": "GPS", "credentialsId": f"{len(sensors):020d}"}
        sensor_id = (await app.post(login, "/sensor", body))["id"]["id"]
        mounted = None if name == "own, nobody's" else vehicle_id
        if mounted:
            await app.post(login, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
        sensors[name] = Thing("sensor", sensor_id, company_id=login.company_id, vehicle_id=mounted)
    return vehicles, sensors


async def _relate(
    app: Rest, world: World, vehicles: dict[str, Thing], companies: dict[str, Login], people: dict[str, Login]
) -> None:
    """Delegate V and give rights on it; what is of the past was there and was taken back."""
    v, owner = vehicles["own"].id, companies["P"]
    for name in ("was managing director", "managing director"):
        await app.post(owner, f"/vehicle/{v}/director/{people[name].user_id}")
    world.managers[v] = people["managing director"].user_id
    for borrower in (companies["R"], companies["S"]):
        to = {"toCompanyId": {"id": borrower.company_id}}
        await app.post(owner, f"/company/{owner.company_id}/relation/company", to)
        await app.post(owner, f"/company/{borrower.company_id}/relation/vehicle", {"vehicleId": {"id": v}})
    world.delegations.add((v, str(companies["R"].company_id)))
    given = {
        "delegated director of P": ("P", UserRole.DELEGATED_DIRECTOR),
        "delegated director of R": ("R", UserRole.DELEGATED_DIRECTOR),
        "delegated driver of P": ("P", UserRole.DRIVER),
        "was delegated director": ("P", UserRole.DELEGATED_DIRECTOR),
        "was delegated director of S": ("S", UserRole.DELEGATED_DIRECTOR),
        "was delegated driver": ("P", UserRole.DRIVER),
    }
    for name, (giver, role) in given.items():
        person = people[name]
        rights = f"/{person.authority.lower()}/{person.user_id}/relation/vehicle"
        await app.post(companies[giver], rights, {"vehicleId": {"id": v}})
        if not name.startswith("was"):
            world.rights.add((v, person.user_id, role))
        elif giver == "P":
            await app.delete(owner, f"{rights}/{v}")
    await app.delete(owner, f"/company/{companies['S'].company_id}/relation/vehicle/{v}")


def _drive(tx: WriteTx, app: Rest, on: Thing, by: Thing, driver: Login) -> Thing:
    columns = {"company_id": on.company_id, "vehicle_id": on.id, "sensor_id": by.id, "user_id": driver.user_id}
    columns["closed_ms"] = app.now_ms
    no, trip_id = journeys.keep_trip(tx, app.ids, created_ms=app.now_ms, payload={"tid": 1}, **columns)
    journeys.keep_microtrip(tx, app.ids, no, created_ms=app.now_ms, payload={"lat": 1, "lon": 2})
    return Thing("trip", trip_id, company_id=on.company_id, vehicle_id=on.id, user_id=driver.user_id)


def _call(tx: WriteTx, app: Rest, of: Thing, by: Login) -> Thing:
    """A call to the sensor's device, on the vehicle that it is on."""
    what = {"user_id": by.user_id, "method": "reset", "params": b"{}", "ack_ms": 20_000}
    call = requests.insert(tx, sensor_id=SensorId(of.id), ids=app.ids, now_ms=app.now_ms, **what)
    return Thing("call", call.id, company_id=of.company_id, vehicle_id=of.vehicle_id)


def _person(login: Login) -> Thing:
    return Thing("user", login.user_id, company_id=login.company_id, user_id=login.user_id)
