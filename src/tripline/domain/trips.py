"""The life of a trip: its states, its times, the messages that belong to it, and whether it is scored.

A sensor has at most one open trip. Microtrips begin and extend it; a trip message, silence, a later trip or a new
mounting of the sensor ends it (spec/device-messages 4.2 T5, 4.4 I1-I6). Late samples extend ended trips, which stay
ended. The bus consumer uses the same states and decisions.

A message belongs to a trip by number and time, not by order of arrival: each function chooses among the sensor's known
trips, in the order of their row numbers; None: none of them. A missing number is a number of its own for samples, and
fits any for trip messages and events.

Not here: the caller (`services/ingest/placement.py`), trips of customers' messages, whose `tripId` decides
(`services/bus/placement.py`), rows (`store/trips/batch_rows.py`), the rules of the score that need the
samples (`scoring/policy.py`).
"""

import hashlib
from collections.abc import Sequence
from enum import Enum, StrEnum, auto
from operator import attrgetter
from typing import Final, NamedTuple

from tripline.domain.ids import RowNo, TripId, UserId, VehicleId


class State(StrEnum):
    """State of a trip."""

    OPEN = "OPEN"
    """Microtrips may join it."""
    LAPSED = "LAPSED"
    """Ended without a trip message; a late one may still complete it."""
    COMPLETE = "COMPLETE"
    """Ended by its trip message."""


class Cause(Enum):
    """An event that moves a trip from state to state."""

    SAMPLE = auto()
    """A microtrip that belongs to no open trip."""
    MESSAGE = auto()
    """Its trip message."""
    GAP = auto()
    """A later trip of the sensor began."""
    LATE = auto()
    """A microtrip that belongs to no trip and is older than the sensor's open one."""
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
    (None, Cause.LATE): State.LAPSED,
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

    __slots__ = ("closed_ms", "device_type", "end_said", "first_ms", "id", "is_bare", "last_ms", "no", "parking",
                 "start_said", "state", "tid", "until_ms", "user_id", "vehicle_id")  # fmt: skip

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
        until_ms: int | None = None,
        is_bare: bool = False,
        start_said: bool = False,
        end_said: bool = False,
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
        """Start: the earliest sample time, or what its trip message says."""
        self.last_ms = last_ms
        """End: the latest sample time, or what its trip message says."""
        self.closed_ms = closed_ms
        self.until_ms = until_ms
        """Samples later than this are of another trip; None: only the gap decides."""
        self.is_bare = is_bare
        """True if it has a trip message and no sample yet."""
        self.start_said = start_said
        """True if its trip message says its start: no sample changes it. Likewise `end_said`."""
        self.end_said = end_said

    @property
    def is_settled(self) -> bool:
        """True if its trip message came."""
        return self.state is State.COMPLETE

    def grow(self, first_ms: int, last_ms: int) -> None:
        """Add samples from `first_ms` to `last_ms`. A message without times has had a provisional start and end."""
        if not self.start_said:
            self.first_ms = first_ms if self.is_bare else min(self.first_ms, first_ms)
        if not self.end_said:
            self.last_ms = last_ms if self.is_bare else max(self.last_ms, last_ms)
        self.is_bare = False


def move(state: State | None, cause: Cause) -> State:
    """The state that follows. A missing entry of `NEXT` is a bug of the caller: `KeyError`."""
    return NEXT[state, cause]


def why_not_scored(device_type: str, vehicle_id: VehicleId | None, *, parking: bool) -> str | None:
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


class SaidTimes(NamedTuple):
    """Start and end that a trip message says; None: it does not."""

    start_ms: int | None
    end_ms: int | None


def said_times(key: str) -> SaidTimes:
    """The times in the text of a trip message's key."""
    if key.count(":") != 2:
        return SaidTimes(None, None)
    _, start, end = key.split(":")
    return SaidTimes(int(start) if start else None, int(end) if end else None)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


MARGIN_MS: Final = 60_000
"""Samples this long behind the end that a trip message states still belong to its trip (I4)."""
_BLACK_BOX: Final = "BLACKBOX"
_NUMBER: Final = attrgetter("no")
_START: Final = attrgetter("first_ms")


class Told(NamedTuple):
    """Number, kind and time of a microtrip or trip message; both times are equal if it says only one."""

    tid: int | None
    device_type: str
    parking: bool
    first_ms: int
    last_ms: int


