"""Shares of a limit: how much of it an operator, a company and an account may hold, and who makes room for a newcomer.
And turns at work that few may do at a time: by operator, or known addresses first.

A service operator and the partners under it count together, so partners that an operator registers for itself do not
add to its share. Not here: limits in the memory of a process (`services/shares.py`), or in the store (exports, drafts).
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

KNOWN_IN_A_ROW: Final = 3
"""Turns of known addresses before one of a stranger who waits."""
_DEPTH: Final = 3


class Holder(NamedTuple):
    """The operator, company and account of an item."""

    operator: str
    """The service operator of the company."""
    company: str
    account: str


class Held(msgspec.Struct, Generic[T], eq=False):
    """An item that takes some of a limit."""

    item: T
    holder: Holder
    size: int = 1
    stays: bool = False
    """True once it can no longer give way."""


class Shares(msgspec.Struct, frozen=True):
    """A limit, and the most of it that one operator, company and account may hold."""

    total: int
    operator: int
    company: int
    account: int

    @classmethod
    def of(cls, total: int) -> "Shares":
        """Three quarters for an operator with its partners, a half for a company, a quarter for an account."""
        return cls(total, max(total * 3 // 4, 1), max(total // 2, 1), max(total // 4, 1))

    def room(self, held: Sequence[Held[T]], new: Holder, size: int = 1) -> list[Held[T]] | None:
        """Return the items that give way to a newcomer of this size; None when it is refused.

        `held`: all items under the limit, the longest-standing first. A newcomer is refused when its own share is full,
        or when no other holder has more than it would have.
        """
        left, gone = list(held), list[Held[T]]()
        for depth, most in enumerate((self.account, self.company, self.operator, self.total)):
            within = _DEPTH - depth
            while size + sum(each.size for each in left if each.holder[:within] == new[:within]) > most:
                found = _first_to_go(left, new, within, size)
                if found is None:
                    return None
                left.remove(found)
                gone.append(found)
        return gone


class Rota:
    """Turns of operators: the one whose last turn is longest ago is next, with its smallest work."""

    def __init__(self) -> None:
        self._had: list[str] = []
        """Operators that had a turn and still wait, the latest last."""

    def next(self, waiting: Sequence[T], of: Callable[[T], tuple[str, int]]) -> T:
        """Choose one, and remember its operator. `of` returns operator and size; the first of equal ones is chosen."""
        there = {of(each)[0] for each in waiting}
        had = [each for each in self._had if each in there]
        found = min(waiting, key=lambda each: (had.index(of(each)[0]) + 1 if of(each)[0] in had else 0, of(each)[1]))
        operator = of(found)[0]
        self._had = [*(each for each in had if each != operator), operator]
        return found


class AddressQueue(Generic[T]):
    """Items that wait, by address; addresses take turns, however many items each has."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[T]] = OrderedDict()
        """By address, the one whose turn is next first."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return (item for items in self._of.values() for item in items)

    def add(self, address: str, item: T) -> None:
        """Add an item behind the others of its address."""
        self._of.setdefault(address, deque()).append(item)
        self._size += 1

    def remove(self, address: str, item: T) -> None:
        """Remove an item, if it still waits."""
        items = self._of.get(address)
        if items is not None and item in items:
            items.remove(item)
            self._size -= 1
            if not items:
                del self._of[address]

    def next(self) -> T:
        """Remove and return the item whose turn it is."""
        address, items = self._of.popitem(last=False)
        item = items.popleft()
        self._size -= 1
        if items:
            self._of[address] = items
        return item


class KnownFirst(Generic[T]):
    """Items that wait: those of known addresses first, with a stranger's in every fourth turn."""

    def __init__(self) -> None:
        self.known: AddressQueue[T] = AddressQueue()
        self.strangers: AddressQueue[T] = AddressQueue()
        self._in_a_row = 0

    def __len__(self) -> int:
        return len(self.known) + len(self.strangers)

    def group(self, *, is_known: bool) -> AddressQueue[T]:
        """Return the items of known addresses, or those of strangers."""
        return self.known if is_known else self.strangers

    def next(self) -> T:
        """Remove and return the item whose turn it is."""
        if self.known and (not self.strangers or self._in_a_row < KNOWN_IN_A_ROW):
            self._in_a_row += bool(self.strangers)
            return self.known.next()
        self._in_a_row = 0
        return self.strangers.next()


def _first_to_go(held: Sequence[Held[T]], new: Holder, within: int, size: int) -> Held[T] | None:
    """The oldest item of the largest holder within the newcomer's group: everything, its operator, or its company."""
    for depth in range(within, _DEPTH):
        group = [each for each in held if each.holder[:depth] == new[:depth]]
        own = sum(each.size for each in group if each.holder[: depth + 1] == new[: depth + 1])
        for name, holds in _by_size(group, depth):
            is_more = holds > own + size if own else holds >= size
            if name != new[depth] and is_more:
                found = _longest_standing([each for each in group if each.holder[depth] == name], depth + 1)
                if found is not None:
                    return found
    return None


def _longest_standing(group: Sequence[Held[T]], depth: int) -> Held[T] | None:
    """The oldest item that can give way, of the largest company and its largest account."""
    if depth == _DEPTH:
        return next((each for each in group if each.size and not each.stays), None)
    found = (
        _longest_standing([each for each in group if each.holder[depth] == name], depth + 1)
        for name, _ in _by_size(group, depth)
    )
    return next((each for each in found if each is not None), None)


def _by_size(group: Sequence[Held[T]], depth: int) -> Iterator[tuple[str, int]]:
    """Operators, companies or accounts of the group with the sum of their items, the largest first."""
    sums: defaultdict[str, int] = defaultdict(int)
    for each in group:
        sums[each.holder[depth]] += each.size
    return iter(sorted(sums.items(), key=lambda of: -of[1]))
