"""Upgrades an installation to the current schema, and examines it.

Both work with or without a running server.
"""

import asyncio
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tripline import clock
from tripline.adapters import data_folder, machine
from tripline.adapters.tls import authority as tls_authority
from tripline.adapters.tls import local
from tripline.config import Config
from tripline.later import Later
from tripline.ports.maps import RoadServer
from tripline.ports.outages import Fault, StoreOutage
from tripline.services import doctor
from tripline.store import migrate
from tripline.store.database import inspection, sqlite, sqlite_files
from tripline.store.transactions import Crew

if TYPE_CHECKING:
    from tripline.store.database import postgres
    from tripline.wiring import adapters as wiring_adapters
else:
    wiring_adapters = Later("tripline.wiring.adapters")
    postgres = Later("tripline.store.database.postgres")


def migrated(config: Config, *, new: bool = False) -> str:
    """Upgrade the store to the current schema, creating a missing folder and file; return the schema version. `new`:
    create them even if an installation has lost its file."""
    folder = config.data if config.store.url else data_folder.prepare(config.data)
    return wiring_adapters.migrated(config, folder, now_ms=clock.now_ms(), new=new)


async def examined(config: Config, *, repair: bool = False) -> doctor.Report:
    """The findings of `tripline doctor`; changes nothing but what `repair` mends."""
    examined_store = _examined_shared if config.store.url else _examined_own
    report = await examined_store(config, repair=repair)
    roads = wiring_adapters.roads(config)
    lost = doctor.maps(wiring_adapters.lost_maps(roads))
    reach = wiring_adapters.reach_roads(config, roads)
    server = doctor.road_server(None if reach is None else await asyncio.to_thread(RoadServer.asked, reach))
    base_map = doctor.base_map(wiring_adapters.unreadable_tiles(config))
    return replace(report, findings=[*report.findings, *lost, *server, *base_map])


async def _examined_own(config: Config, *, repair: bool) -> doctor.Report:
    folder = data_folder.existing(config.data)
    database = folder / data_folder.DATABASE
    read_only = data_folder.is_read_only(folder)
    # A read-only folder that a server has used cannot be opened by SQLite.
    damage: list[str] = []
    unreadable = None
    try:
        damage = [] if read_only else sqlite_files.damage(database)
    except sqlite3.Error as error:
        unreadable = str(error)
    blind = bool(damage or unreadable) or read_only
    seen = doctor.Surroundings(
        database=str(database),
        schema=None if blind else migrate.version_of(database),
        newest_schema=migrate.newest(),
        damage=damage,
        unwritable=unreadable if blind else sqlite_files.unwritable(database),
        read_only=read_only,
        free_bytes=machine.free_bytes(folder),
        reserve_bytes=config.store.reserve_mib * 2**20,
        certificate_end_ms=_certificate_end(config, folder),
        authority_end_ms=_authority_end(config, folder),
    )
    if blind or seen.schema != seen.newest_schema:
        return doctor.Report(doctor.about(seen, now_ms=clock.now_ms()))
    store = sqlite.SqliteStore(database).of(Crew.WORK)
    try:
        findings = [*doctor.about(seen, now_ms=clock.now_ms()), await doctor.checked(store, repair=repair)]
        return await store.read(lambda tx: doctor.reported(tx, findings, now_ms=clock.now_ms()))
    except StoreOutage as outage:
        is_damage = outage.fault is Fault.DAMAGED
        seen = replace(seen, damage=[str(outage)] if is_damage else [], unwritable=None if is_damage else str(outage))
        return doctor.Report(doctor.about(seen, now_ms=clock.now_ms()))
    finally:
        await store.close()


async def _examined_shared(config: Config, *, repair: bool) -> doctor.Report:
    """Examine a shared store; the database server's disks, backups and log are its administrator's responsibility."""
    url, newest = config.store.url, migrate.newest()
    certificate = doctor.certificate(_certificate_end(config, config.data), now_ms=clock.now_ms())
    authority = doctor.authority(_authority_end(config, config.data), now_ms=clock.now_ms())
    try:
        schema = migrate.version_of_shared(url)
    except migrate.DatabaseError as error:
        return doctor.Report([doctor.unusable_shared(str(error)), certificate, *authority])
    findings = [doctor.schema(schema, newest), certificate, *authority]
    if schema != newest:
        return doctor.Report(findings)
    store = postgres.PostgresStore(url, readers=1, writers=1).of(Crew.WORK)
    try:
        seen = await store.read(lambda tx: inspection.look(tx, clock=clock.now_ms))
        findings += [*doctor.about_shared(seen), await doctor.checked(store, repair=repair)]
        return await store.read(lambda tx: doctor.reported(tx, findings, now_ms=seen.clock_ms))
    except StoreOutage as outage:
        return doctor.Report([*findings, doctor.failed_shared(outage)])
    finally:
        await store.close()


def _certificate_end(config: Config, folder: Path) -> int | None:
    """The earliest end of the certificates in use."""
    if config.tls.cert:
        return _first_end(Path(config.tls.cert))
    return _first_end(*(kind.server(folder / "tls")[0] for kind in tls_authority.KINDS))


def _authority_end(config: Config, folder: Path) -> int | None:
    return None if config.tls.cert else _first_end(folder / "tls" / tls_authority.BUNDLE)


def _first_end(*files: Path) -> int | None:
    return min((local.ends_ms(file) for file in files if file.exists()), default=None)
