"""`tripline ingest`: customers' bus messages from a file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from tripline.cli import base
from tripline.cli.progress import counting
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    import uvloop

    from tripline.maintenance import ingest as maintenance
    from tripline.services.bus.messages import Refused
else:
    uvloop = Later("uvloop")
    maintenance = Later("tripline.maintenance.ingest")

SHOWN: Final = 20
"""Unusable messages that are shown one by one."""
_TOLD_EVERY: Final = 10_000
_STORED: Final = {
    "microtrip": "microtrips",
    "trip": "trips",
    "updated": "updated trips",
    "event": "events",
    "latest": "latest values",
}


def ingest(
    file: Annotated[
        str,
        Parameter(
            help="one message in each line: as on the bus, or with its topic; -: standard input",
            allow_leading_hyphen=True,
        ),
    ],
    *,
    topic: Annotated[str | None, Parameter(help="topic of the lines that name none")] = None,
    place: base.Place | None = None,
) -> int:
    """Take in bus messages from a file, beside a running server or without one. Exits 1 when any cannot be used.

    A line is {"data": ..., "msgType": ...} or {"topic": ..., "value": ...}. Messages taken in earlier are duplicates
    and change nothing, so an interrupted file can be given again. The server scores the trips when it runs.
    """
    config = base.settings(place, {})
    shown = 0

    def show(refused: "Refused") -> None:
        nonlocal shown
        shown += 1
        if shown <= SHOWN:
            why = refused.rejected
            base.line(base.printable(f"line {refused.message.offset}: {why.reason}: {why.detail}"))

    with _opened(file) as content, counting("messages", every=_TOLD_EVERY) as progress:
        lines, outcome = uvloop.run(maintenance.ingested(config, content, topic=topic, progress=progress, show=show))
    if shown > SHOWN:
        base.line(f"and {shown - SHOWN} more; all are in the log of rejected messages")
    for reason, count in outcome.reasons.most_common():
        base.line(f"rejected {reason}: {count}")
    stored = ", ".join(f"{name} {outcome.counts[kind]}" for kind, name in _STORED.items() if outcome.counts[kind])
    base.line(
        f"messages {lines}, stored: {stored or 'nothing'}, duplicates {outcome.counts['duplicate']},"
        f" rejected {outcome.counts['rejected']}"
    )
    return base.FAILED if outcome.counts["rejected"] else base.OK


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """The file's content. Raises `WrongSettingError` when it cannot be read."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        content = Path(file).open("rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise config_files.WrongSettingError(f"The file {file} cannot be read: {error.strerror}.") from error
    with content:
        yield content
