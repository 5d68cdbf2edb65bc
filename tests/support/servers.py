"""`tripline serve` as a process of its own, on ports that it picks; read, asked and stopped like an operator would.

Only the process started here is ever signalled, by its id.
"""

import contextlib
import io
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support import launcher, logs, stores
from tripline import cli
from tripline.adapters.tls import local

READY = re.compile(r"ready api=(?P<api>\S+) analytics=(?P<analytics>\S+) devices=(?P<devices>\S+) ca=(?P<ca>\S+)\n")
STOP_S = 15
CHEAP = {"TRIPLINE_PASSWORDS_MEMORY_KIB": "8192", "TRIPLINE_PASSWORDS_PASSES": "1"}
"""Hashes of passwords at a fifth of their usual cost."""
PUSHES_STAY_HERE = {"TRIPLINE_PUSH_ALLOW_PRIVATE": "true"}
"""Customers' servers of tests are on this machine."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server whose listeners are open."""

    process: subprocess.Popen[str] | launcher.Process
    data: Path
    api: str
    analytics: str
    device_host: str
    device_port: int
    ca: Path

    def stop(self, *, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """Ask the process to end; its exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(STOP_S)

    def log(self) -> list[str]:
        """The lines that the process has logged."""
        return errors_of(self.data).read_text().splitlines()

    def kill(self) -> None:
        """End the process as a power cut would."""
        self.process.kill()
        self.process.wait(STOP_S)


def environment(variables: Mapping[str, str] | None = None, *, data: Path | None = None) -> dict[str, str]:
    """This process's environment without Tripline's variables, with the given ones and cheap passwords; for the
    database of a data folder, also where that is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIPLINE_")}
    store = {} if data is None else stores.variables(data)
    return {**kept, "PYTHONWARNINGS": "error", **CHEAP, **store, **(variables or {})}


def command(*arguments: str) -> list[str]:
    """The command line of a Tripline command under this Python."""
    return [sys.executable, "-m", "tripline", *arguments]


def run(
    *arguments: str, stdin: str | bytes = "", variables: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end as a process of its own; what it printed and its exit code."""
    with contextlib.ExitStack() as opened:
        given, printed, errors = (
            opened.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(3)
        )
        given.buffer.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        process = launcher.start(
            arguments,
            environment(variables, data=_data_of(arguments)),
            stdin=given.fileno(),
            stdout=printed.fileno(),
            stderr=errors.fileno(),
            cwd=cwd,
        )
        try:
            code = process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        printed.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, code, printed.read(), errors.read())


def run_here(
    *arguments: str, stdin: str = "", variables: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in this process, which has everything loaded; what it printed and its exit code.

    For what a command refuses and for what a test prepares with it. Where the process itself counts (its signals, its
    log, its start), `run` starts one.
    """
    printed, errors = io.StringIO(), io.StringIO()
    given = environment(variables, data=_data_of(arguments))
    with pytest.MonkeyPatch.context() as here, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        for name in os.environ.keys() - given.keys():
            here.delenv(name)
        for name, value in given.items():
            here.setenv(name, value)
        here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        if cwd is not None:
            here.chdir(cwd)
        logs.none()  # as the program has it: a command prints its answer, and only `serve` logs
        try:
            code = cli.run(arguments)
        finally:
            logs.plain()
    return subprocess.CompletedProcess(arguments, code, printed.getvalue(), errors.getvalue())


def start(
    data: Path,
    *flags: str,
    variables: Mapping[str, str] | None = None,
    program: Sequence[str] | None = None,
    first: bool = False,
    settings: Mapping[str, str] = PUSHES_STAY_HERE,
) -> Running:
    """Start a server and wait for its ready line. The caller stops it; `serving` does that by itself.

    It is forked from a process that has loaded the program (`launcher.py`), or a new one with this `program` in place
    of ours. Tables and certificates are there already in a new folder, unless it is to be a `first` start.
    """
    if not first and program is None:
        _install(data, with_certificates="TRIPLINE_TLS_CERT" not in (variables or {}))
    errors = errors_of(data)
    given = {flag.partition("=")[0] for flag in flags}
    picked = [f"{port}=0" for port in ("--api-port", "--analytics-port", "--device-port") if port not in given]
    arguments = ["serve", "--data", str(data), *picked, *flags]
    with errors.open("a") as log:
        process: subprocess.Popen[str] | launcher.Process
        given_to_it = environment({**settings, **(variables or {})}, data=data)
        if program is None:
            process = launcher.start(arguments, given_to_it, stderr=log.fileno())
        else:
            process = subprocess.Popen(
                [*program, *arguments], env=given_to_it, stdout=subprocess.PIPE, stderr=log, text=True
            )
    assert process.stdout is not None
    # A server that fails ends by itself, so this line always arrives; the test's own time-out guards against a hang.
    line = process.stdout.readline()
    found = READY.fullmatch(line)
    if found is None:
        process.kill()
        process.wait(STOP_S)
        process.stdout.close()
        raise AssertionError(f"no ready line but {line!r}; stderr: {errors.read_text()}")
    host, _, port = found["devices"].rpartition(":")
    return Running(process, data, found["api"], found["analytics"], host.strip("[]"), int(port), Path(found["ca"]))


def errors_of(data: Path) -> Path:
    """The file that a server on this data folder logs to."""
    return data.parent / f"{data.name}.stderr"


def _data_of(arguments: Sequence[str]) -> Path | None:
    """The data folder that a command is told to use."""
    return Path(arguments[arguments.index("--data") + 1]) if "--data" in arguments else None


def same_listeners(server: Running) -> tuple[str, str]:
    """Flags that start a server where this one listened: its REST and its device port."""
    return f"--api-port={server.api.rpartition(':')[2]}", f"--device-port={server.device_port}"


def _install(data: Path, *, with_certificates: bool) -> None:
    """Put into a new data folder what a first start makes there, which takes longer than all else of a start."""
    tls = data / "tls"
    if tls.exists():
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = stores.Database(data).path
    if not database.exists() and not stores.on_postgresql():
        _write(database, stores.installed(), 0o600)
    if with_certificates:
        tls.mkdir(mode=0o700)
        for name, (content, mode) in _certificates().items():
            _write(tls / name, content, mode)


@cache
def _certificates() -> dict[str, tuple[bytes, int]]:
    """The files of our own authority and their modes."""
    with tempfile.TemporaryDirectory(prefix="tripline-test-") as folder:
        local.made(Path(folder), host="127.0.0.1", now_ms=time.time_ns() // 1_000_000)
        return {file.name: (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) for file in Path(folder).iterdir()}


def _write(file: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as written:
        written.write(content)


@contextlib.contextmanager
def serving(
    data: Path,
    *flags: str,
    variables: Mapping[str, str] | None = None,
    program: Sequence[str] | None = None,
    first: bool = False,
    settings: Mapping[str, str] = PUSHES_STAY_HERE,
) -> Iterator[Running]:
    """A server for the length of a `with` block."""
    server = start(data, *flags, variables=variables, program=program, first=first, settings=settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.terminate()
            try:
                server.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
        if server.process.stdout is not None:
            server.process.stdout.close()
