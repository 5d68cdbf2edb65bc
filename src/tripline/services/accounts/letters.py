"""Letters: which there are, and what each says in a language. Decides on values: looks up and sends nothing."""

from enum import StrEnum

from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports import Letter


class Kind(StrEnum):
    """Which letter a mail is."""

    APPROVED = "application.approved"
    REJECTED = "application.rejected"
    RESET = "password.reset"


def approved(*, recipient: str, name: str, service: str, link: str, hours: float, language: Language) -> Letter:
    """The service account was granted; the link sets its password."""
    text = catalogue.text(
        "mail.approved",
        language,
        name=name,
        service=service,
        recipient=recipient,
        link=link,
        about=_about(hours, language),
    )
    return Letter(recipient, catalogue.text("mail.approved.subject", language), text)


def rejected(*, recipient: str, name: str, service: str, reason: str, language: Language) -> Letter:
    """The application was rejected, and why."""
    text = catalogue.text("mail.rejected", language, name=name, service=service, reason=reason)
    return Letter(recipient, catalogue.text("mail.rejected.subject", language), text)


def reset(*, recipient: str, name: str, link: str, hours: float, language: Language) -> Letter:
    """Somebody asked for a new password; the link sets it."""
    text = catalogue.text(
        "mail.reset", language, name=name, recipient=recipient, link=link, about=_about(hours, language)
    )
    return Letter(recipient, catalogue.text("mail.reset.subject", language), text)


def _about(hours: float, language: Language) -> str:
    if hours == 1:
        return catalogue.text("mail.link.hour", language)
    return catalogue.text("mail.link.hours", language, hours=hours)
