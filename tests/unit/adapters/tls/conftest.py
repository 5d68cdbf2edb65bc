"""Keys of RSA that each test is given from the first on: to make one takes longer than the rest of a test."""

from functools import cache
from itertools import count
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

_make = rsa.generate_private_key


@cache
def _key(number: int, exponent: int, bits: int) -> Any:
    return _make(exponent, bits)


@pytest.fixture(autouse=True)
def _kept_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    monkeypatch.setattr(rsa, "generate_private_key", lambda *of: _key(next(numbers), *of))
