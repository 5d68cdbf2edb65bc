"""The clock: only this module reads the system time. All code below the entry points gets the time as an argument."""

import time


def now_ms() -> int:
    """Epoch ms."""
    return time.time_ns() // 1_000_000
