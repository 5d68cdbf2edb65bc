"""Chooses the program's adapters by the settings: TLS, sockets, carrier, mail, webhooks.

Their users are wired in `wiring/server.py`; `app.py` decides when they are opened.
"""

import asyncio
import contextlib
import socket
import zoneinfo
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tripline import observe
from tripline.adapters import data_folder, sockets
from tripline.config import Config
from tripline.config import bus as config_bus
from tripline.config import files as config_files
from tripline.domain.refusals import Refusal
from tripline.domain.rescorings import Touched
from tripline.later import Later
from tripline.ports.bus import BusLog, BusReader, BusWriter
from tripline.ports.carriers import CarrierLines
from tripline.ports.clocks import Clock
from tripline.ports.mails import Mailer
from tripline.ports.maps import BaseMap, LostMap, MapKeeper, PlaceNames, RoadMatcher
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.ports.webhooks import WebhookSender
from tripline.store import migrate
from tripline.store.database import sqlite_files
from tripline.store.database.sqlite import SqliteStore
from tripline.store.transactions import Crew, Store

if TYPE_CHECKING:
    from tripline.adapters.carrier import http as carrier_http
    from tripline.adapters.carrier import simulated as carrier_simulated
    from tripline.adapters.kafka import reader as kafka_reader
    from tripline.adapters.kafka import topics as kafka_topics
    from tripline.adapters.kafka import writer as kafka_writer
    from tripline.adapters.mail import folder as mail_folder
    from tripline.adapters.mail import smtp as mail_smtp
    from tripline.adapters.maps import base_map as base_maps
    from tripline.adapters.maps import files as map_files
    from tripline.adapters.maps import place_names, pmtiles_file, roads_osm, roads_valhalla
    from tripline.adapters.maps import service as map_service
    from tripline.adapters.maps.roads_osm import OsmRoads
    from tripline.adapters.signals import local as signals_local
    from tripline.adapters.signals import postgres as signals_postgres
    from tripline.adapters.tls import local as tls_local
    from tripline.adapters.tls import renewal as tls_renewal
    from tripline.adapters.webhooks import addresses as webhook_addresses
    from tripline.adapters.webhooks import sender as webhook_sender
    from tripline.store.database import postgres
else:
    kafka_reader = Later("tripline.adapters.kafka.reader")
    kafka_topics = Later("tripline.adapters.kafka.topics")
    kafka_writer = Later("tripline.adapters.kafka.writer")
    carrier_http = Later("tripline.adapters.carrier.http")
    carrier_simulated = Later("tripline.adapters.carrier.simulated")
    mail_folder = Later("tripline.adapters.mail.folder")
    mail_smtp = Later("tripline.adapters.mail.smtp")
    map_service = Later("tripline.adapters.maps.service")
    map_files = Later("tripline.adapters.maps.files")
    base_maps = Later("tripline.adapters.maps.base_map")
    pmtiles_file = Later("tripline.adapters.maps.pmtiles_file")
    place_names = Later("tripline.adapters.maps.place_names")
    roads_osm = Later("tripline.adapters.maps.roads_osm")
    roads_valhalla = Later("tripline.adapters.maps.roads_valhalla")
    signals_local = Later("tripline.adapters.signals.local")
    signals_postgres = Later("tripline.adapters.signals.postgres")
    tls_local = Later("tripline.adapters.tls.local")
    tls_renewal = Later("tripline.adapters.tls.renewal")
    webhook_addresses = Later("tripline.adapters.webhooks.addresses")
    webhook_sender = Later("tripline.adapters.webhooks.sender")
    postgres = Later("tripline.store.database.postgres")

LOOPBACK: Final = "127.0.0.1"
TOPICS_AGAIN_S: Final = 5.0
_log = observe.logger("app")


def troubles() -> tuple[type[Exception], ...]:
    """Expected errors of a command; each has a one-line message."""
    return (
        data_folder.DataFolderError,
        sockets.ListenerError,
        tls_local.TlsError,
        pmtiles_file.TileFileError,
        migrate.DatabaseError,
        Outage,
        Refusal,
    )


