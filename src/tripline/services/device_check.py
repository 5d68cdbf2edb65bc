"""Reports on a watched device: each message with its explanation, and changes beside the messages."""

import statistics
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from tripline.domain import samples
from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.domain.refusals import NotFound
from tripline.scoring import quality
from tripline.scoring.quality import Unit
from tripline.services.ingest import traces
from tripline.store.devices import watches
from tripline.store.devices.watches import CallState, Session, Traced, TripState
from tripline.store.fleet import sensors
from tripline.store.ingest import tracks
from tripline.store.transactions import ReadTx
from tripline.wire.device import reasons as device_reasons
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.explanation import scoring as explanation_scoring
from tripline.wire.explanation.words import Finding, Sort
from tripline.wire.readings import Microtrip, Reading

__all__ = ["CallState", "Look", "Session", "Traced", "TripState", "Watched", "begin", "find", "look"]

N = TypeVar("N", TripState, CallState)
SCOPE: Final = Scope.everything("explain what a device sends to who runs the installation")
AT_ONCE: Final = 200
"""Most messages in one snapshot; the rest follow in the next."""
_NEWEST: Final = 5
"""Number of trips and calls to follow."""


class Watched(msgspec.Struct, frozen=True):
    """The watched sensor."""

    sensor_id: SensorId
    sensor_type: str
    is_mapped: bool


class Look(msgspec.Struct, frozen=True):
    """A snapshot at one instant."""

    messages: Sequence[Traced]
    session: Session | None
    trips: Sequence[TripState]
    calls: Sequence[CallState]
    last_no: int
    """Row number of the last traced message."""


def find(tx: ReadTx, token: str, *, now_ms: int) -> Watched:
    """Find the sensor with this access token. Raises `NotFound`, without the token in its text."""
    sensor_id = sensors.holder_of(tx, token)
    known = None if sensor_id is None else tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms)
    if sensor_id is None or known is None:
        raise NotFound("token")
    return Watched(sensor_id, known.sensor_type, known.vehicle_id is not None)


def still_there(tx: ReadTx, sensor_id: SensorId, *, now_ms: int) -> None:
    """Raise `NotFound` if the sensor was deleted."""
    if tracks.load(tx, SCOPE, sensor_id, since_ms=now_ms) is None:
        raise NotFound("sensor_deleted")


def begin(tx: ReadTx, watched: Watched) -> Look:
    """Take the snapshot before the first report."""
    return _look(tx, watched, (), watches.newest(tx, SCOPE, watched.sensor_id))


def look(tx: ReadTx, watched: Watched, before: Look) -> Look:
    """Take a snapshot with the messages since the previous one."""
    messages = watches.since(tx, SCOPE, watched.sensor_id, after=before.last_no, limit=AT_ONCE)
    return _look(tx, watched, messages, messages[-1].no if messages else before.last_no)


def _look(tx: ReadTx, watched: Watched, messages: Sequence[Traced], last_no: int) -> Look:
    sensor_id = watched.sensor_id
    return Look(
        messages,
        watches.session(tx, SCOPE, sensor_id),
        watches.trips(tx, SCOPE, sensor_id, limit=_NEWEST),
        watches.calls(tx, SCOPE, sensor_id, limit=_NEWEST),
        last_no,
    )


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
        told.append(ReportLine(at_ms, CONNECTION, _standing_line(session)))
        return told

    def told(self, look: Look, now_ms: int) -> list[ReportLine]:
        """Report changes in order of time; the snapshot becomes the base of the next comparison."""
        before, self.look = self.look, look
        told = [
            *self._of_session(before, look),
            *(each for message in look.messages for each in self._of_message(message)),
            *_changes(TRIP, before.trips, look.trips, _trip_line, now_ms),
            *_changes(CALL, before.calls, look.calls, _call_line, now_ms),
        ]
        return sorted(told, key=lambda each: each.at_ms)

    @staticmethod
    def _of_session(before: Look, look: Look) -> Iterator[ReportLine]:
        now = look.session
        if now is not None and now != before.session:
            yield ReportLine(now.changed_ms, CONNECTION, _session_line(now, before.session))

    def _of_message(self, message: Traced) -> Iterator[ReportLine]:
        outcome = message.outcome
        if outcome == traces.NOT_TRACED:
            yield ReportLine(message.received_ms, NOTE, OUTCOMES[outcome])
            return
        readings: Sequence[Reading] = ()
        if outcome in REFUSED:
            findings = [Finding(Sort.REJECTED, "", f"{outcome}: {REFUSED[outcome]}")]
        elif outcome in OUTCOMES or outcome in device_reasons.REASONS:
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
        text = OUTCOMES.get(outcome, f"rejected, {outcome}")
        yield ReportLine(
            message.received_ms, MESSAGE, text, message.topic, outcome, size=len(message.body), findings=findings
        )
        if outcome == traces.KEPT:
            yield from self._of_period(readings, message.received_ms)

    def _of_period(self, readings: Iterable[Reading], at_ms: int) -> Iterator[ReportLine]:
        """Report once if samples are too sparse for scoring, which no single message shows."""
        for reading in readings:
            if isinstance(reading, Microtrip):
                rows = samples.RECORD.iter_unpack(reading.samples)
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


def _changes(
    kind: str, before: Sequence[N], now: Sequence[N], line: Callable[[N, N | None], str | None], now_ms: int
) -> Iterator[ReportLine]:
    """A line for each change among the newest trips or calls, unless it has none."""
    known = {each.no: each for each in before}
    oldest = min(known, default=0)
    for each in now:
        text = line(each, known.get(each.no)) if each.no >= oldest else None
        if text is not None:
            yield ReportLine(now_ms, kind, text)


