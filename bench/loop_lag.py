"""The event loop of a measured server: its lag from the metrics, what held it from the log.

Not here: how it is measured (`tripline/adapters/loop_watch.py`).
"""

import json
import re
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import peers
from bench.table import Figure

VARIABLES: Final = {"TRIPLINE_LOG_HELD_MS": "10", "TRIPLINE_LOG_FORMAT": "json"}
"""For a server that is to be watched."""
SHARE: Final = 0.999
GATE_MS: Final = 10.0
NAMED: Final = 10
"""How many of the longest holds are kept in the result file."""
_BUCKET: Final = re.compile(r'^tripline_loop_lag_seconds_bucket\{le="(.+)"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the server was: turns by their lag in seconds, and bytes of its log."""

    turns: tuple[tuple[float, float], ...]
    logged: int


class LoopLag:
    """Looks at one server, between marks."""

    def __init__(self, server: peers.Server, folder: Path) -> None:
        """`folder`: where the server's standard error is."""
        self._metrics = f"{server.api}/metrics"
        self._log = folder / "tripline.err"

    def mark(self) -> Mark:
        """Now."""
        with urllib.request.urlopen(self._metrics, timeout=peers.START_SECONDS) as answer:
            text = answer.read().decode()
        turns = tuple((float(upto), float(count)) for upto, count in _BUCKET.findall(text))
        return Mark(turns, self._log.stat().st_size)

    def figures(self, row: str, spans: Sequence[tuple[Mark, Mark]]) -> list[Figure]:
        """The lag that one turn of a thousand exceeds, and the longest hold by name."""
        turns = [
            (spans[0][0].turns[at][0], sum(end.turns[at][1] - begin.turns[at][1] for begin, end in spans))
            for at in range(len(spans[0][0].turns))
        ]
        holds = [hold for begin, end in spans for hold in self._holds(begin.logged, end.logged)]
        holds.sort(key=lambda hold: -hold["ms"])
        longest = holds[0] if holds else {"ms": 0.0, "cause": "nothing", "place": "10 ms"}
        return [
            Figure(
                row=row,
                name="event loop late, p99.9, ms",
                value=1_000 * quantile(turns, SHARE),
                gate=GATE_MS,
                at_least=False,
                detail={"turns": turns, "holds": len(holds), "longest": holds[:NAMED]},
            ),
            Figure(
                row=row,
                name=f"longest hold, ms: {longest['cause']}, {longest['place'].partition(' < ')[0]}",
                value=longest["ms"],
            ),
        ]

    def _holds(self, begin: int, end: int) -> list[dict[str, Any]]:
        with self._log.open("rb") as log:
            log.seek(begin)
            lines = log.read(end - begin).decode(errors="replace").splitlines()
        return [json.loads(line) for line in lines if '"loop.held"' in line]


def quantile(turns: Sequence[tuple[float, float]], share: float) -> float:
    """The lag that so great a share of the turns stays below, seconds; straight lines inside a bucket.

    `turns`: upper bounds in seconds, the last one infinite, and how many turns were at most so late.
    """
    wanted = share * turns[-1][1]
    below, before = 0.0, 0.0
    for upto, count in turns:
        if count >= wanted:
            return (
                below
                if upto == float("inf") or count == before
                else (below + (upto - below) * (wanted - before) / (count - before))
            )
        below, before = upto, count
    return below
