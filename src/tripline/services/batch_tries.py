"""Retry batches: after changes by other processes, after failures, and after an outage.

Used by the device pipeline, the drain and the bus intake. Not here: processing a batch, and storing a message that
cannot be used.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeVar

from tripline.ports.outages import Fault, Outage
from tripline.store.transactions import Store

T = TypeVar("T")
PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Pause after the first, second, ... consecutive outage."""


class Stale(Exception):  # noqa: N818  a state of the world: read again
    """Another process changed the cached state."""


class Sum(Protocol):
    """The result of a batch."""

    def add(self, other: Self, /) -> None:
        """Add another result to this one."""


S = TypeVar("S", bound=Sum)
S_co = TypeVar("S_co", bound=Sum, covariant=True)
B = TypeVar("B")


class Halves(NamedTuple, Generic[T]):
    """A batch split in two."""

    first: T
    second: T


class Way(Protocol[B, S_co]):
    """The operations on batches of one kind."""

    async def through(self, batch: B, /) -> S_co:
        """Process the batch. Raises `Outage`."""

    async def recover(self, batch: B, /) -> None:
        """Prepare a second attempt: repair effects of the clock or of other processes. Raises `Outage`."""

    def halves(self, batch: B, /) -> Halves[B] | None:
        """Split the batch in two; None: it has at most one message."""

    async def set_aside(self, batch: B, error: Exception, /) -> S_co:
        """Store its only message as unusable. Raises `Outage`, and the error itself if there is no message."""


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


async def narrowed_down(batch: B, way: Way[B, S], *, store: Store) -> S:
    """Process the batch. A failure outside the store is retried once, and then narrowed down to the message that causes
    it, which is set aside; the others proceed. Raises `Outage`."""
    try:
        return await way.through(batch)
    except Outage:
        raise
    except Exception:  # noqa: BLE001  a second attempt rules out the clock and other processes
        await way.recover(batch)
    try:
        return await way.through(batch)
    except Outage:
        raise
    except Exception as error:
        damage = store.troubles.present
        if damage is not None and damage.fault is Fault.DAMAGED:
            raise damage from error  # the data read may be damaged: set no message aside
        halves = way.halves(batch)
        if halves is None:
            return await way.set_aside(batch, error)
    both = await narrowed_down(halves.first, way, store=store)
    both.add(await narrowed_down(halves.second, way, store=store))
    return both


def in_halves(messages: Sequence[T]) -> Halves[Sequence[T]] | None:
    """Split the messages in two; None: there is at most one."""
    half = len(messages) // 2
    return Halves(messages[:half], messages[half:]) if half else None
