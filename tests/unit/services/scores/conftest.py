"""A rig of scoring for each test that asks for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support import scoring_rows


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[scoring_rows.Rig]:
    async with scoring_rows.opened(tmp_path) as made:
        yield made
