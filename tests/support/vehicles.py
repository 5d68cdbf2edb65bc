"""Vehicles over REST; and delegations and rights written straight into their tables, whatever rule that would break."""

from typing import Any

from sqlalchemy import insert

from tests.support import reaching
from tests.support.rest import Login, Rest
from tripline.store.tables import vehicle_company, vehicle_user

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def vehicle_of(app: Rest, login: Login, number: str = "1", **more: Any) -> str:
    """The id of a new vehicle of the account's company."""
    return str((await app.post(login, "/vehicle", {"vehicleNo": number, "mileage": 1, **more}))["id"]["id"])


async def delegate(app: Rest, vehicle_id: str, owner: Login, holder: Login) -> None:
    """Write a delegation of the vehicle."""
    row = {"id": f"delegation {vehicle_id}"[:36], "created_ms": 1, "vehicle_id": vehicle_id, "automatic": False}
    companies = {"from_company_id": owner.company_id, "to_company_id": holder.company_id}
    await app.store.write(lambda tx: reaching.run(tx, insert(vehicle_company).values(**row, **companies)))


async def give_right(app: Rest, vehicle_id: str, person: Login, role: str) -> None:
    """Write a right of the person on the vehicle."""
    row = {"id": f"{role} {person.user_id}"[:36], "created_ms": 1, "vehicle_id": vehicle_id, "user_role": role}
    who = {"company_id": person.company_id, "user_id": person.user_id}
    await app.store.write(lambda tx: reaching.run(tx, insert(vehicle_user).values(**row, **who)))
