"""Every way in which lists find their rows."""

import pytest
from tests.support import listing, rows

from tripline.store.listing import engine

BOUNDS = {"walking": (0, 0), "both": (3, 0), "sorting": (1_000, 0), "short": (3, 1_000)}
"""Name -> up to how many rows are looked up and sorted, and up to how many a principal's list is short."""


@pytest.fixture(scope="module")
def tx():
    """A transaction over the fleet of `listing`, in files that fill no other."""
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        yield transaction


@pytest.fixture(params=[pytest.param(each, marks=[pytest.mark.deep] * (each == "both")) for each in BOUNDS])
def many(request, monkeypatch):
    monkeypatch.setattr(engine, "MANY", BOUNDS[request.param][0])
    monkeypatch.setattr(engine, "SHORT", BOUNDS[request.param][1])
    forget()
    yield
    forget()


def forget():
    for each in (engine._behind_first, engine._past_named, engine._past_short):
        each.cache_clear()