class Listeners:
    """The bound listening sockets that the roles need, and the ready line. Raises
    `sockets.ListenerError`.

    Health and metrics are on the API port; without REST in this process, only on its loopback side and without TLS.
    """

    def __init__(self, config: Config, opened: contextlib.AsyncExitStack) -> None:
        self._opened = opened
        self._host = config.host
        self._scheme = "https" if config_files.uses_https(config) else "http"
        self.devices: socket.socket | None = None
        self.devices_plain: socket.socket | None = None
        self._analytics: socket.socket | None = None
        if config_files.does(config, "gateway"):
            self.devices = self._bind(config.host, config.device_port, "device")
            if config.device_plain_port is not None:
                self.devices_plain = self._bind(LOOPBACK, config.device_plain_port, "plain device")
        if config_files.does(config, "api"):
            self._api = self._bind(config.host, config.api_port, "API")
            self._analytics = self._bind(config.host, config.analytics_port, "analytics")
            self.http = {"api": self._api, "analytics": self._analytics}
        else:
            self._scheme = "http"
            self._api = self._bind(LOOPBACK, config.api_port, "health")
            self.http = {"health": self._api}
        self.api_port = sockets.port_of(self._api)
        serves = self._analytics is not None
        if serves and not config_bus.is_loopback(config.host) and config.host not in sockets.EVERY_ADDRESS:
            # Health and metrics use the API port's loopback side, which a single specific address leaves out.
            self.http["health"] = self._bind(LOOPBACK, self.api_port, "health")

    @property
    def uses_https(self) -> bool:
        return self._scheme == "https"

    @property
    def shows_certificate(self) -> bool:
        """True if at least one listener presents a certificate."""
        return self.devices is not None or self.uses_https

    @property
    def api_url(self) -> str:
        """The API port's URL, with a connectable address."""
        host = self._host if self._analytics is not None else LOOPBACK
        return f"{self._scheme}://{self._address(self._api, host)}"

    def ready_line(self, ca: Path) -> str:
        """`ready api=URL analytics=URL devices=HOST:PORT ca=PATH`, with connectable addresses; only for the listeners
        of this process's roles, and with `health=URL` if it serves no API."""
        told = ["ready"]
        if self._analytics is not None:
            told += [f"api={self.api_url}", f"analytics={self._scheme}://{self._address(self._analytics, self._host)}"]
        else:
            told.append(f"health={self.api_url}")
        if self.devices is not None:
            told.append(f"devices={self._address(self.devices, self._host)}")
        if self.shows_certificate:
            told.append(f"ca={ca}")
        return " ".join(told)

    def _address(self, listener: socket.socket, host: str) -> str:
        return sockets.address_text(LOOPBACK if host in sockets.EVERY_ADDRESS else host, sockets.port_of(listener))

    def _bind(self, host: str, port: int, purpose: str) -> socket.socket:
        listener = sockets.bind(host, port, purpose=purpose)
        self._opened.callback(listener.close)
        return listener


def migrated(config: Config, folder: Path, *, now_ms: int, new: bool = False) -> str:
    """Upgrade the store to the current schema, creating it if missing; return the schema version. `new`: create it even
    if an installation has lost its file. Raises `DatabaseError`, `DataFolderError`."""
    if config.store.url:
        return migrate.upgrade_shared(config.store.url, now_ms=now_ms)
    return _upgraded(folder, new=new)


def _upgraded(folder: Path, *, new: bool = False) -> str:
    """Upgrade the folder's file to the current schema. A lost database is not replaced unless `new` is set."""
    database = folder / data_folder.DATABASE
    if not new and data_folder.is_left_behind(folder) and sqlite_files.is_empty(database):
        raise data_folder.lost(folder)
    return migrate.upgrade(database)


