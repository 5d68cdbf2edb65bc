"""The clock."""

from typing import Protocol


class Clock(Protocol):
    """Reads the time; only the rim holds one."""

    def __call__(self) -> int:
        """Now, epoch ms."""
