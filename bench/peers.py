"""The servers that are measured: Tripline, mosquitto and amqtt, each pinned to one core, all with the same certificate.

The peers keep nothing and admit everybody; Tripline looks the sensor up, applies every rule and acknowledges after the
commit. Not here: the load (`loadgen.py`), what is compared (`device_channel.py`).
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
import psycopg
from tests.support import brokers, postgres

from tripline.adapters.tls import local

SERVER_CORE = 0
GENERATOR_CORE = 1
AMQTT = Path(__file__).parent / ".venv" / "bin" / "amqtt"
AMQTT_VERSION = "0.12.1"
ROOT = Path(__file__).parent.parent
START_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    name: str
    pid: int
    port: int
    ca: Path
    api: str = ""
    """Address of REST, of Tripline."""

    def memory_kib(self) -> tuple[int, int]:
        """Resident and proportional set size."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return _field(status, "VmRSS"), _field(rollup, "Pss")

    def private_kib(self) -> int:
        """What of the resident set size is its own memory, and no page of a file that the system may take back."""
        return _field(Path(f"/proc/{self.pid}/status").read_text(), "RssAnon")

    def peak_kib(self) -> int:
        """The largest resident set size so far."""
        return _field(Path(f"/proc/{self.pid}/status").read_text(), "VmHWM")

    def cpu_s(self) -> float:
        """CPU time used so far, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _field(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def install_amqtt() -> None:
    """Give amqtt its own virtual environment, so that its dependencies stay away from ours."""
    if AMQTT.exists():
        return
    folder = AMQTT.parent.parent
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"amqtt=={AMQTT_VERSION}"], check=True)


def installed(checkout: Path = ROOT) -> Path:
    """An interpreter with this working copy, or another one, and what `pip install tripline` brings; made on first use.

    The developers' tools, which Litestar would load too, are not there.
    """
    asked = [checkout / "pyproject.toml", checkout / "constraints.txt"]
    folder = checkout / "bench" / ".venv-served"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists() or done.stat().st_mtime < max(path.stat().st_mtime for path in asked):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", asked[1]]
        subprocess.run([*pip, "-e", checkout], check=True)
        done.touch()
    return python


def certificate(folder: Path) -> local.Material:
    """A certificate authority and a server certificate for 127.0.0.1, as Tripline makes them."""
    return local.made(folder, host="127.0.0.1", now_ms=int(time.time() * 1000))


@contextlib.contextmanager
def mosquitto(folder: Path, tls: local.Material) -> Iterator[Server]:
    """mosquitto, nothing persisted, anybody admitted."""
    port = free_port()
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\ncafile {tls.ca}\ncertfile {tls.certificate}\nkeyfile {tls.key}\n"
        "allow_anonymous true\npersistence false\nlog_type error\nuser root\nset_tcp_nodelay true\n"
    )
    with _running("mosquitto", ["mosquitto", "-c", str(config)], folder) as process:
        yield _answering("mosquitto", process, port, tls.ca)


@contextlib.contextmanager
def amqtt(folder: Path, tls: local.Material) -> Iterator[Server]:
    """amqtt as installed: its own command, with the plugins and the log level (INFO) it has without a configuration."""
    config, port = _amqtt_config(folder / "amqtt.yaml", tls, _AMQTT_PLUGINS)
    with _running("amqtt", [str(AMQTT), "-c", str(config)], folder) as process:
        yield _answering("amqtt", process, port, tls.ca)


@contextlib.contextmanager
def amqtt_stripped(folder: Path, tls: local.Material) -> Iterator[Server]:
    """amqtt at its best: no plugin but the one that admits anybody, no logging."""
    config, port = _amqtt_config(folder / "amqtt-stripped.yaml", tls, "")
    command = [str(AMQTT.parent / "python"), "-c", _AMQTT_QUIET, str(config)]
    with _running("amqtt-stripped", command, folder) as process:
        yield _answering("amqtt stripped", process, port, tls.ca)


def _amqtt_config(path: Path, tls: local.Material, plugins: str) -> tuple[Path, int]:
    install_amqtt()
    port = free_port()
    path.write_text(
        f"listeners:\n  default:\n    type: tcp\n    bind: 127.0.0.1:{port}\n    ssl: true\n"
        f"    certfile: {tls.certificate}\n    keyfile: {tls.key}\n    max_connections: 20000\n"
        "plugins:\n  amqtt.plugins.authentication.AnonymousAuthPlugin:\n    allow_anonymous: true\n" + plugins
    )
    return path, port


_AMQTT_PLUGINS = """
  amqtt.plugins.logging_amqtt.EventLoggerPlugin:
  amqtt.plugins.logging_amqtt.PacketLoggerPlugin:
  amqtt.plugins.sys.broker.BrokerSysPlugin:
    sys_interval: 20
