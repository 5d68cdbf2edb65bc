"""A line: the telephone line of a device on a carrier's network, its states and transitions.

Follows spec/interface (Sensor, nwStatus values; States, carrier network status) and spec/gaps G10. The diagram in
`docs/carrier.md` is made from `NEXT`.
"""

from enum import Enum, StrEnum
from itertools import product
from typing import ClassVar, Final

import msgspec

from tripline.domain.ids import RowNo, SensorId, ms_of_no
from tripline.domain.refusals import BadParameter, Conflict, Invalid, Word

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
    """An event that moves a line from state to state, or requires a certain state."""

    OPEN = "opening"
    SUSPEND_USE = "suspension of use"
    SUSPEND_DORMANT = "dormant suspension"
    SUSPEND_TO_END = "suspension for termination"
    UNPAUSE = "unpause"
    END = "ordinary termination"
    END_BY_AUTHORITY = "termination by authority"
    LEAVE = "leaving its device"
    """The line moves to another device or owner; the record that it leaves shows this state."""
    KEEP = "change of device, owner, number, SIM or plan"
    """A change to a line in use that keeps its state."""


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
"""All transitions; a missing pair is refused."""


class WrongState(Invalid):
    """The line's state does not allow this."""

    code: ClassVar[str] = "line.wrong_state"


class LineBusy(Conflict):
    """Another change to the line is under way."""

    code: ClassVar[str] = "line.busy"


class CarrierRefused(Invalid):
    """The carrier refused the change."""

    code: ClassVar[str] = "line.carrier_refused"


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
    """Return the typed telephone number, or the beginning of one, as lines store it; None: not a number."""
    typed = text.replace("-", "").replace(" ", "")
    digits = typed.removeprefix("+")
    return typed if digits.isdecimal() and digits.isascii() else None


UNPAUSE: Final = "UNPAUSE"
"""The `type` of a change requested by the company; the others are the carrier's actions (`line_actions.Type`)."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a device's line."""

    no: RowNo
    type: str
    nw_status: NwStatus
    """Afterwards."""
    occurred_ms: int
    """According to the carrier."""
    refused: str | None = None
    """The carrier's reason for not lifting the pause; empty: it gave none. None: the change was made."""

    @property
    def written_ms(self) -> int:
        """When we received it."""
        return ms_of_no(self.no)


class Claim(msgspec.Struct, frozen=True):
    """A call to the carrier about a line: the only one under way until `until_ms`, afterwards one with an unknown
    outcome.

    Asking the carrier again with the same request id happens once, so a lost call is completed by repeating it.
    """

    request_id: str
    until_ms: int

    def holds(self, now_ms: int) -> bool:
        """Return whether the call may still be under way."""
        return now_ms < self.until_ms


def moved(status: NwStatus, event: LineEvent) -> NwStatus:
    """The state after the event. Raises `WrongState`."""
    after = NEXT.get((status, event))
    if after is None:
        possible = tuple(state for state in NwStatus if (state, event) in NEXT)
        raise WrongState("needs", status=status, event=event, possible=possible)
    return after


def carrier_refused(words: str) -> CarrierRefused:
    """The refusal with the carrier's own words, on one line and cut short: they come from outside."""
    printable = "".join(letter if letter.isprintable() else " " for letter in words)
    said = " ".join(printable.split())[:WORDS_MAX]
    return CarrierRefused("said", said=said) if said else CarrierRefused("silent")
