"""The clock."""

from typing import Protocol


class Clock(Protocol):
    """Reads the time; only `clock.py` and tests have one."""

    def __call__(self) -> int:
        """Now, epoch ms."""
