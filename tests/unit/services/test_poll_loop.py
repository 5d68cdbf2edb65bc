"""Workers that look now and then: how long they go on, and what trouble does to them."""

import asyncio

import pytest

from tripline import observe
from tripline.ports.outages import Outage
from tripline.services import poll_loop


class DoneError(BaseException):
    """Ends a worker, which nothing else does."""


def play(*what):
    """Have a worker do one after the other: say a number, or raise."""
    left = list(what)

    async def work():
        if not left:
            raise DoneError
        said = left.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    with pytest.raises(DoneError):
        asyncio.run(
            poll_loop.periodically(
                work, every_s=0, log=observe.logger("push"), failed="push.error", outage="push.outage"
            )
        )


def test_worker_that_did_something_works_again_without_a_rest(monkeypatch):
    rests = []

    async def rest(seconds):
        rests.append(seconds)

    monkeypatch.setattr(poll_loop.asyncio, "sleep", rest)
    play(3, 1, 0, 2, 0)

    assert rests == [0, 0]


def test_outage_and_bug_are_told_apart_and_end_no_worker(logged):
    play(Outage("away"), RuntimeError("broken"), 0)

    said = [(line["event"], line["level"], "exception" in line) for line in logged()]
    assert said == [("push.outage", "warning", False), ("push.error", "error", True)]
