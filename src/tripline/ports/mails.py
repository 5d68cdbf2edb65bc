"""Mails."""

from typing import Protocol

import msgspec


class Letter(msgspec.Struct, frozen=True):
    """A mail to send: plain text, one recipient."""

    recipient: str
    subject: str
    text: str


class LetterRefusedError(Exception):
    """The mail server will never take this letter (unknown recipient, say); trying again is of no use."""


class Mailer(Protocol):
    """Sends mails."""

    async def send(self, letter: Letter) -> None:
        """Hand the letter over for good. Raises `Outage` when it may work later, `LetterRefusedError` when never."""
