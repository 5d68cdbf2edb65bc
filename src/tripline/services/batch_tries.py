"""Retry batches: after changes by other processes, after failures, and after an outage.

Used by the device pipeline, the drain and the bus intake.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, Self, TypeVar

from tripline.domain.access import Scope
from tripline.domain.ids import TimeIds, first_no
from tripline.ports.outages import Fault, Outage
from tripline.store.transactions import Store
from tripline.store.trips import batch_rows

T = TypeVar("T")
_HOUR_MS: Final = 3_600_000
PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Pause after the first, second, ... consecutive outage."""


class Stale(Exception):  # noqa: N818  a state of the world: read again
    """Another process changed the cached state."""


class Sum(Protocol):
    """The result of a batch."""

    def add(self, other: Self, /) -> None:
        """Add another result to this one."""


S = TypeVar("S", bound=Sum)


def pause_s(outages: int, *, longest_s: float = PAUSES_S[-1]) -> float:
    """Pause after consecutive outages; at least one."""
    return min(PAUSES_S[min(outages, len(PAUSES_S)) - 1], longest_s)


async def while_stale(
    attempt: Callable[[int], Awaitable[T]], again: Callable[[int], Awaitable[None]], *, tries: int, outage: str
) -> T:
    """Return the result of the first attempt that is not `Stale`; `again` runs between attempts. Both receive the
    number of the attempt, from 0 on. Raises `Outage` with this text after `tries` attempts."""
    for turn in range(tries):
        try:
            return await attempt(turn)
        except Stale:
            await again(turn)
    raise Outage(outage)


async def narrowed_down(
    messages: Sequence[T],
    *,
    through: Callable[[Sequence[T]], Awaitable[S]],
    recover: Callable[[], Awaitable[None]],
    set_aside: Callable[[T, Exception], Awaitable[S]],
    store: Store,
) -> S:
    """Process the batch with `through`. A failure outside the store is retried once, after `recover`, and then narrowed
    down to the message that causes it, which is set aside; the others proceed. Raises `Outage`."""
    try:
        return await through(messages)
    except Outage:
        raise
    except Exception:  # noqa: BLE001  a second attempt rules out the clock and other processes
        await recover()
    try:
        return await through(messages)
    except Outage:
        raise
    except Exception as error:
        damage = store.troubles.present
        if damage is not None and damage.fault is Fault.DAMAGED:
            raise damage from error  # the data read may be damaged: set no message aside
        if not messages:
            raise
        if len(messages) == 1:
            return await set_aside(messages[0], error)
    half = len(messages) // 2
    first, second = [
        await narrowed_down(some, through=through, recover=recover, set_aside=set_aside, store=store)
        for some in (messages[:half], messages[half:])
    ]
    first.add(second)
    return first


async def skip_used_numbers(store: Store, ids: TimeIds, scope: Scope, *, now_ms: int) -> None:
    """Skip row numbers in use: by another process, or by this installation before its clock was set back.

    On a shared store, rows from clocks far ahead are ignored.
    """
    before_no = first_no(now_ms + _HOUR_MS) if store.shared else None
    ids.skip_to(await store.read_short(lambda tx: batch_rows.newest_no(tx, scope, before_no=before_no)))
