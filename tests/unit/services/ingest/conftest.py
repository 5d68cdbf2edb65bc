"""A rig for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import ingest_rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[ingest_rig.Rig]:
    with ingest_rig.Rig.fresh(tmp_path) as made:
        yield made
