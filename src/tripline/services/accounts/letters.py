"""The letters and their texts in each language. Pure: queries and sends nothing."""

import datetime
import zoneinfo
from enum import StrEnum
from typing import Final

from tripline.domain.disputes import Dispute, State
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.mails import Letter
from tripline.scoring.rules import EventType


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
    """A reset was requested; the link sets a new password."""
    text = catalogue.text(
        "mail.reset", language, name=name, recipient=recipient, link=link, about=_about(hours, language)
    )
    return Letter(recipient, catalogue.text("mail.reset.subject", language), text)


def decided(
    found: Dispute,
    *,
    recipient: str,
    name: str,
    vehicle_no: str | None,
    begin_ms: int,
    zone: zoneinfo.ZoneInfo,
    language: Language,
) -> Letter:
    """The dispute was accepted or rejected. `begin_ms`: start of its trip; times are given in `zone`."""

    facts = _trip(vehicle_no, begin_ms, zone, language)
    if found.event is None:
        facts.append(catalogue.text("mail.dispute.whole", language))
    else:
        facts.append(
            catalogue.text(_EVENTS[EventType(found.event.event_type)], language, at=_at(found.event.event_ms, zone))
        )
    facts += _scores(found, language)
    if found.answer:
        facts += ["", catalogue.text("mail.dispute.answer", language), "", found.answer]
    key, subject = _DECISIONS[found.state]
    text = catalogue.text(key, language, name=name, facts="\n".join(facts))
    return Letter(recipient, catalogue.text(subject, language), text)


def drove(
    *, recipient: str, name: str, vehicle_no: str | None, begin_ms: int, zone: zoneinfo.ZoneInfo, language: Language
) -> Letter:
    """The recipient is now the driver of a past trip, which may be disputed. `begin_ms`: its start."""
    facts = _trip(vehicle_no, begin_ms, zone, language)
    text = catalogue.text("mail.driver", language, name=name, facts="\n".join(facts))
    return Letter(recipient, catalogue.text("mail.driver.subject", language), text)


def _trip(vehicle_no: str | None, begin_ms: int, zone: zoneinfo.ZoneInfo, language: Language) -> list[str]:
    facts = [catalogue.text("mail.dispute.trip", language, at=_at(begin_ms, zone))]
    if vehicle_no is not None:
        facts.append(catalogue.text("mail.dispute.vehicle", language, vehicle=vehicle_no))
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