def store(config: Config, folder: Path) -> Store:
    """The configured store, at the current schema: a file is upgraded, a shared database must have been upgraded
    (`tripline migrate`). Raises `DatabaseError`, `DataFolderError`."""
    if config.store.url:
        migrate.check_shared(config.store.url)
        shared = postgres.PostgresStore(config.store.url, readers=config.store.readers, writers=config.store.writers)
        return shared.of(Crew.WORK)
    _upgraded(folder)
    return SqliteStore(folder / data_folder.DATABASE, readers=config.store.readers).of(Crew.WORK)


def signals(config: Config) -> Signals:
    """The carrier of notifications: through the shared store, or inside this process."""
    return signals_postgres.PostgresSignals(config.store.url) if config.store.url else signals_local.LocalSignals()


async def topics_made(config: Config) -> None:
    """Create our missing topics; retry while the brokers cannot be reached."""
    while config.bus.url:
        try:
            await kafka_topics.make(config.bus)
        except Outage as outage:
            _log.warning("bus.topics_not_made", reason=str(outage))
            await asyncio.sleep(TOPICS_AGAIN_S)
        else:
            break


class Frames(msgspec.Struct, frozen=True):
    """The topic between gateways and workers."""

    reader: BusReader
    log: BusLog


class Adapters(msgspec.Struct, frozen=True):
    """The adapters of the program."""

    carrier: CarrierLines
    webhooks: WebhookSender
    mailer: Mailer
    maps: MapKeeper
    letters: BusWriter | None = None
    """Writer of dead letters; None: without a bus, or if this process does not read customers' topics."""
    customers: BusReader | None = None
    """Reader of customers' messages; None: without a bus, or in another process."""
    frames: Frames | None = None
    """Frames that gateways wrote; None: not written to a bus, or read in another process."""
    buffer: BusWriter | None = None
    """Writer of frames; None: frames are stored here, or this process has no devices."""
    roads: RoadMatcher | None = None
    """Source of road limits; None: not configured."""
    base_map: BaseMap | None = None
    """The base map of pages; None: this process serves no pages."""
    places: PlaceNames | None = None
    """Names of places; None: this process serves no pages."""
    areas: Callable[[str], Touched] = Touched
    """The current map of an area and its bounds."""


def others(config: Config, *, store: Store, clock: Clock, opened: contextlib.AsyncExitStack) -> Adapters:
    """The configured adapters; closed with `opened`. Raises `tls_local.TlsError`, `TileFileError`."""
    matcher, bus = roads(config), config.bus
    shows, works, listens = (config_files.does(config, role) for role in ("api", "worker", "gateway"))
    reads_bus, buffers = bool(bus.url) and works, bool(bus.url) and bus.buffer_devices
    return Adapters(
        carrier=_carrier(config, store, clock, opened),
        webhooks=_webhooks(config, opened),
        mailer=_mailer(config, clock),
        maps=map_service.MapService(config.maps, most_bytes=config.map.upload_mib << 20, clock=clock),
        letters=_writer(config, opened) if reads_bus else None,
        customers=_customers(config, opened) if reads_bus else None,
        frames=_frames(config, opened) if works and buffers else None,
        buffer=_writer(config, opened, patient=True) if listens and buffers else None,
        roads=matcher,
        base_map=_base_map(config) if shows else None,
        places=place_names.MapPlaceNames(config.maps, maps=matcher.open_maps if matcher else None) if shows else None,
        areas=partial(touched, config),
    )


def roads(config: Config) -> "OsmRoads | None":
    """The source of road limits; None: not configured."""
    if config.map.roads == "none":
        return None
    asked = None
    if config.map.roads == "valhalla":
        asked = roads_valhalla.Valhalla(config.map.valhalla_url, timeout_s=config.map.valhalla_timeout_s)
    matcher = roads_osm.OsmRoads(config.maps, zone=zoneinfo.ZoneInfo(config.time_zone), asked=asked)
    if asked is not None and not matcher.has_maps:
        _log.warning("map.none", folder=str(config.maps))
    return matcher


def unreadable_tiles(config: Config) -> str | None:
    """The fault of the configured tile file (`map.tiles`); None: usable, or not configured."""
    try:
        if config.map.tiles:
            base_maps.check(Path(config.map.tiles))
    except pmtiles_file.TileFileError as error:
        return str(error)
    return None


