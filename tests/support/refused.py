"""Refusals in tests: the English sentence that a caller is told."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tripline.domain.refusals import Refusal
from tripline.language.catalogue import sentence


@contextmanager
def refused(expected: type[Refusal], *, match: str) -> Iterator[None]:
    """As `pytest.raises`: the block is refused so, with a sentence in which `match` is found."""
    with pytest.raises(expected) as caught:
        yield
    assert re.search(match, sentence(caught.value)), sentence(caught.value)
