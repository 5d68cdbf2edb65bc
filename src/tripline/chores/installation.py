"""What commands do in a data folder: bring it to the present schema, examine it, make accounts, import files.

Each works beside a running server as well as without one.

Not here: what commands print (`cli/`), the server (`app.py`).
"""

import contextlib
import dataclasses
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tripline import app, outside
from tripline.adapters import data_folder, machine, tls_authority, tls_local
from tripline.config import Config
from tripline.domain import fields, ids
from tripline.ports import Fault, StoreOutage
from tripline.services import doctor, doctor_shared, passwords
from tripline.services.accounts import registry
from tripline.services.fleet import imports
from tripline.services.fleet.import_desk import ImportDesk
from tripline.services.fleet.import_kinds import ImportKind
from tripline.store import files, inspection_shared, migrate, sqlite
from tripline.store.postgres import PostgresStore
from tripline.store.transactions import Store


def migrated(config: Config, *, new: bool = False) -> str:
    """Bring the store to the present schema, making folder and file when missing; the schema version. `new`: also where
    an installation has lost its file."""
    folder = config.data if config.store.url else data_folder.prepare(config.data)
    return outside.migrated(config, folder, now_ms=app.now_ms(), new=new)


async def examined(config: Config) -> doctor.Report:
    """What `tripline doctor` finds; changes nothing."""
    if config.store.url:
        return await _examined_shared(config)
    folder = data_folder.existing(config.data)
    database = folder / data_folder.DATABASE
    read_only = data_folder.is_read_only(folder)
    # SQLite opens nothing there that a server has used.
    damage = [] if read_only else files.damage(database)
    blind = bool(damage) or read_only
    seen = doctor.Surroundings(
        database=str(database),
        schema=None if blind else migrate.version_of(database),
        newest_schema=migrate.newest(),
        damage=damage,
        unwritable=None if blind else files.unwritable(database),
        read_only=read_only,
        free_bytes=machine.free_bytes(folder),
        reserve_bytes=config.store.reserve_mib * 2**20,
        certificate_end_ms=_certificate_end(config, folder),
        authority_end_ms=_authority_end(config, folder),
    )
    if blind or seen.schema != seen.newest_schema:
        return doctor.Report(doctor.about(seen, now_ms=app.now_ms()))
    store = sqlite.SqliteStore(database)
    try:
        return await store.read(lambda tx: doctor.examine(tx, surroundings=seen, now_ms=app.now_ms()))
    except StoreOutage as outage:
        is_damage = outage.fault is Fault.DAMAGED
        seen = dataclasses.replace(
            seen, damage=[str(outage)] if is_damage else [], unwritable=None if is_damage else str(outage)
        )
        return doctor.Report(doctor.about(seen, now_ms=app.now_ms()))
    finally:
        await store.close()


async def _examined_shared(config: Config) -> doctor.Report:
    """Disks of a database server, its copies and its log are its own administrator's affair."""
    url, newest = config.store.url, migrate.newest()
    certificate = doctor.certificate(_certificate_end(config, config.data), now_ms=app.now_ms())
    authority = doctor.authority(_authority_end(config, config.data), now_ms=app.now_ms())
    try:
        schema = migrate.version_of_shared(url)
    except migrate.DatabaseError as error:
        return doctor.Report([doctor_shared.unusable(str(error)), certificate, *authority])
    findings = [doctor.schema(schema, newest), certificate, *authority]
    if schema != newest:
        return doctor.Report(findings)
    store = PostgresStore(url, readers=1, writers=1)
    try:
        seen = await store.read(lambda tx: inspection_shared.look(tx, clock=app.now_ms))
        findings += doctor_shared.about(seen)
        return await store.read(lambda tx: doctor.reported(tx, findings, now_ms=seen.clock_ms))
    except StoreOutage as outage:
        return doctor.Report([*findings, doctor_shared.failed(outage)])
    finally:
        await store.close()


def _certificate_end(config: Config, folder: Path) -> int | None:
    """When the first of the certificates in use ends."""
    if config.tls.cert:
        return _first_end(Path(config.tls.cert))
    return _first_end(*(kind.server(folder / "tls")[0] for kind in tls_authority.KINDS))


def _authority_end(config: Config, folder: Path) -> int | None:
    return None if config.tls.cert else _first_end(folder / "tls" / tls_authority.BUNDLE)


def _first_end(*files: Path) -> int | None:
    return min((tls_local.ends_ms(file) for file in files if file.exists()), default=None)


async def administrator_made(config: Config, *, email: str, password: str) -> ids.UserId:
    """Make a platform administrator; its id. Raises `people.EmailTaken`."""
    return await _account_made(config, registry.create_platform_admin, email, password)


async def grant_made(config: Config, *, email: str, password: str) -> ids.UserId:
    """Make a granted service account; its id. Raises `people.EmailTaken`."""
    return await _account_made(config, registry.grant_service_account, email, password)


async def carrier_made(config: Config, *, email: str, password: str) -> ids.UserId:
    """Make a carrier's account; its id. Raises `people.EmailTaken`."""
    return await _account_made(config, registry.create_carrier, email, password)


async def _account_made(config: Config, make: Callable[..., ids.UserId], email: str, password: str) -> ids.UserId:
    fields.email("email", email)
    fields.required("password", password)
    hasher = passwords.Passwords(config.passwords)
    try:
        password_hash = hasher.hash_now(password)
    finally:
        hasher.close()
    async with store_of(config) as store, numbering(store) as maker:
        return await store.write(
            lambda tx: make(tx, email=email, password_hash=password_hash, ids=maker, now_ms=app.now_ms())
        )


async def imported(
    config: Config, file: Path, *, kind: ImportKind, email: str, order: imports.Order, progress: imports.Progress
) -> imports.Report:
    """Register what is in a CSV file, as the account with this e-mail address would; see `imports.run`."""
    async with store_of(config) as store:
        actor = await store.read(lambda tx: registry.acting_as(tx, email=email))
        async with numbering(store) as maker:
            with ImportDesk(config.rest).opened(file) as content:
                return await imports.run(
                    store,
                    content,
                    actor=actor,
                    kind=kind,
                    order=order,
                    ids=maker,
                    now_ms=app.now_ms(),
                    progress=progress,
                )


@contextlib.asynccontextmanager
async def numbering(store: Store) -> AsyncIterator[ids.TimeIds]:
    """An id maker beside those of running servers: in a slot of its own, or with a clock sequence of its own."""
    maker = await app.ids_of(store, clock_sequence=1 + secrets.randbelow(0x3FFF))
    node = app.node_of(store, maker, roles=doctor_shared.COMMAND)
    async with node.present():
        yield maker


@contextlib.asynccontextmanager
async def store_of(config: Config) -> AsyncIterator[Store]:
    """The store at the present schema; beside a running server as well as without one."""
    # What is in a shared store needs no folder on the machine where a command is typed.
    store = outside.store(config, config.data if config.store.url else data_folder.prepare(config.data))
    try:
        yield store
    finally:
        await store.close()
