"""The world of the access matrix: who asks, and what there is to ask for.

Operator `ace` has the partners P, R and S; Q is a partner that P registered. `other` is another operator, with its own
vehicle X. P's vehicle V is managed by a director, activated, delegated to R and (as every partner's) to the operator; a
director of R and a driver of P hold rights on it, and that driver drives it now. S, one of its directors and another
driver of P had the same once, and lost it. A driver without any right drove V's only trip. P's vehicle W is nobody's.
"""

from typing import Any, cast

from tests.support import delegating, lines
from tests.support.drafts import Office
from tests.support.rest import Login, Rest
from tripline.domain.access import Authority
from tripline.store import positions
from tripline.store.transactions import Crew, Database, Store, WriteTx

ACTORS = (
    "no token",
    "platform administrator",
    "carrier",
    "granted",
    "operator",
    "P",
    "Q",
    "R",
    "S",
    "other",
    "managing director",
    "director of P",
    "delegated director of R",
    "was delegated director of S",
    "driver of P",
    "delegated driver of P",
    "was delegated driver of P",
)
"""One column of the table each."""
PERSON = {"name": "N", "password": "pass phrase"}
APPLICATION = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "A")


class World:
    """Logins by the names of `ACTORS`, and ids by the names that stand in the table's routes."""

    def __init__(self, app: Rest) -> None:
        self.app = app
        self.logins: dict[str, Login | None] = dict.fromkeys(ACTORS)
        self.ids: dict[str, str] = {"unknown": delegating.UNKNOWN, "mdn": lines.MDN, "file": "page.js"}
        self.ids |= {"z": "14", "x": "8624", "y": "5743.mvt", "date": "2025-01-01"}

    async def settle(self) -> "World":
        """Register everybody and everything."""
        app = self.app
        await self._companies()
        await self._people()
        await self._things()
        await self._relations()
        p, q = self.of("P"), self.of("Q")
        self.ids |= {name: str(self.of(name).company_id) for name in ("operator", "P", "Q", "R", "S", "other")}
        self.ids |= {"admin of P": p.user_id, "admin of Q": q.user_id}
        second = await app.post(q, f"/company/{q.company_id}/admin", {**PERSON, "email": "second@q.example"})
        self.ids["second admin of Q"] = second["id"]["id"]
        await app.post(None, "/api/noauth/application", {**APPLICATION, "email": "a@new.example"})
        (applied,) = (await app.get(self.of("platform administrator"), "/applications", limit=1))["data"]
        self.ids["application"] = applied["id"]["id"]
        return self

    def of(self, name: str) -> Login:
        """The login with this name."""
        login = self.logins[name]
        assert login is not None
        return login

    async def _companies(self) -> None:
        app, logins = self.app, self.logins
        logins["platform administrator"] = await app.account("root@x.example", Authority.SYS_ADMIN)
        logins["carrier"] = await app.account("net@x.example", Authority.CARRIER)
        logins["granted"] = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
        _, operator = await app.operator("ace", name="Ace")
        _, other = await app.operator("other", name="Other")
        logins |= {"operator": operator, "other": other}
        for name, registrar in {"P": "operator", "Q": "P", "R": "operator", "S": "operator"}.items():
            _, logins[name] = await app.partner(self.of(registrar), f"{name.lower()}@admins.example", name=name)

    async def _people(self) -> None:
        wanted = {
            "managing director": ("P", Authority.DIRECTOR),
            "director of P": ("P", Authority.DIRECTOR),
            "delegated director of R": ("R", Authority.DIRECTOR),
            "director of R": ("R", Authority.DIRECTOR),
            "was delegated director of S": ("S", Authority.DIRECTOR),
            "driver of P": ("P", Authority.DRIVER),
            "delegated driver of P": ("P", Authority.DRIVER),
            "was delegated driver of P": ("P", Authority.DRIVER),
            "driver of R": ("R", Authority.DRIVER),
        }
        for name, (company, role) in wanted.items():
            self.logins[name] = await self.app.person(self.of(company), role, name.replace(" ", "-"))
            self.ids[name] = self.of(name).user_id

    async def _things(self) -> None:
        p, other = self.of("P"), self.of("other")
        self.ids |= {number: await delegating.new_vehicle(self.app, p, number) for number in "VW"}
        self.ids["X"] = await delegating.new_vehicle(self.app, other, "X")
        for name, owner in {"on V": p, "on X": other, "free": p}.items():
            serial = name.replace(" ", "-")
            body = {"serialNo": serial, "type": "GPS", "credentialsId": serial.ljust(20, "-")}
            self.ids[name] = (await self.app.post(owner, "/sensor", body))["id"]["id"]
        opening = {"imei": lines.IMEI, "companyId": p.company_id, "imsi": "450081", "iccid": "8982"}
        opened = {"actionId": "1", "type": "OPENING", "mdn": lines.MDN, "subscription": "PLAN", **opening}
        await self.app.post(self.of("carrier"), lines.ACTIONS, opened)
        for on in "VX":
            owner = p if on == "V" else other
            await self.app.post(owner, f"/sensor/{self.ids[f'on {on}']}/vehicle/{self.ids[on]}")

    async def _relations(self) -> None:
        app, p, v, of = self.app, self.of("P"), self.ids["V"], self.of
        await app.post(p, f"/vehicle/{v}/activate")
        await app.post(p, f"/vehicle/{v}/director/{self.ids['managing director']}")
        for borrower, director in {"R": "delegated director of R", "S": "was delegated director of S"}.items():
            await delegating.register(app, p, of(borrower))
            await delegating.delegate(app, p, of(borrower), v)
            await delegating.give(app, of(borrower), of(director), v)
        for name in ("delegated driver of P", "was delegated driver of P"):
            await delegating.give(app, p, of(name), v, drive=True)
        await delegating.take_back(app, p, of("S"), v)
        await app.delete(p, f"{delegating.rights(of('was delegated driver of P'), drive=True)}/{v}")
        await app.post(p, f"/vehicle/{v}/driver/{self.ids['delegated driver of P']}")
        here = (v, app.now_ms, 47.0, 9.5, 50.0, 90.0, False, None, self.ids["on V"])
        await app.store.write(lambda tx: positions.write(tx, here), locked=True)
        self.ids["T"] = await app.store.write(delegating.scored_trip(app, p, v, of("driver of P")))
        self.ids["D"] = await app.store.write(delegating.dispute(app, self.ids["T"], of("driver of P")))
        self.ids["link of P"] = (await app.post(p, f"/api/tre/v1_3/vehicle/{v}/sharelink", {}))["id"]["id"]
        self.ids["rescoring of P"] = await app.store.write(delegating.rescoring(app, p))
        call = {"method": "reset", "params": {}}
        for name in ("on V", "on X"):
            owner = p if name == "on V" else of("other")
            path = f"/api/plugins/rpc/twoway/{self.ids[name]}"
            assert (await app.refused(owner, "POST", path, call))[0] == 409  # nobody is connected; it is on record
            self.ids[f"call {name}"] = (await app.get(owner, f"/sensor/{self.ids[name]}/rpc/latest"))["id"]["id"]
        rows = b"vehicleNo,mileage\nnew,1\nbad,x\nV,2\n"
        self.ids["draft of P"] = (await Office(app, p).checked(rows)).id


async def settled(app: Rest) -> World:
    """The world of this application, to which nothing was done yet."""
    first = await app.staged(_settled)
    world = World(app)
    world.logins, world.ids = dict(first.logins), dict(first.ids)
    return world


async def _settled(app: Rest) -> World:
    return await World(app).settle()


class Undoing(Store):
    """A store of which what is written is answered, and then undone."""

    def __init__(self, store: Store) -> None:
        work = store.of(Crew.WORK)
        super().__init__(cast("Database", _Undone(work.database)), work.crew)


class _Undone:
    """Implements `store.transactions.Database` for `Undoing`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, work: Any, **how: Any) -> Any:
        """What the work returns, though it did not happen."""

        def undone(tx: WriteTx) -> None:
            raise _UndoneError(work(tx))

        try:
            await self._database.write(undone, **how)
        except _UndoneError as result:
            return result.args[0]
        raise AssertionError("the work was kept")


class _UndoneError(Exception):
    """Carries a result out of a transaction that is rolled back."""
