"""Every setting: one frozen tree, each field with its meaning and default.

Order: TOML file (`--config`), then `TRIPLINE_<SECTION>_<NAME>` (top-level fields: `TRIPLINE_<NAME>`), then flags.
Unknown keys refuse to start. Each part receives only its own branch. Not here: reading settings (`config/files.py`),
the numbers of scoring (`scoring/rules.py`).
"""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from tripline.scoring.rules import Guards, Harsh, Rules, Scoring, Style

Port = Annotated[int, Meta(ge=0, le=65535)]
SECRET: Final = {"secret": True}
"""Marks a setting whose value is never shown."""


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A branch of the tree."""


Role = Literal["all", "api", "gateway", "worker"]


class Store(Section, frozen=True):
    """Where rows live."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(postgres(ql)?://\S+)?\Z",
            description="store address, `postgresql://user@host/database`; empty: SQLite in the data folder",
        ),
    ] = ""
    readers: Annotated[int, Meta(ge=1, le=64, description="threads that answer longer reads of requests")] = 2
    writers: Annotated[
        int, Meta(ge=1, le=64, description="threads that write to PostgreSQL for requests; as many for devices")
    ] = 4
    reserve_mib: Annotated[
        int,
        Meta(ge=0, description="SQLite: free space on the data folder's disk below which the server is not ready, MiB"),
    ] = 512
    history_days: Annotated[int, Meta(ge=1, le=36_500, description="lifetime of history, days")] = 1_095


class Bus(Section, frozen=True):
    """Customers' message bus (Kafka), and the buffer behind the device listener."""

    url: Annotated[str, Meta(description="brokers, kafka://HOST:PORT,HOST:PORT; empty: no bus")] = ""
    group: Annotated[
        str, Meta(min_length=1, description="consumer group; the group of the devices' buffer ends in `.devices`")
    ] = "tripline"
    microtrips: Annotated[str, Meta(min_length=1, description="topic of samples while driving")] = "sf-microtrip"
    trips: Annotated[str, Meta(min_length=1, description="topic of drives that have ended")] = "sf-trip"
    events: Annotated[str, Meta(min_length=1, description="topic of events while driving")] = "sf-event"
    companies: Annotated[
        tuple[str, ...],
        Meta(
            description="PREFIX=COMPANY-ID, comma-separated: topics with the prefix carry this company's messages only;"
            " topics without one are not read then"
        ),
    ] = ()
    dead_letters: Annotated[
        str, Meta(description="topic for messages that cannot be used; empty: only the log of rejected messages")
    ] = "tripline-dead-letters"
    batch: Annotated[int, Meta(ge=1, le=100_000, description="messages stored in one commit at most")] = 1_000
    grace_s: Annotated[float, Meta(ge=0, description="wait between a trip message and its scoring, seconds")] = 60.0
    buffer_devices: Annotated[
        bool, Meta(description="device messages go to a topic and are acknowledged there; workers store them")
    ] = False
    buffer_topic: Annotated[
        str, Meta(min_length=1, description="topic of buffered device messages; made when it is missing")
    ] = "tripline-devices"
    buffer_partitions: Annotated[
        int,
        Meta(ge=1, le=10_000, description="partitions of that topic when it is made; at most as many workers share it"),
    ] = 12
    buffer_hours: Annotated[
        float, Meta(gt=0, description="how long the topic keeps messages when it is made, hours")
    ] = 168.0
    replicas: Annotated[
        int, Meta(ge=0, le=32, description="copies of a topic that is made here; 0: as the brokers are set")
    ] = 0
    queue: Annotated[int, Meta(ge=1, description="messages that wait to be written; more are refused")] = 20_000
    timeout_s: Annotated[
        float, Meta(ge=1, le=300, description="longest wait until brokers have taken a message, seconds")
    ] = 10.0
    security: Annotated[
        Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"],
        Meta(description="`ssl`: TLS, `sasl`: with name and password"),
    ] = "plaintext"
    trusted_network: Annotated[
        bool, Meta(description="allows brokers beyond this machine without TLS: positions of people in clear text")
    ] = False
    mechanism: Annotated[
        Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"], Meta(description="how name and password are shown (SASL)")
    ] = "SCRAM-SHA-512"
    user: Annotated[str, Meta(description="name to log in with (SASL)")] = ""
    password: Annotated[str, Meta(description="password to log in with (SASL)", extra=SECRET)] = ""
    ca: Annotated[str, Meta(description="PEM file of the authorities to trust; empty: the system's")] = ""
    cert: Annotated[str, Meta(description="PEM chain to show the brokers (mutual TLS)")] = ""
    key: Annotated[str, Meta(description="PEM key of that certificate")] = ""


