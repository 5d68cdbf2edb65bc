"""Password hashes and the bound on how many are under way."""

import asyncio
import os
import sys
import threading

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from tripline import config
from tripline.services.accounts.hash_turns import Requester, TooManyLogins
from tripline.services.accounts.passwords import Passwords

CHEAP = config.Passwords(memory_kib=8_192, passes=1, workers=1, waiting=2)
OWNER = Requester("kim@fleet.example", "192.0.2.1", known=True)


async def test_password_matches_its_own_hash_only() -> None:
    passwords = Passwords(CHEAP)
    kept = await passwords.hash("비밀번호 !'()*", OWNER)
    tries = ["비밀번호 !'()*", "비밀번호 !'()* ", "", "x" * 10_000]
    answers = [await passwords.matches(one, kept, OWNER) for one in tries]
    passwords.close()

    assert answers == [True, False, False, False]


def test_hash_is_argon2id_of_the_configured_cost() -> None:
    passwords = Passwords(CHEAP)
    kept = passwords.hash_now("x")
    passwords.close()

    assert kept.startswith("$argon2id$v=19$m=8192,t=1,p=1$")


def test_hash_costs_what_owasp_asks_for_unless_it_is_configured() -> None:
    """Servers of tests are given less."""
    passwords = Passwords(config.Passwords())
    kept = passwords.hash_now("x")
    passwords.close()

    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_threads_that_compute_hashes_have_a_lower_priority() -> None:
    def nice() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    passwords = Passwords(CHEAP)
    of_thread, own = passwords._threads.submit(nice).result(), nice()
    passwords.close()

    added = 10 if sys.platform == "linux" else 0
    assert of_thread == min(own + added, 19)


@pytest.mark.parametrize("kept", [None, "", "$argon2id$", "plain text"])
async def test_password_without_a_usable_hash_never_matches(kept: str | None) -> None:
    passwords = Passwords(CHEAP)
    answer = await passwords.matches("no account has this password", kept, OWNER)
    passwords.close()

    assert answer is False


async def test_logins_above_workers_and_waiting_room_are_refused_and_the_room_empties() -> None:
    refused = TooManyLogins.__name__
    passwords = Passwords(CHEAP)
    gate = threading.Event()
    passwords._threads.submit(gate.wait)
    kept = passwords.hash_now("right")
    storm = [asyncio.ensure_future(passwords.matches("right", kept, OWNER)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*storm, return_exceptions=True)
    afterwards = await passwords.matches("right", kept, OWNER)
    passwords.close()

    assert [type(outcome).__name__ for outcome in outcomes] == ["bool", refused, refused, "bool", "bool"]
    assert afterwards is True


def test_unknown_user_is_compared_with_a_hash_of_the_same_cost_that_no_password_has() -> None:
    passwords = Passwords(CHEAP)
    compared = passwords._nobodys
    kept = passwords.hash_now("x")
    passwords.close()

    assert extract_parameters(compared) == extract_parameters(kept)
    with pytest.raises(VerifyMismatchError):
        PasswordHasher().verify(compared, "x")
