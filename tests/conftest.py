"""For every test: plain log lines, the long files first, and nothing left behind: no process, no socket."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import databases, logs

pytest_plugins = ("tests.support.store_runs",)

LONG_FIRST = ("faults", "system", "properties", "conformance", "integration", "fuzz", "house")
"""Folders in the order of their duration. Whatever is not named comes after them: many short files fill the ends."""


def pytest_configure() -> None:
    """Let what tests start be interrupted, also where a shell in the background had tests ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, so that no process is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    here = Path(__file__).parent

    def rank(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.relative_to(here).parts[0]
        return item.path not in slow, LONG_FIRST.index(folder) if folder in LONG_FIRST else len(LONG_FIRST)

    items.sort(key=rank)


@pytest.fixture(scope="module", autouse=True)
def _plain_log_lines() -> None:
    logs.plain()


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_to_be_collected() -> Iterator[None]:
    """What a file's tests left open warns with them, and not in the middle of another test."""
    yield
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def _no_process_left_behind() -> Iterator[None]:
    """Every process that a file's tests start has ended with them."""
    before = _children()
    yield
    assert _children() - before == set()


def _children() -> set[str]:
    """Processes that this one started, ended or not, with their command lines (Linux only; elsewhere none)."""
    while True:
        try:
            return {
                f"{child} {' '.join(Path(f'/proc/{child}/cmdline').read_text().split(chr(0)))}"
                for thread in Path(f"/proc/{os.getpid()}/task").glob("*/children")
                for child in thread.read_text().split()
                if int(child) != databases.pid()  # it serves this process to its end
            }
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread or process ended while it was looked at: look again at all of them