class Tls(Section, frozen=True):
    """Certificate of the device listener and of HTTPS."""

    cert: Annotated[str, Meta(description="PEM chain; empty: made on first start, with its own CA")] = ""
    key: Annotated[str, Meta(description="PEM key of the certificate")] = ""


class Tokens(Section, frozen=True):
    """Access and refresh tokens."""

    access_s: Annotated[int, Meta(ge=1, description="life of an access token, seconds")] = 9_000
    refresh_s: Annotated[int, Meta(ge=1, description="life of a refresh token, seconds")] = 604_800
    issuer: Annotated[str, Meta(description="`iss` of every token")] = "tripline"


class Sessions(Section, frozen=True):
    """Sign-ins with a browser."""

    idle_s: Annotated[
        int,
        Meta(
            ge=60,
            description="a browser is signed out after so long without a request of its user, to the minute, seconds",
        ),
    ] = 28_800
    longest_s: Annotated[
        int, Meta(ge=60, description="a browser is signed out so long after its sign-in in any case, seconds")
    ] = 604_800


class Passwords(Section, frozen=True):
    """argon2id cost and how many hashes run at once."""

    memory_kib: Annotated[int, Meta(ge=8_192, description="argon2 memory, KiB")] = 19_456
    passes: Annotated[int, Meta(ge=1, description="argon2 passes")] = 2
    workers: Annotated[int, Meta(ge=1, le=64, description="hashes computed at the same time")] = 2
    waiting: Annotated[
        int,
        Meta(
            ge=1,
            description="log-ins that may wait for a worker, half of them from new addresses; more are answered 429",
        ),
    ] = 64


class Mail(Section, frozen=True):
    """How mails leave: an SMTP server, or a folder of .eml files."""

    host: Annotated[str, Meta(description="SMTP server; empty: mails are written to the folder")] = ""
    port: Annotated[int, Meta(ge=1, le=65535, description="port of the SMTP server")] = 587
    security: Annotated[
        Literal["starttls", "tls", "none"],
        Meta(description="`starttls`: TLS after the greeting, `tls`: from the start"),
    ] = "starttls"
    user: Annotated[str, Meta(description="name to log in with; empty: no log-in")] = ""
    password: Annotated[str, Meta(description="password to log in with", extra=SECRET)] = ""
    ca: Annotated[str, Meta(description="PEM file of an authority to trust beside the system's")] = ""
    sender: Annotated[str, Meta(description="address that mails come from")] = "Tripline <no-reply@localhost>"
    folder: Annotated[str, Meta(description="folder of .eml files; empty: `mail` in the data folder")] = ""
    timeout_s: Annotated[float, Meta(gt=0, description="longest wait for the server, seconds")] = 20.0


class Accounts(Section, frozen=True):
    """Applications, one-time links, failed log-ins."""

    public_url: Annotated[
        str, Meta(description="address of this server as people see it, for links in mails; empty: the API's own")
    ] = ""
    link_hours: Annotated[float, Meta(gt=0, description="how long a link to set a password is good, hours")] = 24.0
    failures: Annotated[
        int, Meta(ge=1, description="failed log-ins of one account from one address before it has to wait")
    ] = 5
    address_failures: Annotated[
        int,
        Meta(
            ge=1,
            description="accounts that fail to log in from one address within the longest wait before it has to wait",
        ),
    ] = 50
    trusted_addresses: Annotated[
        tuple[str, ...],
        Meta(
            description="addresses and networks (192.0.2.7, 2001:db8::/32) of application servers, comma-separated:"
            " failures hold up their accounts one by one, never the whole address"
        ),
    ] = ()
    wait_s: Annotated[float, Meta(gt=0, description="first wait after too many failures; doubles, seconds")] = 30.0
    longest_wait_s: Annotated[float, Meta(gt=0, description="longest such wait, seconds")] = 900.0
    applications_per_hour: Annotated[
        int, Meta(ge=1, description="applications and reset mails that one address may ask for in an hour")
    ] = 10


