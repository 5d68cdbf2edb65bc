"""Builds and runs the load generators `loadgen.c` (devices) and `callgen.c` (who calls them), on their own core."""

import json
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from bench import peers

HERE = Path(__file__).parent
PROGRAM = HERE / "build" / "loadgen"
CALLS = HERE / "build" / "callgen"
MEASURING = HERE / "measuring.h"
"""What both include."""
LONGEST_S = 60.0
"""How long devices may take to connect."""


def build() -> None:
    """Compile what is newer than its program; OpenSSL's headers are installed when they are missing."""
    for program in (PROGRAM, CALLS):
        source = HERE / f"{program.name}.c"
        newest = max(each.stat().st_mtime for each in (source, MEASURING))
        if program.exists() and program.stat().st_mtime >= newest:
            continue
        if not Path("/usr/include/openssl/ssl.h").exists() and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "-y", "-qq", "libssl-dev", "gcc", "libc6-dev"], check=True)
        program.parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", program, source, "-lssl", "-lcrypto"], check=True)


class Fleet:
    """Devices that are there until `end` is called or the block is left. Options as of `run`, and `cores`."""

    def __init__(self, server: peers.Server, /, *flags: str, **options: Any) -> None:
        self._server = server
        command = [*_command(server, options), *flags]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )

    @property
    def pid(self) -> int:
        """The generator's process."""
        return self._process.pid

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def all_connected(self) -> None:
        """Return when every device is connected (again)."""
        assert self._process.stderr is not None
        readable, _, _ = select.select([self._process.stderr], [], [], LONGEST_S)
        line = self._process.stderr.readline() if readable else b""
        if b"all connected" not in line:
            raise RuntimeError(f"not everybody is connected after {LONGEST_S} s. {line.decode()}")

    def wait(self, seconds: float) -> None:
        """Let them go on for so long. Raises what ended them, when something did."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
        if self._process.returncode:
            self.over()

    def end(self) -> dict[str, Any]:
        """Disconnect; what the devices saw."""
        self._process.send_signal(signal.SIGTERM)
        return self.over()

    def over(self, *, within_s: float = LONGEST_S) -> dict[str, Any]:
        """Wait for the end of their time; what the devices saw."""
        out, err = self._process.communicate(timeout=within_s)
        return _answer(self._server, out, err)


def _command(server: peers.Server, options: dict[str, Any]) -> list[str]:
    own = dict(options)
    command = ["taskset", "-c", str(own.pop("cores", peers.GENERATOR_CORE)), str(PROGRAM)]
    command += ["--port", str(server.port), "--ca", str(server.ca)]
    for name, value in own.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return command


def run(server: peers.Server, /, *flags: str, **options: Any) -> dict[str, Any]:
    """Load one server; the generator's JSON answer. Options are its flags, `_` for `-`."""
    command = [*_command(server, {**options, "server": server.pid}), *flags]
    done = subprocess.run(command, capture_output=True, check=False)
    return _answer(server, done.stdout, done.stderr)


def _answer(server: peers.Server, out: bytes, err: bytes) -> dict[str, Any]:
    if not out:
        raise RuntimeError(f"{server.name}: {err.decode().strip()}")
    answer: dict[str, Any] = json.loads(out)
    answer["server"] = server.name
    answer["per_cpu_s"] = answer["acked"] / answer["server_cpu_s"] if answer["server_cpu_s"] else 0.0
    answer["generator_share"] = answer["generator_cpu_s"] / answer["seconds"]
    return answer
