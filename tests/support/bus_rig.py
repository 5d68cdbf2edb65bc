"""The bus consumer's batches over a fresh store with one company, vehicle, driver and sensor (`ingest_rig`)."""

import json
import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.ingest_rig import NOW, Rig
from tripline.domain.ids import CompanyId
from tripline.scoring.rules import Rules
from tripline.services.bus.batches import BusBatches
from tripline.services.bus.messages import Message, Outcome
from tripline.services.device_frames import Frame
from tripline.services.ingest.batch import Begin
from tripline.services.ingest.pipeline import Taken
from tripline.services.scores.scorer import Scorer
from tripline.wire.bus.envelopes import EVENTS, MICROTRIPS, TRIPS

ZONE = zoneinfo.ZoneInfo("Asia/Seoul")
LATER = NOW + 1_000_000
"""When the messages of most tests are received: after the drive."""
_KINDS: Any = {MICROTRIPS: "microtrip", TRIPS: "trip", EVENTS: "event"}
_TOPICS = {kind: topic for topic, kind in _KINDS.items()}


class _Devices:
    """The rig's pipeline, of which there is only one on a store of our own."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    async def take_in(self, frames: Sequence[Frame], *, begin: Begin) -> Taken:
        return await self._rig.pipeline.take_in(frames, now_ms=self._rig.now_ms, begin=begin)


def consumer_over(rig: Rig, *, grace_s: float = 0.0) -> BusBatches:
    """A bus consumer's batches over the store and the pipeline of the rig."""
    return BusBatches(
        store=rig.store,
        ids=rig.ids,
        signals=rig.signals,
        zone=ZONE,
        grace_s=grace_s,
        max_items=1000,
        devices=_Devices(rig),
        log=rig.rejected,
        positions=rig.positions,
    )


class BusRig(Rig):
    """A bus consumer without a bus; use it as a context."""

    def start(self) -> None:
        super().start()
        self.now_ms = max(self.now_ms, LATER)
        self.batches = self.bus_consumer()

    def bus_consumer(self, *, grace_s: float = 0.0) -> BusBatches:
        """Another one over the same store and pipeline."""
        return consumer_over(self, grace_s=grace_s)

    def deliver(self, *messages: Any, topic: str | None = None, company: str | None = None) -> Outcome:
        """Take messages in as one batch, each from the topic of its `msgType` when none is given."""
        return self.take([message(each, topic=topic, company=company) for each in messages])

    def take(self, messages: list[Message]) -> Outcome:
        outcome: Outcome = self.run(self.batches.take_in(messages, now_ms=self.now_ms))
        return outcome

    def score(self) -> None:
        """Score what is due."""

        async def work() -> None:
            scorer = Scorer(
                store=self.store,
                rules=Rules(),
                ids=self.ids,
                signals=self.signals,
                clock=lambda: self.now_ms,
                zone=ZONE,
            )
            while await scorer.score_due():
                pass

        self.run(work())


def message(
    content: Any, *, topic: str | None = None, company: str | None = None, offset: int | None = None
) -> Message:
    """A message as the bus would bring it."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    if topic is None:
        kind = content.get("msgType") if isinstance(content, dict) else None
        topic = _TOPICS.get(kind.lower() if isinstance(kind, str) else "", MICROTRIPS)
    return Message(topic, body, _KINDS.get(topic), None if company is None else CompanyId(company), 0, offset)


def reasons(outcome: Outcome) -> list[str]:
    """Why messages were refused."""
    return [each.rejected.reason for each in outcome.refused]


def fresh(folder: Path) -> BusRig:
    rig = BusRig.fresh(folder)
    assert isinstance(rig, BusRig)
    return rig
