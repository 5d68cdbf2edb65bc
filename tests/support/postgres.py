"""PostgreSQL as real processes on loopback: a cluster of one's own for each run, or one that a test kills and starts.

Needs PostgreSQL 15 or later, its server programs on the path or where Debian puts them; see `required.py`. Only
processes started here are ever signalled, by their ids. Empty databases for tests: `databases.py`.
"""

import contextlib
import getpass
import itertools
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests.support import required

PREFIX = "tripline-postgres-"
ADMINISTRATOR = "postgres"
OWNER = "tripline"
START_S = 60
STOP_S = 30
OLDEST = 15
MISSING = f"PostgreSQL {OLDEST} or later is not installed"
SETTINGS = {
    "max_connections": 250,
    "max_prepared_transactions": 0,
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "lc_messages": "C",
    "unix_socket_directories": "",
}
QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "max_wal_size": "1GB",
    "checkpoint_timeout": "1h",
    # A database lives for one test; what runs by itself would only take time from others.
    "autovacuum": "off",
}
"""Nothing of it survives the machine: for all tests but those of what does."""
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30
"""Free memory that a server may want to have its files in."""


@cache
def programs() -> Path | None:
    """The folder with `postgres` and `initdb`; None when there is none that is new enough."""
    found = [Path(path).parent for name in ("postgres",) if (path := shutil.which(name))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: each.parent.name, reverse=True)
    return next((each.resolve() for each in found if (each / "initdb").exists() and _version(each) >= OLDEST), None)


def _version(folder: Path) -> int:
    told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, timeout=20).stdout
    number = re.search(r"(\d+)", told)
    return int(number[1]) if number else 0


def need(what: str) -> None:
    """Go on when clusters can be started here; else skip, or fail on a build machine."""
    required.need(programs() is not None, what, MISSING)


