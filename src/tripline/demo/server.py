"""The demo's server: `tripline serve` as a process of its own, on the default ports if they are free."""

import asyncio
import contextlib
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from tripline.config import Config

LOG_FILE: Final = "server.log"
FLEET_LOG_FILE: Final = "fleet.log"
TOKENS_FILE: Final = "demo-tokens"
START_S: Final = 30.0
STOP_S: Final = 15.0
_READY: Final = re.compile(r"ready api=(\S+) analytics=\S+ devices=(\S+) ca=(.+)")


class ServerError(Exception):
    """The server failed; the text is shown as one line."""


class Server:
    """One installation: its data folder and, while it runs, its addresses."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.api = ""
        self.devices = ""
        self.ca = Path()
        self._log = data / LOG_FILE

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        """Start on an empty data folder; stop at the end. Raises `ServerError`."""
        if self.data.exists() and any(self.data.iterdir()):
            raise ServerError(f"{self.data} is not empty; the demo needs an empty data folder.")
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        process = await self._start()
        try:
            await self._wait_until_ready(process)
            yield self
        finally:
            await _stopped(process)

    async def granted(self, email: str, password: str) -> None:
        """Create a granted service account with the operator's command."""
        await self._asked("admin", "grant", "--email", email, "--password-stdin", said=f"{password}\n")

    @property
    def maps(self) -> Path:
        """Folder of imported maps."""
        return Config(data=self.data).maps

    async def imported(self, file: Path) -> str:
        """Import a map with the operator's command; return its report line."""
        said = await self._asked("map", "import", str(file))
        return said.partition("\n")[0]

    async def sign_in_link(self, email: str) -> str:
        """Make a link that signs this account in to the portal once, with the operator's command."""
        return (await self._asked("admin", "sign-in-link", "--email", email, "--url", self.api)).strip()

    @contextlib.asynccontextmanager
    async def driving(self, tokens: Sequence[str]) -> AsyncIterator[None]:
        """Have devices with these tokens drive along the roads of the imported map until the block ends, in real time.

        They are `tripline simulate`; the tokens are in a file that only the owner can read.
        """
        file = self.data / TOKENS_FILE
        file.touch(mode=0o600)
        file.write_text("\n".join(tokens), "utf-8")
        host, _, port = self.devices.rpartition(":")
        place = ("--tokens", str(file), "--data", str(self.data), "--host", host, "--port", port, "--ca", str(self.ca))
        with (self.data / FLEET_LOG_FILE).open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(*_TRIPLINE, "simulate", *place, *_DRIVES),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield
        finally:
            await _stopped(process)

    async def _asked(self, *command: str, said: str = "") -> str:
        """The output of a command on this installation. Raises `ServerError` with its error message."""
        process = await asyncio.create_subprocess_exec(
            *_TRIPLINE,
            *command,
            *("--data", str(self.data)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, complaint = await process.communicate(said.encode())
        if process.returncode:
            raise ServerError(complaint.decode(errors="replace").strip().removeprefix("tripline: "))
        return output.decode()

    async def _start(self) -> asyncio.subprocess.Process:
        defaults = Config()
        command = [*_TRIPLINE, "serve", "--data", str(self.data), "--host", defaults.host]
        for flag, port in (
            ("--api-port", defaults.api_port),
            ("--analytics-port", defaults.analytics_port),
            ("--device-port", defaults.device_port),
        ):
            command += [flag, str(port if _is_free(defaults.host, port) else 0)]
        with self._log.open("wb") as log:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is ours to handle; the server is stopped in order
            )

    async def _wait_until_ready(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while line := await process.stdout.readline():
                    if found := _READY.match(line.decode()):
                        self.api, self.devices = found.group(1), found.group(2)
                        self.ca = Path(found.group(3).strip())
                        return
        last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
        raise ServerError(f"the server did not start: {last or 'it said nothing'}")


_TRIPLINE: Final = (sys.executable, "-m", "tripline")
_DRIVES: Final = ("--trips", "1000", "--duration", "1200", "--pause", "60", "--period", "1")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


async def _stopped(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
