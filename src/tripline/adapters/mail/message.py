"""A letter as an e-mail message (RFC 5322), for every adapter that sends or stores one.

The standard library builds headers from parsed addresses; a value that would break a header is refused.
"""

import re
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr
from typing import Final

from tripline.ports.mails import Letter, LetterRefusedError

_PLAIN: Final = re.compile(r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+")


def message_of(letter: Letter, *, sender: str, now_ms: int) -> EmailMessage:
    """The message. Raises `LetterRefusedError` for an address or a subject that is not allowed in a header."""
    from_whom = mailbox(sender)
    message = EmailMessage(policy=SMTP.clone(utf8=not letter.recipient.isascii()))
    try:
        message["From"] = from_whom
        message["To"] = _plain("", letter.recipient)
        message["Subject"] = letter.subject
        message.set_content(letter.text, cte=None if letter.text.isascii() else "base64")
    except ValueError as error:
        raise LetterRefusedError(f"This letter cannot be written: {error}") from error
    message["Date"] = formatdate(now_ms / 1000)
    message["Message-ID"] = make_msgid(domain=from_whom.domain)
    # RFC 3834: suppresses automatic replies.
    message["Auto-Submitted"] = "auto-generated"
    return message


def mailbox(text: str) -> Address:
    """The address in `Name <local@domain>` or `local@domain`. Raises `ValueError`."""
    return _plain(*parseaddr(text))


def _plain(name: str, address: str) -> Address:
    # Quoted local parts (RFC 5322 3.4.1) are refused: they are hardly ever used, and would complicate parsing.
    if not _PLAIN.fullmatch(address):
        raise ValueError(f"{address!r} is no plain e-mail address")
    local, _, domain = address.rpartition("@")
    return Address(name, local, domain)
