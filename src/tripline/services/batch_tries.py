"""Trying batches again: when what they were placed by is stale, when they fail, and after an outage.

The device pipeline, the drain and the bus intake use it. Not here: what a batch is, and what becomes of one message of
it that cannot be used.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeVar

from tripline.ports.outages import Fault, Outage
from tripline.store.transactions import Store

T = TypeVar("T")
PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""How long to wait after the first, second, ... outage in a row."""


class Stale(Exception):  # noqa: N818  a state of the world: read again
    """Another process changed what was remembered."""


class Sum(Protocol):
    """What became of a batch."""

    def add(self, other: Self, /) -> None:
        """Both together."""


S = TypeVar("S", bound=Sum)
S_co = TypeVar("S_co", bound=Sum, covariant=True)
B = TypeVar("B")


class Halves(NamedTuple, Generic[T]):
    """All of a batch in two."""

    first: T
    second: T


class Way(Protocol[B, S_co]):
    """How batches of one kind go."""

    async def through(self, batch: B, /) -> S_co:
        """To its end. Raises `Outage`."""

    async def recover(self, batch: B, /) -> None:
        """It failed once: mend what the clock or another process may have done. Raises `Outage`."""

    def halves(self, batch: B, /) -> Halves[B] | None:
        """The batch in two; None: it has one message, or none."""

    async def set_aside(self, batch: B, error: Exception, /) -> S_co:
        """Its one message cannot be used. Raises `Outage`, and the error itself when there is no message."""


def pause_s(outages: int, *, longest_s: float = PAUSES_S[-1]) -> float:
    """How long to wait after so many outages in a row; at least one."""
    return min(PAUSES_S[min(outages, len(PAUSES_S)) - 1], longest_s)


async def while_stale(
    attempt: Callable[[int], Awaitable[T]], again: Callable[[int], Awaitable[None]], *, tries: int, outage: str
) -> T:
    """What the attempt returns, as soon as it is not `Stale`; `again` runs between two. Both are given the number of
    the turn, from 0 on. Raises `Outage` with this text when all are."""
    for turn in range(tries):
        try:
            return await attempt(turn)
        except Stale:
            await again(turn)
    raise Outage(outage)


async def narrowed_down(batch: B, way: Way[B, S], *, store: Store) -> S:
    """Take the batch through. What fails without being the store's fault is tried again once, and then narrowed down to
    the message that causes it, which is set aside; the others go on. Raises `Outage`."""
    try:
        return await way.through(batch)
    except Outage:
        raise
    except Exception:  # noqa: BLE001  a second try tells what the clock or another process did
        await way.recover(batch)
    try:
        return await way.through(batch)
    except Outage:
        raise
    except Exception as error:
        damage = store.troubles.present
        if damage is not None and damage.fault is Fault.DAMAGED:
            raise damage from error  # what was read may be no bug of ours: nothing is set aside while it may be so
        halves = way.halves(batch)
        if halves is None:
            return await way.set_aside(batch, error)
    both = await narrowed_down(halves.first, way, store=store)
    both.add(await narrowed_down(halves.second, way, store=store))
    return both


def in_halves(messages: Sequence[T]) -> Halves[Sequence[T]] | None:
    """The messages in two; None: there is one, or none."""
    half = len(messages) // 2
    return Halves(messages[:half], messages[half:]) if half else None
