"""Starts servers by forking a process that has the program loaded: loading it is most of a start, and always the same.

What is started is a process like any other: it runs the command from its first line, and its id, signals, exit code,
output and files are its own. Where loading itself counts, or another Python, a test starts one (`servers.command`).

The process that forks is this file run as a program. It has one thread, knows nothing of tests, and ends with the test
process, whose end of the channel it reads orders from. It takes orders of `launched_tripline` as well, the command
`tripline` for scripts that a test runs. Where a run has several test processes, the first one's forks theirs.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

LOADED = (
    "tripline.app",
    "tripline.cli.device",
    "tripline.cli.installation",
    "tripline.cli.serve",
    "tripline.store.database.postgres",
    "uvloop",
    "confluent_kafka",
    # What a server loads with its first log line, scored trip, page, mail and so on takes longer than its start.
    "babel.dates",
    "babel.numbers",
    "babel.units",
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.idna",
    "jinja2",
    "pydantic.dataclasses",
    "sqlalchemy.dialects.postgresql",
    "structlog",
    "tripline.adapters.kafka.reader",
    "tripline.adapters.kafka.topics",
    "tripline.adapters.kafka.writer",
    "tripline.adapters.carrier.http",
    "tripline.adapters.carrier.simulated",
    "tripline.adapters.mail.folder",
    "tripline.adapters.mail.smtp",
    "tripline.adapters.maps.base_map",
    "tripline.adapters.maps.place_names",
    "tripline.adapters.maps.roads_osm",
    "tripline.adapters.maps.service",
    "tripline.adapters.signals.postgres",
    "tripline.adapters.webhooks.sender",
    "tripline.maintenance.installation",
    "tripline.roads.matcher",
    "tripline.roads.ways",
    "tripline.services.scores.explanation",
    "tripline.services.scores.judgement",
    "tripline.services.scores.results",
    "uvicorn.lifespan.off",
)
"""What a server loads, whichever its store and its bus."""
PAGES = "tripline.portal.frame"
TEMPLATES = Path(__file__).parent / "__pycache__" / "templates"
"""Compiled templates of pages, beside compiled modules."""
WITH_ROUTES = ("tripline.http.application", "tripline.wiring.server", "tripline.portal.frame.troubles")
"""Who builds the routes, of which families, and who says what went wrong on them."""
ORDER_BYTES = 2**20
STATUS_BYTES = 4
NETWORK = 0x40000000
"""CLONE_NEWNET of Linux."""
ADDRESS = "TESTS_LAUNCHER"
"""Variable with the address where the process that forks takes orders of programs: a name in the abstract namespace of
Linux, of which nothing is left behind."""

SHARED = "TESTS_SHARED_LAUNCHER"
"""Variable with the address of a process that forks the ones of other test processes."""


class Process:
    """A process that was started, as `subprocess.Popen` shows one."""

    def __init__(self, arguments: Sequence[str], pid: int, ended: int, stdout: TextIO | None) -> None:
        self.args = list(arguments)
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._ended = ended
        """Where its status can be read when it has ended."""

    def poll(self) -> int | None:
        """Its exit code, when it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._ended, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1_000):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            status = os.read(self._ended, STATUS_BYTES)
            os.close(self._ended)
            assert status, "who started the process has ended before it"
            self.returncode = os.waitstatus_to_exitcode(int.from_bytes(status))
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        # Whoever started it may know that it has ended and not have told yet.
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class _Launcher:
    """The process that forks."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as programs:
            self.address = f"tripline-tests-{os.getpid()}"
            programs.bind(f"\0{self.address}")
            programs.listen()
            files = theirs.fileno(), programs.fileno()
            self._asked: socket.socket | None = None
            if SHARED in os.environ:
                self._asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._asked.connect(f"\0{os.environ[SHARED]}")
                socket.send_fds(self._asked, [b"{}"], files)
                self.pid = int(self._asked.recv(64))
                return
            self._process = subprocess.Popen(
                # Nothing beside this file is to be found as a module.
                [sys.executable, "-P", __file__, *map(str, files)],
                # A library of numpy's would start threads, and a child has only the one that forks.
                env={**os.environ, "PYTHONWARNINGS": "error", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=files,
            )
            self.pid = self._process.pid

    def start(self, order: Mapping[str, Any], files: Sequence[int]) -> Process:
        ended, told = os.pipe()
        try:
            socket.send_fds(self._channel, [json.dumps(order).encode()], [*files, told])
        finally:
            os.close(told)
        answer = self._channel.recv(64)
        assert answer, "who starts processes has ended"
        return Process(order["arguments"], int(answer), ended, None)

    def close(self) -> None:
        self._channel.close()
        if self._asked is None:
            self._process.wait()
        else:
            self._asked.recv(STATUS_BYTES)
            self._asked.close()


@cache
def _launcher() -> _Launcher:
    """The one of this process, started when it is needed first."""
    return _Launcher()


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stderr: int,
    stdout: int | None = None,
    stdin: int | None = None,
    cwd: Path | None = None,
    network: str = "",
) -> Process:
    """Run a Tripline command as a process of its own. Without `stdout` its output can be read from the process;
    without `stdin` it has nothing to read. `network`: the namespace that it has its network in (`netns.py`)."""
    folder = str(cwd or Path.cwd())
    order = {"arguments": list(arguments), "environment": dict(environment), "folder": folder, "network": network}
    with contextlib.ExitStack() as opened:
        if stdin is None:
            stdin = opened.enter_context(Path(os.devnull).open()).fileno()
        if stdout is not None:
            return _launcher().start(order, [stdin, stdout, stderr])
        ours, theirs = os.pipe()
        opened.callback(os.close, theirs)
        process = _launcher().start(order, [stdin, theirs, stderr])
        process.stdout = os.fdopen(ours, encoding="utf-8")
        return process


def pid() -> int | None:
    """The process that forks, if there is one."""
    return _launcher().pid if _launcher.cache_info().currsize else None


def program(folder: Path) -> dict[str, str]:
    """Put a command `tripline` into this folder that forks; the variables it needs."""
    (folder / "tripline").symlink_to(Path(__file__).with_name("launched_tripline"))
    return {ADDRESS: _launcher().address}


def share() -> None:
    """Let the test processes that this one starts have theirs forked from the one of this process."""
    os.environ[SHARED] = _launcher().address


def close() -> None:
    """End the process that forks, if there is one. What it started goes on."""
    if _launcher.cache_info().currsize:
        running = _launcher()
        _launcher.cache_clear()
        running.close()


def _load() -> None:
    """Load the program, and build its routes and the parts of all pages: most of what is left of a start, and always
    the same."""
    for name in LOADED:
        importlib.import_module(name)
    application, server, troubles = map(importlib.import_module, WITH_ROUTES)
    build = application.routed_app
    built: dict[tuple[Any, ...], Any] = {}

    def routed_app(families: Iterable[Any], state: Mapping[str, Any], **how: Any) -> Any:
        key = (*families, *how.values())
        if key not in built:
            built[key] = build(families, {}, **how)
        built[key].state.update(state)
        return built[key]

    vars(application)["routed_app"] = routed_app
    application.create_app((*server.families.FAMILIES, *server.pages.FAMILIES), {}, tell=troubles.tell)
    application.create_app((server.health,), {})
    keep_templates()
    importlib.import_module(f"{PAGES}.environment").load(*importlib.import_module(f"{PAGES}.warm_up").EVERY_PAGE)
    gc.collect()
    gc.freeze()  # so that no child writes to what is shared


def keep_templates() -> None:
    """Let this process, and those that it forks, load the templates that another one compiled, and keep the others: to
    compile them all takes two seconds, and to load them a fiftieth of that."""
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    environment = importlib.import_module(f"{PAGES}.environment").environment()
    environment.bytecode_cache = importlib.import_module("jinja2").FileSystemBytecodeCache(str(TEMPLATES))


def _fork_when_asked(channel: socket.socket, programs: socket.socket) -> bool:
    """Fork for each order and tell who has ended. Returns whether this is a child, set up for its command."""
    woken, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: dict[int, int] = {}
    askers: dict[int, socket.socket] = {}
    """Programs that asked for a child."""
    while True:
        ready, _, _ = select.select([channel, programs, woken, *askers.values()], [], [])
        if woken in ready:
            os.read(woken, 4_096)
            _tell_of_ended(children)
        for child, asker in list(askers.items()):
            if child not in children:
                askers.pop(child).close()
            elif asker in ready:  # it says nothing more: it has ended, and its child ends with it
                os.kill(child, signal.SIGKILL)
                askers.pop(child).close()
        for asked in {channel, programs} & set(ready):
            asker = channel if asked is channel else programs.accept()[0]
            order, files, _, _ = socket.recv_fds(asker, ORDER_BYTES, 4)
            if asker is not channel:
                files.append(os.dup(asker.fileno()))  # a program hears of the end where it asked
            elif not order:
                return False
            *streams, told = files
            child = os.fork()
            if not child:
                for each in (channel, programs, asker, *askers.values()):
                    each.close()
                wanted = json.loads(order)
                if not wanted:
                    for file in (woken, wake, told, *children.values()):
                        os.close(file)
                    own_channel, own_programs = (socket.socket(fileno=file) for file in streams)
                    with own_channel, own_programs:
                        return _fork_when_asked(own_channel, own_programs)
                _become(wanted, streams, [woken, wake, *files, *children.values()])
                return True
            children[child] = told
            for stream in streams:
                os.close(stream)
            asker.send(str(child).encode())
            if asker is not channel:
                askers[child] = asker


def _tell_of_ended(children: dict[int, int]) -> None:
    for child in list(children):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            told = children.pop(child)
            with contextlib.suppress(OSError):  # nobody wants to know
                os.write(told, status.to_bytes(STATUS_BYTES))
            os.close(told)


def _become(order: dict[str, Any], streams: Sequence[int], files: Sequence[int]) -> None:
    """Be what a new process for this command would be."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    if order.get("network"):
        with Path("/run/netns", order["network"]).open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), NETWORK):
                raise OSError(ctypes.get_errno(), f"no network of {order['network']}")
    sys.argv = ["tripline", *order["arguments"]]


def _run() -> None:
    """Run the command and end with its exit code. Python would end by freeing everything that was loaded, page by page
    of memory that is shared until then, which takes longer than most commands."""
    try:
        importlib.import_module("tripline.cli").main()
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        code = ended.code
    threading._shutdown()  # type: ignore[attr-defined]  # as Python begins its end
    atexit._run_exitfuncs()
    gc.collect()  # so that what the command left open warns
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted test run ends its servers itself
    with socket.socket(fileno=int(sys.argv[1])) as _channel, socket.socket(fileno=int(sys.argv[2])) as _programs:
        _load()
        _forked = _fork_when_asked(_channel, _programs)
    if _forked:
        _run()
