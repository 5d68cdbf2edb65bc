"""A rig of scoring for each test that asks for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import scoring_rows


@pytest.fixture
def rig(tmp_path: Path, runner: asyncio.Runner) -> Iterator[scoring_rows.Rig]:
    with scoring_rows.opened(tmp_path, runner) as made:
        yield made