"""
"""Of its `default_broker.yaml`, beside the one that admits anybody."""
_AMQTT_QUIET = """
import asyncio, logging, sys, yaml
from amqtt.broker import Broker
logging.disable(logging.CRITICAL)
async def main():
    with open(sys.argv[1]) as file:
        await Broker(yaml.safe_load(file)).start()
    await asyncio.Event().wait()
asyncio.run(main())
"""


@contextlib.contextmanager
def tripline(
    folder: Path,
    *roles: str,
    device_port: int = 0,
    variables: Mapping[str, str] | None = None,
    cores: str = str(SERVER_CORE),
    checkout: Path = ROOT,
) -> Iterator[Server]:
    """`tripline serve` on the data folder, every rule on, SQLite at `synchronous=FULL` unless the variables name
    another store. Without roles: all. A role that has no such listener has port 0, or no address."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    command = [str(installed(checkout)), "-m", "tripline", "serve", "--data", str(folder)]
    command += [f"--role={each}" for each in roles]
    command += ["--api-port", "0", "--analytics-port", "0", "--device-port", str(device_port)]
    with _running("tripline", command, folder, variables=variables, cores=cores) as process:
        ready = _ready_line(folder / "tripline.out", process)
        told = dict(re.findall(r"(\w+)=(\S+)", ready))
        port = re.search(r":(\d+)$", told.get("devices", ""))
        yield Server(
            "tripline", process.pid, int(port[1]) if port else 0, Path(told.get("ca", "")), told.get("api", "")
        )


@contextlib.contextmanager
def _running(
    name: str,
    command: list[str],
    folder: Path,
    *,
    variables: Mapping[str, str] | None = None,
    cores: str = str(SERVER_CORE),
) -> Iterator[subprocess.Popen[bytes]]:
    pinned = ["taskset", "-c", cores, *command]
    own = {**os.environ, **(variables or {})}
    with (folder / f"{name}.out").open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        process = subprocess.Popen(pinned, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=own)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ready_line(out: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        for line in out.read_text().splitlines():
            if line.startswith("ready "):
                return line
        time.sleep(0.05)
    raise RuntimeError(f"tripline did not start; see {out.with_suffix('.err')}")


def _answering(name: str, process: subprocess.Popen[bytes], port: int, ca: Path) -> Server:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return Server(name, process.pid, port, ca)
        time.sleep(0.05)
    raise RuntimeError(f"{name} did not start")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def versions() -> dict[str, str]:
    """What ran: the interpreter, the TLS library and the peers."""
    import sqlite3
    import ssl

    def first_line(*command: str) -> str:
        if not shutil.which(command[0]):
            return "missing"
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).splitlines()[0]

    return {
        "python": sys.version.split()[0],
        "openssl": ssl.OPENSSL_VERSION,
        "sqlite": sqlite3.sqlite_version,
        "mosquitto": first_line("mosquitto", "-h"),
        "amqtt": AMQTT_VERSION,
        "postgresql": first_line(str((postgres.programs() or Path()) / "postgres"), "--version"),
        "psycopg": psycopg.__version__,
        "kafka": next((path.stem for path in Path(brokers.jars()).parent.glob("kafka_2.13-*.jar")), "missing"),
        "librdkafka": confluent_kafka.libversion()[0],
        "kernel": os.uname().release,
    }
