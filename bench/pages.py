"""Row 7: pages of 20 scores among ten million, and whether the thousandth page costs what the first costs.

The server (`serve_pages.py`: Litestar on uvicorn, tokens, scopes, SQLite) has one core, wrk the other. Every request
asks for another of 400 vehicles. Rounds of first and thousandth pages take turns; a figure is requests per second of
the server's CPU time, so that a core shared with others does not count against it. The load generator's share of its
own core is beside it: well below 1 means that it waited for the server.
"""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import msgspec
from bench import make_scores, peers
from bench.table import Figure, of_rounds

SERVER_CORE, GENERATOR_CORE = 0, 1
CONNECTIONS = 16
PAGE_NUMBER = 1_000
LIMIT = 20
PREFIX = "/api/tre/v1_3/vehicle"

_WRK_SCRIPT = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local n = 0
function request()
  n = n %% #paths + 1
  return wrk.format("GET", paths[n], { ["%s"] = "%s" })
end
"""


@dataclass(frozen=True, slots=True)
class Server:
    """The server that is measured."""

    process: "subprocess.Popen[str] | peers.Server"
    port: int
    token: str

    @property
    def header(self) -> tuple[str, str]:
        """What shows who asks."""
        return "X-Authorization", f"Bearer {self.token}"

    def cpu_s(self) -> float:
        """CPU time it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> dict[str, list[dict[str, dict[str, str]]]]:
        """One answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"X-Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return msgspec.json.decode(answer.read())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Round:
    """What one run of wrk showed."""

    per_s: float
    per_cpu_s: float
    generator_share: float
    p50_ms: float
    p99_ms: float


def measure(quick: bool) -> list[Figure]:
    """The figures of row 7."""
    install()
    make_scores.make()
    rounds, seconds = (3, 2) if quick else (7, 5)
    with _served() as process, tempfile.TemporaryDirectory() as folder:
        assert process.stdout is not None
        port, token = process.stdout.readline().split()
        server = Server(process, int(port), token)
        scripts = {name: script(Path(folder) / name, listed, server) for name, listed in paths(server).items()}
        results: dict[str, list[Round]] = {name: [] for name in scripts}
        for each in scripts.values():
            load(server, each, 1)
        for _ in range(rounds):
            for name, each in scripts.items():
                results[name].append(load(server, each, seconds))
        process.terminate()
    first, far = results["first"], results["far"]
    row = "page of 20 scores, 10 million rows"
    ratios = [b.per_cpu_s / a.per_cpu_s for a, b in zip(first, far, strict=True)]
    return [
        of_rounds(
            row=row,
            name="requests per second of one core",
            rounds=[one.per_cpu_s for one in first],
            gate=2_500,
            stretch=5_000,
            detail=detail(first),
        ),
        of_rounds(row=row, name="page 1,000 to page 1", rounds=ratios, gate=0.9, stretch=0.97, detail=detail(far)),
        of_rounds(
            row=row,
            name="load generator, share of its core",
            rounds=[one.generator_share for one in first],
            gate=0.7,
            at_least=False,
        ),
    ]


def install() -> None:
    """Have the load generator."""
    if shutil.which("wrk") is None:
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], check=True)


def _served() -> "subprocess.Popen[str]":
    command = ["taskset", "-c", str(SERVER_CORE), sys.executable, "-m", "bench.serve_pages"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def paths(server: Server) -> dict[str, list[str]]:
    """Addresses of the first and of the thousandth page of every vehicle."""
    first, far = [], []
    for number in range(make_scores.VEHICLES):
        base = f"{PREFIX}/{make_scores.vehicle_id(number)}/analytics/drivingScore?limit={LIMIT}"
        first.append(base)
        far.append(f"{base}&idOffset={make_scores.score_id(number, before=(PAGE_NUMBER - 1) * LIMIT)}")
    for path in (first[0], far[-1]):
        assert len(server.get(path)["data"]) == LIMIT
    return {"first": first, "far": far}


def script(path: Path, addresses: list[str], server: Server) -> Path:
    """A script for wrk that asks for these addresses in turn."""
    listing = path.with_suffix(".txt")
    listing.write_text("\n".join(addresses) + "\n")
    written = path.with_suffix(".lua")
    written.write_text(_WRK_SCRIPT % (listing, *server.header))
    return written


def load(server: Server, script: Path, seconds: int, *, connections: int = CONNECTIONS) -> Round:
    """What wrk finds in so many seconds. Raises `RuntimeError` when an answer was none of success."""
    command = ["taskset", "-c", str(GENERATOR_CORE), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    server_before, own_before = server.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, "-s", str(script), f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, check=True
    )
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    generator_s = own.ru_utime + own.ru_stime - own_before.ru_utime - own_before.ru_stime
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise RuntimeError(done.stdout)
    found = re.search(r"(\d+) requests in ([\d.]+)s", done.stdout)
    assert found is not None
    requests, took_s = int(found[1]), float(found[2])
    return Round(
        per_s=requests / took_s,
        per_cpu_s=requests / (server.cpu_s() - server_before),
        generator_share=generator_s / took_s,
        p50_ms=_latency(done.stdout, "50%"),
        p99_ms=_latency(done.stdout, "99%"),
    )


def _latency(text: str, share: str) -> float:
    found = re.search(rf"{share}\s+([\d.]+)(us|ms|s)\b", text)
    assert found is not None
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def detail(rounds: list[Round]) -> dict[str, float]:
    """The median of everything that the rounds showed."""
    return {name: statistics.median(getattr(one, name) for one in rounds) for name in Round.__slots__}
