"""Companies that may delegate to each other, over REST: an operator, three partners, one of another service."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import update

from tests.support import journeys, rest, scores
from tests.support.rest import Login, Rest
from tripline.domain import access
from tripline.domain.access import Authority
from tripline.domain.disputes import Reason, State
from tripline.domain.ids import TripId, UserId
from tripline.domain.rescorings import RescoringRequest
from tripline.scoring import quality
from tripline.scoring.quality import Quality
from tripline.scoring.rules import Rules
from tripline.services.scores import rescorings
from tripline.store.scores import disputes, policies, sums
from tripline.store.tables import driving_score, gps_event, trip, vehicle
from tripline.store.transactions import WriteTx

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


@dataclass(frozen=True)
class Companies:
    """Administrators. `owner` and `borrower` are the operator's partners, `below` is the borrower's partner."""

    operator: Login
    owner: Login
    borrower: Login
    below: Login
    other: Login


async def companies(app: Rest) -> Companies:
    """The operators Ace and Other, and Ace's partners Owner, Borrower and Below (registered by Borrower)."""
    return await app.staged(_companies)


async def _companies(app: Rest) -> Companies:
    _, operator = await app.operator("ace", name="Ace")
    _, owner = await app.partner(operator, "owner@partners.example", name="Owner")
    _, borrower = await app.partner(operator, "borrower@partners.example", name="Borrower")
    _, below = await app.partner(borrower, "below@partners.example", name="Below")
    _, other = await app.operator("other", name="Other")
    return Companies(operator, owner, borrower, below, other)


async def director(app: Rest, admin: Login, name: str) -> Login:
    """A director of the administrator's company."""
    return await app.person(admin, Authority.DIRECTOR, name)


async def driver(app: Rest, admin: Login, name: str) -> Login:
    """A driver of the administrator's company."""
    return await app.person(admin, Authority.DRIVER, name)


async def new_vehicle(app: Rest, registrar: Login, number: str = "12가3456") -> str:
    """A new vehicle's id; a director manages what it registers."""
    body = {"vehicleNo": number, "mileage": 1, "fuelType": "LPG", "missionType": "AUTO"}
    return str((await app.post(registrar, "/vehicle", body))["id"]["id"])


async def new_sensor(app: Rest, login: Login, serial_no: str = "S", *, on: str | None = None, **more: Any) -> str:
    """A new sensor's id; with `on` it is mounted on that vehicle."""
    body = {"serialNo": serial_no, "type": "GPS", "credentialsId": serial_no.ljust(20, "-"), **more}
    sensor_id = str((await app.post(login, "/sensor", body))["id"]["id"])
    if on is not None:
        await app.post(login, f"/sensor/{sensor_id}/vehicle/{on}")
    return sensor_id


async def register(app: Rest, owner: Login, receiver: Login) -> dict[str, Any]:
    """The receiver as a candidate of the owner."""
    return await app.post(owner, candidates(owner), {"toCompanyId": {"id": receiver.company_id}})


async def two_vehicles(app: Rest) -> tuple[Companies, list[str]]:
    """The companies, and two vehicles of the owner, which may delegate them to the borrower."""
    of = await companies(app)
    await register(app, of.owner, of.borrower)
    return of, [await new_vehicle(app, of.owner, number) for number in ("12가1", "12가2")]


async def delegate(app: Rest, owner: Login, receiver: Login, vehicle_id: str) -> dict[str, Any]:
    """The vehicle delegated to the receiver."""
    return await app.post(owner, f"/company/{receiver.company_id}/relation/vehicle", {"vehicleId": {"id": vehicle_id}})


async def take_back(app: Rest, owner: Login, receiver: Login, vehicle_id: str) -> None:
    """The vehicle taken back."""
    answer = await app.call(owner, "DELETE", delegation(receiver, vehicle_id))
    assert (answer.status_code, answer.json()) == (200, {})