class Carrier(Section, frozen=True):
    """The carrier whose lines devices use."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(https?://\S+)?\Z",
            description="address of its HTTP interface; empty: a simulated carrier in the store",
        ),
    ] = ""
    token: Annotated[str, Meta(pattern=r"^[!-~]*\Z", description="sent to it as a bearer token", extra=SECRET)] = ""
    timeout_s: Annotated[float, Meta(gt=0, description="longest wait for its answer, seconds")] = 10.0


class Rest(Section, frozen=True):
    """Limits of the REST interface."""

    requests_per_minute: Annotated[
        int, Meta(ge=0, description="requests of one account in a minute, more are answered 429; 0: no limit")
    ] = 0
    connections: Annotated[int, Meta(ge=16, le=100_000, description="open connections of each HTTP listener")] = 2_048
    address_connections: Annotated[int, Meta(ge=1, description="open connections of one address (docs/limits.md)")] = (
        512
    )
    import_mib: Annotated[int, Meta(ge=1, description="largest CSV file of a bulk registration, MiB")] = 64
    import_rows: Annotated[int, Meta(ge=1, description="most rows of a bulk registration")] = 200_000
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(
            description="origins whose scripts may call the interface from a browser, like https://portal.example.com,"
            " comma-separated; empty: none"
        ),
    ] = ()


class Devices(Section, frozen=True):
    """The device listener (MQTT 3.1.1)."""

    max_packet: Annotated[int, Meta(ge=1_024, description="largest publish body, bytes")] = 262_144
    max_items: Annotated[int, Meta(ge=1, description="largest number of items in one aggregate")] = 1_000
    connect_timeout_s: Annotated[float, Meta(gt=0, description="time to finish TLS and send CONNECT, seconds")] = 15.0
    max_connections: Annotated[
        int, Meta(ge=1, description="open connections; beyond, those not admitted make room")
    ] = 20_000
    max_unacknowledged: Annotated[
        int, Meta(ge=1, description="frames of one connection under way before it is not read")
    ] = 1_000
    write_buffer: Annotated[
        int, Meta(ge=4_096, description="bytes a slow reader may leave unread before it is closed")
    ] = 65_536


class Rpc(Section, frozen=True):
    """Calls to devices."""

    ack_s: Annotated[
        float, Meta(gt=0, le=20, description="how long a device may take to acknowledge a call, seconds")
    ] = 20.0
    upload_period_s: Annotated[
        int, Meta(ge=1, description="period of microtrips that an activation asks for (`upp`), seconds")
    ] = 2
    kept_days: Annotated[float, Meta(gt=0, description="lifetime of ended calls, days")] = 90.0


class Push(Section, frozen=True):
    """Messages to customers' servers."""

    allow_private: Annotated[
        bool, Meta(description="send to loopback, private and link-local addresses, too, for all companies")
    ] = False
    ca: Annotated[str, Meta(description="PEM file of an authority to trust beside the system's")] = ""
    timeout_s: Annotated[
        float, Meta(gt=0, description="longest wait for a connection, and for the status line of an answer, seconds")
    ] = 5.0
    patience_hours: Annotated[
        float, Meta(gt=0, description="how long a message is tried again before it is parked, hours")
    ] = 24.0
    parked_days: Annotated[float, Meta(gt=0, description="lifetime of parked and unconfirmed messages, days")] = 30.0
    unconfirmed_kept: Annotated[
        int,
        Meta(
            ge=1, description="messages to a server that never answers, kept to be sent again when it does: the newest"
        ),
    ] = 100_000
    per_receiver: Annotated[int, Meta(ge=1, description="requests to one receiver at the same time, at most")] = 8
    at_once: Annotated[int, Meta(ge=1, description="requests to all receivers at the same time, at most")] = 256
    absent_s: Annotated[
        float, Meta(ge=0, description="a device that comes back within this time was not away (class 500), seconds")
    ] = 30.0


class Ingest(Section, frozen=True):
    """Batches, trip life and the rejected-message log."""

    commit_ms: Annotated[float, Meta(ge=0, description="how long frames wait for company before a commit, ms")] = 5.0
    batch: Annotated[int, Meta(ge=1, description="frames in one commit at most")] = 2_000
    backlog: Annotated[int, Meta(ge=1, description="queued frames above which connections are not read")] = 20_000
    trip_gap_minutes: Annotated[float, Meta(gt=0, description="silence that ends a trip, minutes")] = 30.0
    redelivery_minutes: Annotated[
        float, Meta(ge=0, description="how long an equal message without a valid time counts as redelivery, minutes")
    ] = 10.0
    rejected_days: Annotated[float, Meta(gt=0, description="lifetime of rejected messages, days")] = 30.0
    rejected_kept: Annotated[
        int, Meta(ge=100, description="rows of the rejected-message log at most, shared fairly by companies")
    ] = 100_000
    rejected_mib: Annotated[
        int, Meta(ge=1, description="room for the rejected-message log, shared fairly by companies, MiB")
    ] = 256
    rejected_per_hour: Annotated[
        int, Meta(ge=1, description="stored rejected messages of a sensor in an hour; more are only counted")
    ] = 100


