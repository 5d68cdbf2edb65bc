"""The rows of the interface specification's tables, read from the document itself so that none is left out.

A row's key is its table's heading and what identifies it in the table, `#2` and so on when a heading repeats it:
"Vehicle: mileage", "Registration and login: POST /api/auth/login". Sentences that list what an answer holds ("Response:
...") give a row for each name in them, numbered rules a row each.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support import reference

DOCUMENT = reference.ROOT / "docs" / "spec" / "interface.md"

_RULE = re.compile(r"-{3,}")
_METHODS = ("GET", "POST", "PUT", "DELETE")


@dataclass(frozen=True, slots=True)
class Row:
    """One statement of the document."""

    key: str
    cells: tuple[str, ...]


def rows() -> list[Row]:
    """Every row, in the document's order."""
    seen: Counter[str] = Counter()
    found = []
    for name, cells in _statements(DOCUMENT.read_text("utf-8")):
        seen[name] += 1
        found.append(Row(name if seen[name] == 1 else f"{name} #{seen[name]}", cells))
    return found


def _statements(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    heading = chapter = ""
    in_table = False
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()
            chapter = heading if line.startswith("## ") else chapter
        cells = tuple(cell.strip() for cell in line.strip("| ").split("|")) if line.startswith("|") else ()
        if not cells:
            in_table = False
            yield from _of_prose(chapter, heading, line)
        elif not in_table:
            in_table = True  # the table's own heading
        elif not _RULE.fullmatch(cells[0]):
            yield f"{heading}: {_name(heading, cells)}", cells


def _name(heading: str, cells: tuple[str, ...]) -> str:
    if cells[0] in _METHODS:
        return f"{cells[0]} {cells[1]}"
    if heading == "States and transitions":
        return f"{cells[0]} on {cells[1]}, {cells[2]}"
    return cells[0]


def _of_prose(chapter: str, heading: str, line: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    if chapter == "Resources and fields":
        answer = line.startswith(("Response", "`id`", "`data`")) or "additionally carries" in line
        for name in re.findall(r"`([a-zA-Z]+)`", line) if answer else ():
            yield f"{heading} answer: {name}", (name, line)
        if line.startswith("- "):
            yield f"{heading}: {line[2:].partition(':')[0]}", (line,)
    elif chapter in ("Endpoints", "Authentication") and (rule := re.match(r"(\d+)\. ", line)):
        yield f"{heading}: rule {rule[1]}", (line,)