async def give(app: Rest, giver: Login, person: Login, vehicle_id: str, *, drive: bool = False) -> dict[str, Any]:
    """A right on the vehicle for the person: to drive, else as delegated director."""
    return await app.post(giver, rights(person, drive=drive), {"vehicleId": {"id": vehicle_id}})


def candidates(owner: Login) -> str:
    """Where candidates are registered."""
    return f"/company/{owner.company_id}/relation/company"


def delegation(receiver: Login, vehicle_id: str) -> str:
    """A delegation's path."""
    return f"/company/{receiver.company_id}/relation/vehicle/{vehicle_id}"


def rights(person: Login, *, drive: bool) -> str:
    """Where rights are given."""
    return f"/{'driver' if drive else 'director'}/{person.user_id}/relation/vehicle"


def drives_now(vehicle_id: str, person: Login | None) -> Any:
    """Work that makes the person the vehicle's current driver, whatever rule it would break."""
    return lambda tx: tx.run(
        update(vehicle)
        .where(vehicle.c.id == vehicle_id)
        .values(current_driver_id=None if person is None else person.user_id)
    )


def scored_trip(app: Rest, owner: Login, vehicle_id: str, driver: Login) -> Any:
    """Work that keeps one scored trip of the vehicle with a microtrip and a GPS event; its result is the trip's id."""

    def work(tx: WriteTx) -> str:
        on: dict[str, Any] = {
            "company_id": owner.company_id,
            "vehicle_id": vehicle_id,
            "user_id": driver.user_id,
            "sensor_id": None,
            "quality": quality.written(Quality(samples=60, period_ms=1_000)),
        }
        no, trip_id = journeys.keep_trip(tx, app.ids, created_ms=rest.NOW_MS, payload={"tid": 1}, **on)
        journeys.keep_microtrip(tx, app.ids, no, created_ms=rest.NOW_MS, payload={"lat": 1, "lon": 2})
        common: dict[str, Any] = {"user_id": driver.user_id, "trip_no": no, "trip_id": trip_id}
        policies.keep(tx, Rules(), now_ms=rest.NOW_MS)
        scores.add_score(tx, 0, vehicle_id, created_ms=rest.NOW_MS, company_id=owner.company_id, **common)
        sums.move(tx, {}, sums.shares(tx, [no]))
        scores.add_event(tx, 0, vehicle_id, created_ms=rest.NOW_MS, event_ms=rest.NOW_MS, **common)
        scores.add_total(tx, vehicle_id, created_ms=rest.NOW_MS, count=1, score=90.5, distance_m=4000.0)
        return trip_id

    return work


def dispute(app: Rest, trip_id: str, by: Login) -> Any:
    """Work that contests the whole trip; its result is the dispute's id."""

    def work(tx: WriteTx) -> str:
        trip_no, company_id = disputes.trip(tx, TripId(trip_id))
        dispute_id = app.ids.next(now_ms=app.now_ms)
        disputes.keep(
            tx,
            dispute_id=dispute_id,
            company_id=company_id,
            trip_no=trip_no,
            opened_by=UserId(by.user_id),
            reason=Reason.OTHER,
            text="not I",
            event=None,
            state=State.OPEN,
        )
        return dispute_id

    return work


def rescoring(app: Rest, by: Login) -> Any:
    """Work that begins a rescoring of the caller's company; its result is the rescoring's id."""

    def work(tx: WriteTx) -> str:
        asked = {"actor": by.actor, "company_id": access.company_of(by.actor), "asked": RescoringRequest(dry_run=True)}
        return rescorings.begin(tx, **asked, ids=app.ids, now_ms=app.now_ms).id

    return work


def now_drove(tx: WriteTx, trip_id: str, driver: Login) -> None:
    """Let the trip, its score and its GPS events be another person's."""
    tx.run(update(trip).where(trip.c.id == trip_id).values(user_id=driver.user_id))
    for table in (driving_score, gps_event):
        tx.run(update(table).where(table.c.trip_id == trip_id).values(user_id=driver.user_id))
