"""Obstacles to ending silent trips, and their log lines; the trips themselves are in `test_bus_life.py`."""

import asyncio

import pytest
from tests.support.rest import RecordingSignals

from tripline.config import Ingest
from tripline.ports.outages import Outage
from tripline.services.bus import silence
from tripline.services.bus.silence import Silence


class DoneError(BaseException):
    """Ends the round, which nothing else does."""


class AwayStore:
    """A store that is away, and is asked again."""

    def __init__(self, trouble: Exception) -> None:
        self._troubles: list[BaseException] = [trouble, DoneError()]

    async def read(self, _work: object) -> None:
        """Nothing can be read."""
        raise self._troubles.pop(0)


@pytest.mark.parametrize(
    ("trouble", "level", "told"),
    [(Outage("The store cannot be used: away."), "warning", "error"), (ValueError("a bug"), "error", "exception")],
)
def test_trouble_with_silent_trips_names_them_and_not_the_bus(monkeypatch, logged, trouble, level, told):
    monkeypatch.setattr(silence, "LOOK_S", 0)
    round_ = Silence(store=AwayStore(trouble), settings=Ingest(), signals=RecordingSignals(), clock=lambda: 0)

    with pytest.raises(DoneError):
        asyncio.run(round_.run())

    (event,) = logged()
    assert (event["event"], event["part"], event["level"]) == ("trip.failed", "trips", level)
    assert str(trouble) in event[told]
