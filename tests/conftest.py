"""For every test: plain log lines, the long files first, and nothing left behind: no process, no socket."""

import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.support import databases, launcher, logs, trust

if TYPE_CHECKING:
    from tests.support.rest import Rest

pytest_plugins = ("tests.support.spent", "tests.support.suites", "tests.support.store_runs")

settings.register_profile(
    "unhurried", settings(), max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")  # a machine that is busy elsewhere is no fault of the program

LONG_FIRST = ("faults", "system", "properties", "conformance", "integration", "fuzz", "house")
"""Folders in the order of their duration. Whatever is not named comes after them: many short files fill the ends."""
WAITING = ("faults", "system", "browser", "conformance")
"""Folders whose tests wait for processes and networks more than they compute: the deep suite has files that compute
between them, so that its processes seldom wait all at the same time."""
SPREAD = 0.7
"""Their files are begun in this part of the run."""


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start be interrupted, also where a shell in the background had tests ignore it. Nothing that is
    imported or collected becomes garbage, so nobody looks for it until there are tests.

    The handler is one of our own: in place of Python's, `asyncio.run` puts one that names the task, and when that is
    taken out again Python writes the task and its result into an error that nobody sees, megabytes after some tests.
    """
    gc.disable()
    trust.read_once()
    signal.signal(signal.SIGINT, _interrupted)
    if getattr(config.option, "numprocesses", None):
        launcher.share()


def pytest_unconfigure() -> None:
    """End what starts servers."""
    launcher.close()


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    signal.default_int_handler(number, frame)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long files first, so that no process is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    folders = {path: path.relative_to(Path(__file__).parent).parts[0] for path in {item.path for item in items}}

    def rank(item: pytest.Item) -> tuple[bool, int]:
        own = folders[item.path]
        return item.path not in slow, LONG_FIRST.index(own) if own in LONG_FIRST else len(LONG_FIRST)

    items.sort(key=rank)
    if config.option.markexpr == "deep":
        waits = {item.nodeid.partition("::")[0]: item.path in slow or folders[item.path] in WAITING for item in items}
        places = _spread([name for name, wait in waits.items() if wait], [name for name in waits if not waits[name]])
        items.sort(key=lambda item: places[item.nodeid.partition("::")[0]])


def _spread(some: list[str], others: list[str]) -> dict[str, float]:
    """Places for two sorts of files: some among the first `SPREAD` of the others, evenly."""
    first = {name: number * SPREAD / len(some) for number, name in enumerate(some)}
    return first | {name: number / len(others) for number, name in enumerate(others)}


def pytest_collection_finish() -> None:
    """Have no later look for garbage walk through what was imported and collected: a million objects that stay. The few
    among them that are garbage stay too, for finding them takes such a walk."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests that are coroutine functions run in a loop of asyncio."""
    return "asyncio"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator["Rest"]:
    """REST on an empty store in the test's folder, for a test that is a coroutine function."""
    from tests.support import rest  # most tests need nothing of it, and it takes a second

    async with rest.opened(tmp_path) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def _plain_log_lines() -> None:
    logs.plain()


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_to_be_collected() -> Iterator[None]:
    """What a file's tests left open warns with them, and not in the middle of another test. What is there still was
    loaded for them and stays: the looks at the ends of later files need not walk through it."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _no_process_left_behind() -> Iterator[None]:
    """Every process that a file's tests start has ended with them."""
    before = _children()
    yield
    assert _children() - before == set()


def _children() -> set[str]:
    """Processes that this one started, ended or not, with their command lines (Linux only; elsewhere none)."""
    to_the_end = (databases.pid(), launcher.pid())  # they serve this process
    while True:
        try:
            return {
                f"{child} {' '.join(Path(f'/proc/{child}/cmdline').read_text().split(chr(0)))}"
                for parent in (os.getpid(), launcher.pid())
                for thread in Path(f"/proc/{parent}/task").glob("*/children")
                for child in thread.read_text().split()
                if int(child) not in to_the_end
            }
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread or process ended while it was looked at: look again at all of them
