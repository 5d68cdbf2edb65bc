"""The modules of the tests that a test file imports, itself or through others."""

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent
IMPORT = re.compile(r"^ *(?:from (tests[.\w]*) import (\([^)]*\)|.*)|import (tests[.\w]*))", re.MULTILINE)
"""Imports of the tests' own modules as the house format has them; parsing every file would take seconds."""


def reaches(file: Path, module: str) -> bool:
    """Whether the file imports `tests.{module}`, or something of the tests does that it imports."""
    return module in _closure(file)


@cache
def direct(file: Path) -> frozenset[str]:
    """Modules of the tests that the file names in its imports, without `tests.`: `support.stores`."""
    named: set[str] = set()
    for module, names, alone in IMPORT.findall(file.read_text("utf-8")):
        named |= {module or alone, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    own = {name.removeprefix("tests.") for name in named if name.startswith("tests.")}
    return frozenset(name for name in own if _file(name) is not None)


@cache
def _closure(file: Path) -> frozenset[str]:
    found: set[str] = set()
    waiting = set(direct(file))
    while waiting:
        name = waiting.pop()
        found.add(name)
        path = _file(name)
        assert path is not None
        waiting |= direct(path) - found
    return frozenset(found)


@cache
def _file(module: str) -> Path | None:
    path = TESTS.joinpath(*module.split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)
