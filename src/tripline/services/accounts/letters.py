"""The letters and their texts in each language. Pure: queries and sends nothing."""

import datetime
import zoneinfo
from enum import StrEnum
from typing import Final, NamedTuple

from tripline.domain.disputes import Dispute, State
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.mails import Letter
from tripline.scoring.rules import EventType
from tripline.store.scores.disputes import Drive


class Kind(StrEnum):
    """Which letter a mail is."""

    APPROVED = "application.approved"
    REJECTED = "application.rejected"
    RESET = "password.reset"
    DISPUTE = "dispute.decided"
    DRIVER = "driver.corrected"


_DECISIONS: Final = {
    State.ACCEPTED: ("mail.dispute.accepted", "mail.dispute.accepted.subject"),
    State.CORRECTED: ("mail.dispute.corrected", "mail.dispute.accepted.subject"),
    State.REJECTED: ("mail.dispute.rejected", "mail.dispute.rejected.subject"),
}
_EVENTS: Final = {
    EventType.START: "mail.dispute.start",
    EventType.ACCELERATION: "mail.dispute.acceleration",
    EventType.DECELERATION: "mail.dispute.deceleration",
    EventType.STOP: "mail.dispute.stop",
    EventType.OVERSPEED: "mail.dispute.overspeed",
}


class Recipient(NamedTuple):
    """To whom a letter goes."""

    address: str
    name: str
    language: Language


def approved(to: Recipient, *, service: str, link: str, hours: float) -> Letter:
    """The service account was granted; the link sets its password."""
    values = {"service": service, "recipient": to.address, "link": link, "about": _about(hours, to.language)}
    return _letter(to, "mail.approved.subject", "mail.approved", **values)


def rejected(to: Recipient, *, service: str, reason: str) -> Letter:
    """The application was rejected, and why."""
    return _letter(to, "mail.rejected.subject", "mail.rejected", service=service, reason=reason)


def reset(to: Recipient, *, link: str, hours: float) -> Letter:
    """A reset was requested; the link sets a new password."""
    values = {"recipient": to.address, "link": link, "about": _about(hours, to.language)}
    return _letter(to, "mail.reset.subject", "mail.reset", **values)


def decided(found: Dispute, to: Recipient, *, drive: Drive, zone: zoneinfo.ZoneInfo) -> Letter:
    """The dispute about this drive was accepted or rejected; times are given in `zone`."""
    language, facts = to.language, _trip(drive, zone, to.language)
    if found.event is None:
        facts.append(catalogue.text("mail.dispute.whole", language))
    else:
        facts.append(
            catalogue.text(_EVENTS[EventType(found.event.event_type)], language, at=_at(found.event.event_ms, zone))
        )
    facts += _scores(found, language)
    if found.answer:
        facts += ["", catalogue.text("mail.dispute.answer", language), "", found.answer]
    text, subject = _DECISIONS[found.state]
    return _letter(to, subject, text, facts="\n".join(facts))


def drove(to: Recipient, *, drive: Drive, zone: zoneinfo.ZoneInfo) -> Letter:
    """The recipient is now the driver of a past trip, which may be disputed."""
    return _letter(to, "mail.driver.subject", "mail.driver", facts="\n".join(_trip(drive, zone, to.language)))


def _letter(to: Recipient, subject: str, text: str, **values: str) -> Letter:
    said = catalogue.text(text, to.language, name=to.name, **values)
    return Letter(to.address, catalogue.text(subject, to.language), said)


def _trip(drive: Drive, zone: zoneinfo.ZoneInfo, language: Language) -> list[str]:
    facts = [catalogue.text("mail.dispute.trip", language, at=_at(drive.begin_ms, zone))]
    if drive.vehicle_no is not None:
        facts.append(catalogue.text("mail.dispute.vehicle", language, vehicle=drive.vehicle_no))
    return facts


def _at(time_ms: int, zone: zoneinfo.ZoneInfo) -> str:
    return f"{datetime.datetime.fromtimestamp(time_ms / 1_000, zone):%Y-%m-%d %H:%M:%S} ({zone.key})"


def _scores(found: Dispute, language: Language) -> list[str]:
    """The score before and after, where it changed."""
    if found.state is not State.ACCEPTED or found.score_before is None:
        return []
    before = f"{found.score_before:.1f}"
    if found.rescored_ms is None:
        return [catalogue.text("mail.dispute.not_yet", language, before=before)]
    if found.score_after is None:
        return [catalogue.text("mail.dispute.no_score", language, before=before)]
    after = f"{found.score_after:.1f}"
    return [] if before == after else [catalogue.text("mail.dispute.score", language, before=before, after=after)]


def _about(hours: float, language: Language) -> str:
    if hours == 1:
        return catalogue.text("mail.link.hour", language)
    return catalogue.text("mail.link.hours", language, hours=hours)
