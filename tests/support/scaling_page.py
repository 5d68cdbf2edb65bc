"""The commands of `docs/scaling.md`, run as they stand there on one machine that plays all the machines of the page.

What is run is taken out of the page: blocks behind `<!-- run: NAME -->`, files behind `<!-- file: PATH -->` and what is
appended to them. Names of hosts, folders, and what one machine cannot have are replaced by the list that `Site` is made
with; each entry has to be on the page. Ports come from variables (`TRIPLINE_API_PORT` and so on), which the page leaves
at their defaults.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import brokers, launcher, reference, servers

TEXT = (reference.ROOT / "docs" / "scaling.md").read_text("utf-8")
FOLDER_OF_A_MACHINE = "/var/lib/tripline"
START_S = 120
STOP_S = 60
COMMAND_S = 240
_BLOCK = re.compile(r"<!-- (run|file|append): (\S+) -->\n```sh\n(.*?)```\n", re.DOTALL)


def blocks(kind: str) -> dict[str, str]:
    """The blocks of a kind, by the name or path behind it."""
    return {name: text for found, name, text in _BLOCK.findall(TEXT) if found == kind}


@dataclass
class Process:
    """A role, started by the page's own command."""

    name: str
    folder: Path
    ports: Mapping[str, int]
    running: subprocess.Popen[bytes]

    @property
    def api(self) -> str:
        """The address of its REST or health listener."""
        return f"http://127.0.0.1:{self.ports['API']}"

    def ready(self) -> None:
        """Wait for its ready line."""
        until = time.monotonic() + START_S
        while not (self.folder / "said").read_bytes().startswith(b"ready "):
            assert self.running.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[-3_000:]
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order, with the shell that started it."""
        if self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGTERM)
            try:
                self.running.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.running.pid, signal.SIGKILL)
                self.running.wait(STOP_S)


@dataclass
class Site:
    """Where the page's commands are run, and what is replaced in them."""

    folder: Path
    replaced: Sequence[tuple[str, str]]
    variables: Mapping[str, str]
    """What every command finds in its environment, beside this Python's programs on the path."""
    processes: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._forking = launcher.program(self.folder / "bin")

    def write_files(self, *, appended: bool) -> None:
        """The page's files, with what it says to append or without."""
        more = blocks("append") if appended else {}
        for path, text in blocks("file").items():
            where = Path(self.filled(path))
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(self.filled(text + more.get(path, "")))

    def run(self, name: str, **variables: str) -> str:
        """Run a block to its end; what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self._script(name, self.folder / "operator")],
            env=self._environment(variables),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, role: str, count: int) -> list[Process]:
        """Start the role on so many machines; wait until all are ready."""
        begun = [self._launch(role, number) for number in range(1, count + 1)]
        for process in begun:
            process.ready()
        return begun

    def stop(self) -> None:
        """End everything that was started."""
        for process in self.processes:
            process.stop()

    def filled(self, text: str) -> str:
        """The text with everything replaced."""
        for old, new in self.replaced:
            text = text.replace(old, new)
        return text

    def _launch(self, role: str, number: int) -> Process:
        folder = self.folder / f"{role}-{number}"
        folder.mkdir()
        ports = dict(zip(("API", "ANALYTICS", "DEVICE"), brokers.free_ports("127.0.0.1", 3), strict=True))
        variables = {f"TRIPLINE_{listener}_PORT": str(port) for listener, port in ports.items()}
        with (folder / "log").open("wb") as log, (folder / "said").open("wb") as said:
            running = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", self._script(role, folder)],
                env=self._environment(variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(Process(f"{role}-{number}", folder, ports, running))
        return self.processes[-1]

    def _script(self, name: str, machine: Path) -> str:
        return self.filled(blocks("run")[name]).replace(FOLDER_OF_A_MACHINE, str(machine / "data"))

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        kept = servers.environment({**self.variables, **self._forking, **variables})
        return {**kept, "PATH": f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{kept['PATH']}"}


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of each line of a file of variables, as a shell and systemd read it."""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        yield name, value.strip('"')
