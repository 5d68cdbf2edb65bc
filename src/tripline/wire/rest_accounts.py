"""JSON of log-in and refresh: answers are flat, strings only, because a client copies every key (client-surface 2)."""

import msgspec


class Login(msgspec.Struct):
    """Who logs in."""

    username: str
    password: str


class Refresh(msgspec.Struct, rename="camel"):
    """A refresh token to turn into new tokens."""

    refresh_token: str


class TokenPair(msgspec.Struct, rename="camel"):
    """Tokens of a log-in."""

    token: str
    refresh_token: str
