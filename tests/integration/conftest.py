"""A world of pushes for each test that asks for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support import pushes


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[pushes.World]:
    async with pushes.opened(tmp_path) as made:
        yield made
