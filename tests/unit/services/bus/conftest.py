"""A bus consumer's batches for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.bus_rig import BusRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[BusRig]:
    with BusRig.fresh(tmp_path) as made:
        assert isinstance(made, BusRig)
        yield made
