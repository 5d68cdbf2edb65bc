"""The world of `fuzz_schema`: two service types, each with an operator, a partner and another partner, their people,
vehicles, sensors and drives. Every text of a company carries the company's mark, and the fuzzer knows who may read it.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from tests.support import journeys, scores
from tests.support.rest import Login, Rest

from tripline.domain.access import Authority
from tripline.store.tables import company, vehicle_company
from tripline.store.transactions import ReadTx, WriteTx

SERVICES = ("hangang", "namsan")


@dataclass
class World:
    """The application, the accounts that ask, and the ids that they ask for."""

    rest: Rest
    logins: dict[str, Login | None] = field(default_factory=lambda: {"none": None})
    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    """By the name that a path gives an id: the id of every company."""
    marks: dict[str, str] = field(default_factory=dict)
    """Company by the mark that stands in its texts."""

    async def fill(self) -> "World":
        """Both services."""
        for service in SERVICES:
            _, operator = await self.rest.operator(service, **_told(service))
            await self._company(f"operator of {service}", service, operator)
            for name in ("partner", "neighbour"):
                mark = f"{name}-{service}"
                _, partner = await self.rest.partner(operator, f"{mark}@x.example", **_told(mark))
                await self._company(f"{name} of {service}", mark, partner)
        self.logins["SYS_ADMIN"] = await self.rest.account("root@x.example", Authority.SYS_ADMIN)
        self.logins["carrier"] = await self.rest.account("net@x.example", Authority.CARRIER)
        self.logins["granted"] = await self.rest.account("granted@x.example", Authority.COMPANY_ADMIN)
        return self

    async def _company(self, name: str, mark: str, admin: Login) -> None:
        rest, company_id = self.rest, str(admin.company_id)
        self.marks[_mark(mark)] = company_id
        more = {"additionalInfo": _mark(mark)}
        body = {"serialNo": mark, "type": "GPS", "credentialsId": mark.ljust(20, "x"), **more}
        vehicle_id = (await rest.post(admin, "/vehicle", {"vehicleNo": mark, "mileage": 1, **more}))["id"]["id"]
        sensor_id = (await rest.post(admin, "/sensor", body))["id"]["id"]
        director = await rest.person(admin, Authority.DIRECTOR, f"director.{mark}")
        driver = await rest.person(admin, Authority.DRIVER, f"driver.{mark}")
        await rest.post(admin, f"/vehicle/{vehicle_id}/director/{director.user_id}")
        await rest.post(admin, f"/driver/{driver.user_id}/relation/vehicle", {"vehicleId": {"id": vehicle_id}})
        on = {"company_id": company_id, "vehicle_id": vehicle_id, "sensor_id": sensor_id}
        number = 100 * len(self.logins)

        def drive(tx: WriteTx) -> str:
            at = {"created_ms": rest.now_ms, "payload": {"x": _mark(mark)}}
            no, trip_id = journeys.keep_trip(tx, rest.ids, closed_ms=rest.now_ms, **at, **on)
            journeys.keep_microtrip(tx, rest.ids, no, **at)
            scores.add_score(tx, number, vehicle_id, created_ms=rest.now_ms)
            scores.add_event(tx, number, vehicle_id, created_ms=1, event_ms=1, info=f'"{_mark(mark)}"')
            return trip_id

        known = {
            "tripId": await rest.store.write(drive),
            "companyId": company_id,
            "vehicleId": vehicle_id,
            "sensorId": sensor_id,
            "directorId": director.user_id,
            "driverId": driver.user_id,
            "userId": admin.user_id,
        }
        for place, each in known.items():
            self.ids.setdefault(place, {})[company_id] = each
        self.logins[f"admin, {name}"] = admin
        if "neighbour" not in name:
            self.logins |= {f"director, {name}": director, f"driver, {name}": driver}

    async def may_read(self, login: Login | None) -> set[str] | None:
        """The companies whose marks this account may meet; None: all."""
        if login is None or login.company_id is None:
            return None if login is not None and login.authority is Authority.SYS_ADMIN else set()
        own = login.company_id

        def work(tx: ReadTx) -> set[str]:
            under = select(company.c.id).where(company.c.master_id == own)
            delegated = select(vehicle_company.c.from_company_id).where(vehicle_company.c.to_company_id == own)
            return {own, *(row.id for row in tx.all(under)), *(row.from_company_id for row in tx.all(delegated))}

        return await self.rest.store.read_short(work)


def _mark(name: str) -> str:
    return f"mark<{name}>"


def _told(name: str) -> dict[str, Any]:
    return {"description": _mark(name), "region": _mark(name), "cooperationTask": _mark(name)}
