"""The result of a benchmark: figures with a gate and a stretch, printed as a table, written to a file.

Every module of a row has `measure(quick: bool) -> list[Figure]`; `__main__` runs them all. Figures are judged, never
asserted: timings decide no test.
"""

import datetime
import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number, with what it has to reach."""

    row: str
    """What was loaded and how: the first column of the table."""
    name: str
    """What was measured, with its unit."""
    value: float
    low: float | None = None
    high: float | None = None
    """Smallest and largest of the rounds, where there were several; `value` is then their median."""
    gate: float | None = None
    stretch: float | None = None
    at_least: bool = True
    """Whether more is better."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Everything behind the number, for the result file."""

    @property
    def verdict(self) -> str:
        """`stretch`, `gate` or `missed`; empty where nothing is demanded."""
        if self.stretch is not None and self._reaches(self.stretch):
            return "stretch"
        if self.gate is None:
            return ""
        return "gate" if self._reaches(self.gate) else "missed"

    def _reaches(self, limit: float) -> bool:
        return self.value >= limit if self.at_least else self.value <= limit


def of_rounds(*, row: str, name: str, rounds: Sequence[float], **rest: Any) -> Figure:
    """A figure whose value is the median of several rounds."""
    return Figure(row=row, name=name, value=statistics.median(rounds), low=min(rounds), high=max(rounds), **rest)


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print the table."""
    table = Table(title="Tripline benchmark", title_justify="left", show_lines=False)
    for heading, justify in (
        ("row", "left"), ("measured", "left"), ("median", "right"), ("min to max", "right"),
        ("gate", "right"), ("stretch", "right"), ("verdict", "left"),
    ):  # fmt: skip
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    last = ""
    for figure in figures:
        table.add_row(
            "" if figure.row == last else figure.row,
            figure.name,
            _number(figure.value),
            "" if figure.low is None or figure.high is None else f"{_number(figure.low)} to {_number(figure.high)}",
            _limit(figure.gate, figure.at_least),
            _limit(figure.stretch, figure.at_least),
            _COLOURED.get(figure.verdict, ""),
        )
        last = figure.row
    console.print(table)


_COLOURED = {"stretch": "[green]stretch met[/]", "gate": "[green]gate met[/]", "missed": "[bold red]missed[/]"}


def _number(value: float) -> str:
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _limit(value: float | None, at_least: bool) -> str:
    return "" if value is None else f"{'≥' if at_least else '≤'} {_number(value)}"


def save(name: str, figures: Sequence[Figure], versions: dict[str, str]) -> Path:
    """Write the result file `results/NAME-DATE.json`; the machine appears by its kind, not by its name."""
    now = datetime.datetime.now(datetime.UTC)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{now:%Y-%m-%d}.json"
    content = {
        "measured": f"{now:%Y-%m-%dT%H:%MZ}",
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "kind": platform.machine()},
        "versions": versions,
        "figures": [{**asdict(figure), "verdict": figure.verdict} for figure in figures],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
