"""Mails through an SMTP server (RFC 5321), one connection a letter; TLS from the start, by STARTTLS, or none.

A server that will never take the letter (5xx to its recipient or content) refuses it; anything else, wrong settings
too, may work later. The sum of all waits is bounded.

Not here: the form of the message (`message.py`), retries (`services/accounts/postman.py`).
"""

import asyncio
import contextlib
import ssl
from typing import Final

import aiosmtplib
from aiosmtplib.errors import (
    SMTPDataError,
    SMTPException,
    SMTPNotSupported,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
)

from tripline import config
from tripline.adapters.mail.message import message_of
from tripline.ports.clocks import Clock
from tripline.ports.mails import Letter, LetterRefusedError
from tripline.ports.outages import Outage

_PERMANENT: Final = 500
_GOODBYE_S: Final = 5.0


class SmtpMailer:
    """Implements `ports.mails.Mailer`. With TLS, raises `Outage` at once when the authority of the settings cannot be
    read."""

    def __init__(self, settings: config.Mail, *, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._tls = None if settings.security == "none" else _context(settings.ca)

    async def send(self, letter: Letter) -> None:
        message = message_of(letter, sender=self._settings.sender, now_ms=self._clock())
        server = f"The mail server {self._settings.host}:{self._settings.port}"
        client = self._client()
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await client.connect()
                transport = client.transport
                if self._settings.user:
                    await client.login(self._settings.user, self._settings.password)
                await client.send_message(message, recipients=[letter.recipient])
            # The server has accepted the letter, even if QUIT fails.
            with contextlib.suppress(SMTPException, OSError):
                await client.quit(timeout=_GOODBYE_S)
        except (SMTPDataError, SMTPRecipientsRefused, SMTPNotSupported) as error:
            if _is_permanent(error):
                raise LetterRefusedError(f"{server} rejected the mail: {_words(error)}") from error
            raise Outage(f"{server} does not accept the mail now: {_words(error)}") from error
        except TimeoutError as error:
            raise Outage(f"{server} did not answer within {self._settings.timeout_s:g} s.") from error
        except (SMTPException, OSError, ValueError) as error:
            raise Outage(f"{server} cannot be used: {_words(error)}") from error
        finally:
            client.close()
            if isinstance(transport, asyncio.WriteTransport):
                # Closing waits for the server's own end of TLS; all has been said.
                transport.abort()

    def _client(self) -> aiosmtplib.SMTP:
        settings = self._settings
        return aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            timeout=settings.timeout_s,
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            tls_context=self._tls,
        )


def _context(ca: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca:
        try:
            context.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            raise Outage(f"mail.ca: {ca} cannot be used as an authority: {error}") from error
    return context


def _is_permanent(error: SMTPException) -> bool:
    if isinstance(error, SMTPRecipientsRefused):
        return all(_is_permanent(each) for each in error.recipients)
    if isinstance(error, SMTPDataError | SMTPRecipientRefused):
        return error.code >= _PERMANENT
    return True


def _words(error: Exception) -> str:
    """The server's reply or the error; never our own commands or content."""
    if isinstance(error, SMTPRecipientsRefused):
        return "; ".join(f"{each.code} {each.message}" for each in error.recipients)
    code = getattr(error, "code", None)
    text = str(getattr(error, "message", "")) or str(error) or type(error).__name__
    return f"{code} {text}" if isinstance(code, int) else text