def _base_map(config: Config) -> BaseMap:
    try:
        return base_maps.BaseMaps(config.maps, file=Path(config.map.tiles) if config.map.tiles else None)
    except pmtiles_file.TileFileError as error:
        raise pmtiles_file.TileFileError(f"The file of map.tiles cannot be shown: {error}.") from error


def touched(config: Config, area: str) -> Touched:
    """The current map of an area and its bounds."""
    known = [] if config.map.roads == "none" else map_files.areas(config.maps)
    found = next((each for each in known if each.name == area), None)
    return Touched(area) if found is None else Touched(area, found.map, found.bounds)


def lost_maps(matcher: RoadMatcher | None) -> Sequence[LostMap]:
    """The unreadable maps."""
    return () if matcher is None else matcher.lost()


def reach_roads(config: Config, matcher: RoadMatcher | None) -> Callable[[], None] | None:
    """The health check of the road server; None: not configured. It raises `RoadsOutage` when called."""
    return None if matcher is None or config.map.roads != "valhalla" else matcher.reach


def certificates(config: Config, folder: Path, *, now_ms: int) -> "tls_renewal.ServedCertificates":
    """The certificates of the listeners: the operator's, or our own. Raises `tls_local.TlsError`."""

    def supplied(_now_ms: int) -> "tls_local.Material":
        return tls_local.supplied(Path(config.tls.cert), Path(config.tls.key))

    def own(now_ms: int) -> "tls_local.Material":
        return tls_local.made(folder / "tls", host=config.host, now_ms=now_ms)

    if not config.tls.cert and config.store.url and config_files.does(config, "gateway"):
        _log.warning("tls.own_certificate", folder=str(folder / "tls"))
    return tls_renewal.ServedCertificates(supplied if config.tls.cert else own, now_ms=now_ms)


def _carrier(config: Config, store: Store, clock: Clock, opened: contextlib.AsyncExitStack) -> CarrierLines:
    """The carrier that lifts pauses."""
    if not config.carrier.url:
        return carrier_simulated.SimulatedCarrier(store=store, clock=clock)
    carrier = carrier_http.HttpCarrier(config.carrier)
    opened.push_async_callback(carrier.close)
    return carrier


def _customers(config: Config, opened: contextlib.AsyncExitStack) -> BusReader:
    """The reader of customers' topics."""
    reader = kafka_reader.KafkaReader(config.bus, topics=list(config_bus.topics(config.bus)), group=config.bus.group)
    opened.push_async_callback(reader.close)
    return reader


def _frames(config: Config, opened: contextlib.AsyncExitStack) -> Frames:
    """The reader of gateways' frames."""
    topic = config.bus.buffer_topic
    reader = kafka_reader.KafkaReader(config.bus, topics=[topic], group=f"{config.bus.group}.devices")
    opened.push_async_callback(reader.close)
    return Frames(reader, kafka_topics.KafkaLog(config.bus, topic=topic))


def _writer(config: Config, opened: contextlib.AsyncExitStack, *, patient: bool = False) -> BusWriter:
    writer = kafka_writer.KafkaWriter(config.bus, patient=patient)
    opened.push_async_callback(writer.close)
    return writer


def _webhooks(config: Config, opened: contextlib.AsyncExitStack) -> WebhookSender:
    """The sender to customers' servers: to private networks only with `push.allow_private`."""
    guard = webhook_addresses.AddressGuard(allow_private=config.push.allow_private)
    tls = tls_local.client_context(config.push.ca) if config.push.ca else None
    webhooks = webhook_sender.HttpWebhooks(timeout_s=config.push.timeout_s, guard=guard, tls=tls)
    opened.push_async_callback(webhooks.close)
    return webhooks


def _mailer(config: Config, clock: Clock) -> Mailer:
    """The mail server, or a folder without one."""
    if config.mail.host:
        return mail_smtp.SmtpMailer(config.mail, clock=clock)
    folder = Path(config.mail.folder or config.data / "mail")
    return mail_folder.MailFolder(folder, sender=config.mail.sender, clock=clock)
