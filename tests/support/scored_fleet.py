"""An operator with a driver and scored trips, over REST: disputes about them, decisions, and the mails that follow."""

from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select

from tests.support import delegating, scoring_rows
from tests.support.rest import Login, Rest
from tripline.adapters.signals.local import LocalSignals
from tripline.domain.ids import no_of
from tripline.ports.mails import Letter
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules
from tripline.services.accounts.postman import Postman
from tripline.services.scores.scorer import Scorer
from tripline.store.tables import mail_outbox, scoring_job, trip
from tripline.store.transactions import WriteTx

SPEEDS = [*[30.0] * 5, 44, 58, *[58.0] * 4, 40, 22, *[22.0] * 4]
"""An acceleration and a deceleration."""


class Fleet:
    """An operator with a vehicle, its driver, and a trip that was scored from samples."""

    driver: Login
    vehicle_id: str
    trip_id: str

    def __init__(self, app: Rest, admin: Login) -> None:
        self.app, self.admin = app, admin

    async def drive(self) -> "Fleet":
        app = self.app
        self.driver = await delegating.driver(app, self.admin, "driver")
        self.vehicle_id = await delegating.new_vehicle(app, self.admin)
        self.trip_id = await self.trip()
        return self

    async def trip(self) -> str:
        app = self.app
        trip_id = app.ids.next(now_ms=app.now_ms)

        def work(tx: WriteTx) -> None:
            row = {"no": no_of(trip_id), "id": trip_id, "created_ms": app.now_ms, "company_id": self.admin.company_id}
            row |= {"vehicle_id": self.vehicle_id, "user_id": self.driver.user_id, "service_type": "taxi"}
            row |= {"device_type": "GPS", "parking": False, "state": "COMPLETE", "distance_m": 10_000}
            tx.run(trip.insert(), row)
            scoring_rows.add_microtrips(tx, app.ids, no_of(trip_id), scoring_rows.drive(*SPEEDS))
            tx.run(scoring_job.insert(), {"trip_no": row["no"], "due_ms": 0})

        await app.store.write(work)
        await self.score()
        return trip_id

    def scorer(self, roads: RoadMatcher | None = None) -> Scorer:
        return Scorer(
            store=self.app.store,
            rules=Rules(),
            ids=self.app.ids,
            signals=scoring_rows.Hints(),
            clock=lambda: self.app.now_ms,
            zone=scoring_rows.ZONE,
            roads=roads,
        )

    async def score(self) -> None:
        scorer = self.scorer()
        while await scorer.score_due():
            pass

    async def events(self) -> list[dict[str, Any]]:
        page = f"/api/tre/v1_3/vehicle/{self.vehicle_id}/analytics/gpsEvent"
        rows: list[dict[str, Any]] = (await self.app.get(self.admin, page, limit=20))["data"]
        return rows

    @property
    def of_trip(self) -> str:
        return f"/api/tre/v1_3/trip/{self.trip_id}/dispute"

    @property
    def of_company(self) -> str:
        return f"/api/tre/v1_3/company/{self.admin.company_id}/dispute"

    async def explanation(self) -> dict[str, Any]:
        return await self.app.get(self.driver, f"/api/tre/v1_3/trip/{self.trip_id}/analytics/drivingScore/explanation")


async def fleet(app: Rest) -> Fleet:
    _, admin = await app.operator("taxi")
    return await Fleet(app, admin).drive()


def decision(dispute: dict[str, Any]) -> str:
    return f"/api/tre/v1_3/dispute/{dispute['id']['id']}/decision"


def withdrawal(dispute: dict[str, Any]) -> str:
    return f"/api/tre/v1_3/dispute/{dispute['id']['id']}/withdrawal"


async def changed(app: Rest, login: Login, path: str, body: Any = None) -> Any:
    answer = await app.call(login, "PUT", path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


class Box:
    """Implements `ports.mails.Mailer`: collects letters."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    async def send(self, letter: Letter) -> None:
        self.letters.append(letter)


class Post:
    """A postman that delivers into a box."""

    def __init__(self, own: Fleet) -> None:
        self.app, self.box = own.app, Box()
        self.postman = Postman(
            store=own.app.store,
            mailer=self.box,
            link_hours=24,
            public_url="https://fleet.example/",
            zone=ZoneInfo("Asia/Seoul"),
            signals=LocalSignals(),
            clock=lambda: own.app.now_ms,
        )

    async def round(self, after_ms: int = 0) -> tuple[int, int]:
        """Send what is due. Return the number of letters delivered so far, and of mails that wait."""
        self.app.now_ms += after_ms
        await self.postman.send_due()
        waiting = await self.app.store.read(lambda tx: tx.all(select(mail_outbox.c.no)))
        return len(self.box.letters), len(waiting)
