"""A rig for each test, over a copy of one seeded store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import ingest_rig
from tests.support.stores import Content


@pytest.fixture
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Content:
    return ingest_rig.seeded_once(tmp_path_factory)


@pytest.fixture
def rig(seeded: Content, tmp_path: Path) -> Iterator[ingest_rig.Rig]:
    with ingest_rig.Rig.fresh(tmp_path, template=seeded) as made:
        yield made
