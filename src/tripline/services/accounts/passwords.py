"""Password hashes: argon2id in a bounded pool of threads.

A hash costs about 20 ms and 19 MiB, so the number computed at once and the number waiting are bounded: a storm of
log-ins is answered `TooManyLogins`, and the rest of the program keeps its core.
"""

import asyncio
import os
import secrets
import sys
import threading
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import ARGON2_VERSION

from tripline import config
from tripline.services.accounts.hash_turns import HashTurns, Requester

T = TypeVar("T")

_NICE: Final = 10
"""Added to the process's own: beside the event loop, the threads get a tenth of a processor, or an idle one
entirely."""


def _hash_of_nobody(hasher: PasswordHasher) -> str:
    """A hash to compare an unknown user's password with: costs the same as real hashes and matches no password.

    Random bytes replace the digest, so making it takes no time.
    """
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    salt, no_hash = (b64encode(secrets.token_bytes(size)) for size in (hasher.salt_len, hasher.hash_len))
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt.decode().rstrip('=')}${no_hash.decode().rstrip('=')}"


def _yield_to_other_threads() -> None:
    """Give the calling thread a low priority: the event loop precedes it on a busy processor."""
    if sys.platform == "linux":  # elsewhere a thread has the priority of its process
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICE)


class Passwords:
    """Hashes and verifies passwords off the event loop."""

    def __init__(self, settings: config.Passwords) -> None:
        self._hasher = PasswordHasher(time_cost=settings.passes, memory_cost=settings.memory_kib, parallelism=1)
        self._threads = ThreadPoolExecutor(
            settings.workers, thread_name_prefix="password", initializer=_yield_to_other_threads
        )
        self._turns = HashTurns(workers=settings.workers, waiting=settings.waiting)
        self._nobodys = _hash_of_nobody(self._hasher)

    def hash_now(self, password: str) -> str:
        """The hash to keep, computed on the caller's thread: for commands."""
        return self._hasher.hash(password)

    async def hash(self, password: str, requester: Requester) -> str:
        """The hash to keep. Raises `TooManyLogins`."""
        return await self._in_pool(lambda: self._hasher.hash(password), requester)

    async def matches(self, password: str, kept: str | None, requester: Requester) -> bool:
        """True if the password matches the stored hash; without a hash, False after the same time. Raises
        `TooManyLogins`."""
        compared = self._nobodys if kept is None else kept
        return await self._in_pool(lambda: self._verify(password, compared), requester) and kept is not None

    def close(self) -> None:
        self._threads.shutdown()

    def _verify(self, password: str, kept: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _in_pool(self, work: Callable[[], T], requester: Requester) -> T:
        async with self._turns.turn(requester):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
