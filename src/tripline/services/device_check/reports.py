"""Reports on a watched device: each message with its explanation, and changes beside the messages.

Not here: reading the rows (`looks.py`), the sentences (`phrases.py`, `wire/explanation/messages.py`).
"""

import statistics
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from tripline.domain import samples
from tripline.services.device_check import phrases
from tripline.services.device_check.looks import Look, Traced, Watched
from tripline.services.ingest import traces
from tripline.wire.device import reasons as device_reasons
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.explanation import scoring as explanation_scoring
from tripline.wire.explanation.words import Finding, Sort
from tripline.wire.readings import Microtrip, Reading

MESSAGE: Final = "message"
CONNECTION: Final = "connection"
TRIP: Final = "trip"
CALL: Final = "call"
NOTE: Final = "note"
_JUDGED: Final = 5
"""Samples needed to judge their period, and a quarter of the samples considered: enough to tolerate a late one."""


class ReportLine(msgspec.Struct, frozen=True):
    """A reported event."""

    at_ms: int
    kind: str
    text: str
    topic: str = ""
    outcome: str = ""
    size: int = 0
    findings: Sequence[Finding] = ()

    @property
    def is_rejected(self) -> bool:
        """True if the message, or a part of it, could not be used."""
        return any(finding.sort is Sort.REJECTED for finding in self.findings)


class Listener:
    """Reports the changes between snapshots."""

    def __init__(self, watched: Watched, first: Look, *, max_items: int) -> None:
        self.look = first
        self._watched = watched
        self._max_items = max_items
        self._times: deque[int] = deque(maxlen=4 * _JUDGED)
        self._judged_slow = False

    def beginning(self, now_ms: int) -> list[ReportLine]:
        """Report the state before the first message."""
        session = self.look.session
        mounted = "" if self._watched.is_mapped else ", not mounted on a vehicle: trips are kept and not scored"
        told = [ReportLine(now_ms, NOTE, f"listening to the sensor of type {self._watched.sensor_type}{mounted}")]
        at_ms = now_ms if session is None else session.changed_ms
        told.append(ReportLine(at_ms, CONNECTION, phrases.standing(session)))
        return told

    def told(self, look: Look, now_ms: int) -> list[ReportLine]:
        """Report changes in order of time; the snapshot becomes the base of the next comparison."""
        before, self.look = self.look, look
        told = [
            *self._of_session(before, look),
            *(each for message in look.messages for each in self._of_message(message)),
            *_of_trips(before, look, now_ms),
            *_of_calls(before, look, now_ms),
        ]
        return sorted(told, key=lambda each: each.at_ms)

    @staticmethod
    def _of_session(before: Look, look: Look) -> Iterator[ReportLine]:
        now = look.session
        if now is not None and now != before.session:
            yield ReportLine(now.changed_ms, CONNECTION, phrases.session(now, before.session))

    def _of_message(self, message: Traced) -> Iterator[ReportLine]:
        outcome = message.outcome
        if outcome == traces.NOT_TRACED:
            yield ReportLine(message.received_ms, NOTE, phrases.OUTCOMES[outcome])
            return
        readings: Sequence[Reading] = ()
        if outcome in phrases.REFUSED:
            findings = [Finding(Sort.REJECTED, "", f"{outcome}: {phrases.REFUSED[outcome]}")]
        elif outcome in phrases.OUTCOMES or outcome in device_reasons.REASONS:
            explained = explanation_messages.explain(
                message.topic,
                message.body,
                received_ms=message.received_ms,
                sensor_type=self._watched.sensor_type,
                max_items=self._max_items,
            )
            findings, readings = explained.findings, explained.readings
        else:
            findings = [Finding(Sort.REJECTED, "", outcome)]
        text = phrases.OUTCOMES.get(outcome, f"rejected, {outcome}")
        yield ReportLine(
            message.received_ms, MESSAGE, text, message.topic, outcome, size=len(message.body), findings=findings
        )
        if outcome == traces.KEPT:
            yield from self._of_period(readings, message.received_ms)

    def _of_period(self, readings: Iterable[Reading], at_ms: int) -> Iterator[ReportLine]:
        """Report once if samples are too sparse for scoring, which no single message shows."""
        for reading in readings:
            if isinstance(reading, Microtrip):
                rows = explanation_scoring.samples_of(reading)
                self._times += [row[0] for row in rows if row[5] & samples.FLAG_OWN_TIME]
        if self._judged_slow or len(self._times) < _JUDGED:
            return
        period_s = statistics.median(later - earlier for earlier, later in pairwise(sorted(self._times))) / 1000
        if period_s >= explanation_scoring.SPARSE_S:
            self._judged_slow = True
            text = (
                f"samples come every {period_s:g} s; trips are scored when it is less than 5 s: send one every 1 to 2 s"
            )
            yield ReportLine(at_ms, NOTE, text)


def _of_trips(before: Look, look: Look, now_ms: int) -> Iterator[ReportLine]:
    known = {trip.no: trip for trip in before.trips}
    oldest = min(known, default=0)
    for trip in look.trips:
        text = phrases.trip(trip, known.get(trip.no)) if trip.no >= oldest else None
        if text is not None:
            yield ReportLine(now_ms, TRIP, text)


def _of_calls(before: Look, look: Look, now_ms: int) -> Iterator[ReportLine]:
    known = {call.no: call for call in before.calls}
    oldest = min(known, default=0)
    for call in look.calls:
        if call.no >= oldest and known.get(call.no) != call:
            yield ReportLine(now_ms, CALL, phrases.call(call))
