"""The usual authorities of HTTPS, read once a process for all clients of tests that trust them.

httpx reads all of them for each client, also for one that never speaks TLS, and for each `httpx.get`: most of what a
request of a test to a server of its own costs.
"""

import functools
import ssl
from typing import Any

from httpx._transports import default

_made = default.create_ssl_context


def read_once() -> None:
    """Have httpx read them once."""
    default.create_ssl_context = _context


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    return _usual(trust_env) if verify is True and cert is None else _made(verify, cert, trust_env)


@functools.cache
def _usual(trust_env: bool) -> ssl.SSLContext:
    return _made(trust_env=trust_env)
