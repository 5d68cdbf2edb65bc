"""For unit tests: folders in memory, where the machine has such, so that no test waits for a disk, and REST in them."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.rest import Rest

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of the test's own, in place of pytest's; gone with the test."""
    inside = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=inside, prefix="tripline-test-") as folder:
        yield Path(folder)


@pytest.fixture
def app(tmp_path: Path, runner: asyncio.Runner) -> Iterator["Rest"]:
    """REST on an empty store in the test's folder, for a test that is a coroutine function."""
    from tests.support import rest  # most unit tests need nothing of it, and it takes a second

    with rest.opened(tmp_path, runner) as made:
        yield made
