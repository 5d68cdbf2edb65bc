"""The program: the only place that knows every part, wires them together, and reads the clock.

Starting order: what can fail at once comes first (settings, data folder, certificate, ports, database), then the parts,
then the doors open and one line says so. Stopping is the reverse: doors close, what was taken in is committed and
acknowledged, the scorer ends after its batch, the store closes.
"""

import asyncio
import contextlib
import datetime
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, TypeVar

from tripline import config_files, observe
from tripline.adapters import data_folder, doors, tls_local
from tripline.config import Config
from tripline.domain import fields, ids
from tripline.domain.refusals import Refusal
from tripline.ports import Outage
from tripline.services import doctor, passwords
from tripline.services.accounts import registry
from tripline.store import migrate, sqlite
from tripline.store import secrets as kept_secrets
from tripline.store.transactions import WriteTx

T = TypeVar("T")

TROUBLES: Final = (
    data_folder.DataFolderError,
    doors.DoorError,
    tls_local.TlsError,
    migrate.DatabaseError,
    Outage,
    Refusal,
)
"""What can stand in the way of a command; each says so in one line."""


def now_ms() -> int:
    """The clock: epoch ms."""
    return time.time_ns() // 1_000_000


def utc_text(at_ms: int) -> str:
    """The instant for people, UTC to the second."""
    return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M:%S}"


def migrated(config: Config) -> str:
    """Bring the database to the present schema, making folder and file when missing; the schema version."""
    return migrate.upgrade(data_folder.prepare(config.data) / data_folder.DATABASE)


async def serve(config: Config, *, announce: Callable[[str], None]) -> None:
    """Run the server until SIGTERM or SIGINT."""


async def examined(config: Config) -> doctor.Report:
    """What `tripline doctor` finds; changes nothing."""
    folder = data_folder.existing(config.data)
    database = folder / data_folder.DATABASE
    damage = migrate.damage(database)
    seen = doctor.Surroundings(
        schema=None if damage else migrate.version_of(database),
        newest_schema=migrate.newest(),
        damage=damage,
        free_bytes=shutil.disk_usage(folder).free,
        certificate_end_ms=_certificate_end(config, folder),
    )
    if damage or seen.schema != seen.newest_schema:
        return doctor.Report(doctor.about(seen, now_ms=now_ms()), {}, [])
    store = sqlite.SqliteStore(database)
    try:
        return await store.read(lambda tx: doctor.examine(tx, surroundings=seen, now_ms=now_ms()))
    finally:
        await store.close()


def _certificate_end(config: Config, folder: Path) -> int | None:
    certificate = Path(config.tls.cert) if config.tls.cert else folder / "tls" / "server.crt"
    return tls_local.ends_ms(certificate) if certificate.exists() else None


async def administrator_made(config: Config, *, email: str, password: str) -> ids.UserId:
    """Make a platform administrator; its id. Raises `people.EmailTaken`."""
    return await _account_made(config, registry.create_platform_admin, email, password)


async def grant_made(config: Config, *, email: str, password: str) -> ids.UserId:
    """Make a granted service account; its id. Raises `people.EmailTaken`."""
    return await _account_made(config, registry.grant_service_account, email, password)


async def _account_made(config: Config, make: Callable[..., ids.UserId], email: str, password: str) -> ids.UserId:
    fields.email("email", email)
    hasher = passwords.Passwords(config.passwords)
    try:
        password_hash = hasher.hash_now(password)
    finally:
        hasher.close()
    async with _store_of(config) as store:
        maker = await _ids_of(store, clock_sequence=1 + secrets.randbelow(0x3FFF))
        return await store.write(
            lambda tx: make(tx, email=email, password_hash=password_hash, ids=maker, now_ms=now_ms())
        )


@contextlib.asynccontextmanager
async def _store_of(config: Config) -> AsyncIterator[sqlite.SqliteStore]:
    """The store of the data folder at the present schema; beside a running server as well as without one."""
    migrated(config)
    store = sqlite.SqliteStore(config.data / data_folder.DATABASE, readers=config.store.readers)
    try:
        yield store
    finally:
        await store.close()


async def _ids_of(store: sqlite.SqliteStore, *, clock_sequence: int = 0) -> ids.TimeIds:
    """The id maker of this installation. A command beside the server takes a clock sequence of its own."""
    fresh = secrets.token_bytes(6)
    node = await store.write(lambda tx: kept_secrets.made_once(tx, "node", fresh))
    return ids.TimeIds(node=int.from_bytes(node), clock_sequence=clock_sequence)
