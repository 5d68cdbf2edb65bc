"""A rig for each test, over a copy of one seeded store."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import ingest_rig
from tests.support.stores import fresh_file

from tripline import observe


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    observe.configure_logging(level="error", as_json=True, stream=io.StringIO())
    path = fresh_file(tmp_path_factory.mktemp("seeded"))
    ingest_rig.seed(path)
    return path


@pytest.fixture
def rig(seeded: Path, tmp_path: Path) -> Iterator[ingest_rig.Rig]:
    with ingest_rig.Rig.fresh(tmp_path, template=seeded) as made:
        yield made
