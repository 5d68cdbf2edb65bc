"""Signals inside one process."""

import asyncio

from tripline.adapters.signals_local import LocalSignals


def test_hint_reaches_every_listener_of_its_subject_and_no_other():
    async def heard() -> list[tuple[str, str]]:
        signals, heard = LocalSignals(), []
        signals.subscribe("a", lambda detail: heard.append(("first", detail)))
        signals.subscribe("a", lambda detail: heard.append(("second", detail)))
        signals.subscribe("b", lambda detail: heard.append(("other", detail)))
        signals.notify("a", "x")
        await asyncio.sleep(0)
        return heard

    assert asyncio.run(heard()) == [("first", "x"), ("second", "x")]


def test_hint_from_another_thread_is_heard_on_the_loop():
    async def heard() -> str:
        signals, heard = LocalSignals(), asyncio.get_running_loop().create_future()
        signals.subscribe("a", heard.set_result)
        await asyncio.to_thread(signals.notify, "a", "from afar")
        return await heard

    assert asyncio.run(heard()) == "from afar"


def test_listener_that_fails_costs_the_others_nothing():
    async def heard() -> list[str]:
        signals, heard = LocalSignals(), []
        signals.subscribe("a", int)
        signals.subscribe("a", heard.append)
        signals.notify("a", "x")
        await asyncio.sleep(0)
        return heard

    assert asyncio.run(heard()) == ["x"]


def test_hint_without_listener_is_lost_quietly():
    async def heard() -> None:
        LocalSignals().notify("nobody", "x")
        await asyncio.sleep(0)

    assert asyncio.run(heard()) is None
