"""The register of checks: which function checks which rows of the document."""

from collections.abc import Callable, Iterable

from tests.support.spec.world import World

Check = Callable[[World], None]

CHECKS: dict[str, Check] = {}
"""The check of each row, by the row's key."""
LATER: dict[str, str] = {}
"""Rows whose behaviour is not there yet, and why; their checks hold what the program says today."""


def row(*keys: str, later: str = "") -> Callable[[Check], Check]:
    """Register the check of these rows."""

    def registered(check: Check) -> Check:
        for key in keys:
            add(key, check)
            if later:
                LATER[key] = later
        return check

    return registered


def add(key: str, check: Check) -> None:
    """Register the check of one row."""
    assert key not in CHECKS, f"two checks for {key}"
    CHECKS[key] = check


def rows(heading: str, names: Iterable[str], check: Callable[[World, str], None]) -> None:
    """Register one check for many rows of a heading; it gets the row's name."""
    for name in names:
        add(f"{heading}: {name}", lambda world, name=name: check(world, name.partition(" #")[0]))  # type: ignore[misc]
