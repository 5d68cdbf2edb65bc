"""`tripline replay`: recorded drives played as one device over MQTTS, with progress.

Not here: reading files (`recordings.py`), their messages (`messages.py`), the connection (`link.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tripline.simulator import messages, recordings
from tripline.simulator.client import Gateway, RefusedError, UnreachableError
from tripline.simulator.link import Link, Manner
from tripline.simulator.outbox import Tally
from tripline.simulator.recordings import Track

TROUBLES = (recordings.TrackError, RefusedError, UnreachableError)
"""Errors that end a replay; the text of each is shown as one line."""
_FAULTS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The drives to play, the device and the server. With `ending_ms` the drives are moved to end then."""

    files: Sequence[Path]
    gateway: Gateway
    token: str = field(repr=False)
    manner: Manner
    aggregate: int = 1
    ending_ms: int | None = None


async def play(replay: Replay, console: Console) -> Tally:
    """Publish every drive until the platform has acknowledged all messages. Raises one of `TROUBLES`."""
    drives = [recordings.read(path) for path in replay.files]
    for drive in drives:
        _report(drive, console)
    if replay.ending_ms is not None:
        drives = recordings.ending_at(drives, replay.ending_ms)
    bodies = messages.of_tracks(drives, aggregate=replay.aggregate)
    with _progress(console, len(bodies)) as advance:
        link = Link(
            gateway=replay.gateway,
            token=replay.token,
            messages=bodies,
            manner=replay.manner,
            on_progress=advance,
            on_trouble=lambda text: console.print(f"connection lost, trying again: {text}", style="yellow"),
        )
        tally = await link.deliver()
    console.print(f"sent {tally.sent}, acknowledged {tally.acknowledged}, resent {tally.resent}")
    return tally


def _report(drive: Track, console: Console) -> None:
    skipped = f", {len(drive.faults)} rows left out" if drive.faults else ""
    console.print(f"{drive.name}: {len(drive.points)} points{skipped}")
    for fault in drive.faults[:_FAULTS_SHOWN]:
        console.print(f"  line {fault.line}: {fault.reason}")
    if len(drive.faults) > _FAULTS_SHOWN:
        console.print(f"  and {len(drive.faults) - _FAULTS_SHOWN} more")


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[Tally], None]]:
    """Show each tally: as a bar on a terminal, else a line for each tenth."""
    if not console.is_terminal:
        yield _lines(console, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("acknowledged", total=total)
        yield lambda tally: progress.update(task, completed=tally.acknowledged)


def _lines(console: Console, total: int) -> Callable[[Tally], None]:
    shown = 0

    def advance(tally: Tally) -> None:
        nonlocal shown
        tenth = tally.acknowledged * 10 // total
        if tenth > shown:
            shown = tenth
            console.print(f"acknowledged {tally.acknowledged} of {total} ({tenth * 10} %)")

    return advance