class Map(Section, frozen=True):
    """Maps with the limits of roads (`tripline map import`)."""

    dir: Annotated[str, Meta(description="folder of imported maps; empty: `maps` in the data folder")] = ""
    roads: Annotated[
        Literal["osm", "valhalla", "none"],
        Meta(
            description="source of road limits: `osm`: imported maps, `valhalla`: these, on roads that a Valhalla"
            " server finds, `none`: nothing, the default counts"
        ),
    ] = "osm"
    tiles: Annotated[str, Meta(description="PMTiles file with the base map; empty: the imported maps")] = ""
    upload_mib: Annotated[int, Meta(ge=1, description="largest map file that is uploaded, MiB")] = 1_024
    valhalla_url: Annotated[str, Meta(pattern=r"^https?://\S+\Z", description="address of the Valhalla server")] = (
        "http://127.0.0.1:8002"
    )
    valhalla_timeout_s: Annotated[
        float, Meta(gt=0, le=60, description="longest wait for an answer of the Valhalla server, seconds")
    ] = 5.0


class Log(Section, frozen=True):
    """Log lines."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="least severity written")] = "info"
    format: Annotated[Literal["text", "json"], Meta(description="`text` for people, `json` for machines")] = "text"
    held_ms: Annotated[float, Meta(ge=0, description="log work that holds up the event loop so long, ms; 0: off")] = 0.0


class Config(Section, frozen=True):
    """The whole tree."""

    data: Annotated[Path, Meta(description="data folder, made with mode 0700")] = Path("tripline-data")
    host: Annotated[str, Meta(description="address every listener listens on")] = "127.0.0.1"
    api_port: Annotated[Port, Meta(description="REST; 0: pick one")] = 8080
    analytics_port: Annotated[Port, Meta(description="REST, second port; 0: pick one")] = 9901
    device_port: Annotated[Port, Meta(description="MQTTS; 0: pick one")] = 9900
    device_plain_port: Annotated[Port | None, Meta(description="MQTT without TLS, loopback only; unset: off")] = None
    https: Annotated[bool | None, Meta(description="serve HTTPS; unset: only when the host is not loopback")] = None
    behind_proxy: Annotated[bool, Meta(description="a proxy in front does HTTPS; allows plain HTTP on any host")] = (
        False
    )
    roles: Annotated[
        tuple[Role, ...],
        Meta(description="work that this process does, of `all`, `api`, `gateway`, `worker`; several need PostgreSQL"),
    ] = ("all",)
    time_zone: Annotated[str, Meta(description="zone of text times (startDt, endDt, eventDt)")] = "Asia/Seoul"
    store: Store = msgspec.field(default_factory=Store)
    bus: Bus = msgspec.field(default_factory=Bus)
    tls: Tls = msgspec.field(default_factory=Tls)
    tokens: Tokens = msgspec.field(default_factory=Tokens)
    sessions: Sessions = msgspec.field(default_factory=Sessions)
    passwords: Passwords = msgspec.field(default_factory=Passwords)
    mail: Mail = msgspec.field(default_factory=Mail)
    accounts: Accounts = msgspec.field(default_factory=Accounts)
    carrier: Carrier = msgspec.field(default_factory=Carrier)
    rest: Rest = msgspec.field(default_factory=Rest)
    devices: Devices = msgspec.field(default_factory=Devices)
    rpc: Rpc = msgspec.field(default_factory=Rpc)
    push: Push = msgspec.field(default_factory=Push)
    ingest: Ingest = msgspec.field(default_factory=Ingest)
    scoring: Scoring = msgspec.field(default_factory=Scoring)
    harsh: Harsh = msgspec.field(default_factory=Harsh)
    guards: Guards = msgspec.field(default_factory=Guards)
    style: Style = msgspec.field(default_factory=Style)
    map: Map = msgspec.field(default_factory=Map)
    log: Log = msgspec.field(default_factory=Log)

    @property
    def maps(self) -> Path:
        """Folder of imported maps."""
        return Path(self.map.dir or self.data / "maps")

    @property
    def rules(self) -> Rules:
        """The scoring policy of the settings."""
        return Rules(scoring=self.scoring, harsh=self.harsh, guards=self.guards, style=self.style)