REFUSED: Final = {
    "too_large": "larger than this server takes (256 KiB, unless its operator set another limit), so its beginning"
    " alone was kept: send fewer samples in one message",
    "unknown_call": "no call of this device has this Request-ID: use the one of the request's topic, character by"
    " character",
    "unknown_sensor": "the sensor was removed",
    "internal": "an error of the server's; its operator finds it in the log",
}
"""Reason of a refused message -> its meaning and remedy."""
OUTCOMES: Final = {
    traces.KEPT: "kept",
    traces.REDELIVERED: "sent before: acknowledged, not kept again",
    traces.EMPTY: "acknowledged, nothing to keep",
    traces.ANSWER: "answer to a call",
    traces.NOT_TRACED: "more messages arrive than are shown here; they are processed anyway",
}
ENDINGS: Final = {
    "disconnected": "the device said goodbye (DISCONNECT)",
    "lost": "the connection broke without DISCONNECT: power, network, or the device closed it",
    "silent": "nothing came for one and a half times the keep-alive: send PINGREQ in time",
    "taken_over": "another connection came with the same token: two devices share it, or the device did not close"
    " its old connection",
    "protocol_error": "the device sent what MQTT 3.1.1 does not allow",
    "refused": "the CONNECT was refused",
    "flooded": "the device sent more without waiting for acknowledgements than is taken",
    "slow_reader": "the device did not read the server's messages",
    "credential_ended": "the token is not valid any longer: the sensor was deleted, or has a new token",
    "store_away": "the server could not keep anything; connect again in some seconds",
    "server_stopping": "the server was stopped; connect again",
    "server_lost": "the server was gone; connect again",
    "error": "an error of the server's; its operator finds it in the log",
}
"""Reason of a session's end -> its meaning for the device."""
NOT_SCORED: Final = {
    "device_type": "trips of this type of device are never scored",
    "unmapped": "the sensor was not mounted on a vehicle",
    "parking": "the vehicle was parked (`try` 2)",
    "clock": "the device's clock is wrong: times lie before 2010, 1,024 weeks back or ahead of now, or jump to and fro",
    "no_samples": "fewer than two samples with a time of their own; those closer together than"
    " `scoring.instant_ms` count as one: send `clt` with each sample of a message that holds several",
    "no_position": "fewer than two samples with a time of their own have a valid position; those closer together than"
    " `scoring.instant_ms` count as one",
    "sparse": "samples are 5 s apart or more: send one every 1 to 2 s",
    "speed_implausible": "its speeds do not fit its positions: send `sp` in km/h",
    "too_short": "the trip is shorter than 3,000 m",
    "annulled": "the trip was disputed as a whole, and rightly",
    "duplicate": "another sensor on the vehicle recorded more of the same drive",
}
"""Reason of a missing score -> explanation (`docs/scoring.md`)."""
UNITS: Final = {
    Unit.MPH: "they look like miles per hour",
    Unit.KNOTS: "they look like knots",
    Unit.METRES_PER_SECOND: "they look like metres per second",
    Unit.TENTHS: "they look like tenths of km/h",
    Unit.CENTIMETRES_PER_SECOND: "they look like centimetres per second",
    Unit.MILLIMETRES_PER_SECOND: "they look like millimetres per second",
    Unit.NOTHING: "they are 0 while it drives",
}
"""Likely unit of speeds that do not match their positions."""


def _standing_line(now: Session | None) -> str:
    if now is None:
        return "the device has never connected"
    return "connected" if now.connected else f"not connected; last time: {_ending(now)}"


def _session_line(now: Session, before: Session | None) -> str:
    was_connected = before is not None and before.connected
    if now.connected:
        return f"connected again; {ENDINGS['taken_over']}" if was_connected else "connected"
    return f"{'' if was_connected else 'connected and '}disconnected, {_ending(now)}"


def _ending(now: Session) -> str:
    reason = now.reason or "lost"
    return f"{reason}: {ENDINGS.get(reason, 'see the log of the server')}"


def _trip_line(now: TripState, before: TripState | None) -> str | None:
    name = f"trip {now.id}" if now.tid is None else f"trip {now.id} (number {now.tid})"
    if before is None or before.state != now.state:
        if now.state == "OPEN":
            return f"{name} opened"
        ended = "ended by its trip message" if now.state == "COMPLETE" else "ended without a trip message"
        return f"{name} {ended}{'' if now.not_scored is None else f', {_unscored(now)}'}"
    if now.score is not None and now.score != before.score:
        return f"{name} scored {now.score:.1f}"
    return f"{name}: {_unscored(now)}" if now.not_scored not in (None, before.not_scored) else None


def _unscored(now: TripState) -> str:
    words = f"not scored: {NOT_SCORED.get(str(now.not_scored), now.not_scored)}"
    ratio = None if now.quality is None else quality.read(now.quality).speed_ratio
    unit = None if ratio is None or now.not_scored != "speed_implausible" else quality.likely(ratio)
    return words if unit is None else f"{words}; {UNITS[unit]}"


def _call_line(now: CallState, before: CallState | None) -> str | None:
    if now == before:
        return None
    code = "" if now.result_code is None else f", code {now.result_code}"
    return f"call {now.id} ({now.method}): {now.state.lower()}{code}"
