"""Delays of CONNECTs after wrong tokens, before the look-up in the store. Counts are in memory only.

A box that keeps dialling with a wrong token waits longer each time. If an address sends many different wrong tokens,
each unknown token from it waits. A right token never waits, and each admitted device cancels one wrong token of its
address: a fleet behind one address keeps working beside some boxes with wrong tokens. A wait never replaces the
look-up: every token is checked after it.

Times are seconds of a steady clock.
"""

import math
from collections import OrderedDict
from typing import Final, TypeVar

import msgspec

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED: Final = 50_000
"""Most right tokens, wrong tokens and addresses: the latest of each."""
FIRST_S: Final = 0.5
"""Wait after the first refusal of a token; it doubles, ..."""
LONGEST_S: Final = 5.0
"""... up to this. Devices give a server some seconds to answer."""
FORGIVEN_S: Final = 60.0
"""A token that was not refused for this long has no wait."""
ALLOWED: Final = 20
"""Different wrong tokens of an address before unknown tokens wait; one is forgiven each second."""
_MOST: Final = 200.0
_STEP_S: Final = 0.05
"""Wait for each further token."""
_DOUBLINGS_MAX: Final = 10


class Refused(msgspec.Struct):
    """A wrong token at an address."""

    times: int = 0
    last_s: float = -math.inf


class Address(msgspec.Struct):
    """Different wrong tokens of an address, less the forgiven ones."""

    tokens: float = 0.0
    at_s: float = 0.0


class WrongTokens:
    """Recent right and wrong tokens."""

    def __init__(self, *, longest_s: float = LONGEST_S, remembered: int = REMEMBERED) -> None:
        self._longest_s = min(longest_s, LONGEST_S)
        self._remembered = remembered
        self._right: OrderedDict[str, None] = OrderedDict()
        self._wrong: OrderedDict[tuple[str, int], Refused] = OrderedDict()
        """By address and hash of the token, because a token may be long."""
        self._addresses: OrderedDict[str, Address] = OrderedDict()

    def wait_s(self, address: str, token: str, *, now_s: float) -> float:
        """Seconds to wait before the look-up of this token; 0: none."""
        if token in self._right:
            return 0.0
        refused = self._wrong.get((address, hash(token)))
        wait_s = self._tokens(address, now_s) - ALLOWED
        wait_s = max(0.0, math.ceil(wait_s) * _STEP_S)
        if refused is not None and now_s - refused.last_s < FORGIVEN_S:
            wait_s = max(wait_s, FIRST_S * 2 ** min(refused.times - 1, _DOUBLINGS_MAX))
        return min(wait_s, self._longest_s)

    def refused(self, address: str, token: str, *, now_s: float) -> None:
        """Count a token that no sensor has."""
        self._right.pop(token, None)
        key = address, hash(token)
        refused = self._wrong.get(key)
        if refused is None or now_s - refused.last_s >= FORGIVEN_S:
            refused = Refused()
            tokens = min(self._tokens(address, now_s) + 1, _MOST)
            self._remember(self._addresses, address, Address(tokens, now_s))
        refused.times += 1
        refused.last_s = now_s
        self._remember(self._wrong, key, refused)

    def admitted(self, address: str, token: str, *, now_s: float) -> None:
        self._remember(self._right, token, None)
        self._wrong.pop((address, hash(token)), None)
        if address in self._addresses:
            self._addresses[address] = Address(max(self._tokens(address, now_s) - 1, 0.0), now_s)

    def _tokens(self, address: str, now_s: float) -> float:
        found = self._addresses.get(address)
        return 0.0 if found is None else max(found.tokens - (now_s - found.at_s), 0.0)

    def _remember(self, kept: OrderedDict[K, V], key: K, value: V) -> None:
        kept[key] = value
        kept.move_to_end(key)
        if len(kept) > self._remembered:
            kept.popitem(last=False)
