"""Fewer samples of a drive that has one a second."""

from collections.abc import Callable
from typing import Final

import numpy as np
from tests.support import dirty

from evaluation.made import Drive


def uneven(drive: Drive) -> list[Drive]:
    """Samples 1, 2 or 5 apart."""
    at = np.cumsum(np.random.default_rng(4).choice([1, 2, 5], drive["t"].size))
    return [dirty.rows_of(drive, at[at < drive["t"].size])]


def every(step: int) -> Callable[[Drive], list[Drive]]:
    """Every so many samples, from each of the first ones on."""
    return lambda drive: [dirty.rows_of(drive, slice(first, None, step)) for first in range(step)]


SAMPLINGS: Final[dict[str, Callable[[Drive], list[Drive]]]] = {
    "1 s": every(1),
    "2 s": every(2),
    "3 s": every(3),
    "4 s": every(4),
    "1, 2 or 5 s": uneven,
}
"""From a drive with a sample a second to one or several with fewer."""
