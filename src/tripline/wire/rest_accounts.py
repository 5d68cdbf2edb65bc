"""Answers of log-in and refresh: flat, strings only, because a client copies every key (client-surface 2)."""

import msgspec


class TokenPair(msgspec.Struct, frozen=True, rename="camel"):
    """Answer of a log-in and of a refresh."""

    token: str
    refresh_token: str
