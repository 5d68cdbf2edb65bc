"""For tests of the store: rows that no statement orders come in reverse."""

from collections.abc import Iterator

import pytest
from tests.support import unordered


@pytest.fixture(scope="module", autouse=True)
def _unordered_rows_come_in_reverse() -> Iterator[None]:
    with unordered.reversed_rows():
        yield
