"""A world of pushes for each test that asks for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import pushes


@pytest.fixture
def world(tmp_path: Path, runner: asyncio.Runner) -> Iterator[pushes.World]:
    with pushes.opened(tmp_path, runner) as made:
        yield made
