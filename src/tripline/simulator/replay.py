"""`tripline replay`: recorded drives played as one device over MQTTS, with progress."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tripline.simulator import box, client, messages, recordings
from tripline.simulator.books import Row
from tripline.simulator.box import Access, Box, Pace
from tripline.simulator.client import Gateway, RefusedError, UnreachableError
from tripline.simulator.drafts import Message, Step
from tripline.simulator.recordings import Track

TROUBLES = (recordings.TrackError, RefusedError, UnreachableError)
"""Errors that end a replay; the text of each is shown as one line."""
_FAULTS_SHOWN = 5
_TICK_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The drives to play, the device and the server. With `ending_ms` the drives are moved to end then."""

    files: Sequence[Path]
    gateway: Gateway
    token: str = field(repr=False)
    speed: float
    """Times the speed of the real drive; 0: as fast as messages are acknowledged."""
    window: int
    patience_s: float
    aggregate: int = 1
    ending_ms: int | None = None


async def play(replay: Replay, console: Console) -> None:
    """Publish every drive until the platform has acknowledged all messages. Raises one of `TROUBLES`."""
    drives = [recordings.read(path) for path in replay.files]
    for drive in drives:
        _report(drive, console)
    if replay.ending_ms is not None:
        drives = recordings.ending_at(drives, replay.ending_ms)
    sent = messages.of_tracks(drives, aggregate=replay.aggregate)
    with _progress(console, len(sent)) as advance:
        done = await delivered(
            sent,
            gateway=replay.gateway,
            token=replay.token,
            speed=replay.speed,
            window=replay.window,
            patience_s=replay.patience_s,
            on_progress=advance,
            on_trouble=lambda text: console.print(f"connection lost, trying again: {text}", style="yellow"),
        )
    console.print(f"sent {done.sent}, acknowledged {done.acknowledged}, resent {done.resent}")


async def delivered(
    sent: Sequence[Message],
    *,
    gateway: Gateway,
    token: str,
    speed: float = 0.0,
    window: int = box.WINDOW,
    patience_s: float = 60.0,
    on_progress: Callable[[int], None] = lambda _: None,
    on_trouble: Callable[[str], None] = lambda _: None,
) -> Row:
    """Publish the messages as one device until every one is acknowledged. Raises `RefusedError`, `UnreachableError`.

    `on_progress` gets the number of acknowledged messages now and then, `on_trouble` as in `Box`.
    """
    loop = asyncio.get_running_loop()
    access = Access(gateway, client.trusted(gateway.ca), asyncio.Semaphore(), patience_s)
    device = Box(access=access, token=token, client_id="", manner=None, window=window, on_trouble=on_trouble)
    ready: asyncio.Future[Iterator[Step]] = loop.create_future()
    ready.set_result(iter(sent))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(device.run(ready, Pace(speed, loop.time())))
        while not running.done():
            await asyncio.wait([running], timeout=_TICK_S)
            on_progress(device.ledger.whole.acknowledged)
    if device.ledger.failure is not None:
        raise UnreachableError(device.ledger.failure)
    return device.ledger.whole


def _report(drive: Track, console: Console) -> None:
    skipped = f", {len(drive.faults)} rows left out" if drive.faults else ""
    console.print(f"{drive.name}: {len(drive.points)} points{skipped}")
    for fault in drive.faults[:_FAULTS_SHOWN]:
        console.print(f"  line {fault.line}: {fault.reason}")
    if len(drive.faults) > _FAULTS_SHOWN:
        console.print(f"  and {len(drive.faults) - _FAULTS_SHOWN} more")


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    """Show each number of acknowledged messages: as a bar on a terminal, else a line for each tenth."""
    if not console.is_terminal:
        yield _lines(console, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("acknowledged", total=total)
        yield lambda acknowledged: progress.update(task, completed=acknowledged)


def _lines(console: Console, total: int) -> Callable[[int], None]:
    shown = 0

    def advance(acknowledged: int) -> None:
        nonlocal shown
        tenth = acknowledged * 10 // total
        if tenth > shown:
            shown = tenth
            console.print(f"acknowledged {acknowledged} of {total} ({tenth * 10} %)")

    return advance
