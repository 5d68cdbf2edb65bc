"""Signals inside one process: what is theirs alone; the rest is in `tests/contract/test_signals.py`."""

import asyncio

from tripline.adapters.signals.local import LocalSignals


def test_hint_without_listener_is_lost_quietly():
    async def heard() -> None:
        LocalSignals().notify("nobody", "x")
        await asyncio.sleep(0)

    assert asyncio.run(heard()) is None
