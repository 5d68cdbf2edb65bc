"""A registered fleet for the device rows: one company with its administrator, sensors with tokens, each on a vehicle.

Written straight into a fresh database, because registering ten thousand of each over REST is not what is measured. On
PostgreSQL: `make_on`; what is there afterwards is asked of the server itself (`shared.py`).
"""

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert
from tests.support import fleet_rows, reaching

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.ids import TimeIds
from tripline.services.accounts import tokens
from tripline.store import migrate, tables
from tripline.store.database import postgres, sqlite

SERVICE, EMAIL = "bench", "bench@bench.example"


def make(folder: Path, sensors: int) -> None:
    """A data folder with the fleet."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    database = folder / "tripline.db"
    migrate.upgrade(database)
    engine = sqlite.open_engine(database)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        connection.exec_driver_sql("BEGIN")
        _add(connection, sensors)
        connection.exec_driver_sql("COMMIT")
    engine.dispose()
    if driver is not None:
        driver.close()


def make_on(url: str, sensors: int) -> None:
    """The fleet in a new PostgreSQL database, which gets its tables here."""
    migrate.upgrade_shared(url, now_ms=int(time.time() * 1000))
    with postgres.open_engine(url).connect() as connection:
        connection.exec_driver_sql("BEGIN")
        _add(connection, sensors)
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("ANALYZE")


def _add(connection: Connection, sensors: int) -> None:
    now_ms = int(time.time() * 1000)
    ids = TimeIds(node=0x0123456789AB)
    company_id, account_id, *others = ids.run(2 + 2 * sensors, now_ms=now_ms)
    vehicle_ids, sensor_ids = others[:sensors], others[sensors:]
    credentials = [token(number) for number in range(sensors)]
    common = {"created_ms": now_ms, "service_type": SERVICE}
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
        insert(tables.account),
        {
            "id": account_id,
            "created_ms": now_ms,
            "company_id": company_id,
            "authority": Authority.COMPANY_ADMIN.value,
            "name": SERVICE,
            "email": EMAIL,
            "login": EMAIL,
            "password_hash": "",
            "password_updated_ms": now_ms,
            "enabled": True,
        },
    )
    connection.execute(
        insert(tables.vehicle),
        [
            fleet_rows.vehicle(vehicle_id, company_id, **common, vehicle_no=f"V{number:06d}")
            for number, vehicle_id in enumerate(vehicle_ids)
        ],
    )
    connection.execute(
        insert(tables.sensor),
        [
            fleet_rows.sensor(
                sensor_id, company_id, **common, vehicle_id=vehicle_id, serial_no=f"S{token}", credentials_id=token
            )
            for sensor_id, vehicle_id, token in zip(sensor_ids, vehicle_ids, credentials, strict=True)
        ],
    )
    reaching.recount_on(connection)


def wanted(folder: Path, addresses: Sequence[str], credentials: Sequence[str], *, name: str) -> None:
    """Give these sensors to new companies, one for each address, that want their microtrips pushed there."""
    now_ms = int(time.time() * 1000)
    ids = TimeIds(node=0x0123456789AC)
    with contextlib.closing(sqlite3.connect(folder / "tripline.db")) as connection, connection:
        ((master_id,),) = connection.execute("SELECT id FROM company WHERE master").fetchall()
        for place, (address, no) in enumerate(zip(addresses, ids.run(len(addresses), now_ms=now_ms), strict=True)):
            connection.execute(
                "INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix,"
                " notify_host, notify_msg_type) VALUES (?, ?, ?, ?, FALSE, ?, ?, ?, '\"2\"')",
                (no, now_ms, f"{name} {place}", SERVICE, master_id, f"{name}-{place}", address),
            )
            for credential in credentials[place :: len(addresses)]:
                of_one = (no, credential)
                vehicle = "(SELECT vehicle_id FROM sensor WHERE credentials_id = ?)"
                connection.execute(f"UPDATE vehicle SET company_id = ? WHERE id = {vehicle}", of_one)
                connection.execute("UPDATE sensor SET company_id = ? WHERE credentials_id = ?", of_one)


def token(number: int) -> str:
    """The token of a sensor, by its number from 0."""
    return f"{SERVICE}{number:015d}"


def users(folder: Path, *, first: int, count: int) -> Path:
    """A file with the tokens of some of the sensors, one a line."""
    path = folder / f"users-{first}.txt"
    path.write_text("".join(f"{token(number)}\n" for number in range(first, first + count)))
    return path


def sensors(folder: Path) -> list[str]:
    """The ids of the sensors, in the order of their tokens."""
    return [str(row[0]) for row in rows(folder, "SELECT id FROM sensor ORDER BY credentials_id")]


def token_of_admin(folder: Path) -> str:
    """An access token of the company's administrator, once the server has made its key."""
    ((key,),) = rows(folder, "SELECT value FROM secret WHERE name = 'token-key'")
    ((user_id,),) = rows(folder, "SELECT id FROM account")
    with contextlib.closing(sqlite3.connect(folder / "tripline.db")) as connection, connection:
        connection.execute(session_of(user_id))
    return admin_token(key, user_id)


def session_of(user_id: str) -> str:
    """The statement that opens a session for the administrator, with the account's id."""
    now_ms = int(time.time() * 1000)
    return (
        "INSERT INTO account_session (id, user_id, created_ms, expires_ms, current, rotated_ms, kind)"
        f" VALUES ('{user_id}', '{user_id}', {now_ms}, {now_ms + 86_400_000}, '', {now_ms}, 'rest')"
    )


def admin_token(key: bytes, user_id: str) -> str:
    """An access token of the administrator in that session, made with the server's key."""
    maker = tokens.Tokens(key=key, settings=config.Tokens())
    now_ms = int(time.time() * 1000)
    authority = Authority.COMPANY_ADMIN.value
    return maker.access(user_id=user_id, email=EMAIL, authority=authority, session_id=user_id, now_ms=now_ms)


def count(folder: Path, what: str) -> int:
    """How many rows there are: a table, and which of them."""
    ((found,),) = rows(folder, f"SELECT count(*) FROM {what}")
    return int(found)


def stored(folder: Path) -> int:
    """How many messages the database holds."""
    return count(folder, "microtrip")


def rows(folder: Path, statement: str) -> list[tuple[Any, ...]]:
    """What a statement finds in the database."""
    with contextlib.closing(sqlite3.connect(folder / "tripline.db")) as connection:
        return connection.execute(statement).fetchall()


def check(folder: Path, *, acknowledged: int) -> None:
    """Raise when the database does not hold every acknowledged message, or one was rejected."""
    kept, rejected = stored(folder), count(folder, "rejected_message")
    if kept != acknowledged or rejected:
        raise RuntimeError(f"{acknowledged} messages were acknowledged, {kept} are stored, {rejected} were rejected")
