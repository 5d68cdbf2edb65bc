"""The life of a trip: its states, the effects of microtrips and trip messages, its times, and whether it is scored.

A sensor has at most one open trip. Microtrips open and extend it; a trip message, silence, another trip number or a new
mounting of the sensor ends it (spec/device-messages 4.2 T5, 4.4 I1-I6). The bus consumer uses the same states and
decisions.

Not here: the caller (`services/ingest/placement.py`), rows (`store/trips/batch_rows.py`), the rules of the score that
need the samples (`scoring/policy.py`).
"""

import hashlib
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple

from tripline.domain.ids import RowNo, TripId, UserId, VehicleId


class State(StrEnum):
    """State of a trip."""

    OPEN = "OPEN"
    """Microtrips may join it."""
    LAPSED = "LAPSED"
    """Ended without a trip message; for a short while a late one may still complete it."""
    COMPLETE = "COMPLETE"
    """Ended by its trip message."""


class Cause(Enum):
    """An event that moves a trip from state to state."""

    SAMPLE = auto()
    """A microtrip that belongs to no open trip."""
    MESSAGE = auto()
    """Its trip message."""
    GAP = auto()
    """A microtrip of the sensor that does not belong to it."""
    SILENCE = auto()
    """No microtrip received for the length of the gap."""
    REMOUNTED = auto()
    """The sensor was mapped to another vehicle, or to none."""
    REMOVED = auto()
    """The sensor was deleted."""
    RESUMED = auto()
    """A microtrip that names it: over the bus the customer's id identifies the trip."""


NEXT: Final[dict[tuple[State | None, Cause], State]] = {
    (None, Cause.SAMPLE): State.OPEN,
    (None, Cause.MESSAGE): State.COMPLETE,
    (State.OPEN, Cause.MESSAGE): State.COMPLETE,
    (State.OPEN, Cause.GAP): State.LAPSED,
    (State.OPEN, Cause.SILENCE): State.LAPSED,
    (State.OPEN, Cause.REMOUNTED): State.LAPSED,
    (State.OPEN, Cause.REMOVED): State.LAPSED,
    (State.LAPSED, Cause.MESSAGE): State.COMPLETE,
    (State.LAPSED, Cause.RESUMED): State.OPEN,
}
"""All transitions; None is the state before the trip exists."""

SCORED_DEVICE_TYPES: Final = frozenset({"GPS", "OBD", "BLACKBOX"})
MICROTRIP: Final = "MICROTRIP"
TRIP: Final = "TRIP"
"""Values of `lastTripMsgType` of vehicles and sensors."""


class LiveTrip:
    """The fields of a trip that placing needs. Instants are epoch ms; the object changes as samples join."""

    __slots__ = ("closed_ms", "device_type", "first_ms", "id", "last_ms", "no", "parking", "state", "tid", "user_id",
                 "vehicle_id")  # fmt: skip

    def __init__(
        self,
        no: RowNo,
        id: TripId,
        *,
        state: State,
        tid: int | None,
        device_type: str,
        parking: bool,
        vehicle_id: VehicleId | None,
        user_id: UserId | None,
        first_ms: int,
        last_ms: int,
        closed_ms: int | None = None,
    ) -> None:
        self.no = no
        self.id = id
        self.state = state
        self.tid = tid
        self.device_type = device_type
        self.parking = parking
        self.vehicle_id = vehicle_id
        self.user_id = user_id
        self.first_ms = first_ms
        """Earliest sample time."""
        self.last_ms = last_ms
        """Latest sample time."""
        self.closed_ms = closed_ms


def move(state: State | None, cause: Cause) -> State:
    """The state that follows. A missing entry of `NEXT` is a bug of the caller: `KeyError`."""
    return NEXT[state, cause]


def belongs(trip: LiveTrip, tid: int | None, device_type: str, parking: bool, sample_ms: int, gap_ms: float) -> bool:
    """Return whether a microtrip is part of the open trip: same or missing number, no silence longer than the gap (I1),
    and for a black box no change between driving and parking (I6). A microtrip is never too late: only the gap after
    the newest sample counts."""
    return (
        (tid == trip.tid or tid is None)
        and sample_ms - trip.last_ms <= gap_ms
        and (parking == trip.parking or device_type != "BLACKBOX")  # `is_of_kind`, inlined: this runs for every sample
    )


def is_of_kind(trip: LiveTrip, device_type: str, parking: bool) -> bool:
    """Return whether trip and message agree on driving or parking, which only a black box requires (I6)."""
    return parking == trip.parking or device_type != "BLACKBOX"


def is_about(trip: LiveTrip, tid: int | None) -> bool:
    """Return whether a trip message or event with this number is about the trip; a missing one on either side fits
    (I2)."""
    return tid is None or trip.tid is None or tid == trip.tid


def may_complete(trip: LiveTrip, tid: int | None, *, now_ms: int, reopen_ms: float) -> bool:
    """Return whether a trip message completes this trip, which ended without one: same number, ended less than
    `reopen_ms` ago by the platform's clock (I2)."""
    return (
        trip.state is State.LAPSED
        and is_about(trip, tid)
        and trip.closed_ms is not None
        and now_ms - trip.closed_ms < reopen_ms
    )


def start_ms(*, said_ms: int | None, first_ms: int | None, header_ms: int | None, received_ms: int) -> int:
    """Start of a trip: `stt`, else its first sample, else the trip message's header time (T5), else its receipt."""
    return next(ms for ms in (said_ms, first_ms, header_ms, received_ms) if ms is not None)


def end_ms(*, said_ms: int | None, last_ms: int | None, header_ms: int | None, received_ms: int) -> int:
    """End of a trip: `edt` or the message's `clt`, else its last sample, else the header time (T5), else receipt.

    `wire/device/items.py` takes `clt` for a missing `edt`.
    """
    return next(ms for ms in (said_ms, last_ms, header_ms, received_ms) if ms is not None)


def why_not_scored(*, device_type: str, vehicle_id: VehicleId | None, parking: bool) -> str | None:
    """The reason why a trip is not given to the scorer, in the order of spec/scoring 1; None: it is."""
    if device_type not in SCORED_DEVICE_TYPES:
        return "device_type"
    if vehicle_id is None:
        return "unmapped"
    return "parking" if parking else None


class MessageKey(NamedTuple):
    """The key that all deliveries of one trip message share."""

    text: str
    for_ever: bool
    """False: a later message may have the same key."""


def message_key(
    *, tid: int | None, start_ms: int | None, end_ms: int | None, ts: int | None, payload: bytes
) -> MessageKey:
    """The key of a trip message."""
    if start_ms is None and end_ms is None:
        content = hashlib.blake2b(payload, digest_size=8).hexdigest()
        return MessageKey(f"{_text(tid)}={_text(ts)}={content}", for_ever=False)
    return MessageKey(f"{_text(tid)}:{_text(start_ms)}:{_text(end_ms)}", for_ever=True)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
