"""An import of a map as a process of its own beside a server: it computes for minutes, and takes as much memory as it
needs.

It has a low priority, is the first to go when memory runs out, and ends when the server does, however that ends.
"""

import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Final, NamedTuple

from tripline.config import files as config_files
from tripline.domain.maps import MapImport

_NICE: Final = 10
_STOP_S: Final = 5.0
_SAID_BYTES: Final = 4_096


class Ended(NamedTuple):
    """How the process ended."""

    code: int
    said: str
    """The last line of its stderr."""


async def run(folder: Path, record: MapImport, *, held: int) -> Ended:
    """Import, with the lock of the folder. When this is cancelled the process ends, too."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(config_files.PREFIX)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tripline", "map", "import", record.file, "--name", record.name),
        *("--country", record.country, "--held", str(held)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(held,),
        env={**variables, f"{config_files.PREFIX}MAP_DIR": str(folder)},
        start_new_session=True,  # Ctrl-C is for the server, which ends us
    )
    try:
        said = await _said(process)
        return Ended(await process.wait(), said)
    finally:
        await _stopped(process)


def humble() -> None:
    """Be the process that `run` starts: give way to the server, and end when it does."""
    os.nice(_NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    threading.Thread(target=_end_with_server, daemon=True).start()


def _end_with_server() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


async def _said(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said = b""
    while piece := await process.stderr.read(_SAID_BYTES):
        said = (said + piece)[-_SAID_BYTES:]
    return said.decode(errors="replace").strip().rpartition("\n")[2]


async def _stopped(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
