"""Builds and runs the load generator `loadgen.c`, on its own core."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bench import peers

HERE = Path(__file__).parent
PROGRAM = HERE / "build" / "loadgen"


def build() -> None:
    """Compile `loadgen.c` when it is newer than the program; OpenSSL's headers are installed when they are missing."""
    source = HERE / "loadgen.c"
    if PROGRAM.exists() and PROGRAM.stat().st_mtime >= source.stat().st_mtime:
        return
    if not Path("/usr/include/openssl/ssl.h").exists() and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "libssl-dev", "gcc", "libc6-dev"], check=True)
    PROGRAM.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", PROGRAM, source, "-lssl", "-lcrypto"], check=True)


def start(server: peers.Server, *flags: str, **options: Any) -> subprocess.Popen[bytes]:
    """Load one server until SIGTERM or until the time is over. Options are its flags, `first_ms` for `--first-ms`."""
    return subprocess.Popen(
        [*_command(server, options), *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )


def _command(server: peers.Server, options: dict[str, Any]) -> list[str]:
    command = ["taskset", "-c", str(peers.GENERATOR_CORE), str(PROGRAM)]
    command += ["--port", str(server.port), "--ca", str(server.ca)]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return command


def run(server: peers.Server, **options: Any) -> dict[str, Any]:
    """Load one server; the generator's JSON answer. Options as of `start`."""
    command = _command(server, {**options, "server": server.pid})
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"{server.name}: {done.stderr.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["server"] = server.name
    answer["per_cpu_s"] = answer["acked"] / answer["server_cpu_s"] if answer["server_cpu_s"] else 0.0
    answer["generator_share"] = answer["generator_cpu_s"] / answer["seconds"]
    return answer
