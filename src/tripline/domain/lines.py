"""A line: the telephone line of a device on a carrier's network, its states, and what moves them.

Follows spec/interface (Sensor, nwStatus values; States, carrier network status) and spec/gaps G10. The picture
of the moves in `docs/carrier.md` is made from `NEXT`.

Not here: what the carrier's actions change besides the state (`services/lines/effects.py`), what they may say
(`line_actions.py`), rows (`store/lines/lines.py`).
"""

from enum import Enum, StrEnum
from itertools import product
from typing import ClassVar, Final

import msgspec

from tripline.domain.ids import RowNo, SensorId, ms_of_no
from tripline.domain.refusals import BadParameter, Kind, Refusal, Word

WORDS_MAX: Final = 200
"""Characters of a carrier's reason that are passed on."""


class NwStatus(StrEnum):
    """Published states of a line (`nwStatus`)."""

    NOT_OPENED = "00"
    NORMAL = "01"
    USE_SUSPENDED = "02"
    DORMANT = "03"
    TERMINATION_SUSPENDED = "04"
    ENDED_BY_AUTHORITY = "05"
    ENDED = "06"
    FAULT = "99"
    """The published value for an error of unknown cause; no action leads here."""


class LineEvent(Word, Enum):
    """What moves a line from state to state, or needs a state in which it may happen."""

    OPEN = "opening"
    SUSPEND_USE = "suspension of use"
    SUSPEND_DORMANT = "dormant suspension"
    SUSPEND_TO_END = "suspension for termination"
    UNPAUSE = "unpause"
    END = "ordinary termination"
    END_BY_AUTHORITY = "termination by authority"
    LEAVE = "leaving its device"
    """The line goes to another device or owner; this is what the record it leaves shows."""
    KEEP = "change of device, owner, number, SIM or plan"
    """What happens to a line in use without moving it."""


_SUSPENDED: Final = (NwStatus.USE_SUSPENDED, NwStatus.DORMANT, NwStatus.TERMINATION_SUSPENDED)
_IN_USE: Final = (NwStatus.NORMAL, *_SUSPENDED)
_ENDING: Final = {LineEvent.END: NwStatus.ENDED, LineEvent.END_BY_AUTHORITY: NwStatus.ENDED_BY_AUTHORITY}

NEXT: Final[dict[tuple[NwStatus, LineEvent], NwStatus]] = {
    **{(state, LineEvent.OPEN): NwStatus.NORMAL for state in NwStatus},
    (NwStatus.NORMAL, LineEvent.SUSPEND_USE): NwStatus.USE_SUSPENDED,
    (NwStatus.NORMAL, LineEvent.SUSPEND_DORMANT): NwStatus.DORMANT,
    (NwStatus.NORMAL, LineEvent.SUSPEND_TO_END): NwStatus.TERMINATION_SUSPENDED,
    (NwStatus.USE_SUSPENDED, LineEvent.UNPAUSE): NwStatus.NORMAL,
    **{(state, event): end for state, (event, end) in product((*_IN_USE, NwStatus.FAULT), _ENDING.items())},
    **{(state, LineEvent.LEAVE): NwStatus.NOT_OPENED for state in _IN_USE},
    **{(state, LineEvent.KEEP): state for state in _IN_USE},
}
"""Every move; a pair that is not here is refused."""


class WrongState(Refusal):
    """The line is in a state in which this cannot happen."""

    code: ClassVar[str] = "line.wrong_state"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class LineBusy(Refusal):
    """Something else is being done to the line at this moment."""

    code: ClassVar[str] = "line.busy"
    kind: ClassVar[Kind] = Kind.CONFLICT


class CarrierRefused(Refusal):
    """The carrier will not do it, and says why."""

    code: ClassVar[str] = "line.carrier_refused"
    kind: ClassVar[Kind] = Kind.INVALID_ARGUMENTS


class NumberTaken(BadParameter):
    """The telephone number is the line of another device."""

    code = "line.number_taken"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a device. Its telephone number `mdn` is None once the line has left the device or was ended."""

    sensor_id: SensorId
    mdn: str | None
    nw_status: NwStatus
    subscription: str | None = None
    """Plan code."""
    imsi: str | None = None
    iccid: str | None = None


def number_of(text: str) -> str | None:
    """The telephone number, or the beginning of one, that somebody typed, as lines have it; None: it is none."""
    typed = text.replace("-", "").replace(" ", "")
    digits = typed.removeprefix("+")
    return typed if digits.isdecimal() and digits.isascii() else None


UNPAUSE: Final = "UNPAUSE"
"""The `type` of a change that the company asked for; the others are the carrier's actions (`line_actions.Type`)."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a device's line."""

    no: RowNo
    type: str
    nw_status: NwStatus
    """Afterwards."""
    occurred_ms: int
    """As the carrier says."""
    refused: str | None = None
    """Why the carrier did not lift the pause, in its words; empty: it gave none. None: it was done."""

    @property
    def written_ms(self) -> int:
        """When we heard of it."""
        return ms_of_no(self.no)


class Claim(msgspec.Struct, frozen=True):
    """A call to the carrier about a line: the only one under way until `until_ms`, afterwards one whose end is unknown.

    Asking the carrier again with the same request id happens once, so a lost call is completed by repeating it.
    """

    request_id: str
    until_ms: int

    def holds(self, now_ms: int) -> bool:
        """Whether the call may still be under way."""
        return now_ms < self.until_ms


def moved(status: NwStatus, event: LineEvent) -> NwStatus:
    """The state after the event. Raises `WrongState`."""
    after = NEXT.get((status, event))
    if after is None:
        possible = tuple(state for state in NwStatus if (state, event) in NEXT)
        raise WrongState("needs", status=status, event=event, possible=possible)
    return after


def number_taken(field: str, mdn: str) -> NumberTaken:
    """The refusal of a second line with the number that was sent in the field."""
    return NumberTaken("other_device", field=field, mdn=mdn)


def carrier_refused(words: str) -> CarrierRefused:
    """The refusal with the carrier's own words, on one line and cut short: they come from outside."""
    printable = "".join(letter if letter.isprintable() else " " for letter in words)
    said = " ".join(printable.split())[:WORDS_MAX]
    return CarrierRefused("said", said=said) if said else CarrierRefused("silent")


def busy() -> LineBusy:
    """The refusal of a second thing at once."""
    return LineBusy("under_way")