def of_sample(known: Sequence[LiveTrip], sample: Told, gap_ms: float) -> LiveTrip | None:
    """The trip around the microtrip's time, else the nearest within the gap; of one before and one behind it, the one
    with the smaller row number (I1)."""
    before = after = None
    for trip in known:
        if trip.until_ms is not None and sample.first_ms > trip.until_ms:
            continue
        if trip.first_ms <= sample.last_ms and sample.first_ms <= trip.last_ms:
            if _is_of(trip, sample) or (trip.is_bare and is_about(trip, sample.tid)):
                return trip
        elif not _is_of(trip, sample):
            continue
        elif trip.last_ms < sample.first_ms:
            is_near = sample.first_ms - trip.last_ms <= gap_ms
            # A drive whose message came before its samples does not take in the parking behind it.
            if is_near and _is_of_kind(trip, sample) and (before is None or trip.last_ms > before.last_ms):
                before = trip
        elif trip.first_ms - sample.last_ms <= gap_ms and (after is None or trip.first_ms < after.first_ms):
            after = trip
    if sample.device_type == _BLACK_BOX:
        if before is not None and _is_parted(known, sample, before.last_ms, sample.first_ms):
            before = None
        if after is not None and _is_parted(known, sample, sample.last_ms, after.first_ms):
            after = None
    if before is None or after is None:
        return before or after
    return min(before, after, key=_NUMBER)


def of_message(known: Sequence[LiveTrip], told: Told, gap_ms: float) -> LiveTrip | None:
    """The trip without a message that this one completes: one in its time, else the last that ended within the gap
    before it, or one of its kind that began within the margin behind it. For a black box, preferably one of the same
    kind, because a drive and the parking after it may share their number (I2, I6); then one with the same number."""
    best, best_rank = None, None
    for trip in known:
        if trip.is_settled or not is_about(trip, told.tid):
            continue
        overlaps = trip.first_ms <= told.last_ms and told.first_ms <= trip.last_ms
        after_ms = told.first_ms - trip.last_ms
        is_of_kind = _is_of_kind(trip, told)
        is_behind = is_of_kind and 0 < trip.first_ms - told.last_ms <= MARGIN_MS
        if not (overlaps or 0 < after_ms <= gap_ms or is_behind):
            continue
        rank = (is_of_kind, overlaps, trip.tid == told.tid, trip.last_ms, trip.no)
        if best_rank is None or rank > best_rank:
            best, best_rank = trip, rank
    return best


def first_piece(known: Sequence[LiveTrip], last: LiveTrip, start_ms: int) -> LiveTrip:
    """The first piece of a drive that breaks of more than the gap cut into trips: the earliest without a message since
    `start_ms`, the start that the message of the `last` piece states (I2)."""
    pieces = (
        trip
        for trip in known
        if not trip.is_settled and _is_of(trip, last) and start_ms <= trip.last_ms and trip.first_ms < last.first_ms
    )
    return min(pieces, key=_START, default=last)


def of_event(known: Sequence[LiveTrip], tid: int | None, event_ms: int, gap_ms: float) -> LiveTrip | None:
    """The trip around the event's time, else the nearest within the gap; preferably one with the same number."""
    best, best_rank = None, None
    for trip in known:
        if not is_about(trip, tid) or (trip.until_ms is not None and event_ms > trip.until_ms):
            continue
        distance_ms = max(trip.first_ms - event_ms, event_ms - trip.last_ms, 0)
        if distance_ms <= gap_ms:
            rank = (distance_ms == 0, trip.tid == tid, -distance_ms, -trip.no)
            if best_rank is None or rank > best_rank:
                best, best_rank = trip, rank
    return best


def is_about(trip: LiveTrip, tid: int | None) -> bool:
    """Return whether a trip message or event with this number may be about the trip (I2)."""
    return tid is None or trip.tid is None or tid == trip.tid


def _is_of(trip: LiveTrip, part: Told | LiveTrip) -> bool:
    """Same number, and for a black box no change between driving and parking (I6). A trip without samples has not
    shown its kind."""
    return trip.tid == part.tid and (trip.is_bare or _is_of_kind(trip, part))


def _is_of_kind(trip: LiveTrip, part: Told | LiveTrip) -> bool:
    """For a black box, both drive or both are parked (I6)."""
    return part.device_type != _BLACK_BOX or trip.parking == part.parking


def _is_parted(known: Sequence[LiveTrip], sample: Told, from_ms: int, to_ms: int) -> bool:
    """True if the black box drove while this is parking, or was parked while this is driving, in between (I6)."""
    return any(
        trip.tid == sample.tid
        and trip.parking != sample.parking
        and not trip.is_bare
        and from_ms <= trip.last_ms
        and trip.first_ms <= to_ms
        for trip in known
    )