class Server:
    """A server that runs, whoever started it. Databases belong to a user who may do nothing else."""

    def __init__(self, port: int, password: str | None = None) -> None:
        self.port = port
        self._secret = f":{quote(password)}" if password else ""

    def url(self, database: str) -> str:
        """The address of a database, for its owner."""
        return f"postgresql://{OWNER}{self._secret}@127.0.0.1:{self.port}/{database}"

    def own_url(self, database: str) -> str:
        """The address of a database, for the administrator."""
        return f"postgresql://{ADMINISTRATOR}{self._secret}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection as the administrator, each statement in a transaction of its own. The caller closes it."""
        return psycopg.connect(self.own_url(database), autocommit=True, connect_timeout=10, application_name="tests")

    def run(self, statement: str, *values: Any, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a statement of the administrator's, with `%s` for each value."""
        with contextlib.closing(self.connect(database)) as connection:
            cursor = connection.execute(statement, values or None)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description is not None else []

    def create(self, database: str, *, template: str = "template1") -> str:
        """Make a database that holds what the template does; its address. Nobody may be connected to the template."""
        create = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY FILE_COPY")
        with contextlib.closing(self.connect()) as connection:
            connection.execute(create.format(*map(sql.Identifier, (database, OWNER, template))))
        return self.url(database)

    def drop(self, database: str) -> None:
        """Delete a database, whoever is connected to it."""
        with contextlib.closing(self.connect()) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


class Cluster(Server):
    """A server with its data in a folder of its own, started; `remove` it in the end.

    `durable`: what was committed survives the machine, and it costs what it costs. `checksums`: it finds blocks that
    are not as it wrote them. `password`: connections need it.
    `within`: the folder to be in, such as a small disk. `beside`: addresses to listen on beside the loopback.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        checksums: bool = False,
        password: str | None = None,
        settings: dict[str, Any] | None = None,
        within: Path | None = None,
        beside: Sequence[str] = (),
    ):
        folder = programs()
        assert folder is not None, "call need() first"
        super().__init__(_free_port(), password)
        self._programs = folder
        self._settings = {**SETTINGS, **({} if durable else QUICK), **(settings or {})}
        self._password = password
        self._checksums = checksums
        self._hosts = ",".join(["127.0.0.1", *beside])
        self._process: subprocess.Popen[bytes] | None = None
        # Not in a test's folder, which only its owner may enter: the server does not run as root.
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=within or _place(durable=durable)))
        self._own(self.folder)
        # In a folder of its own: a server whose disk is full still has to say so.
        self._log = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")) / "log"
        try:
            self._initialise()
            self.start()
            owner = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(OWNER), sql.Literal(password))
            with contextlib.closing(self.connect()) as connection:
                connection.execute(owner)
        except BaseException:
            self.remove()
            raise

    @property
    def pid(self) -> int:
        """The server's first process."""
        assert self._process is not None
        return self._process.pid

    @property
    def data(self) -> Path:
        """The data folder, as `initdb` made it."""
        return self.folder / "data"

    def log(self) -> str:
        """What the server has logged, warnings and worse."""
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start the server, on what it has stored so far, and wait until it can be used."""
        until = time.monotonic() + START_S
        while not self._started(until):
            # After a kill its other processes may still be on their way out, and another program may have the port.
            assert time.monotonic() < until, self.log()

    def stop(self, *, with_signal: signal.Signals = signal.SIGINT) -> None:
        """End it as an operator would who does not wait for clients (`SIGTERM` waits, `SIGQUIT` leaves the tidying up
        to the next start)."""
        if self._process is not None:
            self._process.send_signal(with_signal)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """End every process of it as a power cut would."""
        if self._process is not None:
            processes = [self.pid, *_children(self.pid)]
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._process.wait(STOP_S)
        self._process = None

    def ended(self) -> bool:
        """Whether the server is not there, stopped or not."""
        return self._process is None or self._process.poll() is not None

    def remove(self) -> None:
        """End it and delete everything of it."""
        self.stop(with_signal=signal.SIGQUIT)
        for folder in (self.folder, self._log.parent):
            shutil.rmtree(folder, ignore_errors=True)

    def _initialise(self) -> None:
        secret = self.folder / "secret"
        secret.write_text(self._password or "")
        self._own(secret)
        command = [str(self._programs / "initdb"), "--pgdata", str(self.data), "--username", ADMINISTRATOR, "--no-sync"]
        # Texts are not compared byte by byte unless the program says so: that is what most installations have.
        command += ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US", "--locale=C"]
        command += [f"--auth={'scram-sha-256' if self._password else 'trust'}", "--no-instructions"]
        command += ["--data-checksums"] if self._checksums else []
        command += ["--pwfile", str(secret)] if self._password else []
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, **_unprivileged())
        assert done.returncode == 0, done.stderr
        secret.unlink()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())
        with (self.data / "pg_hba.conf").open("a") as allowed:
            allowed.write(f"host all all samenet {'scram-sha-256' if self._password else 'trust'}\n")

    def _started(self, until: float) -> bool:
        command = [
            *_dying_with_us(),
            str(self._programs / "postgres"),
            "-D",
            str(self.data),
            "-h",
            self._hosts,
            "-p",
            str(self.port),
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt at the keyboard is ours alone
                **_unprivileged(),
            )
        while self._process.poll() is None and time.monotonic() < until:
            try:
                self.run("SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return True
        if self._process.poll() is None:
            self.kill()
        self._process = None
        return False

    def _own(self, path: Path) -> None:
        user = _unprivileged().get("user")
        if user is not None:
            shutil.chown(path, user)


@contextlib.contextmanager
def cluster(
    *, durable: bool = False, checksums: bool = False, password: str | None = None, **settings: Any
) -> Iterator[Cluster]:
    """A running server for the length of a `with` block."""
    made = Cluster(durable=durable, checksums=checksums, password=password, settings=settings)
    try:
        yield made
    finally:
        made.remove()


def _place(*, durable: bool) -> Path:
    """Where a server has its files: in memory if nothing has to survive the machine, where making one, and each of its
    tables, takes a third to a half of the time."""
    if not durable and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
        return MEMORY
    return Path(tempfile.gettempdir())


def _sweep() -> None:
    """Delete what runs left behind that were killed."""
    places = {Path(tempfile.gettempdir()), MEMORY}
    for left in itertools.chain.from_iterable(place.glob(f"{PREFIX}*-*") for place in places):
        with contextlib.suppress(OSError, ValueError):
            owner = int(left.name.removeprefix(PREFIX).partition("-")[0])
            try:
                os.kill(owner, 0)
            except ProcessLookupError:
                shutil.rmtree(left, ignore_errors=True)


@cache
def _unprivileged() -> dict[str, Any]:
    """As whom the server runs: as we do, but not as root, which it refuses."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise AssertionError(f"{getpass.getuser()} has nobody to run PostgreSQL as")


def _dying_with_us() -> list[str]:
    """What to put before a command, so that it ends when this process is killed; else it would be left behind."""
    # To the system it is the thread that has children, and other threads end before the process does.
    is_lasting = threading.current_thread() is threading.main_thread()
    return ["setpriv", "--pdeathsig", "QUIT"] if is_lasting and shutil.which("setpriv") else []


def _children(pid: int) -> list[int]:
    """Processes that this one started (Linux only; elsewhere none)."""
    if not sys.platform.startswith("linux"):
        return []
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
