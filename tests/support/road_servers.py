"""Valhalla for tests: its own programs on the loopback, and servers that answer in its place as they are told.

The programs are those of the wheel that `valhalla/requirements.txt` names (`valhalla/fetch`); nothing of it is loaded
into a process of ours. Only processes started here are ever signalled, by their ids.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support import required

HERE = Path(__file__).parent / "valhalla"
PROGRAMS = HERE / "programs" / "valhalla" / "bin"
BUILD_S = 120
START_S = 60
STOP_S = 20


def installed() -> bool:
    """Whether the programs are there, of the release that is named."""
    wanted, found = HERE / "requirements.txt", PROGRAMS.parents[1] / "requirements.txt"
    return found.exists() and found.read_bytes() == wanted.read_bytes()


def need(what: str) -> None:
    """Go on when the programs are there; else skip, or fail on a build machine."""
    required.need(installed(), what, "Valhalla is not installed (tests/support/install-system)")


@dataclass
class Server:
    """A Valhalla server over tiles of its own."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAMS / "valhalla_service", self.folder / "valhalla.json", "1"], stdout=log, stderr=log
            )
        until = time.monotonic() + START_S
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[-2_000:]
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_S)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/status", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


@contextlib.contextmanager
def serving(file: Path, folder: Path, *, trace: Mapping[str, float] | None = None) -> Iterator[Server]:
    """A server with tiles of this map file, in this folder; `trace`: its limits of traces, where they are others."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder, _free_port())
    (folder / "valhalla.json").write_text(json.dumps(_settings(server, dict(trace or {}))), "utf-8")
    built = subprocess.run(
        [PROGRAMS / "valhalla_build_tiles", "-j", "1", "-c", folder / "valhalla.json", file],
        capture_output=True,
        timeout=BUILD_S,
    )
    assert built.returncode == 0, built.stderr.decode("utf-8", "replace")[-2_000:]
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _settings(server: Server, trace: Mapping[str, float]) -> dict[str, Any]:
    """The settings of both programs: those that Valhalla comes with, but for places and these limits of traces."""
    made = subprocess.run(
        [sys.executable, PROGRAMS.parent / "valhalla_build_config.py"], capture_output=True, check=True
    )
    settings: dict[str, Any] = json.loads(made.stdout)
    none = str(server.folder / "none")
    settings["mjolnir"] |= {"tile_dir": str(server.folder / "tiles"), "id_table_size": 10_000_000, "concurrency": 1}
    settings["mjolnir"] |= {"tile_extract": none, "traffic_extract": none, "admin": none, "timezone": none}
    settings["httpd"]["service"] |= {"listen": f"tcp://127.0.0.1:{server.port}", "drain_seconds": 1}
    settings["service_limits"]["trace"] |= trace
    return settings


Answer = tuple[int, object]
"""Status and body: bytes as they are, everything else as JSON."""


def all_on(way: int, *, forward: bool = True) -> Callable[[str, Any], Answer]:
    """Answers that put every point on this way, where it is; there are roads everywhere."""

    def answer(action: str, body: Any) -> Answer:
        if action == "status":
            return 200, {"version": "3.9.1", "available_actions": ["locate", "status", "trace_attributes"]}
        if action == "locate":
            return 200, [{"edges": [{"way_id": way}]} for _ in body["locations"]]
        points = [{"lat": each["lat"], "lon": each["lon"], "edge_index": 0} for each in body["shape"]]
        edges = [{"way_id": way, "forward": forward}]
        return 200, {"edges": edges, "matched_points": points, "osm_changeset": 5}

    return answer


def refusing(code: int, *, roads: bool = True) -> Callable[[str, Any], Answer]:
    """Answers that refuse every trace with this error; `roads`: whether there are any nearby."""

    def answer(action: str, body: Any) -> Answer:
        if action == "locate":
            return 200, [{"edges": [{"way_id": 1}] if roads else None} for _ in body["locations"]]
        return 400, {"error_code": code, "error": "No.", "status_code": 400, "status": "Bad Request"}

    return answer


@dataclass
class Stand:
    """A server in the place of Valhalla: what it answers, and what it was asked."""

    answer: Callable[[str, Any], Answer] = field(default_factory=lambda: all_on(7))
    raw: Callable[[Any], None] | None = None
    """Writes what goes out in place of an answer; it gets the handler."""
    asked: list[tuple[str, Any]] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def standing(stand: Stand) -> Iterator[Stand]:
    """The server, while it listens."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            action = self.path.rpartition("/")[2]
            stand.asked.append((action, body))
            with contextlib.suppress(OSError):
                if stand.raw is not None:
                    stand.raw(self)
                    return
                status, told = stand.answer(action, body)
                content = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield stand
        finally:
            server.shutdown()
            thread.join()
