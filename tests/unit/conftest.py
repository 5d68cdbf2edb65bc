"""For unit tests: folders in memory, where the machine has such, so that no test waits for a disk; companies."""

import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support import logs

if TYPE_CHECKING:
    from tests.support.delegating import Companies
    from tests.support.rest import Login, Rest

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of the test's own, in place of pytest's; gone with the test."""
    inside = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=inside, prefix="tripline-test-") as folder:
        yield Path(folder)


@pytest.fixture
def logged() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Gives what was logged until now."""
    stream = io.StringIO()
    logs.plain(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logs.plain()


@pytest.fixture
async def admin(app: "Rest") -> "Login":
    """The administrator of `ace`, an operator in `app`."""
    from tests.support import rest  # most tests need nothing of it, and it takes a second

    return await rest.administrator(app)


@pytest.fixture
async def of(app: "Rest") -> "Companies":
    """Companies that may delegate vehicles to each other."""
    from tests.support import delegating  # most tests need nothing of it, and it takes a second

    return await delegating.companies(app)
