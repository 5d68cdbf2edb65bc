"""Readers of the live map's stream, and proxies before it."""

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support import brokers, waits

PATIENCE_S = 20.0
NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1;
events {{}}
http {{
    access_log off; gzip on; gzip_types text/css text/javascript application/json; gzip_proxied any;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://{upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host:$server_port;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""
CADDY = """
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    encode gzip
    reverse_proxy {upstream}
}}
"""


class Reader:
    """Reads a stream on a thread until it ends, from a cursor."""

    def __init__(self, api: str, headers: dict[str, str], cursor: str | None = None) -> None:
        self.events: list[tuple[float, str, Any]] = []
        """When each event came, its name and its data."""
        self.cursor = cursor
        self.status = 0
        self.headers: httpx.Headers = httpx.Headers()
        self.over = threading.Event()
        self._closing = threading.Event()
        sent = headers | ({} if cursor is None else {"Last-Event-ID": cursor})
        self._thread = threading.Thread(target=self._read, args=(f"{api}/map/stream", sent), daemon=True)
        self._thread.start()

    def _read(self, address: str, headers: dict[str, str]) -> None:
        name, data = "", ""
        with (
            contextlib.suppress(httpx.TransportError),
            httpx.stream("GET", address, headers=headers, timeout=PATIENCE_S) as told,
        ):
            self.status, self.headers = told.status_code, told.headers
            for line in told.iter_lines():
                kind, _, text = line.partition(": ")
                if kind == "event":
                    name = text
                elif kind == "data":
                    data = text
                elif kind == "id":
                    self.cursor = text
                elif not line and data:
                    self.events.append((time.monotonic(), name, json.loads(data)))
                    data = ""
                if self._closing.is_set():
                    break
        self.over.set()

    def named(self, name: str) -> list[Any]:
        """The data of the events of this name."""
        return [data for _, each, data in list(self.events) if each == name]

    def until(self, found: Callable[["Reader"], Any], within_s: float = PATIENCE_S) -> Any:
        """What is found, as soon as there is any."""
        return waits.seen(lambda: found(self), within_s=within_s)

    def positions(self) -> dict[str, int]:
        """The latest time of each vehicle's position."""
        return {row[0]: row[1] for rows in self.named("positions") for row in rows}

    def close(self) -> None:
        """Stop reading with the next event."""
        self._closing.set()
        self.over.wait(PATIENCE_S)


@contextlib.contextmanager
def proxied(name: str, folder: Path, api: str) -> Iterator[str]:
    """nginx or Caddy before a server, with compression of pages and data; its address."""
    folder.mkdir()
    (port,) = brokers.free_ports("127.0.0.1", 1)
    pattern = {"nginx": NGINX, "caddy": CADDY}[name]
    config = folder / "config"
    config.write_text(pattern.format(folder=folder, port=port, upstream=urlsplit(api).netloc))
    command = {
        "nginx": ["/usr/sbin/nginx", "-c", str(config), "-p", str(folder), "-e", str(folder / "log")],
        "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)],
    }[name]
    own = {"HOME": str(folder), "PATH": "/usr/bin:/bin:/usr/sbin", "XDG_DATA_HOME": str(folder)}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=own)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/sign-in")
                break
            assert process.poll() is None, (folder / "said").read_text()
            assert time.monotonic() < deadline, "the proxy does not listen"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
