"""Mails as .eml files in a folder: for an installation without a mail server, and for previews of mails.

The files contain links that set passwords, so only the owner may read them.
"""

import asyncio
import os
import secrets
from pathlib import Path

from tripline.adapters.mail.message import message_of
from tripline.ports.clocks import Clock
from tripline.ports.mails import Letter
from tripline.ports.outages import Outage


class MailFolder:
    """Implements `ports.mails.Mailer`: each letter a file named by its instant first, there whole or not at all."""

    def __init__(self, folder: Path, *, sender: str, clock: Clock) -> None:
        self._folder = folder
        self._sender = sender
        self._clock = clock

    async def send(self, letter: Letter) -> None:
        now_ms = self._clock()
        content = message_of(letter, sender=self._sender, now_ms=now_ms).as_bytes()
        try:
            await asyncio.to_thread(self._keep, f"{now_ms}-{secrets.token_hex(4)}.eml", content)
        except OSError as error:
            raise Outage(f"The mail folder cannot be written to: {error.strerror}") from error

    def _keep(self, name: str, content: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = self._folder / f".{name}"
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self._folder / name)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
