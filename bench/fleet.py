"""A registered fleet for the device rows: one company, and sensors with tokens, each mounted on a vehicle of its own.

Written straight into a fresh database, because registering ten thousand of each over REST is not what is measured.
"""

import contextlib
import sqlite3
import time
from pathlib import Path

from sqlalchemy import insert

from tripline.domain.ids import TimeIds
from tripline.store import migrate, sqlite, tables

SERVICE = "bench"


def make(folder: Path, sensors: int) -> None:
    """A data folder with the fleet."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    database = folder / "tripline.db"
    migrate.upgrade(database)
    now_ms = int(time.time() * 1000)
    ids = TimeIds(node=0x0123456789AB)
    company_id, *others = ids.run(1 + 2 * sensors, now_ms=now_ms)
    vehicle_ids, sensor_ids = others[:sensors], others[sensors:]
    tokens = [token(number) for number in range(sensors)]
    common = {"created_ms": now_ms, "service_type": SERVICE}
    owned = {**common, "company_id": company_id, "status": "ACTIVATED"}
    engine = sqlite.open_engine(database)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        connection.exec_driver_sql("BEGIN")
        connection.execute(
            insert(tables.company),
            {
                **common,
                "id": company_id,
                "name": SERVICE,
                "master": True,
                "master_id": company_id,
                "token_prefix": "bench",
            },
        )
        connection.execute(
            insert(tables.vehicle),
            [
                {**owned, "id": vehicle_id, "vehicle_no": f"V{number:06d}", "mileage": 1.0, "displacement": 0.0}
                for number, vehicle_id in enumerate(vehicle_ids)
            ],
        )
        connection.execute(
            insert(tables.sensor),
            [
                {
                    **owned,
                    "id": sensor_id,
                    "vehicle_id": vehicle_id,
                    "serial_no": f"S{token}",
                    "credentials_id": token,
                    "type": "GPS",
                    "activation_required": False,
                }
                for sensor_id, vehicle_id, token in zip(sensor_ids, vehicle_ids, tokens, strict=True)
            ],
        )
        connection.exec_driver_sql("COMMIT")
    engine.dispose()
    if driver is not None:
        driver.close()


def token(number: int) -> str:
    """The token of a sensor, by its number from 0."""
    return f"{SERVICE}{number:015d}"


def users(folder: Path, *, first: int, count: int) -> Path:
    """A file with the tokens of some of the sensors, one a line."""
    path = folder / f"users-{first}.txt"
    path.write_text("".join(f"{token(number)}\n" for number in range(first, first + count)))
    return path


def stored(folder: Path) -> int:
    """How many messages the database holds."""
    with contextlib.closing(sqlite3.connect(folder / "tripline.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM microtrip").fetchone()
    return int(count)


def check(folder: Path, *, acknowledged: int) -> None:
    """Raise when the database does not hold every acknowledged message, or one was rejected."""
    with contextlib.closing(sqlite3.connect(folder / "tripline.db")) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM microtrip").fetchone()
        (rejected,) = connection.execute("SELECT count(*) FROM rejected_message").fetchone()
    if stored != acknowledged or rejected:
        raise RuntimeError(f"{acknowledged} messages were acknowledged, {stored} are stored, {rejected} were rejected")
