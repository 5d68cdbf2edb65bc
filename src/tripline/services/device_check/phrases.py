"""Sentences for a device's maker about messages, connections, trips and calls.

Not here: sentences about a message's keys (`wire/explanation/messages.py`).
"""

from typing import Final

from tripline.scoring import quality
from tripline.scoring.quality import Unit
from tripline.services.device_check.looks import CallState, Session, TripState
from tripline.services.ingest import traces

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
    traces.NOT_TRACED: "more messages come than are shown here; they are taken in all the same",
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
    "annulled": "the trip was contested as a whole, and rightly",
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


def standing(now: Session | None) -> str:
    """Describe the connection at the beginning."""
    if now is None:
        return "the device has never connected"
    return "connected" if now.connected else f"not connected; last time: {_ending(now)}"


def session(now: Session, before: Session | None) -> str:
    """Describe a change of the connection."""
    was_connected = before is not None and before.connected
    if now.connected:
        return f"connected again; {ENDINGS['taken_over']}" if was_connected else "connected"
    return f"{'' if was_connected else 'connected and '}disconnected, {_ending(now)}"


def _ending(now: Session) -> str:
    reason = now.reason or "lost"
    return f"{reason}: {ENDINGS.get(reason, 'see the log of the server')}"


def trip(now: TripState, before: TripState | None) -> str | None:
    """Describe a change of a trip; None: no change."""
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


def call(now: CallState) -> str:
    """Describe the state of a call."""
    code = "" if now.result_code is None else f", code {now.result_code}"
    return f"call {now.id} ({now.method}): {now.state.lower()}{code}"
