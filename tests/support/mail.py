"""A real SMTP server on loopback that keeps what it is given, and how mails are read."""

import asyncio
import email.policy
import re
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.listeners import listening

LINK = re.compile(r"https?://\S+/account/set-password\?token=\S+")


@dataclass
class Kept:
    """What a server was given; `answers` are replies to give in place of taking a letter, by command."""

    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    logins: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    silent_at: str = ""
    """`DATA` or `QUIT`: answer no more from there on."""

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take the recipient, or answer as told."""
        if "RCPT" not in self.answers:
            envelope.rcpt_tos.append(address)
        return self.answers.get("RCPT", "250 OK")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take the letter, or answer as told."""
        if self.silent_at == "DATA":
            await asyncio.Event().wait()
        if "DATA" not in self.answers:
            assert isinstance(envelope.content, bytes)
            self.messages.append(parsed(envelope.content))
            self.recipients.append(envelope.rcpt_tos)
            self.encrypted.append(session.ssl is not None)
        return self.answers.get("DATA", "250 OK")

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Say goodbye."""
        if self.silent_at == "QUIT":
            await asyncio.Event().wait()
        return "221 Bye"

    def authenticator(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        """Let in whoever says `open sesame`."""
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"open sesame", handled=False)


@contextmanager
def smtp_server(
    *, tls: ssl.SSLContext | None = None, from_start: bool = False, login: bool = False, utf8: bool = True
) -> Iterator[tuple[int, Kept]]:
    """A server's port on 127.0.0.1 and what it keeps; `tls` for STARTTLS, or `from_start`."""
    kept = Kept()
    loop = asyncio.new_event_loop()

    spoken: list[SMTP] = []

    def protocol() -> SMTP:
        new = SMTP(
            kept,
            hostname="localhost",
            loop=loop,
            tls_context=None if from_start else tls,
            require_starttls=tls is not None and not from_start,
            authenticator=kept.authenticator,
            auth_required=login,
            auth_require_tls=login,
            enable_SMTPUTF8=utf8,
        )
        spoken.append(new)
        return new

    server = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0, ssl=tls if from_start else None))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], kept
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server, spoken), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended(server: asyncio.Server, spoken: list[SMTP]) -> None:
    """Close the server and whatever its connections still do."""
    server.close()
    for each in spoken:
        if each.transport is not None:
            each.transport.abort()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """The port of a server that takes connections and never says a word."""

    async def wait(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with listening(wait) as port:
        yield port


def parsed(content: bytes) -> EmailMessage:
    """The message in these bytes."""
    message = message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def in_folder(folder: Path) -> list[EmailMessage]:
    """The messages of a mail folder, oldest first; one that is being written has a name that begins with a dot."""
    return [parsed(path.read_bytes()) for path in sorted(folder.glob("[!.]*.eml"))]


def text_of(message: EmailMessage) -> str:
    """What the message says."""
    return str(message.get_content())


def link_in(message: EmailMessage) -> str:
    """The link to set a password in the message."""
    found = LINK.search(text_of(message))
    assert found is not None, text_of(message)
    return found[0]
