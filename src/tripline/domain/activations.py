"""The steps of an activation, derived from its call and from whether it still counts.

Follows spec/rpc 6.
"""

from enum import StrEnum
from typing import Final

from tripline.domain import rpc
from tripline.domain.rpc import CallEvent, State


class Step(StrEnum):
    """How far an activation is."""

    REQUESTED = "requested"
    """Sent; the device has not answered yet."""
    SILENT = "silent"
    """The device did not acknowledge it in time; a later result still counts."""
    ACKNOWLEDGED = "acknowledged"
    """The device has started on it."""
    DONE = "done"
    """The device reported success."""
    REFUSED = "refused"
    """The device refused or failed."""
    UNDELIVERED = "undelivered"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    """Another request replaced it."""


UNDER_WAY: Final = frozenset({Step.REQUESTED, Step.SILENT, Step.ACKNOWLEDGED})
"""Steps that another step may follow."""
_OF_PLATFORM: Final = {
    rpc.PLATFORM_CODES[CallEvent.UNDELIVERABLE]: Step.UNDELIVERED,
    rpc.PLATFORM_CODES[CallEvent.CANCEL]: Step.CANCELLED,
}
_AWAITED: Final = {State.REQUESTED: Step.REQUESTED, State.TIMEOUT: Step.SILENT, State.ACKED: Step.ACKNOWLEDGED}


def step(state: State, *, acknowledged: int | None, result: int | None, counts: bool) -> Step:
    """Return the step, from the call's state, the codes of acknowledgement and result, and whether it is awaited."""
    if state is State.DONE:
        return Step.DONE
    if state is State.FAILED:
        return _OF_PLATFORM.get(result or 0, Step.REFUSED)
    if acknowledged is not None and not rpc.is_success(acknowledged):
        return Step.REFUSED
    return _AWAITED[state] if counts else Step.SUPERSEDED
