"""What mails say: plain text in plain words. A decision on values; nothing is looked up or sent here."""

from enum import StrEnum

from tripline.ports import Letter


class Kind(StrEnum):
    """Which letter a mail is."""

    APPROVED = "application.approved"
    REJECTED = "application.rejected"
    RESET = "password.reset"


def approved(*, recipient: str, name: str, service: str, link: str, hours: float) -> Letter:
    """The service account was granted; the link sets its password."""
    return Letter(
        recipient,
        "Your service account is ready",
        f"Hello {name},\n\n"
        f"your application for {service} was approved. Your login is {recipient}.\n\n"
        f"Choose your password here:\n\n{link}\n\n"
        f"{_about(hours)} When it has expired, ask for a new one with "
        '"forgotten password" (POST /api/noauth/resetPasswordByEmail).\n',
    )


def rejected(*, recipient: str, name: str, service: str, reason: str) -> Letter:
    """The application was rejected, and why."""
    return Letter(
        recipient,
        "Your application was not approved",
        f"Hello {name},\n\nyour application for {service} was not approved. The reason:\n\n{reason}\n\n"
        "You may apply again.\n",
    )


def reset(*, recipient: str, name: str, link: str, hours: float) -> Letter:
    """Somebody asked for a new password; the link sets it."""
    return Letter(
        recipient,
        "Set a new password",
        f"Hello {name},\n\nsomebody asked for a new password for {recipient}. If that was you, choose it here:\n\n"
        f"{link}\n\n{_about(hours)} If it was not you, ignore this mail: your password stays as it is.\n",
    )


def _about(hours: float) -> str:
    life = f"{hours:g} hours" if hours != 1 else "1 hour"
    return f"The link works once, within {life}; a newer mail replaces it."
