"""CPU seconds of a run by folder of tests, with those of every process that its tests started.

The last lines of a run tell them (Linux only). Waiting costs none, so they say what to cut where processes share cores.
"""

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support import imports, launcher

_TICKS = os.sysconf("SC_CLK_TCK")
_METER = pytest.StashKey["_Meter"]()


def seconds(*roots: int | None) -> float:
    """CPU seconds of processes and all that they started, whether these run or have ended."""
    spent: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while it was looked at: its parent has its seconds
        number = int(process.name)
        spent[number] = sum(map(int, fields[11:15]))  # its own, and those of children that it waited for
        children.setdefault(int(fields[1]), []).append(number)
    total, left = 0, {root for root in roots if root is not None}
    while left:
        number = left.pop()
        total += spent.get(number, 0)
        left.update(children.get(number, []))
    return total / _TICKS


class _Meter:
    """What each folder of one process's tests took."""

    def __init__(self) -> None:
        self.folders: Counter[str] = Counter()
        self._file: Path | None = None
        self._since = 0.0

    def turn_to(self, file: Path | None) -> None:
        """What is spent from now on is this file's."""
        if file == self._file:
            return
        now = seconds(os.getpid(), launcher.pid())
        if self._file is not None:
            self.folders[self._file.relative_to(imports.TESTS).parts[0]] += now - self._since
        self._file, self._since = file, now


def pytest_configure(config: pytest.Config) -> None:
    """Have a meter in each process."""
    config.stash[_METER] = _Meter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test's set-up is its file's too."""
    item.config.stash[_METER].turn_to(item.path)
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the first process."""
    meter = session.config.stash[_METER]
    meter.turn_to(None)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spent"] = dict(meter.folders)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what the processes spent."""
    node.config.stash[_METER].folders.update(getattr(node, "workeroutput", {}).get("spent", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line says where the time went; the rest is collecting tests and the database server of the run."""
    folders = config.stash[_METER].folders
    if folders and Path("/proc/self/stat").exists():
        told = [f"{folder} {spent:.0f}" for folder, spent in folders.most_common()]
        rest = seconds(os.getpid()) - folders.total()
        terminalreporter.write_line(f"CPU seconds: {', '.join(told)}, the rest {max(rest, 0.0):.0f}")
